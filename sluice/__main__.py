"""``python -m sluice``: the same as the command ``sluice``."""

import sys

from sluice.cli import main

if __name__ == "__main__":
    sys.exit(main())

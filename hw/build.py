"""Command line: ``python -m hw.build --board de3 --design DIR``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hw.command import run_module

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `hw.boards.build`. Returns the exit status."""
    return run_module("hw.boards.build", arguments)


if __name__ == "__main__":
    sys.exit(main())

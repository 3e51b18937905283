"""Command line: ``python -m compiler.tune APP --board ulx3s-85f``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hw.command import run_module

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `compiler.cli.tune`. Returns the exit status."""
    return run_module("compiler.cli.tune", arguments)


if __name__ == "__main__":
    sys.exit(main())

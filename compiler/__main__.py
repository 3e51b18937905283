"""Command line: ``python -m compiler APP --target T``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hw.command import run_module

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `compiler.cli.main`. Returns the exit status."""
    return run_module("compiler.cli.main", arguments)


if __name__ == "__main__":
    sys.exit(main())

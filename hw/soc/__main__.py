"""Command line: ``python -m hw.soc hello.c``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hw.command import run_module

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `hw.soc.command`. Returns the exit status."""
    return run_module("hw.soc.command", arguments)


if __name__ == "__main__":
    sys.exit(main())

"""What the searches that draw a program for each seed, one after the other, have in common."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from rich.console import Console

__all__ = ["options_parser", "summary"]


def options_parser(prog: str, description: str | None, targets: Sequence[str]) -> argparse.ArgumentParser:
    """Which programs, on which targets, and how long."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--count", type=int, default=500, help="programs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--target", action="append", choices=targets, help="only this one (repeat)")
    parser.add_argument("--rtl", type=float, default=0.02, metavar="SHARE", help="of programs that both simulators run")
    parser.add_argument("--limit", type=float, default=20.0, metavar="SECONDS", help="of processor time for each")
    return parser


def summary(console: Console, counts: Mapping[tuple[str, str], int], programs: int) -> int:
    """Print what became of the programs, by target; the exit status."""
    for (target, kind), count in sorted(counts.items()):
        console.print(f"{target}: {kind} {count}")
    wrong = sum(count for (_, kind), count in counts.items() if kind == "wrong")
    console.print(f"{programs} programs, {wrong} failures")
    return int(wrong > 0)

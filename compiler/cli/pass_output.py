"""What the command line shows of passes: programs after them, and their times."""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table

from compiler.attempts import Attempt, record_attempts
from compiler.ir.text import print_program
from compiler.passes.pipeline import observe_passes, pass_class
from compiler.passes.program_pass import ProgramPass
from compiler.passes.registry import PASSES
from compiler.passes.state import State

__all__ = ["ListPasses", "show_attempts", "show_passes"]

_ALL = "all"


class ListPasses(argparse.Action):
    """The option that prints all passes and ends, like argparse's own for versions."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **settings)

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: str | None = None) -> NoReturn:
        print(_list_passes())
        parser.exit()


def _list_passes() -> str:
    """The names of all passes, with the first sentences of what they say they do."""
    width = max(map(len, PASSES))
    return "\n".join(f"{name:{width}}  {_first_sentence(pass_class(name))}" for name in PASSES)


def _first_sentence(kind: type[ProgramPass]) -> str:
    paragraph = (kind.__doc__ or "").split("\n\n")[0]
    return re.split(r"(?<!e\.g)\.(?: [A-Z`]|$)", " ".join(paragraph.split()))[0]


@contextmanager
def show_passes(console: Console, after: Sequence[str], timed: bool) -> Iterator[None]:
    """Inside, print the program after each pass of `after` (or ``all``) that changes it; at the end, if `timed`,
    the time that each pass took. Raises `PipelineError` if there is no such pass."""
    for name in after:
        if name != _ALL:
            pass_class(name)
    seconds: defaultdict[str, float] = defaultdict(float)
    runs: Counter[str] = Counter()

    def observe(one: ProgramPass, before: State, state: State, spent: float) -> None:
        seconds[one.name] += spent
        runs[one.name] += 1
        if one.name in after or (_ALL in after and state is not before):
            console.print(f"// after {one}\n{print_program(state.program)}", soft_wrap=True)

    with observe_passes(observe):
        yield
    if timed:
        console.print(_time_table(seconds, runs))


@contextmanager
def show_attempts(console: Console, wanted: bool) -> Iterator[None]:
    """Inside, what the search tries is kept; at the end, also after an error, it is printed if `wanted`."""
    with record_attempts() as found:
        try:
            yield
        finally:
            if wanted:
                console.print(_attempt_table(found))


def _attempt_table(found: Sequence[Attempt]) -> Table:
    table = Table(title="search: what was tried")
    for title in ("choice", "bound", "outcome", "seconds"):
        table.add_column(title, overflow="fold", justify="right" if title in ("bound", "seconds") else "left")

    def add(tried: Attempt, depth: int) -> None:
        bound = "" if tried.bound is None else str(tried.bound)
        table.add_row("  " * depth + tried.choice, bound, tried.outcome, f"{tried.seconds:.2f}")
        for one in tried.inner:
            add(one, depth + 1)

    for tried in found:
        add(tried, 0)
    return table


def _time_table(seconds: Mapping[str, float], runs: Counter[str]) -> Table:
    table = Table(title="passes")
    for title in ("pass", "runs", "seconds"):
        table.add_column(title, justify="left" if title == "pass" else "right")
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        table.add_row(name, str(runs[name]), f"{spent:.3f}")
    return table

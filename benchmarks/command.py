"""What the command lines of measurements have in common: names of what to measure, figures written after each, errors
in one line."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec

from rich.console import Console
from rich.progress import track

from benchmarks.results import RESULTS, kept_results, write_results
from hw.errors import SluiceError

__all__ = ["Measurement", "reports_errors"]

P = ParamSpec("P")


def reports_errors(work: Callable[P, None]) -> Callable[P, int]:
    """`work` as a command: returns 0, or 1 after a `SluiceError`, whose message is printed."""

    @functools.wraps(work)
    def command(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            work(*args, **kwargs)
        except SluiceError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0

    return command


@dataclass(frozen=True)
class Measurement:
    """Figures by name, in the order of `names`, under the key `part` of the results called `results`; `what` is what
    one of the names stands for. Where only some are measured, the file's figures of the others are kept."""

    results: str
    part: str
    what: str
    names: Collection[str]

    def parser(self, description: str | None) -> argparse.ArgumentParser:
        """A parser for names and the file of results; for `parse`, when further options have been added."""
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("names", nargs="*", metavar=self.what.upper(), help=f"of {self._listed} (default: all)")
        parser.add_argument("-o", "--output", type=Path, default=RESULTS / f"{self.results}.json")
        return parser

    def parse(self, parser: argparse.ArgumentParser) -> argparse.Namespace:
        """The options; ends with the parser's message if there is no such name."""
        options = parser.parse_args()
        unknown = [name for name in options.names if name not in self.names]
        if unknown:
            parser.error(f"there is no {self.what} {unknown[0]}; there are: {self._listed}")
        return options

    @property
    def _listed(self) -> str:
        return ("; " if any("," in name for name in self.names) else ", ").join(self.names)

    def write(self, output: Path, figures: Mapping[str, Any], head: Mapping[str, Any]) -> None:
        """Write the figures, after what `head` says of all of them."""
        ordered = {name: figures[name] for name in self.names if name in figures}
        write_results(output, {**head, self.part: ordered})

    def run(self, options: argparse.Namespace, measure: Callable[[str], Any], head: Mapping[str, Any]) -> None:
        """Measure what is asked for, and write after each."""
        found = kept_results(options.output, self.part) if options.names else {}
        for name in track(options.names or list(self.names), description=self.results, console=Console(stderr=True)):
            found[name] = measure(name)
            print(name, found[name], flush=True)
            self.write(options.output, found, head)

    def command(self, description: str | None, measure: Callable[[str], Any],
                head: Mapping[str, Any] | None = None) -> None:
        """The whole command, without options of its own."""
        self.run(self.parse(self.parser(description)), measure, head or {})

    def run_with_area(self, description: str | None, measure: Callable[[str], Any],
                      measure_area: Callable[[str], Any]) -> None:
        """The whole command: figures by `measure`, or with ``--area`` by `measure_area`, which are under the key
        ``area`` of the same results. What is there of the other kind is kept."""
        parser = self.parser(description)
        parser.add_argument("--area", action="store_true", help="LUT and MHz in place of cycles")
        options = self.parse(parser)
        area = replace(self, part="area")
        asked, other, work = (area, self, measure_area) if options.area else (self, area, measure)
        asked.run(options, work, {other.part: kept_results(options.output, other.part)})

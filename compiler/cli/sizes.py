"""The command line's part for run-time sizes: ``python -m compiler APP --target dataflow --sizes N=2..5``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.dataflow.runtime_sizes import SizedDesign
from compiler.bind.registry import compile_sizes
from compiler.cli.input_files import random_inputs
from compiler.cli.output_files import print_places
from compiler.cli.settings import UsageError, read_settings, simulation_settings
from compiler.frontend.apps import load
from compiler.ir.floating import same
from compiler.ir.interpret import interpret

__all__ = ["SizedCommand"]

_RANGE = re.compile(r"([A-Za-z_]\w*)=(\d+)\.\.(\d+)")
_OF_ONE_SIZE = ("input", "output", "report", "waves")
"""Options that go with one size only."""


class SizedCommand:
    """A command with ``--sizes``. Raises `UsageError` for what it cannot mean."""

    def __init__(self, options: argparse.Namespace, target_options: Mapping[str, Any]) -> None:
        self._options = options
        self._target_options = target_options
        self._ranges = _ranges(options.sizes)
        self._parameters = read_settings("--set", options.set)
        self._chosen = {name: self._parameters.pop(name) for name in self._ranges if name in self._parameters}
        if self._chosen and len(self._chosen) < len(self._ranges):
            missing = next(name for name in self._ranges if name not in self._chosen)
            raise UsageError(f"--set gives {', '.join(self._chosen)}, and of the sizes also {missing} is needed")
        for name, value in self._chosen.items():
            if not isinstance(value, int):
                raise UsageError(f"--set {name}={value}: a size is a whole number")
        for name in _OF_ONE_SIZE:
            if getattr(options, name) and not self._chosen:
                least = " ".join(f"--set {size}={low}" for size, (low, _) in self._ranges.items())
                raise UsageError(f"--{name} is for one size: choose it, like {least}")

    @property
    def chosen(self) -> dict[str, int]:
        """The one size to run, empty for several."""
        return self._chosen

    def engine(self) -> SizedDesign:
        """The kernel for all sizes."""
        return compile_sizes(lambda **sizes: load(self._options.app, **self._parameters, **sizes), self._ranges,
                             self._options.target, **self._target_options)

    def run(self, console: Console) -> int:
        """Run the least and the greatest value of every size on one kernel. Returns the exit status."""
        options = self._options
        with console.status("compiling"):
            engine = self.engine()
        ends = [sorted(set(ends)) for ends in self._ranges.values()]
        points = [dict(zip(self._ranges, values, strict=True)) for values in product(*ends)]
        ranges = ", ".join(f"{name}={low}..{high}" for name, (low, high) in self._ranges.items())
        table = Table(title=Text(f"{engine.at(**points[-1]).program.name}, one kernel for {ranges}"))
        for column in ("size", "start to done predicted", "start to done", "unstalled predicted", "unstalled",
                       "lower bound", "equal to the reference"):
            table.add_column(column)
        status = 0
        for point in points:
            row, equal = self._row(engine, point)
            table.add_row(*map(Text, row))
            status |= not equal
        if options.directory:
            last = engine.at(**points[-1])
            last.emit(options.directory, random_inputs(last.program, options.random or 0))
        console.print(table)
        print_places(console, options, None, "Verilog and design directory")
        return status

    def _row(self, engine: SizedDesign, point: dict[str, int]) -> tuple[list[str], bool]:
        """One size: texts of the table, and whether the results are those of the reference."""
        options, design = self._options, engine.at(**point)
        size = ", ".join(f"{name}={value}" for name, value in point.items())
        if options.simulator == "none":
            return [size, str(design.predicted_start_to_done), "-", str(design.predicted_cycles), "-",
                    str(design.lower_bound), "-"], True
        inputs = random_inputs(design.program, options.random or 0)
        run = design.simulate(inputs, options.simulator, **simulation_settings(options, design))
        reference = interpret(design.reference, inputs)
        equal = all(same(run.outputs[name], values) for name, values in reference.items())
        return [size, str(design.predicted_start_to_done), str(run.wall_cycles), str(design.predicted_cycles),
                str(run.cycles), str(design.lower_bound),
                "yes" if equal else "NO"], equal


def _ranges(texts: list[str]) -> dict[str, tuple[int, int]]:
    """``N=2..5`` as {"N": (2, 5)}."""
    found: dict[str, tuple[int, int]] = {}
    for text in texts:
        match = _RANGE.fullmatch(text)
        if match is None:
            raise UsageError(f"--sizes {text}: write NAME=LEAST..GREATEST, like N=2..5")
        if match[1] in found:
            raise UsageError(f"--sizes gives {match[1]} twice")
        found[match[1]] = int(match[2]), int(match[3])
    return found

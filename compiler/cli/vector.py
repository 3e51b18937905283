"""The command line's part for parallel arrays: ``python -m compiler APP --target vector``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.design import InputError, Run, prediction_rows
from compiler.bind.registry import compile_program
from compiler.bind.vector.design import VectorDesign
from compiler.cli.input_files import load_array
from compiler.cli.output_files import print_places
from compiler.cli.settings import simulation_settings
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.hints import find_hints
from hw.files import write_atomic

__all__ = ["run_vector"]

_OTHERS = ("memory", "array", "fusion_level", "tile_depth", "half_words", "seed", "output")
"""Options that mean nothing for programs of parallel arrays."""


def run_vector(options: argparse.Namespace, program: ArrayProgram, target_options: Mapping[str, Any],
               console: Console) -> int:
    """Compile an application of parallel arrays, run it and print what came of it. Returns the exit status."""
    for name in _OTHERS:
        if getattr(options, name) not in (None, []):
            raise InputError(f"--{name.replace('_', '-')} is no option of target vector")
    inputs = read_arrays(program, options.input, options.random or 0)
    with console.status(f"compiling {program.name}"):
        design = compile_program(program, "vector", **target_options)
    assert isinstance(design, VectorDesign)
    run = None
    if options.simulator != "none":
        with console.status(f"simulating {program.name} ({options.simulator}; the first run builds)"):
            run = design.simulate(inputs, options.simulator, **simulation_settings(options, design))
    equal = run is None or _equal(program, inputs, run)
    if options.directory:
        design.emit(options.directory, inputs)
    if options.report:
        write_atomic(options.report / "report.html", design.report(run, None if run is None else equal))
    console.print(_table(design, run, equal))
    for hint in find_hints(design, run):
        console.print(f"hint: {hint}", soft_wrap=True)
    print_places(console, options, run, "C program, vector program and Verilog")
    return 0 if equal else 1


def read_arrays(program: ArrayProgram, given: Sequence[str], seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs from texts ``NAME=FILE`` (.npy). For others the data that the program brings, or random numbers in the
    input's range. Raises `InputError`."""
    found = program.random_inputs(np.random.default_rng(seed))
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in program.inputs:
            known = ", ".join(program.inputs) or "none"
            raise InputError(f"--input {text}: write NAME=FILE with a .npy file; program {program.name} has: {known}")
        found[name] = load_array(Path(path))
    return program.check_inputs(found)


def _equal(program: ArrayProgram, inputs: Mapping[str, np.ndarray], run: Run) -> bool:
    reference = program.reference(inputs)
    return all(np.array_equal(run.outputs[name], values) for name, values in reference.items())


def _table(design: VectorDesign, run: Run | None, equal: bool) -> Table:
    table = Table(title=Text(f"{design.code.name} on {design.spec.lanes} vector lanes"), show_header=False)
    rows = [
        *prediction_rows(design, run),
        *((name, str(value)) for name, value in design.resources.items()),
        ("compile time", f"{design.compile_seconds:.2f} s"),
    ]
    if run:
        rows.append(("equal to the reference", "yes" if equal else "NO"))
    for row in rows:
        table.add_row(*map(Text, row))
    return table

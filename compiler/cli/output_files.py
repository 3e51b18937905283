"""A run's outputs as files that a command line names: images, arrays in numpy's .npy format; where all of them are."""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from compiler.bind.design import InputError, Run
from compiler.cli import images
from compiler.ir.program import Array, Program
from compiler.ir.types import Float
from hw.files import write_atomic

__all__ = ["output_paths", "print_places", "write_outputs"]


def output_paths(program: Program, given: Sequence[str]) -> dict[str, Path]:
    """The file of each output from the texts ``NAME=FILE`` and ``FILE``; the latter is for the first output.

    Raises `InputError` for an output that is unknown or given twice, and for a format that cannot be written.
    """
    names = [array.name for array in program.outputs]
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.isidentifier():
            name, path = names[0], text
        if name not in names:
            raise InputError(f"program {program.name} has no output '{name}'; it has: {', '.join(names)}")
        if name in found:
            raise InputError(f"output {name} is given twice: {found[name]} and {path}")
        if not path:
            raise InputError(f"output {name} needs the name of a file: {name}=FILE")
        found[name] = Path(path)
        _check_format(program.array(name), found[name])
    return found


def write_outputs(paths: Mapping[str, Path], outputs: Mapping[str, np.ndarray]) -> None:
    """Write every output that has a path: ``.npy`` exactly as it is, anything else as an image (`images.save_image`).

    Raises `InputError` for values that the format cannot hold, `OutputError` if the place cannot be written.
    """
    for name, path in paths.items():
        if path.suffix.lower() == ".npy":
            buffer = io.BytesIO()
            np.save(buffer, outputs[name], allow_pickle=False)
            write_atomic(path, buffer.getvalue())
        else:
            images.save_image(path, outputs[name])


def print_places(console: Console, options: argparse.Namespace, run: Run | None, emitted: str) -> None:
    """Say where the design directory, which holds what is `emitted`, the report and the waveform are."""
    if options.directory:
        console.print(f"{emitted}: {options.directory}", soft_wrap=True)
    if options.report:
        console.print(f"report: {options.report / 'report.html'}", soft_wrap=True)
    if run and run.waveform:
        console.print(f"waveform: {run.waveform}", soft_wrap=True)


def _check_format(array: Array, path: Path) -> None:
    if path.suffix.lower() != ".npy":
        if isinstance(array.type, Float):
            raise InputError(f"output {array.name} has elements of type {array.type} and cannot be written as image "
                             f"{path}; take a .npy file")
        images.image_format(path)

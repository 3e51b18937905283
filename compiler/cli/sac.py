"""The command line's part for SA-C: ``python -m compiler FILE.sc`` runs a program on the host, with ``--target`` its
loops on hardware."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.application_forms import choose_form
from compiler.bind.applications import Placed
from compiler.bind.design import InputError
from compiler.bind.registry import target
from compiler.cli import images
from compiler.cli.input_files import load_array
from compiler.cli.sac_costs import print_costs
from compiler.cli.sac_graphs import optimised, report_loops, write_graphs
from compiler.cli.sac_hardware import forms_table, hardware_options, run_on_hardware
from compiler.cli.sac_window import WINDOW, run_on_windows
from compiler.cli.settings import UsageError, read_settings
from compiler.frontend.sac import SacProgram, load_sac, random_inputs
from compiler.frontend.sac.ddcf.graph import Port
from compiler.frontend.sac.values import parse_values, print_values, read_pnm, write_pnm
from hw.files import write_atomic

__all__ = ["run_sac"]

_OTHERS = ("sizes", "include", "list", "time_passes")
"""Options that mean nothing for programs of SA-C."""

_HARDWARE = ("memory", "array", "hardware", "lanes", "fusion_level", "tile_depth", "half_words", "memory_latency",
             "memory_bursts", "seed", "option", "stall_seed", "directory", "waves", "explain", "port", "program")
"""Options that mean nothing for programs that run on the host."""

_NOT_ON_WINDOWS = (*(name for name in _HARDWARE if name not in ("option", "explain")), "report", "loops", "ddcf", "dfg",
                   "host_c")
"""Options that mean nothing for window machines."""

PNM = (".pgm", ".ppm")

_SHOWN = 64
"""Elements of a result that are printed."""


def run_sac(path: Path, options: argparse.Namespace, console: Console) -> int:
    """Run the SA-C program at `path` and print or write its results. Returns the exit status."""
    _check_options(options)
    written = load_sac(path, options.function)
    inputs = _read_inputs(written, options)
    if options.fixed_extents or options.loops or options.target:
        written = written.with_extents({name: values.shape for name, values in inputs.items() if values.ndim})
    if options.target == WINDOW:
        return _run_on_windows(written, inputs, options, console)
    program, notes, placed = _prepared(written, inputs, options, console)
    paths = _output_paths(program, options.output)
    write_graphs(program, options)
    if options.report:
        for line in report_loops(written, program, notes, options.report):
            console.print(Text(line), soft_wrap=True)
    if options.host_c and not options.target:
        write_atomic(options.host_c, program.host_c().encode())
    if options.loops:
        print_costs(program, console)
    equal, place = True, "on the host"
    if options.target:
        held, equal = run_on_hardware(written, placed or program, program.held(inputs), options, console)
        results, place = program.results(held), f"on target {options.target} and the host"
    else:
        with console.status(f"running {program.name}"):
            results = program.run(inputs)
    _write_results(program, results, paths, place, options, console)
    return 0 if equal else 1


def _run_on_windows(written: SacProgram, inputs: Mapping[str, np.ndarray], options: argparse.Namespace,
                    console: Console) -> int:
    program = optimised(written, options.passes, options.print_after, console)[0] if options.passes else None
    paths = _output_paths(written, options.output)
    program, held, equal = run_on_windows(written, program, written.held(inputs), options, console)
    _write_results(program, program.results(held), paths, "on window machines and the host", options, console)
    return 0 if equal else 1


def _write_results(program: SacProgram, results: Mapping[str, np.ndarray], paths: Mapping[str, Path], place: str,
                   options: argparse.Namespace, console: Console) -> None:
    for name, path in paths.items():
        _write(path, results[name], program.outputs[name], options.ascii)
    console.print(_table(program, results, paths, place))


def _prepared(written: SacProgram, inputs: Mapping[str, np.ndarray], options: argparse.Namespace, console: Console
              ) -> tuple[SacProgram, list[str], Placed | None]:
    """The program after passes, what these say, and for hardware its designs in the form that ends first, if no passes
    are asked for."""
    if options.target is None or options.passes is not None or options.print_after:
        return *optimised(written, options.passes, options.print_after, console), None
    with console.status(f"choosing a form of {written.name} for {options.target}"):
        chosen = choose_form(written, written.held(inputs), options.target, **hardware_options(options))
    if options.explain:
        console.print(forms_table(chosen))
    return chosen.program, list(chosen.notes), chosen.placed


def _check_options(options: argparse.Namespace) -> None:
    """Raise `UsageError` for an option that SA-C programs do not have, or have on hardware alone."""
    for names, where in ((_OTHERS, "is no option of SA-C programs"),
                         (() if options.target else _HARDWARE, "is for hardware, and SA-C programs run on the host "
                          "without --target")):
        for name in names:
            if getattr(options, name) not in (None, [], False):
                raise UsageError(f"--{name.replace('_', '-')} {where}")
    if options.target == WINDOW:
        for name in _NOT_ON_WINDOWS:
            if getattr(options, name) not in (None, [], False):
                raise UsageError(f"--{name.replace('_', '-')} is no option of target window")
    elif options.target:
        target(options.target)


def _read_inputs(program: SacProgram, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Inputs from ``--input``, scalars also from ``--set``; the sample photograph for the only picture without one."""
    settings = read_settings("--set", options.set)
    found: dict[str, np.ndarray] = {}
    for name, value in settings.items():
        _known(program.inputs, name, "input", program)
        found[name] = np.asarray(value)
    for text in options.input:
        if text == "-":
            wanted = [port for name, port in program.inputs.items() if name not in found]
            found |= zip([port.name for port in wanted], parse_values(sys.stdin.read(), wanted, "standard input"),
                         strict=True)
            continue
        name, path = _named(program, text)
        if name in found:
            raise InputError(f"input {name} is given twice")
        found[name] = _load(path, program.inputs[name])
    if options.random is not None:
        found = random_inputs(program, options.random) | found
    pictures = [name for name, port in program.inputs.items() if _is_picture(port)]
    if len(pictures) == 1 and pictures[0] not in found:
        found[pictures[0]] = images.sample_image(colour=program.inputs[pictures[0]].types[0].rank == 3)
    missing = [f"{name} ({port.types[0]})" for name, port in program.inputs.items() if name not in found]
    if missing:
        raise InputError(f"program {program.name} needs more inputs: {', '.join(missing)}; give --input NAME=FILE, "
                         "--set NAME=VALUE for a scalar, or --random SEED")
    return found


def _known(ports: Mapping[str, Port], name: str, what: str, program: SacProgram) -> None:
    if name not in ports:
        raise InputError(f"program {program.name} has no {what} '{name}'; it has: {', '.join(ports) or 'none'}")


def _named(program: SacProgram, text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if equals and name.isidentifier():
        _known(program.inputs, name, "input", program)
        return name, Path(path)
    arrays = [name for name, port in program.inputs.items() if port.types[0].is_array]
    if len(arrays) != 1:
        raise InputError(f"which input is {text}? Write NAME=FILE; program {program.name} has: "
                         f"{', '.join(program.inputs) or 'none'}")
    return arrays[0], Path(text)


def _is_picture(port: Port) -> bool:
    scalar = port.types[0].scalar
    return port.types[0].rank in (2, 3) and len(port.types) == 1 and not scalar.floating and scalar.width >= 8


def _load(path: Path, port: Port) -> np.ndarray:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return load_array(path)
    if suffix == ".txt":
        return parse_values(_text_of(path), [port], str(path))[0]
    if suffix in PNM:
        return read_pnm(path, port)
    if port.types[0].rank not in (2, 3):
        raise InputError(f"input {port.name} has type {port.types[0]} and cannot be an image such as {path}; give a "
                         ".npy file")
    return images.load_image(path, colour=port.types[0].rank == 3)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InputError(f"{path} cannot be read: {reason}") from None


def _output_paths(program: SacProgram, given: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.isidentifier():
            name, path = next(iter(program.outputs), ""), text
        _known(program.outputs, name, "output", program)
        if name in found:
            raise InputError(f"output {name} is given twice: {found[name]} and {path}")
        if not path:
            raise InputError(f"output {name} needs the name of a file: {name}=FILE")
        found[name] = Path(path)
        if found[name].suffix.lower() not in (".npy", ".txt", *PNM):
            images.image_format(found[name])
    return found


def _write(path: Path, values: np.ndarray, port: Port, ascii_: bool) -> None:
    suffix = path.suffix.lower()
    if suffix == ".txt":
        write_atomic(path, print_values([values]).encode())
    elif suffix in PNM:
        write_pnm(path, values, port, ascii_=ascii_)
    elif suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        write_atomic(path, buffer.getvalue())
    elif values.dtype.kind in "fc":
        raise InputError(f"{path}: an image holds integers, and the output holds {values.dtype}; take a .npy file")
    else:
        images.save_image(path, values)


def _table(program: SacProgram, results: Mapping[str, np.ndarray], paths: Mapping[str, Path], place: str) -> Table:
    table = Table("output", "type", "shape", "value", title=Text(f"{program.name} {place}"))
    for name, values in results.items():
        shape = "x".join(map(str, values.shape)) or "scalar"
        shown = str(paths.get(name)) if name in paths else _values_text(values)
        kind = f"{'complex ' if len(program.outputs[name].types) == 2 else ''}{program.outputs[name].types[0]}"
        table.add_row(*map(Text, (name, kind, shape, shown)))
    return table


def _values_text(values: np.ndarray) -> str:
    """All elements of a small array, else the least and the greatest."""
    if values.size <= _SHOWN:
        return str(values.tolist())
    if values.dtype.kind == "c":
        return f"{values.size} numbers"
    return f"{values.min()} to {values.max()}"

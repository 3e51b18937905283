"""The command line's part for ONNX models that become a chain of designs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.design import InputError
from compiler.bind.networks import PlacedNetwork, place_network, takes_one_layer
from compiler.bind.registry import target
from compiler.cli.input_files import load_array
from compiler.cli.output_files import write_outputs
from compiler.cli.settings import UsageError, read_settings, simulation_settings, target_options
from compiler.frontend.onnx import Network, load_network, run_steps
from compiler.ir.interpret import interpret

__all__ = ["is_chain", "run_chain", "without_designs"]

_KINDS = ("one", "layers")
_OTHERS = ("report", "waves", "sizes", "port", "explain", "time_passes", "print_after")


def is_chain(options: argparse.Namespace) -> bool:
    """Whether a model is to become a design for each layer: ``--set designs=layers``, or what the target takes."""
    kind = read_settings("--set", options.set).get("designs")
    if kind not in (None, *_KINDS):
        raise UsageError(f"--set designs={kind}: write one of {', '.join(_KINDS)}")
    return takes_one_layer(options.target) if kind is None else kind == "layers"


def without_designs(options: argparse.Namespace) -> dict[str, Any]:
    """What else ``--set`` says: the sizes of a model."""
    return {name: value for name, value in read_settings("--set", options.set).items() if name != "designs"}


def run_chain(options: argparse.Namespace, console: Console) -> int:
    """Compile all layers, simulate one after the other, compare. Returns the exit status."""
    for name in _OTHERS:
        if getattr(options, name) not in (None, [], False):
            raise UsageError(f"--{name.replace('_', '-')} is for one design, and this model becomes several: leave it "
                             "out, or ask for --set designs=one")
    network = load_network(options.app, **without_designs(options))
    inputs = _inputs(network, options) if options.simulator != "none" else {}
    with console.status(f"compiling {network.name} for {options.target}"):
        placed = place_network(network, options.target, True, **target_options(options))
    equal = True
    if options.simulator != "none":
        equal = _simulate(placed, inputs, options, console)
    console.print(_table(placed, options.target))
    for remark in network.remarks:
        console.print(Text(remark), soft_wrap=True)
    if options.simulator != "none":
        console.print(f"equal to the reference: {'yes' if equal else 'NO'}")
    if options.directory:
        for place in placed.emit(options.directory):
            console.print(Text(f"Verilog and design directory: {place}"), soft_wrap=True)
    return 0 if equal else 1


def _simulate(placed: PlacedNetwork, inputs: dict[str, np.ndarray], options: argparse.Namespace,
              console: Console) -> bool:
    """Whether all outputs are the interpreter's; they are written where the command line says."""
    settings = simulation_settings(options, placed.designs[0])
    paths = _places(placed.network, options)
    with console.status(f"simulating {placed.network.name} ({options.simulator}; the first run builds)"):
        found = placed.simulate(inputs, options.simulator, **settings)
    wanted = run_steps(placed.network, placed.steps, inputs, interpret)
    write_outputs(paths, found)
    return all(np.array_equal(found[name], wanted[name]) for name in wanted)


def _table(placed: PlacedNetwork, target_name: str) -> Table:
    table = Table("design", "cycles from start to done, predicted", "simulated", "least",
                  title=Text(f"{placed.network.name} on {target(target_name).PLACE}"))
    for step, design in zip(placed.steps, placed.designs, strict=True):
        run = placed.runs.get(step.program.name)
        cells = step.program.name, design.predicted_start_to_done, run.wall_cycles if run else "", design.lower_bound
        table.add_row(*map(Text, map(str, cells)))
    ran = str(sum(run.wall_cycles for run in placed.runs.values())) if placed.runs else ""
    table.add_row(*map(Text, ("all", str(placed.predicted_start_to_done), ran, "")))
    return table


def _inputs(network: Network, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Those of the model, from files and at random. Raises `InputError`."""
    found: dict[str, np.ndarray] = {}
    for text in options.input:
        name, path = _named(network.inputs, text, "input")
        value = network.inputs[name]
        found[name] = load_array(path)
        if found[name].size != value.size or found[name].dtype != value.type.dtype:
            shapes = ["x".join(map(str, shape)) for shape in (value.shape, found[name].shape)]
            raise InputError(f"input {name} is {value.type} of shape {shapes[0]}, and {path} holds {found[name].dtype} "
                             f"of shape {shapes[1]}")
    missing = [name for name in network.inputs if name not in found]
    if missing and options.random is None:
        raise InputError(f"model {network.name} needs more inputs: {', '.join(missing)}; add --input NAME=FILE.npy or "
                         "--random SEED")
    random = np.random.default_rng(options.random)
    for name in missing:
        type = network.inputs[name].type
        found[name] = random.integers(type.minimum, type.maximum, network.inputs[name].shape, type.dtype, endpoint=True)
    return found


def _places(network: Network, options: argparse.Namespace) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in options.output:
        name, path = _named(network.outputs, text, "output")
        if path.suffix != ".npy":
            raise InputError(f"output {name} of a model is an array; write it to a file that ends in .npy")
        found[name] = path
    return found


def _named(known: Mapping[str, Any], text: str, what: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals:
        name, path = next(iter(known)), text
    if name not in known:
        raise InputError(f"the model has no {what} '{name}'; it has: {', '.join(known)}")
    return name, Path(path)

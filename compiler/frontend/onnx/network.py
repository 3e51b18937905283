"""A model as one program, or as a chain of programs with the arrays of one layer each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from compiler.frontend.onnx.building import Builder
from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.layers import Elementwise, Layer, Reduction, Value
from compiler.frontend.onnx.lowering import Lowered, lower
from compiler.frontend.onnx.model import read_model
from compiler.frontend.onnx.statements import declare, padded_shape, write_layer
from compiler.ir.names import legal_name
from compiler.ir.narrow import narrow
from compiler.ir.program import Program
from compiler.ir.verify import verify

__all__ = ["Execute", "Network", "Step", "load_network", "run_steps"]

Execute = Callable[[Program, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""What runs a program: an interpreter or a design."""


@dataclass(frozen=True)
class Step:
    """A program of a chain: the values of those of its inputs that are constants, and the padding, with its value, of
    those that the host pads."""

    program: Program
    constants: Mapping[str, np.ndarray]
    padding: Mapping[str, tuple[tuple[tuple[int, int], ...], int]]

    def inputs(self, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All inputs of the program, of arrays by name."""
        found: dict[str, np.ndarray] = {}
        for array in self.program.inputs:
            if array.name in self.constants:
                found[array.name] = self.constants[array.name]
            elif array.name in self.padding:
                pads, value = self.padding[array.name]
                found[array.name] = np.pad(tensors[array.name], pads, constant_values=value)
            else:
                found[array.name] = tensors[array.name]
        return found


@dataclass(frozen=True)
class Network:
    """A model: its layers, inputs and outputs by their names in the model. `remarks`: what is left to the host."""

    name: str
    lowered: Lowered

    @property
    def inputs(self) -> Mapping[str, Value]:
        """By the model's names."""
        return self.lowered.inputs

    @property
    def outputs(self) -> Mapping[str, Value]:
        """By the model's names."""
        return self.lowered.outputs

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is left to the host."""
        return self.lowered.remarks

    @cached_property
    def program(self) -> Program:
        """All layers in one program, with constants as tables."""
        return _built(self.name, self.lowered.layers, self._results(), True, False).program

    def steps(self) -> tuple[Step, ...]:
        """A program for each sum, product or maximum over windows, with what follows it number by number; weights are
        inputs, and the host pads."""
        groups = _grouped(self.lowered.layers)
        needed = [{value.array for layer in group for value in _operands(layer)} for group in groups]
        found: list[Step] = []
        for number, group in enumerate(groups):
            later = set().union(*needed[number + 1:], self._results())
            kept = {layer.y.array for layer in group} & later
            found.append(_built(f"{self.name}_{group[0].name}", group, kept, False, True))
        return tuple(found)

    def _results(self) -> set[str]:
        return {value.array for value in self.outputs.values()}


def load_network(source: str | Path | bytes, **sizes: int) -> Network:
    """The model in a file, or in bytes. `sizes`: extents of dimensions that have a name. Raises `ModelError`."""
    if isinstance(source, bytes):
        return Network("model", lower(read_model(source, "model", sizes)))
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    return Network(legal_name(path.stem), lower(read_model(data, str(path), sizes)))


def run_steps(network: Network, steps: Sequence[Step], inputs: Mapping[str, np.ndarray],
              execute: Execute) -> dict[str, np.ndarray]:
    """The outputs, by their names in the model, with the shapes of the arrays; `inputs` likewise."""
    tensors = {value.array: np.asarray(inputs[name]).reshape(value.stored) for name, value in network.inputs.items()}
    for step in steps:
        tensors |= execute(step.program, step.inputs(tensors))
    return {name: tensors[value.array].reshape(value.shape) for name, value in network.outputs.items()}


def _operands(layer: Layer) -> tuple[Value, ...]:
    return (layer.x,) if isinstance(layer, Reduction) else layer.operands


def _grouped(layers: Sequence[Layer]) -> list[list[Layer]]:
    """A layer that limits the numbers of the one before it goes with that."""
    groups: list[list[Layer]] = []
    for layer in layers:
        follows = isinstance(layer, Elementwise) and layer.sum is None
        if follows and groups and layer.operands[0].array == groups[-1][-1].y.array:
            groups[-1].append(layer)
        else:
            groups.append([layer])
    return groups


def _built(name: str, layers: Sequence[Layer], results: set[str], tables: bool, padded: bool) -> Step:
    """The program of `layers`; `results`: the arrays that are outputs."""
    builder = Builder(name, tables)
    made = {layer.y.array for layer in layers}
    padding: dict[str, tuple[tuple[tuple[int, int], ...], int]] = {}
    for layer in layers:
        for value in _operands(layer):
            shape = None
            if padded and isinstance(layer, Reduction) and layer.padded and value.array not in made:
                shape = padded_shape(layer)
                padding[value.array] = _padding(layer)
            declare(builder, value, "intermediate" if value.array in made else "input", shape)
        declare(builder, layer.y, "output" if layer.y.array in results else "intermediate")
    for number, layer in enumerate(layers):
        write_layer(builder, layer, number, padded and _operands(layer)[0].array in padding)
    program = builder.program()
    verify(program)
    return Step(narrow(program), builder.constants, padding)


def _padding(layer: Reduction) -> tuple[tuple[tuple[int, int], ...], int]:
    pads = [(0, 0)] * len(layer.x.stored)
    for window in layer.padded:
        pads[window.dimension] = window.before, window.behind
    return tuple(pads), layer.zero if layer.kind == "sum" else layer.x.type.minimum

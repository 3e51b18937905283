"""Programs of parallel arrays: named results of expressions, evaluated together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike
from compiler.frontend.parallel_array.element_types import FLOATS
from compiler.frontend.parallel_array.expression import Expression, Input, postorder
from compiler.frontend.parallel_array.location import ArrayError, Location, here
from compiler.frontend.parallel_array.reference import evaluate_reference
from compiler.ir.limits import check_array_bytes

__all__ = ["ArrayProgram", "evaluate", "program", "program_of"]


@dataclass(frozen=True)
class ArrayProgram:
    """`outputs`: expressions by name, in order. Evaluating them shares whatever they have in common."""

    name: str
    outputs: dict[str, Expression]
    location: Location

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """Inputs by name, in the order of their first use. Raises `ArrayError` for two of one name."""
        found: dict[str, Input] = {}
        for node in postorder(list(self.outputs.values())):
            if isinstance(node, Input):
                if node.name in found or node.name in self.outputs:
                    raise node.location.error(f"there is another input or output of the name '{node.name}'")
                found[node.name] = node
        return found

    def check_inputs(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """`inputs` as arrays of the declared shapes, types and ranges. Raises `ArrayError`."""
        for name in inputs:
            if name not in self.inputs:
                known = ", ".join(self.inputs) or "none"
                raise ArrayError(f"program {self.name} has no input '{name}'; inputs: {known}")
        return {name: _checked(node, inputs.get(name, node.data)) for name, node in self.inputs.items()}

    def random_inputs(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Random numbers in its range for every input that the program does not bring itself."""
        return {name: _random(node, generator) for name, node in self.inputs.items() if node.data is None}

    def reference(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs, computed by numpy."""
        return evaluate_reference(self.outputs, self.check_inputs(inputs))


def _random(node: Input, generator: np.random.Generator) -> np.ndarray:
    if node.dtype in FLOATS:
        return np.ldexp(generator.standard_normal(node.shape), generator.integers(-8, 8, node.shape)).astype(node.dtype)
    return generator.integers(node.low, node.high, node.shape, endpoint=True).astype(node.dtype)


def _checked(node: Input, data: Any) -> np.ndarray:
    if data is None:
        raise node.location.error(f"input {node.name} is missing")
    values = np.asarray(data)
    if values.shape != node.shape:
        raise node.location.error(f"input {node.name} has shape {values.shape}, the program needs {node.shape}")
    if node.dtype in FLOATS and values.dtype in (*FLOATS, np.float64, np.float16):
        with np.errstate(invalid="ignore"):
            typed = values.astype(node.dtype)
            kept = (typed.astype(np.float64) == values.astype(np.float64)) | (values != values)
        if not kept.all():
            raise node.location.error(f"input {node.name} holds numbers that {node.dtype} does not")
        return typed
    if node.dtype in FLOATS or values.dtype.kind not in "iub":
        raise node.location.error(f"input {node.name} holds {values.dtype}, the program needs {node.dtype}")
    low, high = int(values.min()), int(values.max())
    if low < node.low or high > node.high:
        worst = low if low < node.low else high
        raise node.location.error(f"input {node.name} holds {worst}, outside {node.low} to {node.high}")
    return values.astype(node.dtype)


def program(name: str, **outputs: ArrayLike) -> ArrayProgram:
    """A program of the given outputs. Raises `ArrayError`, and `ProgramError` for arrays above the budget of bytes."""
    location = here()
    if not outputs:
        raise location.error(f"program {name} has no output")
    expressions = {}
    for key, value in outputs.items():
        if not isinstance(value, Array):
            raise location.error(f"output {key} is no parallel array")
        expressions[key] = value.expression
    made = ArrayProgram(name, expressions, location)
    check_array_bytes({name: (node.shape, 8 * node.dtype.itemsize)
                       for name, node in {**made.inputs, **expressions}.items()})
    return made


def evaluate(outputs: Array | Mapping[str, Array], inputs: Mapping[str, Any] | None = None) -> Any:
    """Values of `outputs` by numpy, the reference: an array for one expression, a dictionary for several.

    `compiler.evaluate` runs the same on the vector processor. Raises `ArrayError`.
    """
    whole = program_of(outputs)
    found = whole.reference(inputs or {})
    return found["result"] if isinstance(outputs, Array) else found


def program_of(outputs: Array | Mapping[str, Array]) -> ArrayProgram:
    """A program of one expression, whose output is called "result", or of several by their names."""
    return program("program", **({"result": outputs} if isinstance(outputs, Array) else dict(outputs)))

"""Translation validation of a finished vector program: the instructions that are emitted, run on the instruction-level
reference machine, against the reference interpreter of the program as it was written.

Types, widths and signs are those of the decoded instructions and their meaning in `hw.vector_lanes`; nothing is shared
with the passes that chose them. It is a comparison on examples: words at the limits of their types, random and small
ones. Examples for which the program itself is not defined (an index outside a table) say nothing. Programs of more than
`_CYCLES` predicted cycles are too long to run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.float_values import as_words
from compiler.frontend.parallel_array.element_types import FLOAT32
from compiler.frontend.parallel_array.expression import Input
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from compiler.sched.verify import ValidationError
from hw.vector_lanes.streams import random_floats

__all__ = ["validate_design"]

_CYCLES = 100_000
_SEED = 26
_SMALL = 4
"""Small words are below, in magnitude."""

Words = Mapping[str, np.ndarray]


def validate_design(design: VectorDesign) -> VectorDesign:
    """The design itself. Raises `ValidationError` if the machine finds something else than the reference."""
    if design.predicted_cycles > _CYCLES:
        return design
    for inputs in _examples(design.arrays):
        try:
            wanted = _reference(design.program, inputs)
        except ProgramError:
            continue
        _compare(design, design.execute(inputs), wanted)
    return design


def _reference(program: Program | ArrayProgram, inputs: Words) -> Words:
    return interpret(program, inputs) if isinstance(program, Program) else program.reference(inputs)


def _examples(arrays: ArrayProgram) -> Iterator[Words]:
    """Words for all inputs that the program does not bring itself: corners, random ones, small ones."""
    generator = np.random.default_rng(_SEED)
    nodes = {name: node for name, node in arrays.inputs.items() if node.data is None}
    if not nodes:
        yield {}
        return
    yield {name: _extreme(node, generator) for name, node in nodes.items()}
    yield arrays.random_inputs(generator)
    yield {name: np.asarray(generator.integers(max(node.low, -_SMALL), min(node.high, _SMALL), node.shape,
                                               endpoint=True)).astype(node.dtype) for name, node in nodes.items()}


def _extreme(node: Input, generator: np.random.Generator) -> np.ndarray:
    if node.dtype == FLOAT32:
        return random_floats(generator, prod(node.shape)).view(FLOAT32).reshape(node.shape)
    return generator.choice(_corners(node.low, node.high), node.shape).astype(node.dtype)


def _corners(low: int, high: int) -> np.ndarray:
    return np.array(sorted({word for word in (low, high, low + 1, high - 1, -1, 0, 1) if low <= word <= high}))


def _compare(design: VectorDesign, found: Words, wanted: Words) -> None:
    for name, values in wanted.items():
        wrong = np.argwhere(as_words(np.asarray(found[name])) != as_words(np.asarray(values)))
        if len(wrong):
            index = tuple(map(int, wrong[0]))
            raise ValidationError(f"vector program {design.code.name}: element {index} of '{name}' is "
                                  f"{found[name][index]} on the machine, the program means {values[index]}")

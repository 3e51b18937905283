"""Constant arrays of a pipeline, as tables that expressions look up.

These are the Buffers that it brings along, and those Funcs without inputs that are read at places which data decide,
that call functions without hardware, or whose few elements need functions with large hardware: their elements are
computed by Halide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from compiler.frontend.halide.drafts import Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Evaluator, Value
from compiler.frontend.halide.memories import flat_index, needed_box
from compiler.frontend.halide.names import legal_names, plain
from compiler.frontend.halide.nodes import Constants, HalideType, Node, Pipeline, nodes_of
from compiler.frontend.halide.rounding import FLOAT_FUNCTIONS, LARGE_FUNCTIONS
from compiler.frontend.halide.types import number_type
from compiler.ir.expr import Const, Expr, Lookup
from compiler.ir.floating import encode
from compiler.ir.program import Table
from compiler.ir.types import BIT, Float

__all__ = ["Realise", "Tables", "elements"]

Realise = Callable[[str, int, Region], np.ndarray]
"""The elements of a component of a Func in a box, in numpy's order. Raises `PipelineError`."""
_FEW_WORDS = 1024
"""What a block RAM or two hold, which are less than an operator for an exponential or a root."""


class Tables:
    """The constant arrays, each a table once it is looked up."""

    def __init__(self, pipeline: Pipeline, realise: Realise) -> None:
        self._pipeline, self._realise = pipeline, realise
        self._used: dict[tuple, Table] = {}
        self._constant: dict[str, bool] = {}
        self._calling: dict[tuple[str, Callable[[Node], bool]], bool] = {}

    def used(self) -> tuple[Table, ...]:
        """The tables that were looked up."""
        return tuple(self._used.values())

    def is_needed(self, name: str) -> bool:
        """Whether a Func can only be a table: it has no input, and calls something without hardware."""
        return self._calls(name, _is_unusual) and self._is_constant(name)

    def is_smaller(self, node: Node, args: Sequence[Value], reader: Evaluator) -> bool:
        """Whether a table of the elements that a call needs is smaller than hardware that computes them."""
        return (node.name in self._pipeline.funcs and self._calls(node.name, _is_large)
                and self._is_constant(node.name) and all(arg.index is not None for arg in args)
                and prod(last - first + 1 for first, last in needed_box(node.name, args, reader)) <= _FEW_WORDS)

    def _calls(self, name: str, wanted: Callable[[Node], bool]) -> bool:
        """Whether the definition of a Func, or of those that it calls, has a node that is `wanted`."""
        key = (name, wanted)
        if key not in self._calling:
            self._calling[key] = False
            self._calling[key] = any(
                wanted(node) or (node.op == "halide" and node.name in self._pipeline.funcs
                                 and self._calls(node.name, wanted)) for node in nodes_of(self._pipeline.funcs[name]))
        return self._calling[key]

    def _is_constant(self, name: str) -> bool:
        if name not in self._constant:
            self._constant[name] = True
            func = self._pipeline.funcs.get(name)
            self._constant[name] = func is not None and not func.extern and not any(
                node.param or (node.op == "halide" and not self._is_constant(node.name)) for node in nodes_of(func))
        return self._constant[name]

    def lookup(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """The element of a constant array, None if `node` accesses something else."""
        if node.op == "image" and node.image in self._pipeline.buffers:
            buffer = self._pipeline.buffers[node.image]
            box = [(first, first + extent - 1) for first, extent in zip(buffer.mins, buffer.extents, strict=True)]
            _check_inside(node.image, needed_box(node.image, args, reader), box)
            return self._element(node, args, box, lambda: elements(buffer))
        if node.op == "halide" and self._is_constant(node.name) and node.name not in self._pipeline.outputs and (
                self.is_needed(node.name) or any(arg.index is None for arg in args)
                or self.is_smaller(node, args, reader)):
            box = needed_box(node.name, args, reader)
            return self._element(node, args, box, lambda: self._realise(node.name, node.index, box))
        return None

    def _element(self, node: Node, args: Sequence[Value], box: Region, values: Callable[[], np.ndarray]) -> Expr:
        key = (node.op, node.name, node.index, *box)
        if key not in self._used:
            self._used[key] = self._table(plain(node.image or node.name), node.type, values())
        table = self._used[key]
        index = flat_index([arg.expr for arg in args], box)
        return Const(table.values[index.value], table.type) if isinstance(index, Const) else \
            Lookup(table.name, index, table.type)

    def _table(self, name: str, kind: HalideType, values: np.ndarray) -> Table:
        type = number_type(kind)
        if type == BIT:
            raise PipelineError(f"the constants '{name}' are bool: make them uint8")
        words = encode(type, values.ravel()) if isinstance(type, Float) else values.ravel()
        (legal,) = legal_names([f"{name}_table{len(self._used) or ''}"]).values()
        return Table(legal, tuple(map(int, words)), type)


def _check_inside(name: str, want: Region, have: Region) -> None:
    for dimension, (wanted, given) in enumerate(zip(want, have, strict=True)):
        if wanted[0] < given[0] or wanted[1] > given[1]:
            raise PipelineError(f"it reads buffer '{name}' from {wanted[0]} to {wanted[1]} in dimension {dimension}, "
                                f"which has elements {given[0]} to {given[1]}: clamp the index")


def _is_unusual(node: Node) -> bool:
    """Whether there is no hardware for a node."""
    return (node.op == "extern" and node.name not in FLOAT_FUNCTIONS) or \
        (node.type.code == "float" and node.type.bits != 32)


def _is_large(node: Node) -> bool:
    """Whether the hardware of a node is large."""
    return node.op == "extern" and node.name in LARGE_FUNCTIONS


def elements(buffer: Constants) -> np.ndarray:
    """The elements of a Buffer in numpy's order, the reverse of Halide's. Raises `PipelineError` if it is damaged."""
    type = number_type(buffer.type)
    dtype = np.dtype(np.uint8) if type == BIT else type.dtype
    data = np.frombuffer(buffer.data[:len(buffer.data) // dtype.itemsize * dtype.itemsize], dtype)
    reach = 1 + sum((extent - 1) * stride for extent, stride in zip(buffer.extents, buffer.strides, strict=True))
    if min(buffer.extents, default=1) < 1 or min(buffer.strides, default=0) < 0 or reach > len(data):
        raise PipelineError(f"the serialised pipeline is damaged: buffer '{buffer.name}' has too few elements")
    strides = tuple(stride * dtype.itemsize for stride in reversed(buffer.strides))
    return np.lib.stride_tricks.as_strided(data, tuple(reversed(buffer.extents)), strides, writeable=False)



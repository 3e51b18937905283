"""Constant arrays of a pipeline, as tables that expressions look up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.frontend.c_scop import building
from compiler.frontend.halide import arithmetic
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Evaluator, Value
from compiler.frontend.halide.names import legal_names
from compiler.frontend.halide.nodes import Constants, Node, Pipeline
from compiler.frontend.halide.types import INDEX, number_type
from compiler.ir.expr import Const, Expr, Lookup
from compiler.ir.floating import encode
from compiler.ir.program import Table
from compiler.ir.types import BIT, Float

__all__ = ["Tables", "elements"]


class Tables:
    """The Buffers that a pipeline brings along, each a table once it is looked up."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._buffers = pipeline.buffers
        self._names = legal_names(pipeline.buffers, taken=legal_names(pipeline.funcs).values())
        self._used: dict[str, Table] = {}

    def used(self) -> tuple[Table, ...]:
        """The tables that were looked up."""
        return tuple(self._used.values())

    def lookup(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """The element of a Buffer, None if `node` accesses something else."""
        buffer = self._buffers.get(node.image) if node.op == "image" else None
        if buffer is None:
            return None
        index: Expr = Const(0, INDEX)
        for arg, first, extent in reversed(list(zip(args, buffer.mins, buffer.extents, strict=True))):
            index = _next(index, extent, _from(first, arg.expr))
        low, high = reader.range(index)
        table = self._table(buffer)
        if isinstance(index, Const) and 0 <= index.value < len(table.values):
            return Const(table.values[index.value], table.type)
        if any(arg.index is None for arg in args) and (low < 0 or high >= len(table.values)):
            raise PipelineError(f"it reads buffer '{node.image}' of {len(table.values)} elements at {low} to {high}: "
                                "clamp the index")
        return Lookup(table.name, index, table.type)

    def _table(self, buffer: Constants) -> Table:
        if buffer.name not in self._used:
            type = number_type(buffer.type)
            if type == BIT:
                raise PipelineError(f"buffer '{buffer.name}' holds bool: make it uint8")
            values = elements(buffer).ravel()
            words = encode(type, values) if isinstance(type, Float) else values
            self._used[buffer.name] = Table(self._names[buffer.name], tuple(map(int, words)), type)
        return self._used[buffer.name]


def _next(index: Expr, extent: int, coordinate: Expr) -> Expr:
    if index == Const(0, INDEX):
        return coordinate
    return building.apply("add", building.apply("mul", index, arithmetic.constant(extent, INDEX)), coordinate)


def _from(first: int, coordinate: Expr) -> Expr:
    return coordinate if first == 0 else building.apply("sub", coordinate, arithmetic.constant(first, INDEX))


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

"""Expressions of float32 as operations on words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from compiler.bind.vector.access import Access, compose, identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_sums import MOST_TERMS
from compiler.bind.vector.float_words import SIGN, WORD, WORD_RANGES
from compiler.bind.vector.graph import Node, Op, Value, nodes_of
from compiler.frontend.parallel_array.element_types import FLOAT32
from compiler.frontend.parallel_array.expression import Apply, Reduce
from hw.vector_lanes.spec import VectorSpec

__all__ = ["as_words", "check_lanes", "float_reduction", "float_value", "stored"]

def stored(dtype: np.dtype) -> np.dtype:
    """The type of words that hold elements."""
    return WORD if dtype == FLOAT32 else dtype


def as_words(data: np.ndarray) -> np.ndarray:
    """Numbers as words."""
    return np.ascontiguousarray(data).reshape(data.shape).view(WORD) if data.dtype == FLOAT32 else data


def float_value(expression: Apply, operands: Sequence[Value], kinds: Sequence[np.dtype],
                builder: GraphBuilder) -> Value:
    """An operation that takes or gives float32."""
    rank, where, kind = len(expression.shape), expression.location, stored(expression.dtype)

    def make(operation: str, *values: Value) -> Value:
        return builder.operation(operation, values, kind, where, rank)

    match expression.operation:
        case "where":
            return make("where", *(v if k == FLOAT32 or n == 0 or expression.dtype != FLOAT32 else make("float_of", v)
                                   for n, (v, k) in enumerate(zip(operands, kinds, strict=True))))
        case "negative":
            return make("bitwise_xor", operands[0], SIGN)
        case "absolute":
            return make("bitwise_and", operands[0], ~SIGN)
        case "convert":
            if kinds[0] != FLOAT32:
                return make("float_of", operands[0])
            return make("float_to_uint" if expression.dtype == np.uint32 else "float_to_int", operands[0])
    numbers = [value if k == FLOAT32 else builder.operation("float_of", [value], WORD, where, rank)
               for value, k in zip(operands, kinds, strict=True)]
    return make(f"float_{expression.operation}", *numbers)


def float_reduction(expression: Reduce, source: Value, extents: Sequence[int], builder: GraphBuilder) -> Value:
    """Elements combined one after the other. Raises `VectorTargetError` for more than `MOST_TERMS`."""
    rank, count = len(expression.shape), int(np.prod(extents))
    if count > MOST_TERMS:
        raise VectorTargetError(f"{expression.location}: a sum of {count} float32 in order; the vector target adds up "
                                f"to {MOST_TERMS}: sum up parts of the array, and then these")
    name = f"float_{expression.operation}"
    total: Value | None = None
    for place in itertools.product(*(range(n) for n in extents)):
        term = source
        if isinstance(source, Access):
            matrix = (*identity(rank), *((0,) * rank for _ in extents))
            term = _inlined(compose(source, matrix, (*(0,) * rank, *place), rank), rank, builder)
        total = term if total is None else builder.operation(name, (total, term), WORD, expression.location, rank)
    assert total is not None
    return total


def _inlined(access: Access, rank: int, builder: GraphBuilder) -> Value:
    """The operation behind `access` as one of the space that it is read from, and so on."""
    node = access.node
    if not isinstance(node, Op) or node.operation == "copy" or access.is_translation(rank):
        return access
    operands = [_inlined(compose(o, access.matrix, access.offset, rank), rank, builder) if isinstance(o, Access) else o
                for o in node.operands]
    return builder.operation(node.operation, operands, node.dtype, node.location, rank)


def check_lanes(results: Iterable[Node], spec: VectorSpec) -> None:
    """Raises `VectorTargetError` for operations on floating-point numbers that the lanes do not have."""
    if spec.float32:
        return
    for node in nodes_of(results):
        if isinstance(node, Op) and node.operation in WORD_RANGES:
            raise VectorTargetError(f"{node.location}: {node.operation.removeprefix('float_')} of float32 needs "
                                    "floating-point lanes: give the option float32 (float32=True, --option "
                                    "float32=true)")

"""Expressions of float32 and bfloat16 as operations on words and halfwords."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.bind.vector.access import Access, compose, identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_sums import MOST_TERMS
from compiler.bind.vector.float_words import WORD_RANGES, is_half, sign_of
from compiler.bind.vector.graph import FUSED_ADDS, Node, Op, Value, nodes_of
from compiler.bind.vector.inlining import inlined
from compiler.frontend.parallel_array.element_types import BFLOAT16, FLOAT32, FLOATS
from compiler.frontend.parallel_array.expression import Apply, Reduce
from compiler.frontend.parallel_array.location import Location
from compiler.frontend.parallel_array.reference import OF_FLOATS
from hw.vector_lanes.spec import VectorSpec

__all__ = ["as_words", "check_lanes", "float_reduction", "float_value", "stored"]


def stored(dtype: np.dtype) -> np.dtype:
    """The type of the integers that hold elements."""
    return np.dtype(f"i{dtype.itemsize}") if dtype in FLOATS else dtype


def as_words(data: np.ndarray) -> np.ndarray:
    """Numbers as integers."""
    return np.ascontiguousarray(data).reshape(data.shape).view(stored(data.dtype)) if data.dtype in FLOATS else data


def _prefix(kind: np.dtype) -> str:
    return "bfloat_" if kind == BFLOAT16 else "float_"


@dataclass(frozen=True)
class _Place:
    """Makes operations at one place of the program."""

    builder: GraphBuilder
    where: Location
    rank: int

    def make(self, operation: str, kind: np.dtype, *values: Value) -> Value:
        return self.builder.operation(operation, values, stored(kind), self.where, self.rank)

    def converted(self, value: Value, source: np.dtype, kind: np.dtype) -> Value:
        """`value` of type `source` in type `kind`, one of which is one of `FLOATS`."""
        if source == kind:
            return value
        if source not in FLOATS:
            return self.make(f"{_prefix(kind)}of", kind, value)
        if kind == BFLOAT16:
            return self.make("bfloat_round", kind, value)
        if kind == FLOAT32:
            return self.make("left_shift", kind, self.make("convert", kind, value), 16)
        return self.make(_prefix(source) + ("to_uint" if kind == np.uint32 else "to_int"), kind, value)


def float_value(expression: Apply, operands: Sequence[Value], kinds: Sequence[np.dtype],
                builder: GraphBuilder) -> Value:
    """An operation that takes or gives float32 or bfloat16."""
    place = _Place(builder, expression.location, len(expression.shape))
    kind, name = expression.dtype, expression.operation
    if name == "convert":
        return place.converted(operands[0], kinds[0], kind)
    if name == "where":
        values = [place.converted(value, source, kind) if kind in FLOATS else value
                  for value, source in zip(operands[1:], kinds[1:], strict=True)]
        return place.make("where", kind, operands[0], *values)
    if name in OF_FLOATS:
        raise VectorTargetError(f"{expression.location}: unsupported operation: the vector processor has no {name} of "
                                "floating-point numbers; multiply by a reciprocal, look results up in a table, or take "
                                "the target dataflow or fpga")
    compute = next(k for k in FLOATS if k in (expression.compute, *kinds))
    if name in ("negative", "absolute"):
        sign = sign_of(compute == BFLOAT16)
        logic, mask = ("bitwise_xor", sign) if name == "negative" else ("bitwise_and", ~sign)
        return place.make(logic, kind, operands[0], mask)
    numbers = [place.converted(value, source, compute) for value, source in zip(operands, kinds, strict=True)]
    if name == "fma":
        numbers = [numbers[2], *numbers[:2]]
    return place.make(_prefix(compute) + name, kind, *numbers)


def float_reduction(expression: Reduce, source: Value, extents: Sequence[int], builder: GraphBuilder) -> Value:
    """Elements combined one after the other. Raises `VectorTargetError` for more than `MOST_TERMS`."""
    rank, count = len(expression.shape), int(np.prod(extents))
    if count > MOST_TERMS:
        raise VectorTargetError(f"{expression.location}: a sum of {count} {expression.dtype} in order; the vector "
                                f"target adds up to {MOST_TERMS}: sum up parts of the array, and then these")
    name, kind = _prefix(expression.dtype) + expression.operation, stored(expression.dtype)
    total: Value | None = None
    for place in itertools.product(*(range(n) for n in extents)):
        term = source
        if isinstance(source, Access):
            matrix = (*identity(rank), *((0,) * rank for _ in extents))
            term = inlined(compose(source, matrix, (*(0,) * rank, *place), rank), rank, builder)
        total = term if total is None else builder.operation(name, (total, term), kind, expression.location, rank)
    assert total is not None
    return total


def check_lanes(results: Iterable[Node], spec: VectorSpec) -> None:
    """Raises `VectorTargetError` for operations on floating-point numbers that the lanes do not have."""
    for node in nodes_of(results):
        if not isinstance(node, Op) or node.operation not in WORD_RANGES:
            continue
        option = "bfloat16" if is_half(node.operation) else "float32"
        if not getattr(spec, option):
            name = node.operation.partition("_")[2]
            raise VectorTargetError(f"{node.location}: {name} of {option} needs floating-point lanes: give the option "
                                    f"{option} ({option}=True, --option {option}=true)")
        if node.operation in FUSED_ADDS and not spec.fma:
            raise VectorTargetError(f"{node.location}: fma of {option} needs lanes with fused multiply-add: give the "
                                    "option fma (fma=True, --option fma=true)")

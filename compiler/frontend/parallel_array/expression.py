"""Expressions of parallel arrays: an immutable graph that records what was written, where, with which shape and type.

Nothing is computed when an expression is built. Every transform of memory (section, shift, transpose, window,
broadcast) is one node, `View`: an affine map from indices of the result to indices of the source, with a rule for
indices that fall outside (Liu 2012, section 2.3, has a function for each).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.parallel_array.location import Location

__all__ = ["CLAMP", "WRAP", "Apply", "Assembly", "Boundary", "Expression", "Input", "Literal", "Matrix", "Place",
           "Reduce", "Scan", "Scatter", "Stretch", "Take", "View", "default", "postorder"]

Matrix = tuple[tuple[int, ...], ...]
"""A row per dimension of the source, a column per dimension of the result."""


@dataclass(frozen=True)
class Boundary:
    """What an index outside an array means: "wrap" it around, "clamp" it to the edge, or a "default" value instead."""

    kind: str
    value: int = 0

    def __str__(self) -> str:
        return f"default({self.value})" if self.kind == "default" else self.kind


WRAP = Boundary("wrap")
CLAMP = Boundary("clamp")


def default(value: int) -> Boundary:
    """Outside the array, every element is `value`."""
    return Boundary("default", int(value))


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """`shape` in elements, `dtype` one of `element_types.TYPES`."""

    shape: tuple[int, ...]
    dtype: np.dtype
    location: Location

    @property
    def sources(self) -> tuple[Expression, ...]:
        """Expressions that this one is computed from."""
        return ()

    def __repr__(self) -> str:
        """The node alone: what is below it may be reached in exponentially many ways."""
        return f"{type(self).__name__}{list(self.shape)} of {self.dtype} in {self.location}"


@dataclass(frozen=True, eq=False, repr=False)
class Input(Expression):
    """An array given at evaluation, or `data` given already. Elements are promised to be in `low`..`high`."""

    name: str
    low: int
    high: int
    data: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expression):
    """Numbers known when the expression is built; 0-D for scalars. `weak`: a Python integer, whose type adapts."""

    value: np.ndarray
    weak: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Apply(Expression):
    """`operation` of each element of the operands, which have the shape of the result or are scalars (0-D).

    Operands are taken in type `compute`; the result wraps to it, then to `dtype`.
    """

    operation: str
    operands: tuple[Expression, ...]
    compute: np.dtype

    @property
    def sources(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, eq=False, repr=False)
class View(Expression):
    """Element i is the source's element ``matrix @ i + offset``; `boundaries` has one entry per source dimension."""

    source: Expression
    matrix: Matrix
    offset: tuple[int, ...]
    boundaries: tuple[Boundary | None, ...]

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, repr=False)
class Stretch(Expression):
    """Every element repeated `factors` times along each dimension: element i is the source's element i // factors."""

    source: Expression
    factors: tuple[int, ...]

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.source,)


@dataclass(frozen=True)
class Place:
    """Where a part lies: its first element, and steps from neighbour to neighbour, per dimension."""

    first: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Assembly(Expression):
    """An array of parts: element i of a part is element ``first + i * steps`` of the whole, with a `Place` for each
    part. Every element belongs to one part."""

    parts: tuple[Expression, ...]
    places: tuple[Place, ...]

    @property
    def sources(self) -> tuple[Expression, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, repr=False)
class Take(Expression):
    """Element i is entry ``index[i]`` of a 1-D `table`; negative indices count from its end. `inside`: by the way that
    they are computed, all indices are entries, and none is negative."""

    table: Expression
    index: Expression
    inside: bool

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.table, self.index)


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Expression):
    """The 1-D array `base` in which element ``index[i]``, for every i in row-major order, becomes ``value[i]``, or with
    `adds` is increased by it. Indices outside `base`, negative ones too, do nothing."""

    base: Expression
    index: Expression
    value: Expression
    adds: bool

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.base, self.index, self.value)


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Expression):
    """`operation` ("add", "minimum", "maximum") along the last `count` dimensions of the source, in `dtype`."""

    operation: str
    source: Expression
    count: int

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Expression):
    """Along the last dimension, `operation` ("add", "minimum", "maximum") of the source's elements up to each one, from
    the first on."""

    operation: str
    source: Expression

    @property
    def sources(self) -> tuple[Expression, ...]:
        return (self.source,)


def postorder(roots: Sequence[Expression]) -> Iterator[Expression]:
    """Every expression that the roots need, once, sources first."""
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((source, False) for source in reversed(node.sources) if id(source) not in seen)

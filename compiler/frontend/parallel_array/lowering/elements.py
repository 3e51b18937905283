"""Which element of which expression an iteration needs: indices as functions of the loops around a statement.

An expression that has no array is looked through: its element at some indices is made of elements of its sources, whose
indices follow from them. Views disappear there (`compiler.frontend.parallel_array.expression.View`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import islpy as isl

from compiler.frontend.affine_functions import Space, chosen, hull, quotient, remainder
from compiler.frontend.parallel_array.expression import Apply, Boundary, Expression, Stretch, Take, View

__all__ = ["Element", "Loops", "Outside"]

_NAMES = ("i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t")
_MOST_TURNS = 4
"""How often an index may wrap around and still be affine part by part."""


@dataclass(frozen=True, eq=False)
class Loops:
    """The loops around a statement: their iterators, outermost first, which run from 0 up to `extents`, or through the
    part `region` of these iterations. Elements of one expression at the same indices are one object."""

    iterators: tuple[str, ...]
    extents: tuple[int, ...]
    region: isl.Set | None = None
    known: dict[tuple[int, tuple[str, ...]], Element] = field(default_factory=dict)

    @classmethod
    def around(cls, shape: tuple[int, ...]) -> Loops:
        """Loops over all elements of an array."""
        return cls(_NAMES[: len(shape)], shape)

    def within(self, region: isl.Set) -> Loops:
        """The same loops, through a part of their iterations."""
        return Loops(self.iterators, self.extents, region)

    def first(self, count: int) -> Loops:
        """The outer ones alone."""
        return Loops(self.iterators[:count], self.extents[:count])

    @cached_property
    def space(self) -> Space:
        """That of the functions of iterators."""
        return Space(self.iterators)

    @cached_property
    def domain(self) -> isl.Set:
        """Every iteration."""
        if self.region is not None:
            return self.region
        return self.space.box({name: (0, n - 1) for name, n in zip(self.iterators, self.extents, strict=True)})

    @cached_property
    def identity(self) -> tuple[isl.PwAff, ...]:
        """The iterators as indices."""
        return tuple(map(self.space.iterator, self.iterators))

    @property
    def later(self) -> tuple[isl.PwAff, ...]:
        """The iterators, the last one increased by 1."""
        return (*self.identity[:-1], self.identity[-1].add(self.space.constant(1)))

    @property
    def iterations(self) -> int:
        """How many there are."""
        return prod(self.extents)

    def element(self, node: Expression, indices: Sequence[isl.PwAff]) -> Element:
        """The element of `node` at `indices`."""
        coalesced = tuple(index.coalesce() for index in indices)
        key = (id(node), tuple(map(str, coalesced)))
        if key not in self.known:
            self.known[key] = Element(node, coalesced, self, key[1])
        return self.known[key]


@dataclass(frozen=True, eq=False)
class Element:
    """The element of `node` at `indices`, functions of the iterators of `loops`; `text`: these, to compare them by."""

    node: Expression
    indices: tuple[isl.PwAff, ...]
    loops: Loops
    text: tuple[str, ...]

    @property
    def sources(self) -> tuple[Element, ...]:
        """The elements that it is made of, in the order of its expression's sources. The table of a `Take` is not among
        them: which of its entries, data decide; nor is the source of a view that no iteration finds inside."""
        return self._sources[0]

    @property
    def outside(self) -> tuple[Outside, ...]:
        """What a view says of indices outside, the first one first."""
        return self._sources[1]

    @cached_property
    def _sources(self) -> tuple[tuple[Element, ...], tuple[Outside, ...]]:
        return _sources_of(self)


@dataclass(frozen=True)
class Outside:
    """Where an index of a view is `inside` its source, and the number that the element has elsewhere."""

    inside: isl.Set
    value: int


def _sources_of(element: Element) -> tuple[tuple[Element, ...], tuple[Outside, ...]]:
    node, loops = element.node, element.loops
    match node:
        case View():
            indices, outside = _viewed(node, element)
            if any(each.inside.is_empty() for each in outside):
                return (), outside
            return (loops.element(node.source, indices),), outside
        case Stretch():
            pairs = zip(element.indices, node.factors, strict=True)
            return (loops.element(node.source, [quotient(index, factor) for index, factor in pairs]),), ()
        case Apply():
            return tuple(loops.element(source, element.indices if source.shape else ())
                         for source in node.operands), ()
        case Take():
            return (loops.element(node.index, element.indices if node.index.shape else ()),), ()
    return (), ()


def _viewed(view: View, element: Element) -> tuple[list[isl.PwAff], tuple[Outside, ...]]:
    """Indices of the source of a view, all inside of it."""
    space, domain = element.loops.space, element.loops.domain
    indices, outside = [], []
    for row, offset, boundary, size in zip(view.matrix, view.offset, view.boundaries, view.source.shape, strict=True):
        index = space.constant(offset)
        for factor, one in zip(row, element.indices, strict=True):
            if factor:
                index = index.add(one.scale_val(isl.Val(factor)))
        if boundary is not None and boundary.kind == "default":
            inside = index.ge_set(space.constant(0)) & index.le_set(space.constant(size - 1))
            outside.append(Outside(inside & domain, boundary.value))
        indices.append(_bounded(index, boundary, size, element.loops))
    return indices, tuple(outside)


def _bounded(index: isl.PwAff, boundary: Boundary | None, size: int, loops: Loops) -> isl.PwAff:
    """`index` inside a dimension of `size` elements."""
    space = loops.space
    ends = hull(isl.Map.from_pw_aff(index).intersect_domain(loops.domain).range())
    assert ends is not None
    low, high = ends[0]
    if boundary is None or (low >= 0 and high < size):
        return index
    if boundary.kind == "wrap":
        return _wrapped(index, size, range(low // size, high // size + 1), space)
    return index.max(space.constant(0)).min(space.constant(size - 1))


def _wrapped(index: isl.PwAff, size: int, turns: range, space: Space) -> isl.PwAff:
    """`index` modulo `size`, of which it makes these `turns`."""
    if len(turns) > _MOST_TURNS:
        return remainder(index, size)
    result = index.sub(space.constant(turns[-1] * size))
    for turn in reversed(turns[:-1]):
        below = index.lt_set(space.constant((turn + 1) * size))
        result = chosen(below, index.sub(space.constant(turn * size)), result)
    return result

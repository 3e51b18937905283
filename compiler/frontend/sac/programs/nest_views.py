"""What loops of a nest take of arrays: parts whose places are sums of the iterators of all loops around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.ddcf.graph import Constant, Edge, Node, Operand
from compiler.frontend.sac.passes.rewrite import Rebuilt
from compiler.frontend.sac.programs.addresses import Affine
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import SIZE, Scalar, Type

__all__ = ["Spot", "View", "emit_spot", "whole"]


@dataclass(frozen=True)
class Spot:
    """An index: a sum of iterators by number, and what a node computes besides."""

    known: Affine
    computed: Operand | None = None

    def plus(self, other: Spot, step: int = 1) -> Spot | None:
        """This and `step` times the other one; None if both, or a multiple, are computed."""
        if other.computed is not None and (self.computed is not None or step != 1):
            return None
        return Spot(self.known.plus(other.known.times(step)), self.computed or other.computed)


@dataclass(frozen=True)
class View:
    """Part of an `array`: where it begins in each dimension, the step in those that it has itself (0 in others), its
    own extents, and the type that its elements are cast to one after the other."""

    array: Operand
    starts: tuple[Spot, ...]
    steps: tuple[int, ...]
    extents: tuple[int, ...]
    casts: tuple[Scalar, ...] = ()

    def part(self, spots: Sequence[Spot], steps: Sequence[int], extents: Sequence[int]) -> View | None:
        """The part that begins at `spots` of it and has steps in some dimensions (0 in others); None if a place is no
        sum."""
        given = iter(zip(spots, steps, strict=True))
        starts, strides = [], []
        for start, step in zip(self.starts, self.steps, strict=True):
            spot, stride = next(given) if step else (Spot(Affine(0)), 0)
            moved = start.plus(spot, step) if step else start
            if moved is None:
                return None
            starts.append(moved)
            strides.append(step * stride)
        return replace(self, starts=tuple(starts), steps=tuple(strides), extents=tuple(extents))

    def cast(self, scalar: Scalar) -> View:
        """The same with elements of another type."""
        return replace(self, casts=(*self.casts, scalar))

    def element(self, body: Rebuilt, place: Place | None) -> Operand:
        """What a view without dimensions is: nodes of `body`."""
        assert not any(self.steps)
        indices = tuple(emit_spot(body, spot, place) for spot in self.starts)
        scalar = body.type(self.array).scalar
        pattern = (("pattern", "." * len(indices)),)
        (found,) = body.add(Node("AREF", (self.array, *indices), (Type(scalar),), pattern, (), place))
        for each in self.casts:
            (found,) = body.add(Node("CAST", (found,), (Type(each),), (), (), place))
        return found


def whole(array: Operand, extents: Sequence[int]) -> View:
    """All of an array."""
    return View(array, (Spot(Affine(0)),) * len(extents), (1,) * len(extents), tuple(extents))


def emit_spot(body: Rebuilt, spot: Spot, place: Place | None) -> Operand:
    """Nodes that compute an index from the iterators, which node 0 of `body` gives."""
    terms: list[Operand] = [_scaled(body, k, factor, place) for k, factor in spot.known.factors]
    if spot.computed is not None:
        terms.append(_sized(body, spot.computed, place))
    found = terms[0] if terms else Constant(spot.known.constant % (1 << 32), SIZE)
    for term in terms[1:]:
        found = _joined(body, "ADD", found, term, place)
    constant = spot.known.constant
    if terms and constant:
        found = _joined(body, "ADD" if constant > 0 else "SUB", found, Constant(abs(constant), SIZE), place)
    return found


def _scaled(body: Rebuilt, iterator: int, factor: int, place: Place | None) -> Operand:
    edge = Edge(0, iterator)
    return edge if factor == 1 else _joined(body, "MUL", edge, Constant(factor, SIZE), place)


def _sized(body: Rebuilt, operand: Operand, place: Place | None) -> Operand:
    """An index in the type that indices have: what is negative is beyond all extents."""
    if body.type(operand).scalar == SIZE:
        return operand
    return body.add(Node("CAST", (operand,), (Type(SIZE),), (), (), place))[0]


def _joined(body: Rebuilt, kind: str, left: Operand, right: Operand, place: Place | None) -> Operand:
    return body.add(Node(kind, (left, right), (Type(SIZE),), (), (), place))[0]

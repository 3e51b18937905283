"""The data-flow graph of a program: nodes over unbounded index spaces, each the same at every index.

Views are gone: they live in the accesses between nodes. A node that is the shifted copy of another *is* the other,
read at an offset, so equal subexpressions are found across shifts: min(x[1:], y[1:]) is min(x, y) one element on.
Values are integers, not bit patterns: `dtype` says to which type a node's result wraps, `low` and `high` bound it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.bind.vector.access import Access, Box, compose, whole
from compiler.frontend.parallel_array.expression import Boundary
from compiler.frontend.parallel_array.location import Location

__all__ = ["FUSED_ADDS", "MULTIPLY_ADDS", "Extend", "Leaf", "Node", "Op", "Part", "Reduce", "Scatter", "Stretch",
           "Take", "Value", "nodes_of", "seen_from", "tables_of"]

FUSED_ADDS = ("float_fma", "bfloat_fma")
"""Those of `MULTIPLY_ADDS` that round once."""

MULTIPLY_ADDS = ("multiply_add", "float_multiply_add", "bfloat_multiply_add", *FUSED_ADDS)
"""Operations that add a product to operand 0, which lies where the result goes."""


@dataclass(frozen=True, eq=False)
class Node:
    """`number` orders nodes by creation, so sources come first."""

    number: int
    rank: int
    dtype: np.dtype
    low: int
    high: int
    location: Location

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The vectors that it reads."""
        return ()

    def __repr__(self) -> str:
        return f"%{self.number}"


Value = Access | int
"""An operand: a node at some place, or a number."""


@dataclass(frozen=True)
class Part:
    """Which elements of an array in memory a leaf or a result is: every `steps`-th from `first` on, of an array of
    `shape`. `order`: which dimension of the array each dimension of these is, if not the same one."""

    shape: tuple[int, ...]
    first: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...] | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements of the array from one index to the next, per dimension of `order`."""
        own = [prod(self.shape[d + 1:]) for d in range(len(self.shape))]
        return tuple(own[d] for d in self.order or range(len(own)))

    def box(self, own: Box) -> Box:
        """The least box in the array around a box of these elements."""
        found = [(first, first + 1) for first in self.first]
        for (low, high), axis in zip(own, self.order or range(len(found)), strict=False):
            first, step = self.first[axis], self.steps[axis]
            found[axis] = (first + low * step, first + (high - 1) * step + 1)
        return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Node):
    """An array in main memory. Outside `shape`, elements are what `boundaries` say (None: never read there).

    Leaves of one name and different `variant` are parts of the same array that move differently from tile to tile.
    `part`: which elements of the array they are, all if None.
    """

    name: str
    shape: tuple[int, ...]
    boundaries: tuple[Boundary | None, ...]
    variant: int = 0
    part: Part | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Op(Node):
    """``wrap(operation(operands))``."""

    operation: str
    operands: tuple[Value, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(o for o in self.operands if isinstance(o, Access))


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Node):
    """`operation` over the last ``len(extents)`` dimensions of the space in which `source` is read."""

    operation: str
    source: Access
    extents: tuple[int, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, repr=False)
class Extend(Node):
    """`source` inside the box from `starts` of `shape`; outside, what `boundaries` say."""

    source: Node
    starts: tuple[int, ...]
    shape: tuple[int, ...]
    boundaries: tuple[Boundary | None, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (whole(self.source),)

    @property
    def is_fused(self) -> bool:
        """Whether all that is read outside is one number, so that the inside can be computed in the same phase."""
        kinds = set(self.boundaries) - {None}
        return len(kinds) == 1 and all(b is not None and b.kind == "default" for b in kinds)


@dataclass(frozen=True, eq=False, repr=False)
class Stretch(Node):
    """Element i is the source's element ``i // factors``."""

    source: Access
    factors: tuple[int, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, repr=False)
class Take(Node):
    """Element i is entry ``index[i]`` of `length` elements of a 1-D node. `table` reads that node from the table's own
    space: entry k is its element k. Every index lies in the table; table and result have elements of one size."""

    table: Access
    length: int
    index: Access

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (self.table, self.index)


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Node):
    """`base`, of one dimension, in which for every i of a space of `extents`, in row-major order, element ``index[i]``
    becomes ``value[i]``, or with `adds` is increased by it. Every index is below `length`; the first `kept` elements
    are those of the base, others anything. It is known as a whole or not at all. Values and result have elements of one
    size."""

    base: Value
    index: Access
    value: Value
    extents: tuple[int, ...]
    length: int
    kept: int
    adds: bool

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(v for v in (self.base, self.index, self.value) if isinstance(v, Access))

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        """All elements of index and value."""
        return tuple((0, n) for n in self.extents)


def seen_from(access: Access) -> list[Value]:
    """The operands of an accessed operation, as its consumer sees them."""
    node = access.node
    assert isinstance(node, Op)
    rank = len(access.matrix[0]) if access.matrix else 0
    return [compose(o, access.matrix, access.offset, rank) if isinstance(o, Access) else o for o in node.operands]


def tables_of(nodes: Iterable[Node]) -> set[Node]:
    """The nodes that some of `nodes` look up entries of."""
    return {node.table.node for node in nodes if isinstance(node, Take)}


def nodes_of(roots: Iterable[Node], ends: Container[Node] = frozenset()) -> Iterator[Node]:
    """Every node that the roots need, once, sources first; not those that only `ends` need."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in roots][::-1]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node not in ends:
                stack.extend((a.node, False) for a in reversed(node.accesses) if a.node not in seen)

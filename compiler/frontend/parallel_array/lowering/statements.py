"""Statements: the values of elements, and where they are read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import islpy as isl
import numpy as np

from compiler.analysis.domain_predicate import membership
from compiler.frontend import kernel
from compiler.frontend.affine_functions import index_map, pieces_of
from compiler.frontend.c_scop import building
from compiler.frontend.kernel import Typed
from compiler.frontend.parallel_array.element_types import FLOATS
from compiler.frontend.parallel_array.expression import Apply, Expression, Literal, Take, View
from compiler.frontend.parallel_array.location import Location as Line
from compiler.frontend.parallel_array.lowering.elements import Element, Loops, Outside
from compiler.frontend.parallel_array.lowering.numbers import applied, constant, converted, number_type
from compiler.ir.expr import Read, pruned
from compiler.ir.floating import encode_number
from compiler.ir.postorder import postorder_of
from compiler.ir.program import Access, Array, Location, Statement, Table
from compiler.ir.types import BIT, Float, Int

__all__ = ["INDEX", "StatementBuilder", "Surroundings", "entry"]

INDEX = Int(32)
"""The type of indices that are computed."""

_MOST_REGIONS = 32
"""In which one expression is computed by statements of their own."""


@dataclass
class Surroundings:
    """What all statements of a program share: the arrays of inputs and stored expressions, by the `id` of these, tables
    of constants, and the names that are taken."""

    arrays: dict[int, Array] = field(default_factory=dict)
    tables: dict[int, Table] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def new_name(self, name: str) -> str:
        """`name`, or one with a number behind it if that is taken."""
        found = next(text for number in count() if (text := f"{name}{number or ''}") not in self.used)
        self.used.add(found)
        return found

    def parts(self, element: Element, computed: bool = False) -> tuple[Element, ...]:
        """The elements that one is computed from; none of one that has an array, unless it is to be `computed`."""
        return () if id(element.node) in self.arrays and not computed else element.sources

    def below(self, root: Element, computed: bool = False) -> Iterator[Element]:
        """All elements that one is computed from, and itself, sources first."""
        return postorder_of((root,), lambda element: self.parts(element, computed and element is root))

    def regions(self, root: Element, computed: bool = False) -> list[Loops]:
        """The loops of an element in parts, in each of which every view is inside or outside of its source everywhere:
        what a conditional statement would be. Where there are too many, some views stay both."""
        found = [root.loops.domain]
        for element in self.below(root, computed):
            stored = id(element.node) in self.arrays and not (computed and element is root)
            for outside in () if stored else element.outside:
                parts = [part for region in found for part in (region & outside.inside, region - outside.inside)]
                parts = [part.coalesce() for part in parts if not part.is_empty()]
                found = parts if len(parts) <= _MOST_REGIONS else found
        return [root.loops] if len(found) == 1 else [root.loops.within(region) for region in found]

    def table(self, node: Literal) -> Table:
        """The table of an array of constants."""
        if id(node) not in self.tables:
            type = number_type(node.dtype)
            entries = tuple(_pattern(type, value) for value in node.value.reshape(-1))
            self.tables[id(node)] = Table(self.new_name(f"table{len(self.tables)}"), entries, type)
        return self.tables[id(node)]


def _pattern(type: Int | Float, value: np.generic) -> int:
    return encode_number(type, float(value)) if isinstance(type, Float) else int(value)


@dataclass
class StatementBuilder:
    """One statement in `loops`: `value` of elements, then `store`."""

    name: str
    loops: Loops
    line: Line
    around: Surroundings
    reads: list[Access] = field(default_factory=list)

    @property
    def location(self) -> Location:
        """The line that the statement was written in."""
        return Location(self.line.file, self.line.line)

    def value(self, root: Element, computed: bool = False) -> Typed:
        """The value of an element; `computed`: also where it has an array."""
        known: dict[int, Typed] = {}
        for element in self.around.below(root, computed):
            own = computed and element is root
            parts = [known[id(part)] for part in self.around.parts(element, own)]
            known[id(element)] = self._made(element, parts) if parts else self._leaf(element, own)
        return known[id(root)]

    def _leaf(self, element: Element, computed: bool) -> Typed:
        if isinstance(element.node, Literal):
            return self._number(element.node, element.indices)
        if isinstance(element.node, View) and (computed or id(element.node) not in self.around.arrays):
            return next(constant(outside.value, element.node.dtype) for outside in element.outside
                        if outside.inside.is_empty())
        return converted(self.read(self.around.arrays[id(element.node)], element.indices), element.node.dtype)

    def _made(self, element: Element, parts: list[Typed]) -> Typed:
        match element.node:
            case Apply() as node:
                return applied(node, parts)
            case Take() as node:
                assert isinstance(node.table, Literal)
                return kernel.lookup(self.around.table(node.table), entry(node, parts[0]))
        (found,) = parts
        for outside in reversed(element.outside):
            found = self._chosen(outside, found, element.node)
        return found

    def _chosen(self, outside: Outside, found: Typed, node: Expression) -> Typed:
        """`found` where an index is inside the source of a view."""
        if self.loops.domain.is_subset(outside.inside):
            return found
        condition = Typed(membership(outside.inside, self.loops.domain, self.loops.iterators))
        return kernel.select(condition, found, constant(outside.value, node.dtype))

    def _number(self, node: Literal, indices: Sequence[isl.PwAff]) -> Typed:
        first = node.value.reshape(-1)[0]
        same = node.value == first if node.dtype not in FLOATS else node.value.astype(np.float32).view(
            np.int32) == np.float32(first).view(np.int32)
        if np.all(same):
            return constant(first, node.dtype)
        return kernel.lookup(self.around.table(node), self.index(self._flat(indices, node.shape)))

    def _flat(self, indices: Sequence[isl.PwAff], shape: Sequence[int]) -> isl.PwAff:
        """The number of an element in row-major order."""
        total = self.loops.space.constant(0)
        for index, size in zip(indices, shape, strict=True):
            total = total.scale_val(isl.Val(size)).add(index)
        return total.coalesce()

    def index(self, function: isl.PwAff) -> Typed:
        """The value of a function of the iterators."""
        (where, piece), *others = pieces_of(function.intersect_domain(self.loops.domain))
        value = Typed(building.affine(piece, self.loops.iterators, INDEX, where))
        for where, piece in others:
            other = Typed(building.affine(piece, self.loops.iterators, INDEX, where))
            value = kernel.select(Typed(membership(where, self.loops.domain, self.loops.iterators)), other, value)
        return value

    def read(self, array: Array, indices: Sequence[isl.PwAff]) -> Typed:
        """The element of an array."""
        access = self._access(array, indices)
        for number, known in enumerate(self.reads):
            if known.array == access.array and known.map.is_equal(access.map):
                return Typed(Read(number, array.type))
        self.reads.append(access)
        return Typed(Read(len(self.reads) - 1, array.type))

    def store(self, array: Array, indices: Sequence[isl.PwAff], value: Typed) -> Statement:
        """The statement that writes `value`."""
        domain = self.loops.domain.set_tuple_name(self.name)
        used, reads = pruned(value.expr, self.reads)
        return Statement(self.name, self.loops.iterators, domain, reads, self._access(array, indices), used,
                         self.location)

    def _access(self, array: Array, indices: Sequence[isl.PwAff]) -> Access:
        domain = self.loops.domain
        space = domain.get_space()
        everywhere = isl.Map.from_domain_and_range(isl.Set.universe(space), isl.Set("{ [] }"))
        mapping = index_map(space, indices) if array.shape else everywhere
        mapping = mapping.intersect_domain(domain).coalesce()
        named = mapping.set_tuple_name(isl.dim_type.in_, self.name).set_tuple_name(isl.dim_type.out, array.name)
        return Access(array.name, named, self.location)


def entry(node: Take, index: Typed) -> Typed:
    """The entry of a table at an index, which counts from the end if it is negative."""
    word = kernel.cast(INDEX, index)
    if node.inside or index.type == BIT or (isinstance(index.type, Int) and not index.type.signed):
        return word
    return kernel.select(word < 0, word + node.table.shape[0], word)

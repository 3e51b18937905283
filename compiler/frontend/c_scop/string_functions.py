"""``memset``, ``memcpy`` and ``memmove`` of <string.h> as loops over elements.

    memset(a, 0, sizeof a);                  is   for (int t = 0; t < 16; t++) a[t] = 0;
    memcpy(&a[k], b, n * sizeof(a[0]));      is   for (int t = 0; t < n; t++) a[k + t] = b[t];

Sizes are whole numbers of elements; a size of whole rows of an array of arrays is a loop over these. Where what is
moved may overlap, the order of the loop depends on which of both comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.data_addresses import tree_text
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.normalize.trees import accessed, contains, counting_loop, declared, number
from compiler.frontend.c_scop.sizes import without_sizeof
from compiler.frontend.c_scop.types import type_names
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.types import Float

__all__ = ["is_string_function", "written_out"]

_ARGUMENTS = {"memset": "array, value, size", "memcpy": "to, from, size", "memmove": "to, from, size"}


def is_string_function(node: Any) -> bool:
    """Whether a statement calls one of the functions."""
    return isinstance(node, c_ast.FuncCall) and getattr(node.name, "name", "") in _ARGUMENTS


def written_out(node: c_ast.FuncCall, scope: Scope) -> list[Any]:
    """The statements that do what a call does. Raises `ScopError`."""
    return _Call(node, scope).statements()


@dataclass(frozen=True)
class _Place:
    """The object in an array at which a pointer points: as many subscripts as are known."""

    array: Variable
    subscripts: tuple[Any, ...]

    @property
    def inner(self) -> tuple[int, ...]:
        """The sizes of the object."""
        return tuple(size or 1 for size in self.array.shape[len(self.subscripts):])

    def first(self, coord: Any) -> _Place:
        """The first row or element of the object."""
        return replace(self, subscripts=(*self.subscripts, number(0, coord)))

    def outside(self) -> _Place:
        """The object of which this is the first row or element."""
        return replace(self, subscripts=self.subscripts[:-1])


@dataclass(frozen=True)
class _Count:
    """A number of elements or bytes: so many times the value of an expression (None: once)."""

    factor: int
    times: Any = None


@dataclass(frozen=True)
class _Call:
    node: c_ast.FuncCall
    scope: Scope

    def statements(self) -> list[Any]:
        """What the call does, as statements."""
        arguments = self.node.args.exprs if self.node.args else []
        if len(arguments) != 3:
            raise self._error(f"takes three arguments: {_ARGUMENTS[self._name]}")
        target, second, size = arguments
        place = self._place(target)
        count = self._elements(place, size)
        if self._name == "memset":
            return self._filled(place, count, second)
        return self._moved(place, self._place(second), count)

    @property
    def _name(self) -> str:
        return str(self.node.name.name)

    def _error(self, reason: str) -> ScopError:
        return ScopError(self.scope.source.place(self.node.coord), f"{self._name}() {reason}")

    # What a call is given.

    def _place(self, pointer: Any) -> _Place:
        while isinstance(pointer, c_ast.Cast):
            pointer = pointer.expr
        address = isinstance(pointer, c_ast.UnaryOp) and pointer.op == "&"
        whole, subscripts = accessed(pointer.expr if address else pointer)
        array = self.scope.find(whole.name) if isinstance(whole, c_ast.ID) else None
        if not isinstance(array, Variable):
            raise self._error("takes arrays of the scop, their rows, and places in them (a + k, &a[k]); write a loop")
        if array.scalar:
            raise self._error(f"is given the scalar '{array.name}'; assign it")
        if len(subscripts) >= len(array.shape) and not address:
            raise self._error(f"is given an element of '{array.name}', not where it is; write & before it")
        place = _Place(array, tuple(subscripts))
        return place if address and subscripts else place.first(self.node.coord)

    def _elements(self, place: _Place, size: Any) -> _Count:
        """The elements that `size` bytes are."""
        count, width = self._product(size), place.array.type.width // 8
        if count.factor % width:
            text = "" if count.times is not None else f"{count.factor} bytes, which are "
            raise self._error(f"is given {text}no whole number of elements of '{place.array.name}', of {width} "
                              f"bytes each; write n * sizeof({place.array.name}{'[0]' * len(place.array.shape)})")
        return replace(count, factor=count.factor // width)

    def _product(self, node: Any) -> _Count:
        """An expression as a constant times something that is none."""
        try:
            return _Count(evaluate(without_sizeof(node, self.scope), self.scope.constants()))
        except NotConstant:
            pass
        if isinstance(node, c_ast.BinaryOp) and node.op == "*":
            parts = self._product(node.left), self._product(node.right)
            for one, other in (parts, parts[::-1]):
                if one.times is None:
                    return replace(other, factor=one.factor * other.factor)
        return _Count(1, node)

    # What it does.

    def _filled(self, place: _Place, count: _Count, value: Any) -> list[Any]:
        coord, before = self.node.coord, []
        try:
            byte = evaluate(without_sizeof(value, self.scope), self.scope.constants()) & 255
        except NotConstant:
            if place.array.type.width != 8 or place.array.boolean:
                raise self._error(f"fills elements of '{place.array.name}' with a value that is not constant, and they "
                                  "are more than a byte; write a loop") from None
            if contains(value, (c_ast.ArrayRef,)):  # which the loop may change
                before = [declared(self.scope.free_name("byte"), ["int"], value, coord)]
                value = c_ast.ID(before[0].name, coord)
        else:
            value = self._constant(place.array, byte)
        nest = self._nest(self._rows(place, count), count)
        return [*before, nest.loops(c_ast.Assignment("=", nest.element, value, coord))]

    def _constant(self, array: Variable, byte: int) -> c_ast.Constant:
        """An element all of whose bytes are `byte`."""
        if (byte > 1 and array.boolean) or (byte and isinstance(array.type, Float)):
            raise self._error(f"gives elements of '{array.name}' bytes that are no value of their type; write a loop")
        return number(int.from_bytes(bytes([byte]) * (array.type.width // 8), "little"), self.node.coord)

    def _moved(self, place: _Place, source: _Place, count: _Count) -> list[Any]:
        here, there = place.array, source.array
        if _form(here) != _form(there):
            raise self._error(f"copies elements of '{there.name}' to '{here.name}', which have another type; assign "
                              "them in a loop")
        if here is there and self._name == "memmove":
            apart = _difference(place, source)
            if apart is None:
                return self._through_copy(place, source, count)
            return [self._copy(place, source, count, backwards=apart > 0)]
        return [self._copy(place, source, count)]

    def _through_copy(self, place: _Place, source: _Place, count: _Count) -> list[Any]:
        """Two loops, by way of an array of its own."""
        if count.times is not None:
            raise self._error(f"moves elements of '{place.array.name}' by a distance that is not constant, and so many "
                              "that is not constant; write a loop")
        coord, name = self.node.coord, self.scope.free_name("moved")
        kind = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(type_names(place.array.type), coord), coord)
        array = c_ast.ArrayDecl(kind, number(count.factor, coord), [], coord)
        variable = Variable(name, name, place.array.type, (count.factor,), "inner", place.array.place)
        held = _Place(variable, (number(0, coord),))
        return [c_ast.Decl(name, [], [], [], [], array, None, None, coord), self._copy(held, source, count),
                self._copy(place, held, count)]

    def _copy(self, place: _Place, source: _Place, count: _Count, *, backwards: bool = False) -> Any:
        """A loop that copies, over the rows of the one that has some."""
        place, source = self._rows(place, count), self._rows(source, count)
        driver, other = (place, source) if place.inner or not source.inner else (source, place)
        if other.inner and other.inner != driver.inner:
            raise self._error(f"copies rows of '{source.array.name}' to rows of another size of '{place.array.name}'; "
                              "write a loop")
        nest = self._nest(driver, count, backwards=backwards)
        found = nest.at(other) if other.inner == driver.inner else nest.flat(other)
        target, value = (nest.element, found) if driver is place else (found, nest.element)
        return nest.loops(c_ast.Assignment("=", target, value, self.node.coord))

    # Loops.

    def _rows(self, place: _Place, count: _Count) -> _Place:
        """The largest rows of which `count` elements from a place on are whole ones, or elements."""
        while len(place.subscripts) > 1 and count.times is None and _is_zero(place.subscripts[-1]) and \
                count.factor > prod(place.outside().inner):
            place = place.outside()
        while count.factor % prod(place.inner):
            place = place.first(self.node.coord)
        size = place.outside().inner[0]
        if count.times is None and place.array.shape[len(place.subscripts) - 1] and count.factor > size * prod(
                place.inner):
            raise self._error(f"goes on behind the {size} elements or rows of '{place.array.name}' that there are; "
                              "write a loop")
        return place

    def _nest(self, place: _Place, count: _Count, *, backwards: bool = False) -> _Nest:
        coord, inner = self.node.coord, place.inner
        trips: Any = number(count.factor // prod(inner), coord)
        if count.times is not None:
            trips = count.times if trips.value == "1" else c_ast.BinaryOp("*", count.times, trips, coord)
        counters = tuple(c_ast.ID(self.scope.free_name("place"), coord) for _ in (trips, *inner))
        return _Nest(place, counters, (trips, *(number(size, coord) for size in inner)), backwards, coord)


@dataclass(frozen=True)
class _Nest:
    """Loops over the rows from `place` on, and what is in them: a counter, and trips, of each."""

    place: _Place
    counters: tuple[c_ast.ID, ...]
    trips: tuple[Any, ...]
    backwards: bool
    coord: Any

    @property
    def element(self) -> Any:
        """The element that an iteration is about."""
        return self.at(self.place)

    def at(self, place: _Place) -> Any:
        """The same element behind another place."""
        return _subscripted(place, self._first, self.counters[1:], self.coord)

    def flat(self, place: _Place) -> Any:
        """The element of the same number behind a place in an array without rows."""
        row = self._first
        for size, counter in zip(self.place.inner, self.counters[1:], strict=True):
            scaled = c_ast.BinaryOp("*", row, number(size, self.coord), self.coord)
            row = c_ast.BinaryOp("+", scaled, counter, self.coord)
        return _subscripted(place, row, (), self.coord)

    @property
    def _first(self) -> Any:
        """The number of the row."""
        if not self.backwards:
            return self.counters[0]
        last = c_ast.BinaryOp("-", self.trips[0], number(1, self.coord), self.coord)
        return c_ast.BinaryOp("-", last, self.counters[0], self.coord)

    def loops(self, body: Any) -> Any:
        """The loops around a statement."""
        for counter, trips in reversed([*zip(self.counters, self.trips, strict=True)]):
            body = counting_loop(counter.name, (number(0, self.coord), "<", trips), [body], self.coord)
        return body


def _subscripted(place: _Place, row: Any, inner: tuple[Any, ...], coord: Any) -> Any:
    """The element with subscripts `inner` in a row behind a place."""
    *outer, last = place.subscripts
    first = row if _is_zero(last) else c_ast.BinaryOp("+", last, row, coord)
    found: Any = c_ast.ID(place.array.name, coord)
    for subscript in (*outer, first, *inner):
        found = c_ast.ArrayRef(found, subscript, coord)
    return found


def _difference(place: _Place, source: _Place) -> int | None:
    """By how many rows or elements a place is behind another one of the same array, if that is constant."""
    (*outer, last), (*others, first) = place.subscripts, source.subscripts
    if [tree_text(node) for node in outer] != [tree_text(node) for node in others]:
        return None
    (name, offset), (other, start) = _parted(last), _parted(first)
    return offset - start if name == other else None


def _parted(node: Any) -> tuple[str, int]:
    """A subscript as something and a constant that is added to it."""
    try:
        return "", evaluate(node)
    except NotConstant:
        pass
    if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
        (left, first), (right, second) = _parted(node.left), _parted(node.right)
        if not right:
            return left, first + (second if node.op == "+" else -second)
        if not left and node.op == "+":
            return right, first + second
    return tree_text(node), 0


def _form(array: Variable) -> tuple[bool, bool, int]:
    """Equal for arrays whose elements have the same bytes for the same values, but for the sign."""
    return array.boolean is not None, isinstance(array.type, Float), array.type.width


def _is_zero(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.value == "0"

"""Values while graphs are built: bundles of wires, and conversions between types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from compiler.frontend.sac.arithmetic import cast, dtype
from compiler.frontend.sac.build.bundles import Bundle, Meant, complex_of
from compiler.frontend.sac.ddcf.graph import Constant, GraphBuilder, Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Extents, Place
from compiler.frontend.sac.types import BOOL, Scalar, Type

__all__ = ["Value", "assign", "constant_value", "convert", "imaginary_zero", "known_integer", "take_value", "truth"]


@dataclass(frozen=True)
class Value:
    """A scalar or an array on one wire; of a bundle a wire for each component, in the order of its fields."""

    wires: tuple[Wire, ...]
    bundle: Bundle | None = None

    @property
    def wire(self) -> Wire:
        """The only wire, or that of the first component."""
        return self.wires[0]

    @property
    def element(self) -> Scalar | Bundle:
        """The type of each element."""
        return self.bundle or self.wires[0].type.scalar

    @property
    def meant(self) -> Meant:
        """The type, with the extents that are known."""
        return Meant(self.element, self.type.extents)

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.bundle is not None and self.bundle.part is not None

    @property
    def is_record(self) -> bool:
        """Whether the elements are records."""
        return self.bundle is not None and self.bundle.part is None

    @property
    def is_nested(self) -> bool:
        """Whether a component is an array in each element."""
        return any(wire.type.rank != self.type.rank for wire in self.wires)

    @property
    def type(self) -> Type:
        """The type of each wire; of a record that of the first, without the extents that a field has of its own."""
        type_ = self.wires[0].type
        own = Meant(self.bundle).types[0].rank if self.bundle else 0
        return Type(type_.scalar, type_.extents[:type_.rank - own])

    def __str__(self) -> str:
        return str(self.meant)

    def map(self, change: Callable[[Wire], Wire]) -> Value:
        """What `change` makes of each component."""
        return Value(tuple(change(wire) for wire in self.wires), self.bundle)

    def field(self, name: str) -> Value | None:
        """The component of this name, if there is one: of an array of bundles the array of it."""
        first = 0
        for part in self.bundle.fields if self.bundle else ():
            count = len(part.meant.types)
            if part.name == name:
                inner = part.meant.element
                return Value(self.wires[first:first + count], inner if isinstance(inner, Bundle) else None)
            first += count
        return None


def take_value(meant: Meant, wires: Iterator[Wire]) -> Value:
    """A value of the next of `wires`."""
    bundle = meant.element if isinstance(meant.element, Bundle) else None
    return Value(tuple(next(wires) for _ in meant.types), bundle)


def constant_value(value: int | float, scalar: Scalar) -> Value:
    """A number that is known."""
    return Value((Wire(Constant(value, scalar), Type(scalar)),))


def known_integer(value: Value) -> int | None:
    """The integer that `value` always is, if it is one of an integer type."""
    operand = value.wire.operand
    if value.bundle or not isinstance(operand, Constant) or operand.scalar.floating or operand.scalar.fraction:
        return None
    return int(operand.value)


def convert(graph: GraphBuilder, value: Value, scalar: Scalar, place: Place) -> Value:
    """`value`, which is no record, with numbers of another type."""
    assert not value.is_record
    wires = tuple(_convert(graph, wire, scalar, place) for wire in value.wires)
    return Value(wires, complex_of(scalar) if value.is_complex else None)


def _convert(graph: GraphBuilder, wire: Wire, scalar: Scalar, place: Place) -> Wire:
    if wire.type.scalar == scalar:
        return wire
    if isinstance(wire.operand, Constant):
        held = np.asarray(wire.operand.value, dtype=dtype(wire.operand.scalar))
        number = cast(held, wire.operand.scalar, scalar).item()
        return Wire(Constant(number, scalar), Type(scalar))
    return graph.add("CAST", [wire], [wire.type.of(scalar)], place)[0]


def truth(graph: GraphBuilder, value: Value, place: Place) -> Wire:
    """`value` as a condition: whether it differs from 0."""
    if value.bundle or value.type.is_array:
        raise SacError(place, f"a condition is a scalar, not {value}")
    return convert(graph, value, BOOL, place).wire


def assign(graph: GraphBuilder, value: Value, meant: Meant, place: Place, what: str) -> Value:
    """`value` converted to the type that `what` is declared with.

    Raises `SacError` if ranks differ, extents differ that are known, a complex value meets a real type, or a record
    anything but its own.
    """
    both = f"{what} is declared {meant}, and the value is {value}"
    if (value.is_record or meant.is_record) and value.element != meant.element:
        raise SacError(place, f"{both}: a record is assigned to a name of its own type")
    if value.type.rank != len(meant.extents):
        raise SacError(place, f"{both}: ranks {len(meant.extents)} and {value.type.rank} differ")
    if value.is_complex and not isinstance(meant.element, Bundle):
        raise SacError(place, f"{both}: take real(...) or imag(...)")
    known = zip(value.type.extents, meant.extents, strict=True)
    if any(None not in pair and pair[0] != pair[1] for pair in known):
        raise SacError(place, f"{both}: extents differ")
    wires = [_convert(graph, wire, type_.scalar, place) for wire, type_ in zip(value.wires, meant.types, strict=False)]
    if not value.bundle and isinstance(meant.element, Bundle):
        wires.append(imaginary_zero(graph, wires[0], place))
    return take_value(meant, (_with_extents(graph, wire, type_.extents, place)
                              for wire, type_ in zip(wires, meant.types, strict=True)))


def _with_extents(graph: GraphBuilder, wire: Wire, extents: Extents, place: Place) -> Wire:
    """`wire` with extents that are checked when the program runs, where they are declared and not known."""
    pairs = zip(wire.type.extents, extents, strict=True)
    if not any(known is None and declared is not None for known, declared in pairs):
        return wire
    merged = tuple(d if k is None else k for k, d in zip(wire.type.extents, extents, strict=True))
    return graph.add("CHECK_EXTENTS", [wire], [Type(wire.type.scalar, merged)], place)[0]


def imaginary_zero(graph: GraphBuilder, real: Wire, place: Place) -> Wire:
    """Zeros in the shape of `real`."""
    zero: int | float = 0.0 if real.type.scalar.floating else 0
    if not real.type.is_array:
        return Wire(Constant(zero, real.type.scalar), real.type)
    return graph.add("FILL_LIKE", [real, Wire(Constant(zero, real.type.scalar), Type(real.type.scalar))],
                     [real.type], place)[0]

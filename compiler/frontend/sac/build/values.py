"""Values while graphs are built: bundles of wires, and conversions between types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.frontend.sac.arithmetic import cast, dtype
from compiler.frontend.sac.ddcf.graph import Constant, GraphBuilder, Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Extents, Place, WrittenType
from compiler.frontend.sac.types import BOOL, Scalar, Type, parse_scalar
from compiler.ir.types import ProgramError

__all__ = ["Meant", "Value", "assign", "constant_value", "convert", "imaginary_zero", "known_integer", "meant_type",
           "truth"]


@dataclass(frozen=True)
class Meant:
    """A type as it is written: a component, in pairs if it is complex, and extents."""

    scalar: Scalar
    is_complex: bool = False
    extents: Extents = ()

    def __str__(self) -> str:
        return f"{'complex ' if self.is_complex else ''}{Type(self.scalar, self.extents)}"

    @property
    def types(self) -> tuple[Type, ...]:
        """Types of the wires of such a value."""
        return (Type(self.scalar, self.extents),) * (1 + self.is_complex)


@dataclass(frozen=True)
class Value:
    """A scalar or an array on one wire; a complex one on two, for the real and the imaginary part."""

    wires: tuple[Wire, ...]

    @property
    def wire(self) -> Wire:
        """The only wire, or that of the real part."""
        return self.wires[0]

    @property
    def is_complex(self) -> bool:
        """Whether there are two parts."""
        return len(self.wires) == 2

    @property
    def type(self) -> Type:
        """The type of each wire."""
        return self.wires[0].type

    def __str__(self) -> str:
        return f"{'complex ' if self.is_complex else ''}{self.type}"


def constant_value(value: int | float, scalar: Scalar) -> Value:
    """A number that is known."""
    return Value((Wire(Constant(value, scalar), Type(scalar)),))


def known_integer(value: Value) -> int | None:
    """The integer that `value` always is, if it is one of an integer type."""
    operand = value.wire.operand
    if value.is_complex or not isinstance(operand, Constant) or operand.scalar.floating or operand.scalar.fraction:
        return None
    return int(operand.value)


def meant_type(written: WrittenType) -> Meant:
    """The type that is written. Raises `SacError` at its place for a width that no type has, or complex numbers
    without sign."""
    component = written.component
    try:
        scalar = parse_scalar(component.name)
    except ProgramError as error:
        raise SacError(component.place, str(error)) from None
    if component.is_complex and not (scalar.signed or scalar.floating):
        raise SacError(component.place, f"complex numbers have parts with a sign: int, fix, float or double, not "
                                        f"{scalar}")
    return Meant(scalar, component.is_complex, written.extents)


def convert(graph: GraphBuilder, value: Value, scalar: Scalar, place: Place) -> Value:
    """`value` with components of another type."""
    return Value(tuple(_convert(graph, wire, scalar, place) for wire in value.wires))


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
    if value.is_complex or value.type.is_array:
        raise SacError(place, f"a condition is a scalar, not {value}")
    return convert(graph, value, BOOL, place).wire


def assign(graph: GraphBuilder, value: Value, meant: Meant, place: Place, what: str) -> Value:
    """`value` converted to the type that `what` is declared with.

    Raises `SacError` if ranks differ, extents differ that are known, or a complex value meets a real type.
    """
    if value.type.rank != len(meant.extents):
        raise SacError(place, f"{what} is declared {meant}, and the value is {value}: ranks {len(meant.extents)} and "
                              f"{value.type.rank} differ")
    if value.is_complex and not meant.is_complex:
        raise SacError(place, f"{what} is declared {meant}, and the value is {value}: take real(...) or imag(...)")
    known = zip(value.type.extents, meant.extents, strict=True)
    if any(None not in pair and pair[0] != pair[1] for pair in known):
        raise SacError(place, f"{what} is declared {meant}, and the value is {value}: extents differ")
    wires = convert(graph, value, meant.scalar, place).wires
    wires = tuple(_with_extents(graph, wire, meant.extents, place) for wire in wires)
    return Value((*wires, imaginary_zero(graph, wires[0], place)) if len(wires) < 1 + meant.is_complex else wires)


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

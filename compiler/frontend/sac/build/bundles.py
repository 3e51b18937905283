"""Types as they are written: numbers, and bundles of components by name. Complex numbers and records are bundles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Port
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Component, Extents, Record, WrittenType
from compiler.frontend.sac.types import Scalar, Type, parse_scalar
from compiler.ir.types import ProgramError

__all__ = ["Bundle", "Field", "Meant", "Records", "complex_of", "declare_records"]


@dataclass(frozen=True)
class Field:
    """A component of a bundle, by name."""

    name: str
    meant: Meant


@dataclass(frozen=True)
class Bundle:
    """Components that go together. `part` is the type of both parts of a complex number, None for a record."""

    name: str
    fields: tuple[Field, ...]
    part: Scalar | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Meant:
    """A type as it is written: of each element, and extents.

    An array of bundles is a bundle of arrays: one for each component, whose own extents follow those of the array.
    """

    element: Scalar | Bundle
    extents: Extents = ()

    def __str__(self) -> str:
        return f"{self.element}{_extents_text(self.extents)}"

    @property
    def is_record(self) -> bool:
        """Whether the elements have fields of their own types."""
        return isinstance(self.element, Bundle) and self.element.part is None

    @property
    def types(self) -> tuple[Type, ...]:
        """Types of the wires of such a value."""
        if isinstance(self.element, Scalar):
            return (Type(self.element, self.extents),)
        return tuple(Type(type_.scalar, self.extents + type_.extents)
                     for field in self.element.fields for type_ in field.meant.types)

    def ports(self, name: str) -> tuple[Port, ...]:
        """Parameters or results of a function: one for each number, complex number or array of them, in a record
        ``name.field``."""
        if not self.is_record:
            return (Port(name, self.types),)
        assert isinstance(self.element, Bundle)
        return tuple(port for field in self.element.fields
                     for port in Meant(field.meant.element, self.extents + field.meant.extents).ports(
                         f"{name}.{field.name}"))


def _extents_text(extents: Extents) -> str:
    return f"[{','.join(':' if e is None else str(e) for e in extents)}]" if extents else ""


def complex_of(part: Scalar) -> Bundle:
    """Complex numbers with parts of a type."""
    return Bundle(f"complex {part}", (Field("real", Meant(part)), Field("imag", Meant(part))), part)


@dataclass(frozen=True)
class Records:
    """The records of a program by name."""

    bundles: Mapping[str, Bundle]

    def meant(self, written: WrittenType) -> Meant:
        """The type that is written. Raises `SacError` at its place for a name or a width that no type has, or complex
        numbers without sign."""
        return Meant(self._element(written.component), written.extents)

    def _element(self, component: Component) -> Scalar | Bundle:
        if component.name in self.bundles and not component.is_complex:
            return self.bundles[component.name]
        try:
            scalar = parse_scalar(component.name)
        except ProgramError as error:
            known = f", and the records {', '.join(self.bundles)}" if self.bundles else ""
            raise SacError(component.place, f"{error}{known}") from None
        if not component.is_complex:
            return scalar
        if not (scalar.signed or scalar.floating):
            raise SacError(component.place, f"complex numbers have parts with a sign: int, fix, float or double, not "
                                            f"{scalar}")
        return complex_of(scalar)


def declare_records(written: Sequence[Record]) -> Records:
    """The records of a program, in any order. Raises `SacError` for two of one name, two fields of one name, a type
    that does not exist, and a record inside itself."""
    by_name: dict[str, Record] = {}
    for record in written:
        if record.name in by_name:
            raise SacError(record.place, f"record '{record.name}' is declared twice; the first time at line "
                                         f"{by_name[record.name].place.line}")
        by_name[record.name] = record
    known: dict[str, Bundle] = {}
    for record in written:
        _declare(record, by_name, known, [])
    return Records({record.name: known[record.name] for record in written})


def _declare(record: Record, by_name: Mapping[str, Record], known: dict[str, Bundle], inside: list[str]) -> None:
    """Add `record`, and those that its fields need before it, to `known`."""
    if record.name in known:
        return
    if record.name in inside:
        through = [name for name in inside[inside.index(record.name):] if name != record.name]
        others = f" through {', '.join(through)}" if through else ""
        raise SacError(record.place, f"record '{record.name}' holds itself{others}: a record has a size; indices into "
                                     "an array can stand for others")
    fields: dict[str, Field] = {}
    for member in record.members:
        if member.name in fields:
            raise SacError(member.place, f"record '{record.name}' has two fields '{member.name}'")
        needed = by_name.get(member.type.component.name)
        if needed is not None:
            _declare(needed, by_name, known, [*inside, record.name])
        fields[member.name] = Field(member.name, Records(known).meant(member.type))
    known[record.name] = Bundle(record.name, tuple(fields.values()))

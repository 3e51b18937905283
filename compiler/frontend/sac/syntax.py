"""Syntax trees of SA-C: what was written, without types or meaning (Hammes 2000, chapter 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

__all__ = [
    "Binary",
    "Body",
    "Call",
    "Captures",
    "Cast",
    "Component",
    "Cross",
    "Declared",
    "Definition",
    "Dot",
    "Elements",
    "Expression",
    "Extents",
    "Field",
    "Function",
    "Generators",
    "If",
    "Ignored",
    "Index",
    "Initialiser",
    "Literal",
    "Loop",
    "Member",
    "Name",
    "NextDefinition",
    "Parameter",
    "Place",
    "Pragma",
    "Range",
    "Record",
    "Scalars",
    "Section",
    "Slices",
    "Switch",
    "Unary",
    "Updated",
    "While",
    "Windows",
    "WrittenType",
    "walk",
]


@dataclass(frozen=True)
class Place:
    """Where something was written; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Node:
    """Anything that was written somewhere."""

    place: Place


Extents = tuple[int | None, ...]
"""Extents of an array type, None for a colon; empty for a scalar."""


@dataclass(frozen=True)
class Component(Node):
    """A scalar type or a record by name; `is_complex`: pairs of the scalar."""

    name: str
    is_complex: bool


@dataclass(frozen=True)
class WrittenType(Node):
    """A component type with extents."""

    component: Component
    extents: Extents


@dataclass(frozen=True)
class Pragma(Node):
    """A directive by name with its numbers: ``// PRAGMA (stripmine (4,5))``."""

    name: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Literal(Node):
    """A number as it was written."""

    text: str


@dataclass(frozen=True)
class Name(Node):
    """A variable that is read."""

    name: str


@dataclass(frozen=True)
class Binary(Node):
    """Two operands and C's operator."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Unary(Node):
    """One operand; `operator` is one of ``- + ! ~``."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Cast(Node):
    """A conversion to a type."""

    type: WrittenType
    operand: Expression


@dataclass(frozen=True)
class Index(Node):
    """A subscript that drops its dimension."""

    value: Expression


@dataclass(frozen=True)
class Range(Node):
    """A subscript that keeps its dimension: bounds are inclusive, None where none was written."""

    low: Expression | None
    high: Expression | None
    step: Expression | None


@dataclass(frozen=True)
class Section(Node):
    """An element or a section of an array."""

    array: Expression
    subscripts: tuple[Index | Range, ...]


@dataclass(frozen=True)
class Field(Node):
    """A component of a record: ``r.name``."""

    record: Expression
    name: str


@dataclass(frozen=True)
class Captures(Node):
    """Values in braces, an argument of ``vals_at_maxs`` and its like; in that of a record also braces inside."""

    values: tuple[Expression | Captures, ...]


@dataclass(frozen=True)
class Call(Node):
    """A function, an intrinsic, or what a loop returns."""

    function: str
    arguments: tuple[Expression | Captures, ...]


@dataclass(frozen=True)
class Initialiser(Node):
    """Elements of an array, or fields of a record, in braces."""

    values: tuple[Expression | Initialiser, ...]


@dataclass(frozen=True)
class Declared(Node):
    """A variable with its type at the left of a definition."""

    type: WrittenType
    name: str


@dataclass(frozen=True)
class Ignored(Node):
    """A value that gets no name: ``_``."""


@dataclass(frozen=True)
class Updated(Node):
    """An array of this body whose elements in a section are given: ``A[1:3] = values;``. Without subscripts it is the
    mistake of giving a name a second value, or one without type."""

    name: str
    subscripts: tuple[Index | Range, ...]


@dataclass(frozen=True)
class Definition(Node):
    """``uint8 a, uint8 b = values;``"""

    targets: tuple[Declared | Ignored | Updated, ...]
    values: tuple[Expression | Initialiser, ...]


@dataclass(frozen=True)
class NextDefinition(Node):
    """``next a, next b = values;`` Where an element or a section follows the name, `sections` has its subscripts, which
    are empty for a whole variable."""

    names: tuple[Name, ...]
    sections: tuple[tuple[Index | Range, ...], ...]
    values: tuple[Expression | Initialiser, ...]


@dataclass(frozen=True)
class Body(Node):
    """Definitions, then what is returned."""

    statements: tuple[Definition | NextDefinition, ...]
    returns: tuple[Expression, ...]


@dataclass(frozen=True)
class If(Node):
    """Conditions with bodies, tried in turn; `otherwise` is None where no ``else`` was written."""

    branches: tuple[tuple[Expression, Body], ...]
    otherwise: Body | None


@dataclass(frozen=True)
class Switch(Node):
    """Bodies chosen by the value of `key`; `default` is None where none was written."""

    key: Expression
    cases: tuple[tuple[tuple[Expression, ...], Body], ...]
    default: Body | None


@dataclass(frozen=True)
class Scalars(Node):
    """``uint8 i, uint8 j in [0~3, n] step (1, 2)``: a span is a low and an inclusive high value, or an extent alone."""

    captures: tuple[Declared, ...]
    spans: tuple[tuple[Expression, Expression | None], ...]
    steps: tuple[Expression, ...]


@dataclass(frozen=True)
class Elements(Node):
    """``a in A step (2) at (uint16 i)``"""

    capture: Name
    source: Expression
    steps: tuple[Expression, ...]
    at: tuple[Declared | Ignored, ...]


@dataclass(frozen=True)
class Slices(Node):
    """``V(~,:) in A``: `iterated` tells the dimensions over which the loop runs."""

    capture: Name
    iterated: tuple[bool, ...]
    source: Expression
    steps: tuple[Expression, ...]
    at: tuple[Declared | Ignored, ...]


@dataclass(frozen=True)
class Windows(Node):
    """``window W[3,2] in A``: a size of None takes the whole dimension, over which the loop does not run."""

    capture: Name
    sizes: tuple[Expression | None, ...]
    source: Expression
    steps: tuple[Expression, ...]
    at: tuple[Declared | Ignored, ...]


@dataclass(frozen=True)
class Dot(Node):
    """Generators that advance together."""

    parts: tuple[Generators, ...]


@dataclass(frozen=True)
class Cross(Node):
    """All combinations, the rightmost generator fastest."""

    parts: tuple[Generators, ...]


Generators = Scalars | Elements | Slices | Windows | Dot | Cross


@dataclass(frozen=True)
class Loop(Node):
    """A ``for`` loop."""

    pragmas: tuple[Pragma, ...]
    generators: Generators
    body: Body


@dataclass(frozen=True)
class While(Node):
    """A ``while`` loop."""

    pragmas: tuple[Pragma, ...]
    condition: Expression
    body: Body


Expression = Literal | Name | Binary | Unary | Cast | Section | Field | Call | If | Switch | Loop | While


@dataclass(frozen=True)
class Parameter(Node):
    """A parameter of a function; a prototype's may lack a name."""

    type: WrittenType
    name: str | None


@dataclass(frozen=True)
class Function(Node):
    """A function, or its prototype, whose `body` is None."""

    name: str
    pragmas: tuple[Pragma, ...]
    results: tuple[WrittenType, ...]
    parameters: tuple[Parameter, ...]
    body: Body | None

    @property
    def is_foreign(self) -> bool:
        """Whether this is the prototype of a function of Python."""
        return any(pragma.name == "foreign" for pragma in self.pragmas)


@dataclass(frozen=True)
class Member(Node):
    """A field of a record."""

    type: WrittenType
    name: str


@dataclass(frozen=True)
class Record(Node):
    """``struct name { uint8 x; uint8 y; };``"""

    name: str
    members: tuple[Member, ...]


def walk(node: object) -> Iterator[Node]:
    """`node` and everything inside it, in the order in which it was written."""
    if isinstance(node, Node):
        yield node
        for field in fields(node):
            yield from walk(getattr(node, field.name))
    elif isinstance(node, tuple):
        for part in node:
            yield from walk(part)

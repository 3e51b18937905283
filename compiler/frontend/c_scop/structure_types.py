"""Structures as trees of fields: their scalar leaves, and their layout in memory as C packs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant
from compiler.frontend.c_scop.types import named_type
from compiler.ir.types import Float, Int, Type

__all__ = ["ArrayOf", "Kind", "Leaf", "Scalar", "Structure", "layout", "leaves", "read_kind"]


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number of `width` bits, declared by the innermost `node`."""

    node: Any
    type: Type

    @property
    def width(self) -> int:
        """Bits in memory."""
        assert isinstance(self.type, Int | Float)
        return self.type.width


@dataclass(frozen=True, eq=False)
class ArrayOf:
    """An array (or, with `pointer`, what a pointer points to) of `element`; `size` is None if it is not written."""

    size: int | None
    element: Kind
    pointer: bool = False


@dataclass(frozen=True, eq=False)
class Structure:
    """A structure called `name` with its fields in order."""

    name: str
    fields: tuple[tuple[str, Kind], ...]

    def field(self, name: str) -> Kind | None:
        """The kind of a field, None if there is none of that name."""
        return dict(self.fields).get(name)


Kind = Scalar | ArrayOf | Structure


@dataclass(frozen=True)
class Leaf:
    """A scalar inside a kind: names of the fields that lead to it and all sizes on the way."""

    path: tuple[str, ...]
    sizes: tuple[int | None, ...]
    scalar: Scalar


def leaves(kind: Kind) -> Iterator[Leaf]:
    """All scalars inside `kind`, in order."""
    match kind:
        case Scalar():
            yield Leaf((), (), kind)
        case ArrayOf():
            for leaf in leaves(kind.element):
                yield Leaf(leaf.path, (kind.size, *leaf.sizes), leaf.scalar)
        case Structure():
            for name, inner in kind.fields:
                for leaf in leaves(inner):
                    yield Leaf((name, *leaf.path), leaf.sizes, leaf.scalar)


def layout(kind: Kind) -> tuple[int, int]:
    """Bytes and alignment of `kind` on the usual 64-bit machine."""
    match kind:
        case Scalar():
            return kind.width // 8, kind.width // 8
        case ArrayOf():
            if kind.pointer:
                return 8, 8
            size, alignment = layout(kind.element)
            return size * (kind.size or 0), alignment
        case Structure():
            total, largest = 0, 1
            for _, inner in kind.fields:
                size, alignment = layout(inner)
                total = -(-total // alignment) * alignment + size
                largest = max(largest, alignment)
            return -(-total // largest) * largest, largest


def read_kind(node: Any, types: Mapping[str, Type], structures: Mapping[str, Structure],
              size: Callable[[Any], int]) -> Kind | None:
    """The kind that the type `node` of a declaration means, None for types that have no place in hardware.

    `types` are the names of numbers; `structures` those of structures, those with a tag as ``struct TAG``; `size`
    evaluates the size of an array and raises `NotConstant`.
    """
    if isinstance(node, c_ast.ArrayDecl | c_ast.PtrDecl):
        element = read_kind(node.type, types, structures, size)
        if element is None:
            return None
        if isinstance(node, c_ast.PtrDecl) or node.dim is None:
            return ArrayOf(None, element, isinstance(node, c_ast.PtrDecl))
        try:
            return ArrayOf(size(node.dim), element)
        except NotConstant:
            return None
    return _innermost(node, types, structures, size)


def _innermost(node: Any, types: Mapping[str, Type], structures: Mapping[str, Structure],
               size: Callable[[Any], int]) -> Kind | None:
    inner = getattr(node, "type", None)
    if isinstance(inner, c_ast.Struct):
        if inner.decls is None:
            return structures.get(f"struct {inner.name}")
        return _fields(inner, types, structures, size)
    if isinstance(inner, c_ast.Enum):
        return Scalar(node, Int(32))
    names = tuple(inner.names) if isinstance(inner, c_ast.IdentifierType) else ()
    if len(names) == 1 and names[0] in structures:
        return structures[names[0]]
    type = named_type(names, types)
    return None if type is None else Scalar(node, type)


def _fields(node: c_ast.Struct, types: Mapping[str, Type], structures: Mapping[str, Structure],
            size: Callable[[Any], int]) -> Structure | None:
    fields: list[tuple[str, Kind]] = []
    for decl in node.decls or []:
        plain = isinstance(decl, c_ast.Decl) and decl.name is not None and decl.bitsize is None
        kind = read_kind(decl.type, types, structures, size) if plain else None
        if kind is None or (isinstance(kind, ArrayOf) and (kind.pointer or kind.size is None)):
            return None
        fields.append((str(decl.name), kind))
    return Structure(node.name or "", tuple(fields)) if fields else None

"""Variables of the C file that the scop can see: their types, sizes, initial values and where they live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.initialisers import flat_values, written_size
from compiler.frontend.c_scop.numbers import as_type
from compiler.frontend.c_scop.sizes import without_sizeof
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.types import BYTE, LONG, Bool, Number, named_type, number_type
from compiler.ir.expr import Const
from compiler.ir.names import check_name
from compiler.ir.types import Int, ProgramError, Type

__all__ = ["Scope", "Storage", "Variable", "names_in"]

Storage = Literal["parameter", "global", "local", "inner"]


@dataclass(eq=False)
class Variable:
    """A scalar or an array.

    `name` is its name in C, `array` that of the array it becomes; `shape` is () for scalars and starts with None if
    the first size is not written. `values` are what it holds before the scop, if that is known. `fixed` variables
    always hold `values`.
    """

    name: str
    array: str
    type: Number
    shape: tuple[int | None, ...]
    storage: Storage
    place: Place
    values: tuple[int, ...] | None = None
    fixed: bool = False
    pointer: bool = False
    boolean: Bool | None = None
    const: bool = False

    @property
    def stored(self) -> Number:
        """The type that values are converted to when they are assigned."""
        return self.boolean or self.type

    @property
    def scalar(self) -> bool:
        """Whether it has no subscripts."""
        return not self.shape

    @property
    def constant(self) -> int | None:
        """Its value (bits of a floating-point number) if it is a scalar that is always the same."""
        return self.values[0] if self.fixed and self.scalar and self.values else None


@dataclass
class Scope:
    """Names at one place of the file: the innermost of a chain of blocks."""

    source: Source
    typedefs: dict[str, Type]
    used: set[str]
    outer: Scope | None = None
    settings: Mapping[str, int] = field(default_factory=dict)
    names: dict[str, Variable | int | ScopError] = field(default_factory=dict)
    registry: list[Variable] = field(default_factory=list)
    array_types: dict[str, c_ast.ArrayDecl] = field(default_factory=dict)

    def inner(self) -> Scope:
        """A block inside this one."""
        return Scope(self.source, dict(self.typedefs), self.used, self, self.settings, registry=self.registry,
                     array_types=dict(self.array_types))

    def apart(self) -> Scope:
        """The same block, in which new names are not seen anywhere else."""
        return replace(self, typedefs=dict(self.typedefs), used=set(self.used), names=dict(self.names),
                       registry=list(self.registry), array_types=dict(self.array_types))

    def everything(self) -> tuple[Variable, ...]:
        """All variables that were declared anywhere so far."""
        return tuple(self.registry)

    def find(self, name: str) -> Variable | int | None:
        """The variable or enumeration constant called `name`. Raises `ScopError` if its type is bad."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                found = scope.names[name]
                if isinstance(found, ScopError):
                    raise found
                return found
            scope = scope.outer
        return None

    def constants(self) -> dict[str, int]:
        """Names with known values, for constant expressions."""
        known = self.outer.constants() if self.outer else {}
        for name, entry in self.names.items():
            known.pop(name, None)
            value = entry
            if isinstance(entry, Variable):
                value = entry.constant if isinstance(entry.type, Int) else None
            if isinstance(value, int):
                known[name] = value
        return known

    def declare(self, node: Any, storage: Storage) -> Variable | None:
        """Add what declaration `node` declares. Faults are kept until the name is used, except for inner variables."""
        if isinstance(node, c_ast.Typedef):
            self._typedef(node)
            return None
        self._enumerators(node)
        if not isinstance(node, c_ast.Decl) or node.name is None or isinstance(node.type, c_ast.FuncDecl):
            return None
        try:
            variable = self._variable(node, storage)
        except ScopError as error:
            if storage == "inner":
                raise
            self.names[node.name] = error
            return None
        self.names[node.name] = variable
        self.registry.append(variable)
        return variable

    def free_name(self, name: str) -> str:
        """`name`, changed as little as needed to be a free name that the intermediate representation takes."""
        candidate, number = name, 1
        while candidate in self.used or not _possible(candidate):
            candidate = f"{name}_{number}"
            number += 1
        self.used.add(candidate)
        return candidate

    def _typedef(self, node: c_ast.Typedef) -> None:
        self.typedefs.pop(node.name, None)
        self.array_types.pop(node.name, None)
        kind = self.spelt_out(node.type)
        if isinstance(kind, c_ast.ArrayDecl):
            self.array_types[node.name] = kind
        elif isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType):
            type = named_type(tuple(kind.type.names), self.typedefs)
            if type is not None:
                self.typedefs[node.name] = type
        elif isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.Enum):
            self._enumerators(node)
            self.typedefs[node.name] = self._enumerated(kind.type)

    def _enumerated(self, node: c_ast.Enum) -> Type:
        """The type of an enumeration, as gcc chooses it: without sign if no constant is negative."""
        if node.values is None:
            return self.typedefs.get(f"enum {node.name}", Int(32, signed=False))
        values = [self.names.get(entry.name) for entry in node.values.enumerators]
        return Int(32, signed=any(isinstance(value, int) and value < 0 for value in values))

    def spelt_out(self, kind: Any) -> Any:
        """The type of a declaration, with dimensions and elements in place of the name of an array type."""
        if not isinstance(kind, c_ast.TypeDecl):
            if not isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
                return kind
            inner = self.spelt_out(kind.type)
            return kind if inner is kind.type else _with_elements(kind, inner)
        names = tuple(kind.type.names) if isinstance(kind.type, c_ast.IdentifierType) else ()
        if len(names) == 1 and names[0] in self.array_types:
            return _with_qualifiers(self.array_types[names[0]], kind.quals or [])
        return kind

    def _enumerators(self, node: Any) -> None:
        enum = getattr(getattr(node, "type", None), "type", None) if not isinstance(node, c_ast.Enum) else node
        enum = node.type if isinstance(getattr(node, "type", None), c_ast.Enum) else enum
        if not isinstance(enum, c_ast.Enum) or enum.values is None:
            return
        following = 0
        for entry in enum.values.enumerators:
            following = self.evaluate(entry.value) if entry.value is not None else following
            self.names[entry.name] = following
            following += 1
        if enum.name is not None:
            self.typedefs[f"enum {enum.name}"] = self._enumerated(enum)

    def evaluate(self, node: Any) -> int:
        """An integer constant expression. Raises `ScopError`."""
        try:
            return evaluate(without_sizeof(node, self), self.constants())
        except NotConstant as error:
            raise ScopError(self.source.place(error.node.coord or node.coord), error.reason) from None

    def _variable(self, node: c_ast.Decl, storage: Storage) -> Variable:
        place = self.source.place(node.coord)
        kind, sizes, pointer = self.spelt_out(node.type), [], False
        while not isinstance(kind, c_ast.TypeDecl):
            outermost = not sizes
            if isinstance(kind, c_ast.PtrDecl) and (outermost and (storage in ("parameter", "global"))):
                sizes.append(None)
                pointer = True
            elif isinstance(kind, c_ast.ArrayDecl):
                sizes.append(self._size(kind, node, outermost))
            else:
                raise ScopError(place, f"'{node.name}' is a pointer; only arrays and scalars can be used in a scop")
            kind = kind.type
        enumerated = isinstance(kind.type, c_ast.Enum)
        type = self._enumerated(kind.type) if enumerated else number_type(kind, self.typedefs, self.source)
        assert isinstance(type, Number)
        boolean = type if isinstance(type, Bool) else None
        variable = Variable(node.name, self.free_name(node.name), BYTE if boolean else type, tuple(sizes), storage,
                            place, pointer=pointer, boolean=boolean, const="const" in (kind.quals or []))
        self._initialise(variable, node)
        return variable

    def _size(self, kind: c_ast.ArrayDecl, node: c_ast.Decl, outermost: bool) -> int | None:
        if kind.dim is None and outermost:
            return None if node.init is None else self._written_size(node)
        try:
            size = evaluate(without_sizeof(kind.dim, self), self.constants())
        except NotConstant as error:
            place = self.source.place(getattr(error.node, "coord", None) or node.coord)
            raise ScopError(place, f"size of array '{node.name}': {error.reason}{_advice(error.node)}") from None
        if size < 1:
            raise ScopError(self.source.place(node.coord), f"size {size} of array '{node.name}' must be positive")
        return size

    def _written_size(self, node: c_ast.Decl) -> int | None:
        """The first size of an array that only its initialiser tells. Raises `ScopError`."""
        try:
            return written_size(node.init, self)
        except NotConstant as error:
            raise ScopError(self.source.place(node.coord), f"size of array '{node.name}': {error.reason}") from None

    def _initialise(self, variable: Variable, node: c_ast.Decl) -> None:
        const = "const" in (node.quals or [])
        if variable.storage == "parameter":
            if variable.scalar and variable.name in self.settings:
                value = Const(self.settings[variable.name], LONG)
                variable.values, variable.fixed = (as_type(value, variable.stored).value,), True
            return
        static = variable.storage == "global" or "static" in (node.storage or [])
        if node.init is not None and (const or variable.storage == "local"):
            variable.values = self._values(variable, node.init)
        elif static and const and "extern" not in (node.storage or []):
            variable.values = (0,) * prod(size or 1 for size in variable.shape)
        variable.fixed = const and variable.values is not None and "volatile" not in node.quals
        if static and variable.storage == "local":
            variable.storage = "global"
            variable.values = variable.values if variable.fixed else None

    def _values(self, variable: Variable, init: Any) -> tuple[int, ...] | None:
        """The flat initial values, None if they are not constant."""
        sizes = [size or 1 for size in variable.shape]
        try:
            flat = flat_values(init, sizes, self)
        except NotConstant:
            return None
        return tuple(as_type(value, variable.stored).value for value in flat)


def _with_elements(kind: Any, inner: Any) -> Any:
    """An array or a pointer of other elements."""
    changed = copy(kind)
    changed.type = inner
    return changed


def _with_qualifiers(kind: Any, qualifiers: list[str]) -> Any:
    """An array whose elements have more qualifiers."""
    if isinstance(kind, c_ast.TypeDecl):
        changed = copy(kind)
        changed.quals = [*(kind.quals or []), *qualifiers]
        return changed
    return _with_elements(kind, _with_qualifiers(kind.type, qualifiers))


def _possible(name: str) -> bool:
    try:
        check_name(name, "")
    except ProgramError:
        return False
    return True


def _advice(node: Any) -> str:
    return f"; give {node.name}=VALUE" if isinstance(node, c_ast.ID) else ""


def names_in(nodes: Iterable[Any]) -> set[str]:
    """All identifiers that occur in `nodes` as expressions (not the names that they declare)."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if isinstance(node, c_ast.ID):
            found.add(node.name)
        stack.extend(child for _, child in node.children())
    return found

"""Structures as variables of their own: field ``r`` of ``in`` is the variable ``in_r``.

Of an array of structures every field is an array; fields that are arrays, or structures, add their sizes and names:
``p[i].at[k].x`` is ``p_at_x[i][k]``. Assignments, initialisers and arguments become one for every field. A function
that returns a structure stores its fields through pointers. Structures with pointers, unions or bit fields stay as they
are; an error is due only where the scop uses one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.limits import limit, limit_note
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.string_functions import is_string_function
from compiler.frontend.c_scop.structure_types import (
    ArrayOf,
    Kind,
    Leaf,
    Structure,
    layout,
    leaves,
    read_kind,
)
from compiler.frontend.c_scop.structure_values import filled
from compiler.frontend.c_scop.types import named_type
from compiler.ir.types import Type

__all__ = ["without_structures"]


def without_structures(tree: c_ast.FileAST, source: Source, taken: set[str]) -> c_ast.FileAST:
    """`tree` with a variable for every field of a structure; `taken` are the names that are in use.

    Raises `ScopError` for fields that do not exist.
    """
    worker = _Structures(source, taken)
    items = worker.items(tree.ext, _Names())
    return c_ast.FileAST(items, tree.coord)


@dataclass(frozen=True, eq=False)
class _Variable:
    """A variable that is split: what it is, and the name of every leaf."""

    kind: Kind
    names: dict[tuple[str, ...], str]


@dataclass(frozen=True)
class _Access:
    """A part of a variable: the fields and subscripts that lead there, and what is there."""

    variable: _Variable
    path: tuple[str, ...]
    subscripts: tuple[Any, ...]
    kind: Kind

    @property
    def several(self) -> bool:
        """Whether it is more than one variable of C."""
        return _structured(self.kind)


@dataclass
class _Names:
    """What names mean at one place; `before` takes statements that go before the one that is rewritten."""

    variables: dict[str, _Variable | None] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    structures: dict[str, Structure] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    functions: dict[str, Structure] = field(default_factory=dict)
    result: _Variable | None = None
    before: list[Any] | None = None

    def inner(self) -> _Names:
        """The same inside a block."""
        return _Names(dict(self.variables), dict(self.types), dict(self.structures), dict(self.constants),
                      self.functions, self.result)


class _Structures:
    def __init__(self, source: Source, taken: set[str]) -> None:
        self._source = source
        self._taken = taken

    def _error(self, node: Any, reason: str) -> ScopError:
        return ScopError(self._source.place(node.coord), reason)

    # Statements and declarations.

    def items(self, items: Sequence[Any], names: _Names) -> list[Any]:
        """The statements and declarations `items` without structures."""
        return [new for item in items for new in self._item(item, names)]

    def _item(self, node: Any, names: _Names) -> list[Any]:
        match node:
            case None:
                return []
            case c_ast.FuncDef():
                return [self._function(node, names)]
            case c_ast.Compound():
                return [c_ast.Compound(self.items(node.block_items or [], names.inner()), node.coord)]
            case c_ast.Typedef():
                self._typedef(node, names)
                return [node]
            case c_ast.DeclList():
                return self.items(node.decls, names)
        names.before = before = []
        new = self._simple(node, names)
        names.before = None
        return [*before, *new]

    def _simple(self, node: Any, names: _Names) -> list[Any]:
        match node:
            case c_ast.Decl():
                return self._declaration(node, names)
            case c_ast.Assignment():
                return self._assignment(node, names)
            case c_ast.Return() if names.result is not None and node.expr is not None:
                return self._return(node, names)
            case c_ast.FuncCall() if is_string_function(node) and (new := self._bytes(node, names)) is not None:
                return new
        return [self._expression(node, names)]

    def _typedef(self, node: c_ast.Typedef, names: _Names) -> None:
        names.types.pop(node.name, None)
        names.structures.pop(node.name, None)
        kind = self._kind(node.type, names)
        if isinstance(kind, Structure):
            names.structures[node.name] = kind
        inner = getattr(node.type, "type", None)
        if isinstance(node.type, c_ast.TypeDecl) and isinstance(inner, c_ast.IdentifierType):
            type = named_type(tuple(inner.names), names.types)
            names.types |= {} if type is None else {node.name: type}

    def _kind(self, node: Any, names: _Names) -> Kind | None:
        """The kind of a type; structures and enumerations that it defines become known."""
        inner = node
        while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.TypeDecl | c_ast.FuncDecl):
            inner = inner.type
        kind = read_kind(node, names.types, names.structures, lambda part: evaluate(part, names.constants))
        if isinstance(inner, c_ast.Struct) and inner.decls is not None and inner.name:
            found = read_kind(c_ast.TypeDecl(None, [], None, inner), names.types, names.structures,
                              lambda part: evaluate(part, names.constants))
            names.structures.pop(f"struct {inner.name}", None)
            names.structures |= {f"struct {inner.name}": found} if isinstance(found, Structure) else {}
        if isinstance(inner, c_ast.Enum) and inner.values is not None:
            _enumerate(inner, names)
        return kind

    def _declaration(self, node: c_ast.Decl, names: _Names) -> list[Any]:
        if isinstance(node.type, c_ast.FuncDecl):
            return [] if isinstance(self._kind(node.type.type, names), Structure) else [node]
        kind = self._kind(node.type if node.name else c_ast.TypeDecl(None, [], None, node.type), names)
        if node.name is None:
            return [node]
        if kind is None or not _structured(kind):
            names.variables[node.name] = None
            self._known_constant(node, names)
            return [self._expression(node, names)]
        if isinstance(node.init, c_ast.InitList):
            values, kind = filled(kind, node.init, names.constants, lambda part: self._parts(part, names), self._error,
                                  lambda part: self._expression(part, names))
            variable = self._variable(node.name, kind, names)
            return [self._leaf_decl(node, leaf, variable, _listed(values[leaf.path], leaf, node.coord))
                    for leaf in leaves(kind)]
        given = None if node.init is None else self._expanded(node.init, names)
        variable = self._variable(node.name, kind, names)
        found = list(leaves(kind))
        if given is None or isinstance(kind, ArrayOf) or not any(leaf.sizes for leaf in found):
            inits = given or [None] * len(found)
            return [self._leaf_decl(node, leaf, variable, init) for leaf, init in zip(found, inits, strict=True)]
        decls = [self._leaf_decl(node, leaf, variable, None) for leaf in found]
        return [*decls, *self._copies(_Access(variable, (), (), kind), node.init, names, node)]

    def _known_constant(self, node: c_ast.Decl, names: _Names) -> None:
        names.constants.pop(str(node.name), None)
        if "const" in (node.quals or []) and isinstance(node.type, c_ast.TypeDecl) and node.init is not None:
            try:
                names.constants[str(node.name)] = evaluate(node.init, names.constants)
            except NotConstant:
                return

    def _variable(self, name: str, kind: Kind, names: _Names) -> _Variable:
        variable = _Variable(kind, {leaf.path: self._free("_".join((name, *leaf.path))) for leaf in leaves(kind)})
        names.variables[name] = variable
        return variable

    def _free(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self._taken:
            candidate = f"{name}_{number}"
            number += 1
        self._taken.add(candidate)
        return candidate

    def _leaf_decl(self, node: c_ast.Decl, leaf: Leaf, variable: _Variable, init: Any) -> c_ast.Decl:
        result = copy.copy(node)
        result.name, result.init = variable.names[leaf.path], init
        result.type = _leaf_type(node.type, variable.kind, leaf, result.name)
        return result

    # Functions.

    def _function(self, node: c_ast.FuncDef, names: _Names) -> c_ast.FuncDef:
        node = self._with_own_copies(node, names)
        result, decl, kind = copy.copy(node), copy.copy(node.decl), copy.copy(node.decl.type)
        inside = names.inner()
        returned = self._kind(kind.type, names)
        parameters = [new for p in (kind.args.params if kind.args else []) for new in self._parameter(p, inside)]
        if isinstance(returned, Structure):
            names.functions[str(node.decl.name)] = returned
            inside.result = self._variable(f"{node.decl.name}_result", returned, inside)
            parameters = [p for p in parameters if isinstance(p, c_ast.Decl)]
            parameters += [_pointer_decl(leaf, inside.result.names[leaf.path], node.coord) for leaf in leaves(returned)]
            kind.type = c_ast.TypeDecl(node.decl.name, [], None, c_ast.IdentifierType(["void"], node.coord))
        kind.args = c_ast.ParamList(parameters, node.coord) if parameters else kind.args
        decl.type = kind
        result.decl, result.body = decl, c_ast.Compound(self.items(node.body.block_items or [], inside), node.coord)
        return result

    def _with_own_copies(self, node: c_ast.FuncDef, names: _Names) -> c_ast.FuncDef:
        """`node` whose body begins with copies of the structures with arrays that it gets by value, as far as it may
        change them or what they were copied from: arrays reach a function as they are."""
        given = node.decl.type.args
        copied = [p for p in (given.params if given else []) if self._needs_copy(p, node, names)]
        if not copied:
            return node
        result, decl = copy.copy(node), copy.copy(node.decl)
        result.decl, decl.type = decl, copy.copy(node.decl.type)
        new = {p.name: self._free(f"{p.name}_given") for p in copied}
        parameters = [_renamed(p, new[p.name]) if p in copied else p for p in given.params]
        decl.type.args = c_ast.ParamList(parameters, given.coord)
        own = [_initialised(p, c_ast.ID(new[p.name], p.coord)) for p in copied]
        result.body = c_ast.Compound([*own, *(node.body.block_items or [])], node.body.coord)
        return result

    def _needs_copy(self, parameter: Any, node: c_ast.FuncDef, names: _Names) -> bool:
        kind = self._kind(parameter.type, names) if isinstance(parameter, c_ast.Decl) else None
        if not isinstance(kind, Structure) or not any(leaf.sizes for leaf in leaves(kind)) or _has_scop(node.body):
            return False
        own = [p.name for p in node.decl.type.args.params if isinstance(p.type, c_ast.TypeDecl)]
        return _may_change(node.body, parameter.name) or _may_store_outside(node.body, {*own, *_local_names(node.body)})

    def _parameter(self, node: Any, names: _Names) -> list[Any]:
        return self._declaration(node, names) if isinstance(node, c_ast.Decl) else [node]

    def _bytes(self, node: c_ast.FuncCall, names: _Names) -> list[Any] | None:
        """A call of memset or memcpy for whole structures as an assignment or a call for every field; None if it is
        about something else."""
        given = node.args.exprs if node.args else []
        arguments = [part.expr if isinstance(part, c_ast.Cast) else part for part in given]
        objects = [part.expr if isinstance(part, c_ast.UnaryOp) and part.op == "&" else None for part in arguments]
        target = None if len(objects) != 3 else self._access(objects[0] or arguments[0], names)
        if target is None or not target.several:
            return None
        copied = node.name.name != "memset"
        source = self._access(objects[1], names) if copied and objects[1] is not None else None
        try:
            size = evaluate(self._expression(arguments[2], names), names.constants)
            value = 0 if copied else evaluate(arguments[1], names.constants)
        except NotConstant:
            size = value = -1
        same = source is not None and source.kind == target.kind if copied else value == 0
        whole = isinstance(target.kind, Structure) and objects[0] is not None and size == layout(target.kind)[0]
        if not whole or not same:
            raise self._error(node, f"{node.name.name}() is known for one whole structure, with zeros or another "
                                    "one of its kind (memset(&s, 0, sizeof s)); assign other fields in a loop")
        return [self._field_bytes(node, target, source, leaf) for leaf in leaves(target.kind)]

    def _field_bytes(self, node: c_ast.FuncCall, target: _Access, source: _Access | None, leaf: Leaf) -> Any:
        """The same for one field."""
        field, zero = _built(target, node.coord, leaf), c_ast.Constant("int", "0", node.coord)
        value = zero if source is None else _built(source, node.coord, leaf)
        if not leaf.sizes:
            return c_ast.Assignment("=", field, value, node.coord)
        size = c_ast.UnaryOp("sizeof", field, node.coord)
        return c_ast.FuncCall(node.name, c_ast.ExprList([field, value, size], node.coord), node.coord)

    def _return(self, node: c_ast.Return, names: _Names) -> list[Any]:
        assert names.result is not None
        temporary = self._temporary(node.expr, names.result.kind, names)
        result = _Variable(ArrayOf(None, names.result.kind), names.result.names)
        zero = c_ast.Constant("int", "0", node.coord)
        access = _Access(result, (), (zero,), names.result.kind)
        stores = self._stores(access, lambda leaf, index: _element(temporary, leaf, index, node.coord), node)
        return [c_ast.Compound([*stores, c_ast.Return(None, node.coord)], node.coord)]

    # Expressions.

    def _expression(self, node: Any, names: _Names) -> Any:
        """`node` and all that is inside with fields as variables."""
        if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
            size = self._size(node.expr, names)
            if size is not None:
                return c_ast.Constant("unsigned long int", f"{size}UL", node.coord)
        if isinstance(node, c_ast.ID | c_ast.ArrayRef | c_ast.StructRef):
            access = self._access(node, names)
            if access is not None and not access.several:
                return _built(access, node.coord)
        several = self._several(node, names)
        if several is not None:
            return c_ast.ExprList(several, node.coord)
        return self._parts_of(node, names)

    def _parts_of(self, node: Any, names: _Names) -> Any:
        result = copy.copy(node)
        lists: dict[str, list[Any]] = {}
        inside = names
        if isinstance(node, c_ast.For):
            inside = names.inner()
        for name, child in node.children():
            attribute, _, number = name.partition("[")
            if number:
                lists.setdefault(attribute, []).extend(self._listed_part(node, child, inside))
            else:
                setattr(result, name, self._part(node, name, child, inside))
        for attribute, values in lists.items():
            setattr(result, attribute, values)
        return result

    def _listed_part(self, node: Any, child: Any, names: _Names) -> list[Any]:
        if isinstance(node, c_ast.Case | c_ast.Default):
            return self._item(child, names)
        if isinstance(node, c_ast.ExprList):
            several = self._several(child, names)
            if several is not None:
                return several
            if isinstance(child, c_ast.Assignment):
                return self._assignment(child, names)
        if isinstance(node, c_ast.DeclList):
            return self._declaration(child, names)
        return [self._expression(child, names)]

    def _part(self, node: Any, name: str, child: Any, names: _Names) -> Any:
        if name in ("stmt", "iftrue", "iffalse") and not isinstance(node, c_ast.TernaryOp):
            found = self._item(child, names.inner())
            return found[0] if len(found) == 1 else c_ast.Compound(found, child.coord)
        if isinstance(child, c_ast.Typename | c_ast.TypeDecl | c_ast.FuncDecl):
            return child
        outside = names.before
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            names.before = None
        new = self._expression(child, names)
        names.before = outside
        return new

    def _size(self, node: Any, names: _Names) -> int | None:
        if isinstance(node, c_ast.Typename):
            kind = self._kind(node.type, names)
            return layout(kind)[0] if kind is not None and _structured(kind) else None
        access = self._access(node, names)
        return layout(access.kind)[0] if access is not None and access.several else None

    def _access(self, node: Any, names: _Names) -> _Access | None:
        """The part of a split variable that `node` is, None if it is something else."""
        match node:
            case c_ast.ID():
                variable = names.variables.get(node.name)
                return None if variable is None else _Access(variable, (), (), variable.kind)
            case c_ast.FuncCall() if isinstance(node.name, c_ast.ID) and node.name.name in names.functions:
                variable = self._called(node, names)
                return _Access(variable, (), (), variable.kind)
            case c_ast.ArrayRef():
                base = self._access(node.name, names)
                if base is None or not isinstance(base.kind, ArrayOf):
                    return None
                subscript = self._expression(node.subscript, names)
                return _Access(base.variable, base.path, (*base.subscripts, subscript), base.kind.element)
            case c_ast.StructRef():
                base = self._access(node.name, names)
                if base is None or not isinstance(base.kind, Structure):
                    return None
                kind = base.kind.field(node.field.name)
                if kind is None:
                    fields = ", ".join(name for name, _ in base.kind.fields)
                    raise self._error(node.field, f"the structure has no field '{node.field.name}'; it has {fields}")
                return _Access(base.variable, (*base.path, node.field.name), base.subscripts, kind)
        return None

    def _called(self, node: c_ast.FuncCall, names: _Names) -> _Variable:
        """The result of a function that returns a structure: a call before the statement stores it."""
        if names.before is None:
            raise self._error(node, f"{node.name.name}() returns a structure; call it in a statement of its own")
        kind = names.functions[node.name.name]
        arguments = [new for part in (node.args.exprs if node.args else []) for new in self._expanded(part, names)]
        variable = self._fresh(f"{node.name.name}_value", kind, names, node.coord)
        arguments += [c_ast.UnaryOp("&", c_ast.ID(name, node.coord), node.coord) for name in variable.names.values()]
        names.before.append(c_ast.FuncCall(node.name, c_ast.ExprList(arguments, node.coord), node.coord))
        return variable

    def _fresh(self, name: str, kind: Kind, names: _Names, coord: Any) -> _Variable:
        """A new variable, declared before the statement; it is zero, since a return may set it under a condition."""
        assert names.before is not None
        variable = _Variable(kind, {leaf.path: self._free("_".join((name, *leaf.path))) for leaf in leaves(kind)})
        for leaf in leaves(kind):
            name = variable.names[leaf.path]
            init = _listed({}, leaf, coord)
            names.before.append(c_ast.Decl(name, [], [], [], [], _sized(leaf, name, coord), init, None, coord))
        return variable

    def _several(self, node: Any, names: _Names) -> list[Any] | None:
        """The parts of `node` if it is a structure, an array of structures, or a pointer to one."""
        match node:
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.FuncCall():
                access = self._access(node, names)
                if access is None or not access.several:
                    return None
                return [_built(access, node.coord, leaf) for leaf in leaves(access.kind)]
            case c_ast.UnaryOp(op="&"):
                found = self._several(node.expr, names)
                return None if found is None else [c_ast.UnaryOp("&", part, node.coord) for part in found]
            case c_ast.CompoundLiteral() | c_ast.TernaryOp():
                kind = self._value_kind(node, names)
                if kind is None:
                    return None
                variable = self._temporary(node, kind, names)
                return [c_ast.ID(name, node.coord) for name in variable.names.values()]
        return None

    def _parts(self, node: Any, names: _Names) -> Callable[[Leaf, tuple[int, ...]], Any] | None:
        """The elements of a structure `node` by leaf and index, None if it is a number."""
        access = self._access(node, names)
        if access is None or not access.several:
            return None
        return lambda leaf, index: _built(access, node.coord, leaf, index)

    def _expanded(self, node: Any, names: _Names) -> list[Any]:
        several = self._several(node, names)
        return [self._expression(node, names)] if several is None else several

    # Values of whole structures.

    def _value_kind(self, node: Any, names: _Names) -> Structure | None:
        """The structure that a value is, None if it is none."""
        match node:
            case c_ast.CompoundLiteral():
                kind = self._kind(node.type.type, names)
            case c_ast.TernaryOp():
                kind = self._value_kind(node.iftrue, names)
            case c_ast.FuncCall():
                kind = names.functions.get(getattr(node.name, "name", ""))
            case _:
                access = self._access(node, names)
                kind = None if access is None else access.kind
        return kind if isinstance(kind, Structure) else None

    def _temporary(self, node: Any, kind: Kind, names: _Names) -> _Variable:
        """A variable that holds the structure `node`, set before the statement."""
        if names.before is None:
            raise self._error(node, "a structure is made in the head of a loop; make it in a statement before")
        variable = self._fresh("structure", kind, names, node.coord)
        target = _Access(variable, (), (), kind)
        names.before += self._copies(target, node, names, node)
        return variable

    def _assignment(self, node: c_ast.Assignment, names: _Names) -> list[Any]:
        target = self._access(node.lvalue, names)
        if target is None or not isinstance(target.kind, Structure):
            return [self._expression(node, names)]
        value = node.rvalue
        if isinstance(value, c_ast.Assignment):
            return [*self._assignment(value, names), *self._copies(target, value.lvalue, names, node)]
        if isinstance(value, c_ast.CompoundLiteral | c_ast.TernaryOp):
            held = self._temporary(value, target.kind, names)
            return self._stores(target, lambda leaf, index: _element(held, leaf, index, node.coord), node)
        return self._copies(target, value, names, node)

    def _copies(self, target: _Access, value: Any, names: _Names, node: Any) -> list[Any]:
        """Assignments of all of structure `value` to `target`."""
        return self._stores(target, self._elements(value, target.kind, names), node)

    def _elements(self, node: Any, kind: Kind, names: _Names) -> Callable[[Leaf, tuple[int, ...]], Any]:
        match node:
            case c_ast.TernaryOp():
                condition = self._expression(node.cond, names)
                yes, no = (self._elements(part, kind, names) for part in (node.iftrue, node.iffalse))
                return lambda leaf, index: c_ast.TernaryOp(condition, yes(leaf, index), no(leaf, index), node.coord)
            case c_ast.CompoundLiteral():
                values, _ = filled(kind, node.init, names.constants, lambda part: self._parts(part, names),
                                   self._error, lambda part: self._expression(part, names))
                zero = c_ast.Constant("int", "0", node.coord)
                return lambda leaf, index: values[leaf.path].get(index, zero)
        found = self._parts(node, names)
        if found is None:
            raise self._error(node, "this is no structure that can be copied; assign the fields one by one")
        return found

    def _stores(self, target: _Access, value: Callable[[Leaf, tuple[int, ...]], Any], node: Any) -> list[Any]:
        count = sum(prod(size or 1 for size in leaf.sizes) for leaf in leaves(target.kind))
        if count > limit("copied_fields"):
            raise self._error(node, f"copies a structure of {count} numbers one by one; write a loop over its array "
                                    f"{limit_note('copied_fields')}")
        return [c_ast.Assignment("=", _built(target, node.coord, leaf, index), value(leaf, index), node.coord)
                for leaf in leaves(target.kind) for index in product(*(range(size or 1) for size in leaf.sizes))]


def _structured(kind: Kind) -> bool:
    while isinstance(kind, ArrayOf):
        kind = kind.element
    return isinstance(kind, Structure)


def _enumerate(node: c_ast.Enum, names: _Names) -> None:
    following = 0
    for entry in node.values.enumerators:
        try:
            following = following if entry.value is None else evaluate(entry.value, names.constants)
        except NotConstant:
            return
        names.constants[entry.name] = following
        following += 1


def _subscripted(name: str, subscripts: Sequence[Any], coord: Any) -> Any:
    result: Any = c_ast.ID(name, coord)
    for subscript in subscripts:
        result = c_ast.ArrayRef(result, subscript, coord)
    return result


def _built(access: _Access, coord: Any, leaf: Leaf | None = None, index: tuple[int, ...] = ()) -> Any:
    """The access to `leaf` of a part of a variable (to the part, if it is one variable), further at `index`."""
    path = access.path if leaf is None else (*access.path, *leaf.path)
    inner = [c_ast.Constant("int", str(k), coord) for k in index]
    return _subscripted(access.variable.names[path], [*access.subscripts, *inner], coord)


def _element(variable: _Variable, leaf: Leaf, index: tuple[int, ...], coord: Any) -> Any:
    return _built(_Access(variable, (), (), variable.kind), coord, leaf, index)


def _leaf_type(node: Any, kind: Kind, leaf: Leaf, name: str) -> Any:
    """The type of a leaf: the arrays and pointers of the variable's type `node` around the field's own."""
    if isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl) and isinstance(kind, ArrayOf):
        result = copy.copy(node)
        inside = Leaf(leaf.path, leaf.sizes[1:], leaf.scalar)
        result.type = _leaf_type(node.type, kind.element, inside, name)
        if isinstance(node, c_ast.ArrayDecl) and node.dim is None and kind.size is not None:
            result.dim = c_ast.Constant("int", str(kind.size), node.coord)
        return result
    result = _sized(leaf, name, node.coord)
    inner = result
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    inner.quals = list({*(inner.quals or []), *(node.quals or [])})
    return result


def _sized(leaf: Leaf, name: str, coord: Any) -> Any:
    """The type of a variable for one leaf."""
    result = copy.copy(leaf.scalar.node)
    result.declname, result.quals = name, list(result.quals or [])
    for size in reversed(leaf.sizes):
        result = c_ast.ArrayDecl(result, c_ast.Constant("int", str(size), coord), [], coord)
    return result


def _pointer_decl(leaf: Leaf, name: str, coord: Any) -> c_ast.Decl:
    kind = c_ast.PtrDecl([], _sized(leaf, name, coord), coord)
    return c_ast.Decl(name, [], [], [], [], kind, None, None, coord)


def _listed(values: dict[tuple[int, ...], Any], leaf: Leaf, coord: Any) -> Any:
    """The initialiser of a leaf's variable."""
    if not leaf.sizes:
        return values.get((), c_ast.Constant("int", "0", coord))
    return c_ast.InitList(
        [c_ast.NamedInitializer([c_ast.Constant("int", str(k), coord) for k in index], value)
         for index, value in values.items()] or [c_ast.Constant("int", "0", coord)], coord)


def _may_change(node: Any, name: str) -> bool:
    """Whether `node` assigns a part of variable `name`, or hands it, or its address, to somebody else."""
    touched: list[Any] = []
    if isinstance(node, c_ast.Assignment):
        touched = [node.lvalue]
    elif isinstance(node, c_ast.UnaryOp) and node.op in ("++", "--", "p++", "p--", "&"):
        touched = [node.expr]
    elif isinstance(node, c_ast.FuncCall):
        touched = list(node.args.exprs) if node.args else []
    return any(_root(part) == name for part in touched) or any(_may_change(c, name) for _, c in node.children())


def _root(node: Any) -> str:
    """The variable that an element or a field belongs to."""
    while isinstance(node, c_ast.ArrayRef | c_ast.StructRef):
        node = node.name
    return node.name if isinstance(node, c_ast.ID) else ""


def _may_store_outside(node: Any, own: set[str]) -> bool:
    """Whether statements in `node` may assign anything but the variables `own`; functions that they call may."""
    match node:
        case c_ast.Return():
            return False
        case c_ast.FuncCall():
            return True
        case c_ast.Assignment() if _root(node.lvalue) not in own:
            return True
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--") if _root(node.expr) not in own:
            return True
    return any(_may_store_outside(child, own) for _, child in node.children())


def _local_names(node: Any) -> set[str]:
    """Variables that statements declare, without pointers."""
    own = {str(node.name)} if isinstance(node, c_ast.Decl) and not isinstance(node.type, c_ast.PtrDecl) else set()
    return own.union(*(_local_names(child) for _, child in node.children()))


def _has_scop(node: Any) -> bool:
    return (isinstance(node, c_ast.Pragma) and node.string.split() == ["scop"]) or \
        any(_has_scop(child) for _, child in node.children())


def _renamed(node: c_ast.Decl, name: str) -> c_ast.Decl:
    result = copy.copy(node)
    result.name, result.type = name, copy.copy(node.type)
    result.type.declname = name
    return result


def _initialised(node: c_ast.Decl, value: Any) -> c_ast.Decl:
    result = copy.copy(node)
    result.init = value
    return result

"""Calls of functions that the file defines, replaced by what they compute.

A function that is one ``return`` becomes an expression with C's conversions of its arguments and of its result. Any
other becomes statements before the one that calls it: its parameters and locals as fresh variables, arrays and pointers
as the arrays they point to, ``return`` as an assignment of the result (`compiler.frontend.c_scop.returns`). Pointers
that are declared with a value and never change are names of what they point to.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.library import LIBRARY
from compiler.frontend.c_scop.limits import limit, limit_note
from compiler.frontend.c_scop.normalize.trees import assigned_names, is_step, nodes
from compiler.frontend.c_scop.pointers import compared, element_of
from compiler.frontend.c_scop.returns import structured
from compiler.frontend.c_scop.sizes import pointer_size
from compiler.frontend.c_scop.source import Source

__all__ = ["Inliner"]

_Names = dict[str, Any]


@dataclass
class _Place:
    """Where a statement is: names with other meanings here, calls around it, where statements before it go, and the
    names that are pointers, whatever they point to."""

    names: _Names
    calls: tuple[str, ...] = ()
    before: list[Any] | None = None
    conditional: bool = False
    pointers: set[str] = field(default_factory=set)

    def block(self) -> _Place:
        """The same inside a block."""
        return _Place(dict(self.names), self.calls, pointers=set(self.pointers))


@dataclass
class Inliner:
    """Replaces calls of `functions` in a scop."""

    source: Source
    functions: Mapping[str, c_ast.FuncDef]
    taken: set[str]
    nodes: int = field(default=0)
    most: int = field(default_factory=lambda: limit("inlined_operations"))

    def items(self, items: list[Any]) -> list[Any]:
        """The statements `items` without calls. Raises `ScopError`."""
        return self._items(items, _Place({}))

    def _error(self, node: Any, reason: str) -> ScopError:
        return ScopError(self.source.place(node.coord), reason)

    def _wandering(self, node: Any, name: str) -> ScopError:
        return self._error(node, f"pointer '{name}' changes, and it is not known that it stays in one array, or in one "
                                 "row of an array of arrays; use a pointer for each, or subscripts")

    def _items(self, items: list[Any], place: _Place) -> list[Any]:
        found: list[Any] = []
        for item in items:
            found += self._statement(item, place)
        return found

    def _statement(self, node: Any, place: _Place) -> list[Any]:
        """What statement `node` becomes; `place.names` gets what it declares."""
        before: list[Any] = []
        here = _Place(place.names, place.calls, before, pointers=place.pointers)
        match node:
            case c_ast.Compound():
                inside = self._items(node.block_items or [], place.block())
                return [c_ast.Compound(inside, node.coord)]
            case c_ast.Decl():
                new = self._declaration(node, here)
                return [*before, *([] if new is None else [new])]
            case c_ast.DeclList():
                return [part for decl in node.decls for part in self._statement(decl, place)]
            case c_ast.FuncCall() if self._defined(node):
                self._statements_of(node, here)
                return before
            case c_ast.If():
                cond = self._copy(node.cond, here)
                yes, no = self._nested(node.iftrue, place), self._nested(node.iffalse, place)
                return [*before, c_ast.If(cond, yes, no, node.coord)]
            case c_ast.Switch():
                cond = self._copy(node.cond, here)
                return [*before, c_ast.Switch(cond, self._nested(node.stmt, place), node.coord)]
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return [self._loop(node, place)]
            case c_ast.Label() | c_ast.Case() | c_ast.Default():
                return [self._labelled(node, place)]
        new = self._copy(node, here)
        return [*before, new]

    def _nested(self, node: Any, place: _Place) -> Any:
        if node is None:
            return None
        found = self._statement(node, place.block())
        alone = len(found) == 1 and not isinstance(found[0], c_ast.Decl)
        return found[0] if alone else c_ast.Compound(found, node.coord)

    def _loop(self, node: Any, place: _Place) -> Any:
        inside = place.block()
        result = copy.copy(node)
        for name, child in node.children():
            if name == "stmt":
                continue
            if isinstance(child, c_ast.DeclList):
                decls = [self._declaration(decl, inside) for decl in child.decls]
                setattr(result, name, c_ast.DeclList(decls, child.coord))
            else:
                setattr(result, name, self._copy(child, inside))
        result.stmt = self._nested(node.stmt, inside)
        return result

    def _labelled(self, node: Any, place: _Place) -> Any:
        result = copy.copy(node)
        if isinstance(node, c_ast.Label):
            found = self._statement(node.stmt, place)
            result.stmt = found[-1] if len(found) == 1 else c_ast.Compound(
                [*found[:-1], c_ast.Label(node.name, found[-1], node.coord)], node.coord)
            return result if len(found) == 1 else result.stmt
        result.stmts = self._items(node.stmts or [], place)
        return result

    def _declaration(self, node: c_ast.Decl, place: _Place) -> c_ast.Decl | None:
        """`node` under a name that is free inside a function that is called; None for another name of an array."""
        if isinstance(node.type, c_ast.PtrDecl) and node.init is not None:
            place.names[node.name] = self._pointer(node.init, place)
            place.pointers.add(node.name)
            return None
        place.names.pop(node.name, None)
        place.pointers.discard(node.name)
        result = copy.copy(node)
        result.init = self._copy(node.init, place)
        if place.calls:
            result = self._renamed(result, place)
        if isinstance(result.type, c_ast.ArrayDecl):
            result.type = self._sizes(result.type, place)
        return result

    def _sizes(self, kind: Any, place: _Place) -> Any:
        if not isinstance(kind, c_ast.ArrayDecl):
            return kind
        return c_ast.ArrayDecl(self._sizes(kind.type, place), self._copy(kind.dim, place), kind.dim_quals, kind.coord)

    def _renamed(self, node: c_ast.Decl, place: _Place) -> c_ast.Decl:
        result = copy.copy(node)
        result.name = self._free(str(node.name))
        result.type = _retyped(node.type, result.name)
        place.names[node.name] = c_ast.ID(result.name, node.coord)
        return result

    def _free(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    # Expressions.

    def _copy(self, node: Any, place: _Place) -> Any:
        """Expression `node` with names and calls replaced."""
        self.nodes += 1
        if self.nodes > self.most:
            raise self._error(node, f"calls of functions expand to more than {self.most} operations; keep results that "
                                    f"are used several times in variables {limit_note('inlined_operations')}")
        match node:
            case None:
                return None
            case c_ast.ID():
                return place.names.get(node.name, node)
            case c_ast.UnaryOp(op="sizeof", expr=c_ast.ID(name=name)) if name in place.pointers:
                return pointer_size(node.coord)
            case c_ast.UnaryOp(expr=c_ast.ID(name=name)) if is_step(node) and name in place.pointers:
                raise self._wandering(node, name)
            case c_ast.Assignment(lvalue=c_ast.ID(name=name)) if name in place.pointers:
                raise self._wandering(node, name)
            case c_ast.ArrayRef():
                pointer = self._copy(node.name, place)
                return element_of(pointer, self._copy(node.subscript, place), node.coord)
            case c_ast.ExprList() if place.before is not None and not place.conditional:
                for part in node.exprs[:-1]:
                    own = _Place(place.names, place.calls, pointers=place.pointers)
                    place.before += self._statement(part, own) if _targets(part) else []
                return self._copy(node.exprs[-1], place)
            case c_ast.FuncCall() if self._defined(node):
                return self._value(node, place)
            case c_ast.FuncCall() if node.args:
                arguments = [self._copy(part, place) for part in node.args.exprs]
                return c_ast.FuncCall(node.name, c_ast.ExprList(arguments, node.coord), node.coord)
        return compared(self._children(node, place))

    def _children(self, node: Any, place: _Place) -> Any:
        result = copy.copy(node)
        unsure = isinstance(node, c_ast.TernaryOp) or (isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"))
        outside = place.conditional
        lists: dict[str, list[Any]] = {}
        for name, child in node.children():
            place.conditional = outside or unsure
            new = child if isinstance(child, c_ast.Typename) else self._copy(child, place)
            attribute, _, number = name.partition("[")
            if number:
                lists.setdefault(attribute, []).append(new)
            else:
                setattr(result, name, new)
        place.conditional = outside
        for attribute, values in lists.items():
            setattr(result, attribute, values)
        return result

    def _pointer(self, node: Any, place: _Place) -> Any:
        while isinstance(node, c_ast.Cast) and isinstance(node.to_type.type, c_ast.PtrDecl):
            raise self._error(node, "casts of pointers are not supported; use the array in its own type")
        return self._copy(node, place)

    # Calls.

    def _defined(self, node: c_ast.FuncCall) -> bool:
        return isinstance(node.name, c_ast.ID) and node.name.name in self.functions

    def _value(self, node: c_ast.FuncCall, place: _Place) -> Any:
        function = self.functions[node.name.name]
        kind = function.decl.type.type
        if _is_void(kind):
            raise self._error(node, f"{node.name.name}() has no value")
        items = function.body.block_items or []
        if len(items) == 1 and isinstance(items[0], c_ast.Return):
            inside = self._inside(node, function, place)
            inside.before, inside.conditional = place.before, place.conditional
            return _cast(kind, self._copy(items[0].expr, inside), node.coord)
        return self._statements_of(node, place)

    def _statements_of(self, node: c_ast.FuncCall, place: _Place) -> Any:
        """Put the statements of the function before the one that calls it; its result."""
        function = self.functions[node.name.name]
        name, kind, coord = node.name.name, function.decl.type.type, node.coord
        if place.before is None:
            raise self._error(node, f"{name}() is called in the head of a loop and is more than one expression")
        if place.conditional and self._has_effects(function):
            raise self._error(node, f"{name}() is called under a condition inside an expression and writes more than "
                                    "its result; call it in an if")
        parameters: list[Any] = []
        inside = self._inside(node, function, place, parameters)
        result = None
        if not _is_void(kind):
            result = c_ast.ID(self._free(f"{name}_result"), coord)
            place.before.append(_decl(result.name, kind, c_ast.Constant("int", "0", coord), coord))
        done = self._free(f"{name}_done")
        body, flagged = structured(function.body, result, c_ast.ID(done, coord))
        if flagged:
            place.before.append(_decl(done, _int_type(coord), c_ast.Constant("int", "0", coord), coord))
        place.before.append(c_ast.Compound(parameters + self._items(body, inside.block()), coord))
        return result

    def _inside(self, node: c_ast.FuncCall, function: c_ast.FuncDef, place: _Place,
                variables: list[Any] | None = None) -> _Place:
        """Inside a function: what its parameters mean; those that need a variable are among `variables`, or declared
        before the statement that calls."""
        name = node.name.name
        if name in place.calls:
            raise self._error(node, f"{name}() calls itself; recursion is not supported, write a loop")
        declared = function.decl.type.args
        parameters = [p for p in declared.params if isinstance(p, c_ast.Decl)] if declared else []
        given = node.args.exprs if node.args else []
        if len(parameters) != len(given):
            raise self._error(node, f"{name}() has {len(parameters)} parameters, not {len(given)}")
        inside = _Place({}, (*place.calls, name))
        for parameter, argument in zip(parameters, given, strict=True):
            inside.names[parameter.name] = self._argument(parameter, function, argument, place, variables)
            if isinstance(parameter.type, c_ast.PtrDecl | c_ast.ArrayDecl):
                inside.pointers.add(parameter.name)
        return inside

    def _has_effects(self, function: c_ast.FuncDef) -> bool:
        """Whether a function, or one that it calls, may write anything but its own locals."""
        seen: dict[str, c_ast.FuncDef] = {}
        left = [function]
        while left:
            inner = left.pop()
            if _writes_outside(inner):
                return True
            for name in _called(inner) - LIBRARY.keys() - seen.keys():
                if name not in self.functions:
                    return True
                seen[name] = self.functions[name]
                left.append(seen[name])
        return False

    def _argument(self, parameter: c_ast.Decl, function: c_ast.FuncDef, argument: Any, place: _Place,
                  variables: list[Any] | None) -> Any:
        changed, uses = set(assigned_names(function.body)), _uses(function.body, parameter.name)
        if isinstance(parameter.type, c_ast.PtrDecl | c_ast.ArrayDecl):
            if parameter.name in changed:
                reason = f"{function.decl.name}() changes its pointer '{parameter.name}'; use subscripts"
                raise self._error(parameter, reason)
            return self._pointer(argument, place)
        value = self._copy(argument, place)
        names = _names(value)
        simple = names is not None and not names & changed
        if parameter.name not in changed and (simple or (uses < 2 and not self._has_effects(function))):
            return _cast(parameter.type, value, argument.coord)
        if place.before is None:
            return _cast(parameter.type, value, argument.coord)
        name = self._free(parameter.name)
        found = _decl(name, parameter.type, value, argument.coord)
        (place.before if variables is None else variables).append(found)
        return c_ast.ID(name, argument.coord)


def _is_void(kind: Any) -> bool:
    return isinstance(kind, c_ast.TypeDecl) and getattr(kind.type, "names", None) == ["void"]


def _int_type(coord: Any) -> c_ast.TypeDecl:
    return c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["int"], coord), coord=coord)


def _retyped(kind: Any, name: str | None) -> Any:
    """The type `kind` for a variable called `name`, not const."""
    result = copy.copy(kind)
    if isinstance(kind, c_ast.TypeDecl):
        result.declname = name
    else:
        result.type = _retyped(kind.type, name)
    return result


def _decl(name: str, kind: Any, init: Any, coord: Any) -> c_ast.Decl:
    return c_ast.Decl(name, [], [], [], [], _retyped(kind, name), init, None, coord)


def _cast(kind: Any, value: Any, coord: Any) -> c_ast.Cast:
    return c_ast.Cast(c_ast.Typename(None, [], None, _retyped(kind, None), coord), value, coord)


def _uses(node: Any, name: str | None) -> int:
    return sum(isinstance(inner, c_ast.ID) and inner.name == name for inner in nodes(node))


def _names(value: Any) -> set[str] | None:
    """The names in an expression of scalars and constants that is cheap to repeat, None for others."""
    inside = list(nodes(value))
    kinds = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast, c_ast.Typename, c_ast.TypeDecl,
             c_ast.IdentifierType)
    if len(inside) > 40 or not all(isinstance(inner, kinds) for inner in inside):
        return None
    return {inner.name for inner in inside if isinstance(inner, c_ast.ID)}


def _targets(node: Any) -> list[Any]:
    found = []
    for inner in nodes(node):
        if isinstance(inner, c_ast.Assignment):
            found.append(inner.lvalue)
        elif is_step(inner):
            found.append(inner.expr)
    return found


def _writes_outside(function: c_ast.FuncDef) -> bool:
    """Whether a function itself may write anything but its own locals."""
    own = {inner.name for inner in nodes(function.body) if isinstance(inner, c_ast.Decl)
           and not isinstance(inner.type, c_ast.PtrDecl)}
    scalars = {p.name for p in _declared(function) if isinstance(p.type, c_ast.TypeDecl)}
    for target in _targets(function.body):
        while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
            target = target.name
        if not (isinstance(target, c_ast.ID) and target.name in own | scalars):
            return True
    return False


def _declared(function: c_ast.FuncDef) -> list[c_ast.Decl]:
    """The parameters of a function."""
    arguments = function.decl.type.args
    return [p for p in arguments.params if isinstance(p, c_ast.Decl)] if arguments else []


def _called(function: c_ast.FuncDef) -> set[str]:
    """Names of what a function calls; that of a call through a pointer is empty."""
    return {getattr(inner.name, "name", "") for inner in nodes(function.body) if isinstance(inner, c_ast.FuncCall)}

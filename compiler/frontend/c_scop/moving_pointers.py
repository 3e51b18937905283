"""Pointers that walk through an array as the array and an index.

    for (const int *p = a + 2; p < a + 9; p++) s += *p;
    for (int p_index = 2; p_index < 9; p_index++) s += a[p_index];

Wherever a pointer changes, all that it is given points into one array (or row of one), and so does what it is compared
with. A pointer that does not change stays as it is, unless what it was computed from changes. Pointers of which this is
not known are left alone; an error is due only where the scop uses one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.data_addresses import tree_text
from compiler.frontend.c_scop.normalize.trees import (
    accessed,
    assigned_names,
    declared,
    is_step,
    nodes,
    number,
    rebuild,
    used_names,
)
from compiler.frontend.c_scop.pointers import COMPARISONS, between
from compiler.frontend.c_scop.sizes import pointer_size

__all__ = ["with_indices"]

_POINTERS = (c_ast.PtrDecl, c_ast.ArrayDecl)


@dataclass(frozen=True)
class _Array:
    """An array, or a pointer that is not known to point into one: how many subscripts lead to a number."""

    depth: int


@dataclass(frozen=True)
class _Pointer:
    """Where a pointer points: an element of `root`, an array or a row of one, whose number is `index`. `moving`: it is
    no variable any more."""

    root: Any
    index: Any
    depth: int
    moving: bool = False


_Names = dict[str, _Array | _Pointer | None]


def with_indices(tree: c_ast.FileAST, taken: set[str]) -> c_ast.FileAST:
    """`tree` with an index in place of every pointer that changes. New names are added to those that are `taken`."""
    names: _Names = {}
    found = []
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and node.name:
            names[node.name] = _array(node.type)
        found.append(_Function(node, taken).rewritten(names) if isinstance(node, c_ast.FuncDef) else node)
    return c_ast.FileAST(found, tree.coord)


def _array(kind: Any) -> _Array | None:
    depth = 0
    while isinstance(kind, _POINTERS):
        kind, depth = kind.type, depth + 1
    return _Array(depth) if depth and isinstance(kind, c_ast.TypeDecl) else None


@dataclass
class _Function:
    node: c_ast.FuncDef
    taken: set[str]
    indices: set[str] = field(default_factory=set)

    def rewritten(self, names: _Names) -> c_ast.FuncDef:
        """The function without pointers that change."""
        names, before = dict(names), []
        changed = set(assigned_names(self.node.body))
        parameters = self.node.decl.type.args.params if self.node.decl.type.args else []
        for parameter in parameters:
            if not isinstance(parameter, c_ast.Decl):
                continue
            kind = names[parameter.name] = _array(parameter.type)
            if kind is not None and parameter.name in changed:
                zero = number(0, parameter.coord)
                root = c_ast.ID(parameter.name, parameter.coord)
                pointer = _Pointer(root, zero, kind.depth)
                if self._stays(parameter.name, pointer, names):
                    before += self._moving(parameter.name, pointer, names, parameter.coord)
        result = copy.copy(self.node)
        result.body = c_ast.Compound([*before, *self._items(self.node.body.block_items or [], names, ())],
                                     self.node.body.coord)
        return result

    # Statements.

    def _items(self, items: list[Any], names: _Names, loops: tuple[c_ast.For, ...]) -> list[Any]:
        return [new for item in items for new in self._item(item, names, loops)]

    def _item(self, node: Any, names: _Names, loops: tuple[c_ast.For, ...]) -> list[Any]:
        """What takes the place of a statement in a block; `names` gets what it declares."""
        match node:
            case c_ast.Compound():
                return [c_ast.Compound(self._items(node.block_items or [], dict(names), loops), node.coord)]
            case c_ast.Decl():
                return self._declaration(node, names, loops)
            case c_ast.DeclList():
                return self._items(node.decls, names, loops)
            case c_ast.For():
                return self._loop(node, dict(names), loops)
            case c_ast.Case() | c_ast.Default():
                result = copy.copy(node)
                result.stmts = self._items(node.stmts or [], names, loops)
                return [result]
            case c_ast.ExprList():
                return [c_ast.ExprList(self._items(node.exprs, names, loops), node.coord)]
        return [self._statement(node, names, loops)]

    def _statement(self, node: Any, names: _Names, loops: tuple[c_ast.For, ...]) -> Any:
        target = self._changed_pointer(node, names)
        if target is not None:
            return self._change(node, target, names)
        result = copy.copy(node)
        for name, child in node.children():
            if name in ("stmt", "iftrue", "iffalse") and not isinstance(node, c_ast.TernaryOp):
                setattr(result, name, self._body(child, names, loops))
                continue
            if "[" in name:
                return self._expression(node, names)
            setattr(result, name, self._expression(child, names))
        return result

    def _body(self, node: Any, names: _Names, loops: tuple[c_ast.For, ...]) -> Any:
        found = self._item(node, dict(names), loops)
        return found[0] if len(found) == 1 else c_ast.Compound(found, node.coord)

    def _loop(self, node: c_ast.For, names: _Names, loops: tuple[c_ast.For, ...]) -> list[Any]:
        """A loop in a block with what its head declares beside counters."""
        result, before = copy.copy(node), []
        inside = (*loops, node)
        if isinstance(node.init, c_ast.DeclList):
            found = self._items(node.init.decls, names, inside)
            before = [item for item in found if isinstance(item.type, c_ast.PtrDecl)]
            result.init = c_ast.DeclList([item for item in found if item not in before], node.init.coord)
            if not result.init.decls:
                result.init = None
        elif node.init is not None:
            result.init = self._item(node.init, names, loops)[0]
        result.cond = None if node.cond is None else self._expression(node.cond, names)
        result.next = None if node.next is None else self._item(node.next, names, loops)[0]
        result.stmt = self._body(node.stmt, names, inside)
        return [c_ast.Compound([*before, result], node.coord)] if before else [result]

    # Declarations.

    def _declaration(self, node: c_ast.Decl, names: _Names, loops: tuple[c_ast.For, ...]) -> list[Any]:
        kind = _array(node.type)
        if not isinstance(node.type, c_ast.PtrDecl) or kind is None:
            result = copy.copy(node)
            result.init = None if node.init is None else self._expression(node.init, names)
            names[str(node.name)] = kind
            return [result]
        pointer = self._first_place(node, kind, names)
        names[str(node.name)] = pointer or kind
        changes = node.name in assigned_names(self.node.body)
        if pointer is None or (changes and not self._stays(str(node.name), pointer, names)):
            names[str(node.name)] = None if changes else kind
            result = copy.copy(node)
            result.init = None if node.init is None else self._expression(node.init, names)
            return [result]
        if changes or not all(self._is_stable(part, loops) for part in (pointer.index, *accessed(pointer.root)[1])):
            return self._moving(str(node.name), pointer, names, node.coord, loops)
        result = copy.copy(node)
        result.init = self._expression(node.init, names)
        return [result]

    def _first_place(self, node: c_ast.Decl, kind: _Array, names: _Names) -> _Pointer | None:
        """Where a pointer points at first; the beginning of the only array that it is given later, if it is given none
        where it is declared."""
        if node.init is not None:
            return self._place(node.init, names)
        given = [self._place(value, names) for value in self._values(str(node.name))]
        if not given or given[0] is None:
            return None
        return _Pointer(given[0].root, number(0, node.coord), kind.depth)

    def _values(self, name: str) -> list[Any]:
        """What a variable is assigned anywhere in the function, without sums with itself."""
        return [node.rvalue for node in nodes(self.node.body) if isinstance(node, c_ast.Assignment) and node.op == "="
                and isinstance(node.lvalue, c_ast.ID) and node.lvalue.name == name]

    def _stays(self, name: str, pointer: _Pointer, names: _Names) -> bool:
        """Whether a pointer always points into the array where it points at first, and has a name of its own."""
        around = {**names, name: _Pointer(pointer.root, pointer.index, pointer.depth, moving=True)}
        given = [self._place(value, around) for value in self._values(name)]
        if given and any(used_names(subscript) for subscript in accessed(pointer.root)[1]):
            return False
        root = tree_text(pointer.root)
        own = [node for node in nodes(self.node) if isinstance(node, c_ast.Decl) and node.name == name]
        return len(own) == 1 and all(place is not None and tree_text(place.root) == root for place in given)

    def _is_stable(self, node: Any, loops: tuple[c_ast.For, ...]) -> bool:
        """Whether an expression has one value in an iteration of the loops around it."""
        if any(isinstance(part, c_ast.FuncCall | c_ast.ArrayRef) or is_step(part) for part in nodes(node)):
            return False
        changed = _changed_names(self.node.body)
        for name in (name for loop in loops if not isinstance(loop.init, c_ast.DeclList)
                     for part in (loop.init, loop.next) if part is not None for name in assigned_names(part)):
            changed.remove(name)
        return not used_names(node) & {*changed, *self.indices}

    def _moving(self, name: str, pointer: _Pointer, names: _Names, coord: Any,
                loops: tuple[c_ast.For, ...] = ()) -> list[Any]:
        """The declarations in place of a pointer's: its index, and subscripts of its array that may change."""
        whole, subscripts = accessed(pointer.root)
        found, root = [], whole
        for subscript in subscripts:
            if not self._is_stable(subscript, loops):
                found.append(declared(self._free(f"{name}_row"), ["int"], subscript, coord))
                subscript = c_ast.ID(found[-1].name, coord)
            root = c_ast.ArrayRef(root, subscript, coord)
        index = self._free(f"{name}_index")
        names[name] = _Pointer(root, c_ast.ID(index, coord), pointer.depth, moving=True)
        self.indices.add(index)
        return [*found, declared(index, ["int"], pointer.index, coord)]

    def _free(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.taken:
            candidate, number = f"{name}_{number}", number + 1
        self.taken.add(candidate)
        return candidate

    # Expressions.

    def _changed_pointer(self, node: Any, names: _Names) -> _Pointer | None:
        """The pointer that a statement or expression changes."""
        target = node.expr if is_step(node) else node.lvalue if isinstance(node, c_ast.Assignment) else None
        found = names.get(target.name) if isinstance(target, c_ast.ID) else None
        return found if isinstance(found, _Pointer) and found.moving else None

    def _change(self, node: Any, pointer: _Pointer, names: _Names) -> Any:
        """The same of the pointer's index."""
        if is_step(node):
            return c_ast.UnaryOp(node.op, pointer.index, node.coord)
        value = node.rvalue
        if node.op == "=":
            place = self._place(value, names)
            assert place is not None, "a pointer that stays in an array"
            return c_ast.Assignment("=", pointer.index, place.index, node.coord)
        return c_ast.Assignment(node.op, pointer.index, self._expression(value, names), node.coord)

    def _expression(self, node: Any, names: _Names) -> Any:
        match node:
            case c_ast.UnaryOp(op="sizeof", expr=c_ast.ID()):
                found = names.get(node.expr.name)
                pointer = isinstance(found, _Pointer) and found.moving
                return pointer_size(node.coord) if pointer else node
            case c_ast.BinaryOp() if node.op in (*COMPARISONS, "-"):
                sides = self._place(node.left, names), self._place(node.right, names)
                if sides[0] and sides[1] and tree_text(sides[0].root) == tree_text(sides[1].root):
                    return between(node, sides[0].index, sides[1].index)
            case c_ast.StructRef():
                return c_ast.StructRef(self._expression(node.name, names), node.type, node.field, node.coord)
            case c_ast.NamedInitializer():
                return c_ast.NamedInitializer(node.name, self._expression(node.expr, names), node.coord)
        if self._moves(node, names):
            place = self._place(node, names)
            if place is not None:
                return c_ast.UnaryOp("&", c_ast.ArrayRef(place.root, place.index, node.coord), node.coord)
        return rebuild(node, lambda child: self._expression(child, names))

    def _moves(self, node: Any, names: _Names) -> bool:
        """Whether an expression may be a sum with a pointer, or the value of one that changes."""
        if isinstance(node, c_ast.BinaryOp):
            return node.op in ("+", "-")
        used = [names.get(name) for name in used_names(node)]
        return (isinstance(node, c_ast.ID) or is_step(node)) and any(
            isinstance(found, _Pointer) and found.moving for found in used)

    def _place(self, node: Any, names: _Names) -> _Pointer | None:
        """Where an expression points, None if it is no pointer into a known array."""
        match node:
            case c_ast.ID():
                found = names.get(node.name)
                return _Pointer(node, number(0, node.coord), found.depth) if isinstance(found, _Array) else found
            case c_ast.UnaryOp() if is_step(node) and (pointer := self._changed_pointer(node, names)):
                return _Pointer(pointer.root, self._change(node, pointer, names), pointer.depth)
            case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=inner, subscript=index)):
                return self._moved(self._place(inner, names), "+", index, names)
            case c_ast.ArrayRef():
                return self._row(node, names)
            case c_ast.BinaryOp(op="+" | "-"):
                left = self._moved(self._place(node.left, names), node.op, node.right, names)
                if left is not None or node.op == "-":
                    return left
                return self._moved(self._place(node.right, names), "+", node.left, names)
        return None

    def _row(self, node: c_ast.ArrayRef, names: _Names) -> _Pointer | None:
        """Where an array in an array begins."""
        place = self._place(node.name, names)
        if place is None or place.depth < 2:
            return None
        index = _sum(place.index, "+", self._expression(node.subscript, names), node.coord)
        return _Pointer(c_ast.ArrayRef(place.root, index, node.coord), number(0, node.coord), place.depth - 1)

    def _moved(self, place: _Pointer | None, operator: str, by: Any, names: _Names) -> _Pointer | None:
        if place is None or self._place(by, names) is not None:
            return None
        index = _sum(place.index, operator, self._expression(by, names), by.coord)
        return _Pointer(place.root, index, place.depth)


def _sum(index: Any, operator: str, by: Any, coord: Any) -> Any:
    if operator == "+" and isinstance(index, c_ast.Constant) and index.value == "0":
        return by
    return index if isinstance(by, c_ast.Constant) and by.value == "0" else c_ast.BinaryOp(operator, index, by, coord)


def _changed_names(node: Any) -> list[str]:
    """Variables that a statement assigns, once for every place, without counters that loops declare."""
    if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList):
        own = {decl.name for decl in node.init.decls}
        return [name for name in _changed_names(node.stmt) if name not in own]
    if not isinstance(node, c_ast.Assignment | c_ast.UnaryOp):
        return [name for _, child in node.children() for name in _changed_names(child)]
    return assigned_names(node)

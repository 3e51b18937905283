"""Initialisers of structures (C11, 6.7.9): lists with or without inner braces, designators, whole structures inside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, characters, evaluate
from compiler.frontend.c_scop.structure_types import ArrayOf, Kind, Leaf, Scalar, Structure, leaves

__all__ = ["filled"]

_Index = tuple[int, ...]
_Values = dict[tuple[str, ...], dict[_Index, Any]]
_Parts = Callable[[Any], Callable[[Leaf, _Index], Any] | None]


def filled(kind: Kind, init: c_ast.InitList, constants: Mapping[str, int], parts: _Parts,
           error: Callable[[Any, str], Exception], expression: Callable[[Any], Any] | None = None
           ) -> tuple[_Values, Kind]:
    """What every leaf of `kind` is given, by path and index, and `kind` with its first size.

    ``parts(node)`` gives the elements of a structure, None for a number; ``expression(node)`` rewrites a number;
    ``error(node, reason)`` makes the exception for what does not fit.
    """
    worker = _Filling(defaultdict(dict), constants, parts, error, expression or (lambda node: node))
    worker.list(kind, _At((), ()), init.exprs)
    if isinstance(kind, ArrayOf) and kind.size is None:
        kind = replace(kind, size=1 + max((index[0] for found in worker.values.values() for index in found),
                                          default=0))
    return worker.values, kind


@dataclass(frozen=True)
class _At:
    """Fields and subscripts that lead to an object."""

    path: tuple[str, ...]
    index: _Index


@dataclass
class _Filling:
    values: _Values
    constants: Mapping[str, int]
    parts: _Parts
    error: Callable[[Any, str], Exception]
    expression: Callable[[Any], Any]

    def list(self, kind: Kind, at: _At, entries: list[Any]) -> None:
        """Give the object what a list in braces says."""
        queue, position = list(entries), 0
        while queue:
            if isinstance(queue[0], c_ast.NamedInitializer):
                named = queue.pop(0)
                position = self._position(kind, named)
                member, inside = self._member(kind, at, position, named)
                if len(named.name) > 1:
                    self.list(member, inside, [c_ast.NamedInitializer(named.name[1:], named.expr)])
                else:
                    self._object(member, inside, named.expr)
            else:
                member, inside = self._member(kind, at, position, queue[0])
                self._next(member, inside, queue)
            position += 1

    def _position(self, kind: Kind, named: c_ast.NamedInitializer) -> int:
        node = named.name[0]
        if isinstance(kind, Structure):
            fields = [name for name, _ in kind.fields]
            if not isinstance(node, c_ast.ID) or node.name not in fields:
                raise self.error(named.expr, f"a designator names no field; there are {', '.join(fields)}")
            return fields.index(node.name)
        try:
            return evaluate(getattr(node, "expr", node) if isinstance(node, c_ast.ArrayDesignator) else node,
                            self.constants)
        except NotConstant as fault:
            raise self.error(named.expr, f"designator: {fault.reason}") from None

    def _member(self, kind: Kind, at: _At, position: int, node: Any) -> tuple[Kind, _At]:
        if isinstance(kind, Structure) and position < len(kind.fields):
            name, inner = kind.fields[position]
            return inner, _At((*at.path, name), at.index)
        if isinstance(kind, ArrayOf) and (kind.size is None or 0 <= position < kind.size):
            return kind.element, _At(at.path, (*at.index, position))
        if isinstance(kind, Scalar) and position == 0:
            return kind, at
        raise self.error(getattr(node, "expr", node), "more values than there are fields or elements")

    def _next(self, kind: Kind, at: _At, queue: list[Any]) -> None:
        """Give the object what comes next in a list, which may be without braces for it."""
        first = queue[0]
        whole = isinstance(first, c_ast.InitList) or _is_string(first) or isinstance(kind, Scalar)
        if whole or (isinstance(kind, Structure) and self.parts(first) is not None):
            self._object(kind, at, queue.pop(0))
            return
        for position in self._positions(kind):
            if not queue or isinstance(queue[0], c_ast.NamedInitializer):
                return
            self._next(*self._member(kind, at, position, queue[0]), queue)

    def _positions(self, kind: Kind) -> Iterator[int]:
        size = len(kind.fields) if isinstance(kind, Structure) else kind.size if isinstance(kind, ArrayOf) else 1
        return iter(range(size or 0))

    def _object(self, kind: Kind, at: _At, init: Any) -> None:
        """Give the object one initialiser."""
        if isinstance(init, c_ast.InitList):
            self._forget(kind, at)
            self.list(kind, at, init.exprs)
        elif _is_string(init) and isinstance(kind, ArrayOf):
            for position, value in enumerate(characters(init)):
                self._put(at.path, (*at.index, position), c_ast.Constant("int", str(value % 256), init.coord))
        elif isinstance(kind, Scalar):
            self._put(at.path, at.index, self.expression(init))
        else:
            self._copy(kind, at, init)

    def _forget(self, kind: Kind, at: _At) -> None:
        for leaf in leaves(kind):
            found = self.values[(*at.path, *leaf.path)]
            for index in [index for index in found if index[:len(at.index)] == at.index]:
                del found[index]

    def _copy(self, kind: Kind, at: _At, init: Any) -> None:
        part = self.parts(init)
        if part is None:
            raise self.error(init, "a structure or an array is given one number; put it in braces")
        for leaf in leaves(kind):
            for index in product(*(range(size or 1) for size in leaf.sizes)):
                self._put((*at.path, *leaf.path), (*at.index, *index), part(leaf, index))

    def _put(self, path: tuple[str, ...], index: _Index, value: Any) -> None:
        self.values[path][index] = value


def _is_string(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.type == "string"

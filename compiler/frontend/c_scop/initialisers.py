"""Initialisers of arrays (C11, 6.7.9): nested or flat lists, designators with ranges, strings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, characters, evaluate
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.limits import limit, limit_note
from compiler.frontend.c_scop.normalize.trees import counting_loop, number
from compiler.frontend.c_scop.numbers import known_number
from compiler.frontend.c_scop.sizes import without_sizeof
from compiler.frontend.c_scop.types import LONG
from compiler.ir.expr import Const

if TYPE_CHECKING:
    from compiler.frontend.c_scop.variables import Scope, Variable

__all__ = ["array_assignments", "elements", "flat_values", "written_size"]


_FEW = 4
"""Zeros next to each other that are written one by one."""


def array_assignments(variable: Variable, node: c_ast.Decl, scope: Scope) -> list[Any]:
    """The declaration of an array in the scop as assignments of its elements, and loops over those that are zero.
    Raises `ScopError`."""
    sizes = [size or 1 for size in variable.shape]
    try:
        found = elements(node.init, sizes, scope)
    except NotConstant as error:
        raise ScopError(variable.place, f"initialiser of '{variable.name}': {error.reason}") from None
    values = {position: value for position, value in found.items() if not _is_zero(value)}
    if len(values) > limit("initialised_elements"):
        raise ScopError(variable.place, f"{len(values)} elements of array '{variable.name}' are initialised one by "
                                        f"one; write a loop {limit_note('initialised_elements')}")
    return list(_filled(c_ast.ID(node.name, node.coord), sizes, values, scope))


def _filled(target: Any, sizes: list[int], values: Mapping[int, Any], scope: Scope) -> Iterator[Any]:
    """Statements that write `target`, an array of `sizes` or one of its rows, or an element: `values` by position, and
    zeros."""
    coord = target.coord
    if not sizes:
        yield c_ast.Assignment("=", target, values.get(0, number(0, coord)), coord)
        return
    size, first = prod(sizes[1:]), 0
    rows = sorted({position // size for position in values})
    for row in [*rows, sizes[0]]:
        yield from _run(target, first, row, sizes[1:], scope)
        if row < sizes[0]:
            own = {position - row * size: value for position, value in values.items() if position // size == row}
            yield from _filled(c_ast.ArrayRef(target, number(row, coord), coord), sizes[1:], own, scope)
        first = row + 1


def _run(target: Any, first: int, end: int, sizes: list[int], scope: Scope) -> Iterator[Any]:
    """Zeros in the rows of `target` from `first` to before `end`, whose sizes are `sizes`."""
    coord = target.coord
    if (end - first) * prod(sizes) <= _FEW:
        for row in range(first, end):
            yield from _filled(c_ast.ArrayRef(target, number(row, coord), coord), sizes, {}, scope)
        return
    name = scope.free_name("place")
    body = list(_filled(c_ast.ArrayRef(target, c_ast.ID(name, coord), coord), sizes, {}, scope))
    yield counting_loop(name, (number(first, coord), "<", number(end, coord)), body, coord)


def _is_zero(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.type == "int" and node.value == "0"


def flat_values(init: Any, sizes: list[int], scope: Scope) -> list[Const]:
    """The values of a variable of `sizes`, in order; what is not written is zero. Raises `NotConstant`."""
    found = elements(init, sizes, scope)
    zero, known = Const(0, LONG), scope.constants()
    return [known_number(without_sizeof(found[k], scope), known) if k in found else zero for k in range(prod(sizes))]


def elements(init: Any, sizes: list[int], scope: Scope) -> dict[int, Any]:
    """The expression of every element that `init` gives one, by position. Raises `NotConstant`."""
    found: dict[int, Any] = {}
    if not sizes:
        while isinstance(init, c_ast.InitList) and len(init.exprs) == 1:
            init = init.exprs[0]
        if isinstance(init, c_ast.InitList):
            raise NotConstant(init, "one value is expected here, not a list")
        return {0: init}
    if _is_string(init):
        return _string(init, sizes)
    if not isinstance(init, c_ast.InitList):
        raise NotConstant(init, "an array takes a list of values in braces")
    _fill(found, init.exprs, sizes, scope)
    return found


def written_size(init: Any, scope: Scope) -> int | None:
    """The first size of an array that its initialiser alone tells, None if it does not. Raises `NotConstant`."""
    if _is_string(init):
        return len(characters(init)) + 1
    if not isinstance(init, c_ast.InitList):
        return None
    position = size = 0
    for entry in init.exprs:
        if isinstance(entry, c_ast.NamedInitializer):
            position = _index(entry.name[0], scope)
        position += 1
        size = max(size, position)
    return size


def _is_string(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.type == "string"


def _string(node: c_ast.Constant, sizes: list[int]) -> dict[int, Any]:
    values = characters(node)
    if len(sizes) != 1 or len(values) > sizes[0]:
        raise NotConstant(node, f"{node.value} does not fit the array")
    return {k: c_ast.Constant("int", str(value % 256), node.coord) for k, value in enumerate(values)}


def _fill(found: dict[int, Any], entries: list[Any], sizes: list[int], scope: Scope) -> None:
    """Add what a list in braces gives to an array of `sizes`; without inner braces rows are filled in order."""
    step, position = prod(sizes[1:]), 0
    for entry in entries:
        value, inner = entry, sizes[1:]
        if isinstance(entry, c_ast.NamedInitializer):
            indices = [_index(part, scope) for part in entry.name]
            if len(indices) > len(sizes):
                raise NotConstant(entry, "too many designators")
            position = sum(index * prod(sizes[k + 1:]) for k, index in enumerate(indices))
            value, inner = entry.expr, sizes[len(indices):]
        elif not isinstance(entry, c_ast.InitList) and not (_is_string(entry) and len(sizes) > 1):
            inner = []
        elif position % step:
            raise NotConstant(entry, "braces begin inside a row")
        size = prod(inner)
        if not 0 <= position <= prod(sizes) - size:
            raise NotConstant(entry, "more values than the array has elements")
        for key in [key for key in found if position <= key < position + size]:
            del found[key]
        found |= {position + k: node for k, node in elements(value, inner, scope).items()}
        position += size


def _index(node: Any, scope: Scope) -> int:
    if isinstance(node, c_ast.ID):
        known = scope.constants()
        if node.name not in known:
            raise NotConstant(node, f"'.{node.name}' names no element of an array")
    inner = node.expr if isinstance(node, c_ast.ArrayDesignator) else node
    return evaluate(without_sizeof(inner, scope), scope.constants())

"""Initialisers of arrays (C11, 6.7.9): nested or flat lists, designators with ranges, strings."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, characters, evaluate
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.limits import limit, limit_note
from compiler.frontend.c_scop.numbers import known_number
from compiler.frontend.c_scop.sizes import without_sizeof
from compiler.frontend.c_scop.types import LONG
from compiler.ir.expr import Const

if TYPE_CHECKING:
    from compiler.frontend.c_scop.variables import Scope, Variable

__all__ = ["array_assignments", "elements", "flat_values", "written_size"]


def array_assignments(variable: Variable, node: c_ast.Decl, scope: Scope) -> list[c_ast.Assignment]:
    """The declaration of an array in the scop as assignments of its elements. Raises `ScopError`."""
    sizes = [size or 1 for size in variable.shape]
    if prod(sizes) > limit("initialised_elements"):
        raise ScopError(variable.place, f"array '{variable.name}' has {prod(sizes)} elements and is initialised one by "
                                        f"one; write a loop {limit_note('initialised_elements')}")
    try:
        found = elements(node.init, sizes, scope)
    except NotConstant as error:
        raise ScopError(variable.place, f"initialiser of '{variable.name}': {error.reason}") from None
    zero = c_ast.Constant("int", "0", node.coord)
    return [c_ast.Assignment("=", _element(node, position, sizes), found.get(position, zero), node.coord)
            for position in range(prod(sizes))]


def _element(node: c_ast.Decl, position: int, sizes: list[int]) -> Any:
    target: Any = c_ast.ID(node.name, node.coord)
    for number, size in enumerate(sizes):
        index = position // prod(sizes[number + 1:]) % size
        target = c_ast.ArrayRef(target, c_ast.Constant("int", str(index), node.coord), node.coord)
    return target


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

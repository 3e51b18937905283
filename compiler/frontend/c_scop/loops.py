"""``for`` statements: which values their iterator takes, exactly as C counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast

from compiler.frontend.c_scop.affine import AffineReader, DataDependent, IteratorValue, NotAffine, value_range
from compiler.frontend.c_scop.constants import NotConstant
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.normalize.trees import contains
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.types import Int

__all__ = [
    "DataBound",
    "LoopHead",
    "Uncounted",
    "before_first",
    "counts",
    "iteration_number",
    "iterations",
    "iterator_type",
    "projected",
    "read_head",
    "read_start",
    "step_expression",
]


@dataclass(frozen=True)
class LoopHead:
    """The parts of ``for (name = start; condition; name += step)``. `declaration` is set if it declares `name`."""

    name: str
    start: Any
    condition: Any
    step: int
    declaration: c_ast.Decl | None
    node: c_ast.For


def read_head(node: c_ast.For, scope: Scope) -> LoopHead:
    """Recognise the head of a loop. Raises `ScopError` for other forms."""
    name, start, declaration = read_start(node, scope.source)
    if node.cond is None:
        raise ScopError(scope.source.place(node.coord), f"the loop over '{name}' has no condition and never ends")
    return LoopHead(name, start, node.cond, _step(node, name, scope), declaration, node)


def read_start(node: c_ast.For, source: Source) -> tuple[str, Any, c_ast.Decl | None]:
    """The counter of a loop, its first value, and its declaration if the loop has it. Raises `ScopError`."""
    match node.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID()):
            return node.init.lvalue.name, node.init.rvalue, None
        case c_ast.DeclList() if len(node.init.decls) == 1 and node.init.decls[0].init is not None:
            [declaration] = node.init.decls
            return declaration.name, declaration.init, declaration
    raise ScopError(source.place(node.coord),
                    "a loop must start with one assignment to its iterator: for (i = ...; ...; ...)")


def _step(node: c_ast.For, name: str, scope: Scope) -> int:
    step = step_expression(node.next, name)
    if step is not None:
        sign, value = step
        try:
            size = 1 if value is None else scope.evaluate(value)
        except (ScopError, NotConstant):
            size = 0
        if size:
            return sign * size
    place = scope.source.place(getattr(node.next, "coord", None) or node.coord)
    forms = f"{name}++, {name}--, {name} += c or {name} -= c"
    if contains(node.stmt, (c_ast.Break,), (c_ast.For, c_ast.While, c_ast.DoWhile)):
        raise Uncounted(place, f"the step of loop '{name}' is no sum, and it has a 'break' behind other statements: "
                               "put the condition of the 'break' into the head of the loop")
    raise Uncounted(place, f"the step of loop '{name}' must be a constant: {forms}")


def step_expression(node: Any, name: str) -> tuple[int, Any] | None:
    """Sign and size (None for 1) of the step."""
    match node:
        case c_ast.UnaryOp(expr=c_ast.ID(name=found)) if found == name and node.op in ("++", "p++", "--", "p--"):
            return (1 if "+" in node.op else -1), None
        case c_ast.Assignment(lvalue=c_ast.ID(name=found)) if found == name and node.op in ("+=", "-="):
            return (1 if node.op == "+=" else -1), node.rvalue
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=c_ast.BinaryOp() as sum) if found == name:
            if isinstance(sum.left, c_ast.ID) and sum.left.name == name and sum.op in ("+", "-"):
                return (1 if sum.op == "+" else -1), sum.right
            if isinstance(sum.right, c_ast.ID) and sum.right.name == name and sum.op == "+":
                return 1, sum.left
    return None


def iterations(head: LoopHead, domain: isl.Set, start: AffineReader,
               condition: Callable[[IteratorValue], AffineReader], type: Int) -> tuple[isl.Set, IteratorValue]:
    """The domain inside the loop, with one more dimension, and what the iterator holds there.

    The new dimension is the iterator itself if the step is 1, else it counts 0, 1, 2, ... `start` reads outside the
    loop, ``condition(value)`` gives a reader inside. Raises `ScopError` if the loop does not end, if the iterator
    would leave the range of its type, and if its bounds are not affine.
    """
    source, depth = start.source, domain.dim(isl.dim_type.set)
    first = _affine(source, head, head.start, start.function)
    start.check(domain)
    value = _value(first, head.step, depth)
    _check_type(source, head, domain, first, type)
    entry = IteratorValue(value, type, depth + 1)
    reader = condition(entry)
    stays = _affine(source, head, head.condition, reader.condition)
    begin = _position(first, head.step)
    counted = domain.add_dims(isl.dim_type.set, 1).intersect(begin)
    inside = _until_first_failure(counted, stays)
    if not inside.is_bounded():
        raise ScopError(source.place(head.node.coord), f"the loop over '{head.name}' does not end")
    tested = inside.union(_next(inside)).union(counted.intersect(_is_first(first, head.step)))
    _check_type(source, head, inside, value.add(_constant_like(value, head.step)), type)
    reader.check(tested.intersect(counted))
    return inside.coalesce(), entry


def counts(inside: isl.Set, start: isl.PwAff, step: int, domain: isl.Set) -> tuple[isl.PwAff, isl.PwAff]:
    """Iterations before the current one, a function on `inside`, and all iterations, a function on `domain`."""
    depth = domain.dim(isl.dim_type.set)
    index = iteration_number(start, step)
    last = isl.Map.from_range(inside).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, depth)
    zero = isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space())))
    if last.is_empty():
        return index, zero
    greatest = last.lexmax_pw_multi_aff().get_at(0)
    before = start if step == 1 else zero
    return index, greatest.sub(before).add_constant_val(isl.Val(1)).union_add(zero).intersect_domain(domain)


def iteration_number(start: isl.PwAff, step: int) -> isl.PwAff:
    """Iterations before the current one, a function of the iterators of the loop and those around it, of which `start`
    is one."""
    return _variable(start.dim(isl.dim_type.in_)).sub(_first_index(start, step))


def before_first(inside: isl.Set, last: isl.Set) -> isl.Set:
    """The iterations of `inside` that do not come after one of `last`, in the same iteration of the outer loops."""
    return inside.subtract(last.apply(_later(inside.dim(isl.dim_type.set) - 1, strictly_later=True)))


def projected(inside: isl.Set) -> isl.Set:
    """The iterations of the outer loops with any in `inside`."""
    return inside.project_out(isl.dim_type.set, inside.dim(isl.dim_type.set) - 1, 1)


class Uncounted(ScopError):
    """A loop whose trips are not known before the program runs."""


class DataBound(Uncounted):
    """The end of a loop depends on data."""


def _affine(source: Source, head: LoopHead, node: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(node)
    except NotAffine as error:
        place = source.place(error.node.coord)
        kind = ScopError if not isinstance(error, DataDependent) else DataBound if node is head.condition else Uncounted
        raise kind(place, f"bounds of loop '{head.name}' are not affine: {error.reason}") from None


def _variable(depth: int) -> isl.PwAff:
    """The last of `depth` + 1 dimensions as a function of all."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, depth + 1)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.set, depth))


def _constant_like(value: isl.PwAff, constant: int) -> isl.PwAff:
    space = value.domain().get_space()
    return isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space)) + constant)


def _value(first: isl.PwAff, step: int, depth: int) -> isl.PwAff:
    variable = _variable(depth)
    if step == 1:
        return variable
    return first.add_dims(isl.dim_type.in_, 1).add(variable.scale_val(isl.Val(step)))


def _first_index(first: isl.PwAff, step: int) -> isl.PwAff:
    """The new dimension's value in the first iteration."""
    lifted = first.add_dims(isl.dim_type.in_, 1)
    return lifted if step == 1 else _constant_like(lifted, 0)


def _position(first: isl.PwAff, step: int) -> isl.Set:
    variable = _variable(first.dim(isl.dim_type.in_))
    return variable.ge_set(_first_index(first, step))


def _is_first(first: isl.PwAff, step: int) -> isl.Set:
    variable = _variable(first.dim(isl.dim_type.in_))
    return variable.eq_set(_first_index(first, step))


def _later(depth: int, *, strictly_next: bool = False, strictly_later: bool = False) -> isl.Map:
    """{[outer, i] -> [outer, i']: i' >= i}, or i' = i + 1, or i' > i."""
    outer = [f"d{k}" for k in range(depth)]
    relation = "j = i + 1" if strictly_next else "j > i" if strictly_later else "j >= i"
    return isl.Map(f"{{ [{', '.join([*outer, 'i'])}] -> [{', '.join([*outer, 'j'])}] : {relation} }}")


def _until_first_failure(counted: isl.Set, stays: isl.Set) -> isl.Set:
    """The part of `counted` before the first value for which `stays` does not hold: where C leaves the loop."""
    depth = counted.dim(isl.dim_type.set) - 1
    failed = counted.subtract(stays).apply(_later(depth))
    return counted.subtract(failed)


def _next(inside: isl.Set) -> isl.Set:
    return inside.apply(_later(inside.dim(isl.dim_type.set) - 1, strictly_next=True))


def _check_type(source: Source, head: LoopHead, domain: isl.Set, value: isl.PwAff, type: Int) -> None:
    low, high = value_range(value, domain, type)
    if not (type.contains(low) and type.contains(high)):
        extreme = low if low < type.minimum else high
        place = source.place(head.node.coord)
        raise ScopError(place, f"iterator '{head.name}' reaches {extreme}, outside its type {type}")


def iterator_type(name: str, loop: c_ast.For, scope: Scope) -> Int:
    """The type of a loop's variable, which must be an integer scalar. Raises `ScopError`."""
    found = scope.find(name)
    place = scope.source.place(loop.coord)
    if found is None:
        raise ScopError(place, f"iterator '{name}' is not declared")
    if not isinstance(found, Variable) or not found.scalar or not isinstance(found.type, Int):
        raise ScopError(place, f"iterator '{name}' is not an integer variable")
    return found.type

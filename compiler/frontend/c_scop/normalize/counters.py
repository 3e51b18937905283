"""Counted loops of every form as ``for`` loops with one iterator and a constant step.

* ``while (c) { ...; i += k; }`` whose counter was set before in the same block and is stepped nowhere else, also in
  the condition; likewise ``do``, whose condition counts from the second iteration on;
* ``for (i = n; i-- > e;)``: i - 1 takes the place of i;
* ``for (int i = a, j = b; ...; i++, j--)``: the second counter is a function of the first;
* ``for (s = a; s < b; s *= c)`` and other steps between constants, and any loop between constants by whose counter a
  loop inside steps (``i += s``): one copy of the body for every value.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.normalize.trees import (
    Converted,
    assigned_names,
    block,
    block_items,
    clears_lowest_bit,
    contains,
    declared_names,
    following,
    head_parts,
    rebuild,
    stepped,
    substitute,
    used_names,
    written_names,
)

__all__ = ["counted_loops", "normalize_loops"]

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Continue, c_ast.Break)

_COPIES = 256
"""Values that a loop with a step that is no sum may have."""

_EVALUATIONS = 1 << 16
"""Values of a counter for which a condition is evaluated."""

_STEPS = {"++": 1, "p++": 1, "--": -1, "p--": -1}


def counted_loops(items: list[Any]) -> list[Any]:
    """`items` with ``while`` and ``do`` loops that count as ``for`` loops."""
    found: list[Any] = []
    for item in (_with_counted_loops(item) for item in items):
        before, loop = _as_while(item)
        ends, taken = _ending(loop), None
        if isinstance(loop, c_ast.While) or (isinstance(loop, c_ast.DoWhile) and ends is None):
            taken = _counted([*found, *before], loop)
        if taken is not None and taken[0] < len(found):  # else the head's own counter is all there is
            place, loop = taken
            if loop.init.lvalue.name not in used_names(block(found[place + 1:], None)):
                found[place] = _without_value(found[place])
            found.append(block([*before, loop], loop.coord) if before else loop)
        else:
            found.append(item if ends is None else block([*before, *ends], loop.coord))
    return [item for item in found if item is not None]


def _ending(node: Any) -> list[Any] | None:
    """A ``while`` loop whose counter comes to 0 from wherever it is, as a ``for`` loop that sets it to itself; before
    that, what a ``do`` loop does in any case."""
    parts = _parts(node) if isinstance(node, c_ast.While | c_ast.DoWhile) else None
    if parts is None or parts[2] is None or not _comes_to_zero(parts[2], parts[0]):
        return None
    name, cond, step, body = parts
    if name in assigned_names(block(body, None)) or contains(node.stmt, (c_ast.Continue,), _LOOPS):
        return None
    one = c_ast.ID(name, node.coord)
    loop = c_ast.For(c_ast.Assignment("=", one, one, node.coord), cond, step, block(body, node.coord), node.coord)
    if isinstance(node, c_ast.While):
        return [loop]
    return None if contains(node.stmt, _JUMPS, _LOOPS) else [block(block_items(node.stmt), node.coord), loop]


def _comes_to_zero(step: Any, name: str) -> bool:
    """Whether a step shifts variable `name` right, divides it or clears its lowest bit."""
    value = stepped(step)
    divides = isinstance(value, c_ast.BinaryOp) and value.op in (">>", "/") and isinstance(value.left, c_ast.ID)
    return clears_lowest_bit(value, name) or (divides and value.left.name == name)


def _as_while(node: Any) -> tuple[list[Any], Any]:
    """``for (; c; i++) s;`` as ``while (c) { s; i++; }``, and ``for (p = a; c; p = b[p]) s;``, where another variable
    counts, as ``p = a; while (c) { s; p = b[p]; }``: what comes before the loop, and the loop. Others as they are."""
    if isinstance(node, c_ast.While | c_ast.DoWhile):
        return _tested_behind_its_step(node)
    if not isinstance(node, c_ast.For) or node.cond is None or contains(node.stmt, (c_ast.Continue,), _LOOPS):
        return [], node
    loop = c_ast.While(node.cond, block([*block_items(node.stmt), *head_parts(node.next)], node.coord), node.coord)
    if node.init is None:
        return [], loop
    own = {name for name, _, _ in _counters(node)}
    counters = {name for step in block_items(loop.stmt) for name in assigned_names(step)
                if name in used_names(node.cond) and (_is_constant_step(step) or _comes_to_zero(step, name))}
    return ([], node) if not counters or own & counters else (head_parts(node.init), loop)


def _tested_behind_its_step(node: c_ast.While | c_ast.DoWhile) -> tuple[list[Any], Any]:
    """``while (v >>= 1) s;`` as ``v >>= 1; while (v) { s; v >>= 1; }``, and ``do s; while (v /= 10);`` likewise."""
    step = node.cond
    if not isinstance(step, c_ast.Assignment) or step.op == "=" or not isinstance(step.lvalue, c_ast.ID) or contains(
            node.stmt, (c_ast.Continue,), _LOOPS):
        return [], node
    loop = type(node)(step.lvalue, block([*block_items(node.stmt), step], node.coord), node.coord)
    return ([step] if isinstance(node, c_ast.While) else []), loop


def _with_counted_loops(node: Any) -> Any:
    if isinstance(node, c_ast.Compound):
        return c_ast.Compound(counted_loops(node.block_items or []), node.coord)
    node = rebuild(node, _with_counted_loops)
    if isinstance(node, c_ast.DoWhile) and _is_zero(node.cond) and not contains(node.stmt, _JUMPS, _LOOPS):
        return block(block_items(node.stmt), node.coord)
    return node


def normalize_loops(items: list[Any]) -> list[Any]:
    """`items` with ``for`` loops of every counted form as loops with one iterator."""
    return [_normalized(item) for item in items]


def _normalized(node: Any) -> Any:
    node = rebuild(node, _normalized)
    if isinstance(node, c_ast.For):
        for form in (_tested_by_stepping, _two_counters, _one_counter, _unrolled, _with_linear_condition):
            changed = form(node)
            if changed is not None:
                return changed
    return node


# while and do


def _counted(before: list[Any], node: c_ast.While | c_ast.DoWhile) -> tuple[int, c_ast.For] | None:
    """Where the counter of a loop got its value, and the loop."""
    parts = _parts(node)
    if parts is None:
        return None
    name, cond, step, body = parts
    if name in assigned_names(block(body, None)) or contains(node.stmt, (c_ast.Continue,), _LOOPS):
        return None
    place = next((k for k in reversed(range(len(before))) if _sets(before[k], name)), None)
    between = block([] if place is None else before[place + 1:], None)
    if place is None or name in assigned_names(between):
        return None
    value = _value_of(before[place])
    if value is None or written_names(between) & used_names(value):
        return None
    one = c_ast.ID(name, node.coord)
    if isinstance(node, c_ast.DoWhile):
        if used_names(value) & {name, *assigned_names(node.stmt), *declared_names(node.stmt)}:
            return None
        first = c_ast.BinaryOp("==", one, Converted(value, name, node.coord), node.coord)
        cond = c_ast.BinaryOp("||", first, cond, node.coord)
    init = c_ast.Assignment("=", one, value, node.coord)
    return place, c_ast.For(init, cond, step, block(body, node.coord), node.coord)


def _parts(node: c_ast.While | c_ast.DoWhile) -> tuple[str, Any, Any, list[Any]] | None:
    """Counter, condition, step (None where the condition steps) and the other statements of a loop."""
    body = block_items(node.stmt)
    stepping = assigned_names(node.cond)
    if len(stepping) == 1 and isinstance(node, c_ast.While):
        return stepping[0], node.cond, None, body
    if len(stepping) == 1:
        return _stepped_by_do(node, stepping[0], body)
    return None if stepping else _stepped_in_body(node, body)


def _stepped_in_body(node: c_ast.While | c_ast.DoWhile, body: list[Any]) -> tuple[str, Any, Any, list[Any]] | None:
    """With the last constant step, else the last step, behind which nothing has the counter any more, or changes what
    the step reads, and nothing leaves the loop."""
    for place in sorted(range(len(body)), key=lambda k: (_is_constant_step(body[k]), k), reverse=True):
        names, after = assigned_names(body[place]), body[place + 1:]
        if len(names) == 1 and names[0] in used_names(node.cond) and _is_step_of(body[place], names[0], body):
            behind = block(after, None)
            keeps = not (names[0] in used_names(behind) or used_names(body[place]) & written_names(behind))
            if keeps and not contains(behind, (c_ast.Break,), _LOOPS):
                others = body[:place] + after
                if not _is_constant_step(body[place]) or names[0] not in assigned_names(block(others, None)):
                    return names[0], node.cond, body[place], others
    names = assigned_names(body[-1]) if body else []
    steps = len(names) == 1 and _is_step_of(body[-1], names[0], body)
    return (names[0], node.cond, body[-1], body[:-1]) if steps else None


def _is_constant_step(node: Any) -> bool:
    """Whether a statement steps a variable by a constant."""
    return not isinstance(node, c_ast.ExprList) and _head_steps(node) is not None


def _is_step_of(node: Any, name: str, body: list[Any]) -> bool:
    """Whether a statement computes variable `name` from itself, and not with what the `body` declares."""
    value = stepped(node)
    again = value is not None and name in used_names(value)
    return again and not used_names(node) & declared_names(block(body, None))


def _stepped_by_do(node: c_ast.While | c_ast.DoWhile, name: str,
                   body: list[Any]) -> tuple[str, Any, Any, list[Any]] | None:
    """``do { ... } while (++i < n)``, and ``i++ < n``, which compares what i was before."""
    test = node.cond
    stepped = test.left if isinstance(test, c_ast.BinaryOp) else test
    if not isinstance(stepped, c_ast.UnaryOp) or stepped.op not in _STEPS or not isinstance(stepped.expr, c_ast.ID):
        return None
    one: Any = c_ast.ID(name, node.coord)
    if stepped.op.startswith("p"):
        back = c_ast.Constant("int", "1", node.coord)
        one = Converted(c_ast.BinaryOp("-" if stepped.op == "p++" else "+", one, back, node.coord), name, node.coord)
    cond = c_ast.BinaryOp(test.op, one, test.right, test.coord) if isinstance(test, c_ast.BinaryOp) else one
    return name, cond, c_ast.UnaryOp(stepped.op, stepped.expr, stepped.coord), body


def _sets(item: Any, name: str) -> bool:
    if isinstance(item, c_ast.Decl):
        return item.name == name
    return isinstance(item, c_ast.Assignment) and item.op == "=" and assigned_names(item) == [name]


def _value_of(item: Any) -> Any:
    return item.init if isinstance(item, c_ast.Decl) else item.rvalue


def _without_value(item: Any) -> Any:
    """A declaration without its value, which the loop gives; nothing for an assignment."""
    if not isinstance(item, c_ast.Decl):
        return None
    return c_ast.Decl(item.name, item.quals, item.align, item.storage, item.funcspec, item.type, None, item.bitsize,
                      item.coord)


# for


def _counters(node: c_ast.For) -> list[tuple[str, Any, Any]]:
    """Name, first value and declaration (None for an assignment) of every counter that a head sets."""
    if isinstance(node.init, c_ast.DeclList):
        return [(d.name, d.init, d) for d in node.init.decls]
    return [(i.lvalue.name, i.rvalue, None) if isinstance(i, c_ast.Assignment) and isinstance(i.lvalue, c_ast.ID)
            else ("", None, None) for i in head_parts(node.init)]


def _tested_by_stepping(node: c_ast.For) -> Any:
    """``for (i = n; i-- > e;)``; also without a comparison. The last test steps the counter once more."""
    test = node.cond
    bound: Any = c_ast.Constant("int", "0", node.coord)
    if isinstance(test, c_ast.BinaryOp) and (test.op == ">" or (test.op == "!=" and _is_zero(test.right))):
        test, bound = test.left, test.right
    stepped = isinstance(test, c_ast.UnaryOp) and test.op == "p--" and isinstance(test.expr, c_ast.ID)
    counters = _counters(node)
    if not stepped or node.next is not None or len(counters) != 1 or counters[0][0] != test.expr.name:
        return None
    name = test.expr.name
    if name in assigned_names(node.stmt):
        return None
    below = c_ast.BinaryOp("-", c_ast.ID(name, node.coord), c_ast.Constant("int", "1", node.coord), node.coord)
    step = c_ast.UnaryOp("p--", c_ast.ID(name, node.coord), node.coord)
    test = c_ast.BinaryOp(">", c_ast.ID(name, node.coord), bound, node.coord)
    loop = c_ast.For(node.init, test, step, substitute(node.stmt, name, below), node.coord)
    return _with_final_value(loop, name, below, declared=counters[0][2] is not None)


def _is_zero(node: Any) -> bool:
    """Whether `node` is the constant 0."""
    try:
        return evaluate(node) == 0
    except NotConstant:
        return False


def _two_counters(node: c_ast.For) -> Any:
    """The second counter and the others as functions of the first; after the loop those that were declared before it
    have their values."""
    counters, steps = _counters(node), _head_steps(node.next)
    names = [name for name, _, _ in counters]
    if len(counters) < 2 or steps is None or sorted(steps) != sorted(names) or len(set(names)) < len(names):
        return None
    if any(value is None for _, value, _ in counters):
        return None
    involved = {*names, *(used for _, value, _ in counters for used in used_names(value))}
    if involved & {*assigned_names(node.stmt), *declared_names(node.stmt)}:
        return None
    (name, first, declaration), cond, body = counters[0], node.cond, node.stmt
    known, after = {name: Converted(first, name, node.coord)}, []
    for other, start, _ in counters[1:]:
        for earlier, value in known.items():
            start = substitute(start, earlier, value)
        known[other] = _converted(start, counters, other, node.coord)
        value = _function_of(name, known[name], steps[name], known[other], steps[other], node.coord)
        value = _converted(value, counters, other, node.coord)
        cond, body = substitute(cond, other, value), substitute(body, other, value)
        after += [] if declaration else [c_ast.Assignment("=", c_ast.ID(other, node.coord), value, node.coord)]
    one = c_ast.ID(name, node.coord)
    init = c_ast.DeclList([declaration], node.coord) if declaration else c_ast.Assignment("=", one, first, node.coord)
    size = c_ast.Constant("int", str(abs(steps[name])), node.coord)
    step = c_ast.Assignment("+=" if steps[name] > 0 else "-=", one, size, node.coord)
    loop = c_ast.For(init, cond, step, body, node.coord)
    return block([loop, *after], node.coord) if after else loop


def _one_counter(node: c_ast.For) -> Any:
    """A head that sets and steps more than its counter with that alone: the others are set before the loop and stepped
    at the end of its body."""
    steps, inits = head_parts(node.next), head_parts(node.init)
    found = [part for part in _counters(node) if part[0] and part[1] is not None and node.cond is not None
             and part[0] in used_names(node.cond) and any(part[0] in (_head_steps(step) or ()) for step in steps)]
    if not found or len(steps) + len(inits) < 3:
        return None
    name, first, declaration = found[0]
    own = [step for step in steps if name in assigned_names(step)]
    others = [step for step in steps if step is not own[0]]
    behind = {used for step in steps[steps.index(own[0]) + 1:] for used in used_names(step)}
    if len(own) > 1 or name in behind or declared_names(node.stmt) & {u for step in others for u in used_names(step)}:
        return None
    before = [substitute(init, name, Converted(first, name, node.coord)) for init in inits if init is not declaration
              and not (isinstance(init, c_ast.Assignment) and assigned_names(init) == [name])]
    init = c_ast.DeclList([declaration], node.coord) if declaration else \
        c_ast.Assignment("=", c_ast.ID(name, node.coord), first, node.coord)
    loop = c_ast.For(init, node.cond, own[0], block([*block_items(node.stmt), *others], node.coord), node.coord)
    return _normalized(block([*before, loop], node.coord) if before else loop)


def _converted(value: Any, counters: list[tuple[str, Any, Any]], name: str, coord: Any) -> Any:
    """`value` as the type of a counter has it: that of the first if the loop declares them."""
    return Converted(value, counters[0][0] if counters[0][2] else name, coord)


def _function_of(name: str, first: Any, step: int, start: Any, other: int, coord: Any) -> Any:
    """``start + (name - first) / step * other``."""
    def whole(number: int) -> c_ast.Constant:
        return c_ast.Constant("int", str(number), coord)

    one = c_ast.ID(name, coord)
    past = c_ast.BinaryOp("-", one, first, coord) if step > 0 else c_ast.BinaryOp("-", first, one, coord)
    count = past if abs(step) == 1 else c_ast.BinaryOp("/", past, whole(abs(step)), coord)
    total = c_ast.BinaryOp("*", count, whole(abs(other)), coord)
    return c_ast.BinaryOp("+" if other > 0 else "-", start, total, coord)


def _head_steps(node: Any) -> dict[str, int] | None:
    """Constant steps of the counters, by name."""
    found: dict[str, int] = {}
    for item in head_parts(node):
        if isinstance(item, c_ast.UnaryOp) and item.op in _STEPS and isinstance(item.expr, c_ast.ID):
            found[item.expr.name] = _STEPS[item.op]
        elif isinstance(item, c_ast.Assignment) and item.op in ("+=", "-=") and isinstance(item.lvalue, c_ast.ID):
            try:
                size = evaluate(item.rvalue)
            except NotConstant:
                return None
            found[item.lvalue.name] = size if item.op == "+=" else -size
        else:
            return None
    return found if all(found.values()) else None


def _unrolled(node: c_ast.For) -> Any:
    """A loop between constants whose step is no sum, as one body for each value."""
    counters, value_after = _counters(node), following(node.next)
    if value_after is None or len(counters) != 1 or counters[0][0] != value_after.left.name or node.cond is None:
        return None
    name, first, declaration = counters[0]
    scaled = value_after.op not in ("+", "-")
    if (not scaled and not _steps_by(node.stmt, name)) or contains(node.stmt, (c_ast.Break,), _LOOPS):
        return None
    if name in assigned_names(node.stmt):
        return None
    try:
        values, value = [], evaluate(first)
        while evaluate(node.cond, {name: value}):
            values.append(value)
            value = evaluate(value_after, {name: value})
            if len(values) > _COPIES or abs(value) >= 1 << 31:
                return None
    except NotConstant:
        return None
    bodies = block([_once(node, value) for value in values], node.coord)
    final = c_ast.Constant("int", str(value), node.coord)
    return _with_final_value(bodies, name, final, declared=declaration is not None)


def _with_linear_condition(node: c_ast.For) -> Any:
    """``for (i = 2; i * i < n; i++)`` between constants with the first value that fails in the condition."""
    counters, steps = _counters(node), _head_steps(node.next)
    if len(counters) != 1:
        return None
    name, first, _ = counters[0]
    if steps is None or [*steps] != [name] or name in assigned_names(node.stmt):
        return None
    if node.cond is None or not _is_nonlinear(node.cond, name):
        return None
    try:
        value = start = evaluate(first)
        while _holds(node.cond, {name: value}):
            value += steps[name]
            if abs(value - start) > _EVALUATIONS * abs(steps[name]):
                return None
    except NotConstant:
        return None
    end = c_ast.Constant("int", str(value), node.coord)
    operator = "<" if steps[name] > 0 else ">"
    return c_ast.For(node.init, c_ast.BinaryOp(operator, c_ast.ID(name, node.coord), end, node.coord), node.next,
                     node.stmt, node.coord)


def _is_nonlinear(node: Any, name: str) -> bool:
    """Whether a product of a variable with itself, or a shift by it, is in an expression."""
    if isinstance(node, c_ast.BinaryOp):
        left, right = name in used_names(node.left), name in used_names(node.right)
        if (node.op == "*" and left and right) or (node.op in ("<<", ">>") and right):
            return True
    return any(_is_nonlinear(child, name) for _, child in node.children())


def _holds(node: Any, values: dict[str, int]) -> bool:
    """Whether a condition holds. Raises `NotConstant` if something in it may leave its type."""
    parts = [node]
    while parts:
        part = parts.pop()
        if abs(evaluate(part, values)) >= 1 << 31:
            raise NotConstant(part, "it is too large")
        parts += [child for _, child in part.children()]
    return evaluate(node, values) != 0


def _steps_by(node: Any, name: str) -> bool:
    """Whether the step of a loop in `node` is a function of variable `name`, and not of what is in arrays."""
    step = node.next if isinstance(node, c_ast.For) else None
    mine = step is not None and name in used_names(step) and not contains(step, (c_ast.ArrayRef,))
    return mine or any(_steps_by(child, name) for _, child in node.children())


def _with_known_steps(node: Any, name: str, value: c_ast.Constant) -> Any:
    """`node` with the value of variable `name` in the steps of loops."""
    if isinstance(node, c_ast.For):
        if _counters(node)[0][0] == name:
            return node
        stepped = node.next and substitute(node.next, name, value)
        return c_ast.For(node.init, node.cond, stepped, _with_known_steps(node.stmt, name, value), node.coord)
    return rebuild(node, lambda child: _with_known_steps(child, name, value))


def _with_final_value(loop: Any, name: str, value: Any, *, declared: bool) -> Any:
    """`loop`, after which counter `name` has a `value`; one that the loop itself `declared` is gone."""
    if declared:
        return loop
    return block([loop, c_ast.Assignment("=", c_ast.ID(name, loop.coord), value, loop.coord)], loop.coord)


def _once(node: c_ast.For, value: int) -> c_ast.For:
    """The loop with its one counter at one value."""
    name, _, declaration = _counters(node)[0]
    number, one = c_ast.Constant("int", str(value), node.coord), c_ast.ID(name, node.coord)
    init: Any = c_ast.Assignment("=", one, number, node.coord)
    if declaration is not None:
        changed = _without_value(declaration)
        changed.init = number
        init = c_ast.DeclList([changed], node.coord)
    return c_ast.For(init, c_ast.BinaryOp("<=", one, number, node.coord), c_ast.UnaryOp("p++", one, node.coord),
                     _with_known_steps(node.stmt, name, number), node.coord)

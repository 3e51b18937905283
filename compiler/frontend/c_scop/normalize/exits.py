"""Loops that end when the data say so, as loops with a known number of trips whose body is done under a condition.

    while (c) { s; }   with at most N trips   is
    for (int t = 0; t < N; t++) { if (!c) break; s; }  if (c) ERROR;

or, where s has a ``break``, or c changes something,

    for (int t = 0; t <= N; t++) { if (!c) break; if (t < N) { s; } else ERROR; }

and a ``break`` under a condition on data is a variable that says whether the loop goes on:

    int on = 1;  for (...) if (on) { ... on = 0; ... }
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator
from pycparser.c_parser import CParser, ParseError

from compiler.frontend.c_scop.normalize.jumps import Body, Refuse
from compiler.frontend.c_scop.normalize.trees import (
    Unreachable,
    block,
    block_items,
    contains,
    counting_loop,
    declared,
    head_parts,
    is_step,
    rebuild,
    stepped,
    substitute,
)
from compiler.frontend.c_scop.types import type_names
from compiler.ir.types import Int

__all__ = ["bounded", "bounded_loops", "with_flag", "with_hidden_iterator"]

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_BOUND = re.compile(r"sluice\s+max_trips\s*\((.*)\)")


def bounded_loops(items: list[Any], refuse: Refuse, name: Callable[[str], str]) -> list[Any]:
    """`items` whose loops behind ``#pragma sluice max_trips(N)`` make N trips and leave before, where their condition
    does not hold. `name` makes a name that is not used. Raises what `refuse` makes of another pragma of this kind."""
    found: list[Any] = []
    most: Any = None
    for item in (_inside(item, refuse, name) for item in items):
        if isinstance(item, c_ast.Pragma) and item.string.split()[:1] == ["sluice"]:
            most = _most(item, refuse)
        elif most is not None and isinstance(item, c_ast.For | c_ast.While):
            reason = f"the loop makes more than max_trips({CGenerator().visit(most)}) trips"
            found += bounded(item, most, refuse, name("trip"), reason)
            most = None
        else:
            found.append(item)
    return found


def _inside(node: Any, refuse: Refuse, name: Callable[[str], str]) -> Any:
    if isinstance(node, c_ast.Compound):
        return c_ast.Compound(bounded_loops(node.block_items or [], refuse, name), node.coord)
    return rebuild(node, lambda child: _inside(child, refuse, name))


def _most(pragma: c_ast.Pragma, refuse: Refuse) -> Any:
    match = _BOUND.fullmatch(pragma.string.strip())
    with suppress(ParseError):
        if match is not None:
            return CParser().parse(f"int trips[{match[1]}];").ext[0].type.dim
    raise refuse(pragma, f"'#pragma {pragma.string}' is not known; there is '#pragma sluice max_trips(N)'")


def bounded(loop: Any, most: Any, refuse: Refuse, trip: str, reason: str) -> list[Any]:
    """A loop of `most` trips in place of one that ends when its condition says so, and what finds out that it would not
    have ended by then: the `reason` why that is wrong, "" if it cannot be. `trip` is a name for its iterator."""
    coord, body, before = loop.coord, block_items(loop.stmt), []
    if isinstance(loop, c_ast.For):
        body = Body(loop, refuse, (c_ast.Continue,)).rest(body)
        body = [*body, loop.next] if loop.next is not None else body
        before = [loop.init] if loop.init is not None else []
    wrong = Unreachable(reason, coord)
    leaves = c_ast.If(c_ast.UnaryOp("!", loop.cond, coord), c_ast.Break(coord), None, coord)
    if not reason:
        made = [_counted(trip, "<", most, [leaves, *body], coord)]
    elif contains(block(body, coord), (c_ast.Break,), _LOOPS) or _changes(loop.cond):
        inside = c_ast.If(c_ast.BinaryOp("<", c_ast.ID(trip, coord), most, coord), block(body, coord), wrong, coord)
        made = [_counted(trip, "<=", most, [leaves, inside], coord)]
    else:
        made = [_counted(trip, "<", most, [leaves, *body], coord), c_ast.If(loop.cond, wrong, None, coord)]
    first = [item for part in before for item in head_parts(part)]
    return [block([*first, *made], coord)] if first else made


def _changes(node: Any) -> bool:
    """Whether an expression has side effects, or might have."""
    return isinstance(node, c_ast.Assignment | c_ast.FuncCall) or is_step(node) or any(
        _changes(child) for _, child in node.children())


def _counted(trip: str, operator: str, most: Any, body: list[Any], coord: Any) -> c_ast.For:
    """The loop ``for (int trip = 0; trip operator most; trip++)``."""
    return counting_loop(trip, (c_ast.Constant("int", "0", coord), operator, most), body, coord)


def with_flag(loop: c_ast.For, flag: str) -> list[Any]:
    """`loop` with variable `flag` in place of every ``break``, each of which is the last thing of its iteration."""
    coord, on = loop.coord, c_ast.ID(flag, loop.coord)
    off = c_ast.Assignment("=", on, c_ast.Constant("int", "0", coord), coord)

    def change(node: Any) -> Any:
        if isinstance(node, c_ast.Break):
            return off
        return node if isinstance(node, _LOOPS) else rebuild(node, change)

    body = c_ast.If(on, change(loop.stmt), None, coord)
    first = c_ast.Assignment("=", on, c_ast.Constant("int", "1", coord), coord)
    return [first, c_ast.For(loop.init, loop.cond, loop.next, block([body], coord), coord)]


def with_hidden_iterator(loop: c_ast.For, name: str, flag: str, hidden: str, type: Int) -> list[Any]:
    """`loop` behind `with_flag`, counted by `hidden`, of `type`, in place of variable `name`, which is set at the end
    of every iteration that goes on: after the loop it says where it has ended."""
    coord = loop.coord
    [first, marked] = with_flag(loop, flag)
    counter, on = c_ast.ID(hidden, coord), c_ast.ID(flag, coord)
    replaced = {part: substitute(getattr(marked, part), name, counter) for part in ("cond", "next", "stmt")}
    [body] = replaced["stmt"].block_items
    after = c_ast.Assignment("=", c_ast.ID(name, coord), stepped(replaced["next"]), coord)
    follows = c_ast.If(on, after, None, coord)
    inside = c_ast.If(body.cond, block([*block_items(body.iftrue), follows], coord), None, coord)
    start = c_ast.Assignment("=", c_ast.ID(name, coord), loop.init.rvalue, coord)
    counted = declared(hidden, type_names(type), loop.init.rvalue, coord)
    return [first, start, c_ast.For(c_ast.DeclList([counted], coord), replaced["cond"], replaced["next"],
                                    block([inside], coord), coord)]

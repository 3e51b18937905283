"""``switch`` as a chain of ``if``: every label's statements with those that it falls through to.

    switch (m) { case 0: case 1: x = 1; break; case 2: y = 2; default: x = 3; }

    if (m == 0 || m == 1) x = 1; else if (m == 2) { y = 2; x = 3; } else x = 3;
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.jumps import Body
from compiler.frontend.c_scop.normalize.trees import block, contains, rebuild

__all__ = ["remove_switches"]

Refuse = Callable[[Any, str], Exception]
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


@dataclass
class _Entry:
    """Labels of one place (`default` among them or not), and the statements from there to the next label."""

    labels: list[Any]
    default: bool
    statements: list[Any]


def remove_switches(items: list[Any], refuse: Refuse) -> list[Any]:
    """`items` without ``switch``. Raises what `refuse` makes of statements before the first label."""
    return [_removed(item, refuse) for item in items]


def _removed(node: Any, refuse: Refuse) -> Any:
    node = rebuild(node, lambda child: _removed(child, refuse))
    return _chain(node, refuse) if isinstance(node, c_ast.Switch) else node


def _chain(node: c_ast.Switch, refuse: Refuse) -> Any:
    entries = _entries(node, refuse)
    result: Any = None
    for number, entry in reversed(list(enumerate(entries))):
        if entry.default:
            result = block(_run(entries, number, refuse), node.coord)
    for number, entry in reversed(list(enumerate(entries))):
        if entry.labels and not entry.default:
            tests = [c_ast.BinaryOp("==", node.cond, label, label.coord) for label in entry.labels]
            condition = reduce(lambda a, b: c_ast.BinaryOp("||", a, b, a.coord), tests)
            result = c_ast.If(condition, block(_run(entries, number, refuse), node.coord), result, node.coord)
    return result if result is not None else block([], node.coord)


def _entries(node: c_ast.Switch, refuse: Refuse) -> list[_Entry]:
    entries: list[_Entry] = []
    items = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    for item in items:
        if not isinstance(item, c_ast.Case | c_ast.Default):
            raise refuse(item, "a statement of 'switch' before its first label is never reached: remove it")
        label = [item.expr] if isinstance(item, c_ast.Case) else []
        if not entries or entries[-1].statements:
            entries.append(_Entry([], False, []))
        entries[-1].labels += label
        entries[-1].default |= not label
        entries[-1].statements += item.stmts or []
    return entries


def _run(entries: list[_Entry], number: int, refuse: Refuse) -> list[Any]:
    """What is done from an entry on, up to ``break``."""
    statements = [s for entry in entries[number:] for s in _flat(entry.statements)]
    ends = next((k for k, s in enumerate(statements) if isinstance(s, c_ast.Break)), len(statements))
    statements = statements[:ends]
    if not any(contains(s, (c_ast.Break,), _LOOPS) for s in statements):
        return statements
    return Body(statements[0], refuse, (c_ast.Break,), kept=False).rest(statements)


def _flat(statements: list[Any]) -> list[Any]:
    """Statements, with those of blocks that end in ``break`` by themselves."""
    found: list[Any] = []
    for statement in statements:
        items = statement.block_items or [] if isinstance(statement, c_ast.Compound) else []
        if items and isinstance(items[-1], c_ast.Break):
            found += [c_ast.Compound(items[:-1], statement.coord), items[-1]]
        else:
            found.append(statement)
    return found

"""Scalars of the scop whose value is affine in the iterators: copies, offsets, and variables that a loop steps.

The walk goes through the scop in its order, so that one map from variable to value, changed by every assignment, is
what holds at the current place: after ``int r = i + 1;`` r is i + 1; in a loop that adds 2 to p once, p is what it was
before the loop plus twice the number of earlier iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
from pycparser import c_ast

from compiler.frontend.c_scop.affine import EVERY_INDEX, AffineReader, IteratorValue, NotAffine, wrapped
from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.loops import step_expression
from compiler.frontend.c_scop.normalize.trees import assigned_names, block_items
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.types import Int

__all__ = ["LocalValues", "Stepped"]

_PIECES = 16
"""Cases that a value may distinguish."""


@dataclass(frozen=True)
class Stepped:
    """A variable that a loop changes: its value before the loop and what an iteration adds, None if not known."""

    variable: Variable
    start: IteratorValue | None
    step: int | None


@dataclass
class LocalValues:
    """`known` values at the current place, why others are not (`unknown`), and variables that are in no array since
    only the head of a loop has set them (`unwritten`)."""

    known: dict[Variable, IteratorValue] = field(default_factory=dict)
    unknown: dict[Variable, str] = field(default_factory=dict)
    unwritten: set[Variable] = field(default_factory=set)

    def copy(self) -> LocalValues:
        """The same, to be changed apart."""
        return LocalValues(dict(self.known), dict(self.unknown), set(self.unwritten))

    def forget(self, variable: Variable, reason: str) -> None:
        """Nothing is known of `variable` from here on."""
        self.known.pop(variable, None)
        self.unknown[variable] = reason

    def assign(self, target: Any, value: Any, reader: AffineReader, domain: isl.Set, held_back: bool) -> None:
        """Follow ``target = value`` in the iterations of `domain`; `held_back` by a condition on data."""
        variable = reader.scope.find(target.name) if isinstance(target, c_ast.ID) else None
        if not isinstance(variable, Variable) or not variable.scalar or type(variable.type) is not Int:
            return
        place = f"'{variable.name}', assigned in line {reader.source.place(target.coord).line},"
        try:
            if held_back:
                raise NotAffine(target, f"is assigned under a condition on data; {EVERY_INDEX}")
            function = reader.function(value)
            reader.check(domain)
        except NotAffine as error:
            self.forget(variable, f"{place} {error.reason if held_back else f'has no affine value: {error.reason}'}")
        except ScopError as error:
            self.forget(variable, f"{place} has no affine value: {error.reason}")
        else:
            self._set(variable, function, domain)
        self.unwritten.discard(variable)

    def _set(self, variable: Variable, value: isl.PwAff, domain: isl.Set) -> None:
        assert isinstance(variable.type, Int)
        value = wrapped(value.intersect_domain(domain).coalesce(), domain, variable.type)
        if value.n_piece() > _PIECES:
            self.forget(variable, f"'{variable.name}' has a value of more than {_PIECES} cases")
            return
        depth = domain.dim(isl.dim_type.set)
        self.known[variable] = IteratorValue(value, variable.type, depth)
        self.unknown.pop(variable, None)

    def merge(self, yes: LocalValues, no: LocalValues, where: isl.Set, domain: isl.Set) -> None:
        """What holds after a condition on iterators: `yes` in the iterations `where`, `no` in the others."""
        for variable in self.known.keys() - (yes.known.keys() | no.known.keys()):
            del self.known[variable]
        for variable in yes.known.keys() | no.known.keys():
            first, second = yes.known.get(variable), no.known.get(variable)
            if first is None or second is None:
                self.forget(variable, (yes if first is None else no).unknown.get(variable, f"'{variable.name}' has no "
                                                                                 "value in one of the branches"))
            elif first is second:
                self.known[variable] = first
            else:
                depth = domain.dim(isl.dim_type.set)
                taken = _lifted(first, depth).intersect_domain(where)
                self._set(variable, taken.union_add(_lifted(second, depth).subtract_domain(where)), domain)
        for variable in (yes.unknown.keys() & no.unknown.keys()) - self.known.keys():
            self.forget(variable, yes.unknown[variable])
        self.unwritten = yes.unwritten | no.unwritten

    # Loops.

    def stepped(self, node: c_ast.For, scope: Scope) -> list[Stepped]:
        """The scalars that the body of a loop assigns."""
        found: list[Stepped] = []
        for name in sorted(set(assigned_names(node.stmt))):
            variable = _found(scope, name)
            if variable is not None:
                step = _added(name, block_items(node.stmt), scope)
                found.append(Stepped(variable, self.known.get(variable), step))
        return found

    def in_head(self, variables: list[Stepped], index: isl.PwAff, node: Any,
                line: int) -> tuple[LocalValues, list[tuple[Any, isl.PwAff, Int]]]:
        """What the condition `node` of the loop in `line` finds before iteration `index`, without end; and the values
        of stepped variables, which have to stay in their types as long as it is tested."""
        found, values = self.copy(), list[tuple[Any, isl.PwAff, Int]]()
        for stepped in variables:
            if stepped.start is None or stepped.step is None:
                found.forget(stepped.variable, f"'{stepped.variable.name}' {_changes(line)}")
                continue
            assert isinstance(stepped.variable.type, Int)
            depth = index.dim(isl.dim_type.in_)
            value = _lifted(stepped.start, depth).add(index.scale_val(isl.Val(stepped.step)))
            found.known[stepped.variable] = IteratorValue(value, stepped.variable.type, depth)
            values.append((node, value, stepped.variable.type))
        return found, values

    def enter(self, variables: list[Stepped], index: isl.PwAff, domain: isl.Set, line: int) -> None:
        """Begin an iteration of the loop in `line`, which is number `index` of `domain`."""
        self._step(variables, index, domain, _changes(line))

    def leave(self, variables: list[Stepped], count: isl.PwAff, domain: isl.Set, line: int,
              held_back: Callable[[Variable], bool]) -> None:
        """End the loop in `line` after `count` iterations; an assignment may be `held_back` by a condition on data."""
        free = [v for v in variables if not held_back(v.variable)]
        self._step(free, count, domain, _changes(line))
        for stepped in variables:
            if stepped not in free:
                name = stepped.variable.name
                self.forget(stepped.variable, f"'{name}' is assigned under a condition on data; {EVERY_INDEX}")

    def _step(self, variables: list[Stepped], times: isl.PwAff, domain: isl.Set, reason: str) -> None:
        for stepped in variables:
            if stepped.start is None or stepped.step is None:
                self.forget(stepped.variable, f"'{stepped.variable.name}' {reason}")
                continue
            start = _lifted(stepped.start, domain.dim(isl.dim_type.set))
            self._set(stepped.variable, start.add(times.scale_val(isl.Val(stepped.step))), domain)

    def finish(self, variable: Variable, value: isl.PwAff | None, domain: isl.Set) -> None:
        """The iterator of a loop that has ended has `value`, None if that is under a condition on data."""
        self.unwritten.add(variable)
        if value is None:
            self.forget(variable, f"'{variable.name}' is set by a loop under a condition on data")
        else:
            self._set(variable, value, domain)


def _changes(line: int) -> str:
    return (f"changes in the loop in line {line} by no constant amount; step it by a constant, once in every "
            "iteration, or compute it from the iterator")


def _found(scope: Scope, name: str) -> Variable | None:
    try:
        found = scope.find(name)
    except ScopError:
        return None
    return found if isinstance(found, Variable) and found.scalar and type(found.type) is Int else None


def _lifted(entry: IteratorValue, depth: int) -> isl.PwAff:
    missing = depth - entry.depth
    return entry.value.add_dims(isl.dim_type.in_, missing) if missing else entry.value


def _added(name: str, items: list[Any], scope: Scope) -> int | None:
    """What the statements `items` add to `name` in all; None if that is no constant."""
    total = 0
    for item in items:
        if name not in assigned_names(item) and not _declares(item, name):
            continue
        amount = _added_by(name, item, scope)
        if amount is None:
            return None
        total += amount
    return total


def _declares(node: Any, name: str) -> bool:
    own = isinstance(node, c_ast.Decl) and node.name == name
    return own or any(_declares(child, name) for _, child in node.children())


def _added_by(name: str, item: Any, scope: Scope) -> int | None:
    if isinstance(item, c_ast.Compound):
        return _added(name, block_items(item), scope)
    if isinstance(item, c_ast.For):
        count = _constant_count(item, scope)
        each = None if name in assigned_names(item.init) else _added(name, block_items(item.stmt), scope)
        return None if count is None or each is None else count * each
    step = step_expression(item, name)
    if step is None or assigned_names(item).count(name) != 1:
        return None
    try:
        return step[0] * (1 if step[1] is None else evaluate(step[1], scope.constants()))
    except NotConstant:
        return None


def _constant_count(node: c_ast.For, scope: Scope) -> int | None:
    """How often a loop between constants runs."""
    init = node.init.decls[0] if isinstance(node.init, c_ast.DeclList) and len(node.init.decls) == 1 else node.init
    name = init.name if isinstance(init, c_ast.Decl) else getattr(getattr(init, "lvalue", None), "name", "")
    test, step = node.cond, step_expression(node.next, name) if node.next is not None else None
    if step is None or not isinstance(test, c_ast.BinaryOp) or getattr(test.left, "name", None) != name:
        return None
    try:
        known = scope.constants()
        first = evaluate(init.init if isinstance(init, c_ast.Decl) else init.rvalue, known)
        last = evaluate(test.right, known)
        size = step[0] * (1 if step[1] is None else evaluate(step[1], known))
    except NotConstant:
        return None
    ends = {"<": last, "<=": last + 1, ">": last, ">=": last - 1}
    if test.op not in ends or (size > 0) != (test.op in ("<", "<=")) or size == 0:
        return None
    return len(range(first, ends[test.op], size))

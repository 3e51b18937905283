"""Walking the scop: loops, conditions and assignments to statements with exact domains and order.

Conditions on iterators restrict domains. Conditions on data become selections: ``if (c) x = e;`` is
``x = c ? e : x``, with `c` evaluated once, before anything in its branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import islpy as isl
from pycparser import c_ast

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.affine import AffineReader, IteratorValue, NotAffine
from compiler.frontend.c_scop.branches import Selection, as_assignment, is_overwritten_by_else, single_assignment
from compiler.frontend.c_scop.data_addresses import ASSERTED, Condition, DataArrays, scalar
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.expressions import Element, Lowering, Split
from compiler.frontend.c_scop.initialisers import array_assignments
from compiler.frontend.c_scop.limits import limit, limit_note
from compiler.frontend.c_scop.local_values import LocalValues
from compiler.frontend.c_scop.loops import (
    DataBound,
    LoopHead,
    Uncounted,
    before_first,
    counts,
    iteration_number,
    iterations,
    iterator_type,
    projected,
    read_head,
    read_start,
)
from compiler.frontend.c_scop.normalize.exits import bounded, with_flag, with_hidden_iterator
from compiler.frontend.c_scop.normalize.jumps import remove_jumps
from compiler.frontend.c_scop.normalize.trees import (
    Unreachable,
    assigned_names,
    block,
    contains,
    is_step,
    used_names,
    variable_name,
)
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.string_functions import is_string_function, written_out
from compiler.frontend.c_scop.trip_bounds import Span, most_trips
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.expr import Const, Expr, Store
from compiler.ir.memory_bounds import MORE_TRIPS_THAN_ELEMENTS
from compiler.ir.names import check_name
from compiler.ir.types import BIT, Int, ProgramError

__all__ = ["RawStatement", "Walker"]

_REFUSED: dict[type, str] = {
    c_ast.While: "this 'while' loop counts in no way that is known: set its counter before it in the same block and "
                 "step it at the end of its body alone, or use 'for'; or say how many trips it makes at most, by "
                 "#pragma sluice max_trips(N) before it",
    c_ast.DoWhile: "'do' loops are not supported: use 'for'",
    c_ast.Goto: "'goto' is not supported",
    c_ast.Break: "'break' is outside of a loop",
    c_ast.Continue: "'continue' is outside of a loop",
    c_ast.Return: "'return' is not supported inside a scop",
}


class BreakOnData(Exception):
    """A ``break`` under a condition on data, which says when the loop ends."""


@dataclass(frozen=True)
class Loop:
    """A loop around a statement. `name` is the iterator in the IR, `number` unique in the scop."""

    name: str
    number: int


@dataclass(frozen=True)
class Guard:
    """A condition on data for what a branch assigns. In the first branch of `both` that may be assigned at any rate
    which the second, which comes later, overwrites."""

    condition: Any
    both: c_ast.If | None = None

    def holds_back(self, target: Any) -> bool:
        """Whether an assignment of `target` has to ask for the condition."""
        return self.both is None or not is_overwritten_by_else(target, self.both)


@dataclass
class Breaks:
    """Iterations in which a loop's body reaches a ``break``, and the guards around the loop."""

    guards: int
    reached: isl.Set


@dataclass(frozen=True)
class Context:
    """Where the walk is: loops, iterations that get here, position among siblings, names, conditions on data."""

    loops: tuple[Loop, ...]
    domain: isl.Set
    position: tuple[int, ...]
    iterators: dict[str, IteratorValue]
    scope: Scope
    guards: tuple[Guard, ...] = ()
    counter: list[int] = field(default_factory=lambda: [0])
    values: LocalValues = field(default_factory=LocalValues)
    breaks: Breaks | None = None

    def next_position(self) -> tuple[int, ...]:
        """The position of one more child."""
        self.counter[0] += 1
        return (*self.position, self.counter[0] - 1)

    def reader(self) -> AffineReader:
        """Reads affine expressions here."""
        return AffineReader(self.scope.source, self.scope, self.domain.get_space(), self.iterators, self.values.known,
                            self.values.unknown, domain=self.domain)


@dataclass(frozen=True)
class RawStatement:
    """One assignment. `time` alternates positions among siblings and loops, as a 2d+1 order does. `stored`: of a store
    to a memory that takes place in any case, the elements if they are known."""

    name: str
    loops: tuple[Loop, ...]
    time: tuple[int | str, ...]
    domain: isl.Set
    reads: tuple[Element, ...]
    write: Element
    value: Expr
    place: Any
    stored: isl.Map | None = None


class Walker:
    """Collects the statements of a scop in `statements`."""

    def __init__(self, source: Source, data: DataArrays) -> None:
        self._source, self._data = source, data
        self._loop_count = 0
        self._names: set[str] = set()
        self._declared_under: dict[Variable, int] = {}
        self.statements: list[RawStatement] = []

    def run(self, items: list[Any], scope: Scope) -> None:
        """Walk the statements `items`. Raises `ScopError`."""
        domain = isl.Set("{ [] }")
        context = Context((), domain, (), {}, scope.inner())
        for item in items:
            self._item(item, context)

    def _item(self, node: Any, context: Context, label: str | None = None) -> None:
        match node:
            case None | c_ast.EmptyStatement() | c_ast.Pragma() | c_ast.Typedef():
                if isinstance(node, c_ast.Typedef):
                    context.scope.declare(node, "inner")
            case c_ast.Compound():
                inside = replace(context, scope=context.scope.inner())
                for item in node.block_items or []:
                    self._item(item, inside)
            case c_ast.For():
                self._loop(node, context)
            case c_ast.If():
                self._if(node, context)
            case c_ast.Decl() | c_ast.DeclList():
                for declaration in node.decls if isinstance(node, c_ast.DeclList) else [node]:
                    self._declaration(declaration, context)
            case c_ast.Break() if context.breaks is not None:
                self._break(node, context, context.breaks)
            case Unreachable():
                self._assert_unreachable(node, context)
            case c_ast.Label():
                self._item(node.stmt, context, node.name)
            case c_ast.ExprList():
                for item in node.exprs:
                    self._item(item, context)
            case c_ast.FuncCall() if is_string_function(node):
                self._item(block(written_out(node, context.scope), node.coord), context)
            case c_ast.Assignment():
                self._assignment(node, context, label)
            case c_ast.UnaryOp() if is_step(node):
                one = c_ast.Constant("int", "1", node.coord)
                self._assignment(c_ast.Assignment(f"{node.op[-1]}=", node.expr, one, node.coord), context, label)
            case _:
                self._refuse(node)

    def _refuse(self, node: Any) -> None:
        place = self._source.place(node.coord)
        if isinstance(node, c_ast.FuncCall):
            name = node.name.name if isinstance(node.name, c_ast.ID) else "a function"
            raise ScopError(place, f"calls {name}(); functions cannot be called in a scop")
        raise ScopError(place, _REFUSED.get(type(node), "this statement does nothing; only assignments do"))

    def _declaration(self, node: Any, context: Context) -> None:
        variable = context.scope.declare(node, "inner")
        if variable is None:
            return
        self._declared_under[variable] = len(context.guards)
        if node.init is None or variable.fixed:
            return
        if not variable.scalar:
            for statement in array_assignments(variable, node, context.scope):
                self._item(statement, context)
            return
        target = c_ast.ID(node.name, node.coord)
        self._assignment(c_ast.Assignment("=", target, node.init, node.coord), context, None)

    # Loops.

    def _loop(self, node: c_ast.For, context: Context) -> None:
        """A loop; one that ends when the data say so makes all trips that there can be, some of which do nothing."""
        try:
            self._counted_loop(node, context)
        except BreakOnData:
            self._item(self._with_flag(node, context), context)
        except Uncounted as error:
            known = self._with_known_bound(node, context) if isinstance(error, DataBound) else None
            self._item(known or self._with_most_trips(node, context, error), context)

    def _with_flag(self, node: c_ast.For, context: Context) -> c_ast.Compound:
        """The loop with a variable that says whether it goes on."""
        place = self._source.place(node.coord)
        flag = self._scalar("on", Int(8, signed=False), context, place)
        if isinstance(node.init, c_ast.DeclList):
            return block(with_flag(node, flag), node.coord)
        head = read_head(node, context.scope.inner())
        hidden, type = context.scope.free_name(f"{head.name}_trip"), iterator_type(head.name, node, context.scope)
        return block(with_hidden_iterator(node, head.name, flag, hidden, type), node.coord)

    def _with_known_bound(self, node: c_ast.For, context: Context) -> c_ast.For | None:
        """The loop with those of its conditions that are known before it runs, if one of them is about its counter;
        others end it from inside."""
        head = read_head(node, context.scope.inner())
        parts = _operands(node.cond, "&&")
        affine = [part for part in parts if self._is_known(part, head, context)]
        if len(affine) == len(parts) or not any(head.name in used_names(part) for part in affine):
            return None
        data = [part for part in parts if part not in affine]
        head_condition, stays = (reduce(lambda a, b: c_ast.BinaryOp("&&", a, b, a.coord), kind)
                                 for kind in (affine, data))
        body = c_ast.If(stays, node.stmt, c_ast.Break(node.coord), node.coord)
        return c_ast.For(node.init, head_condition, node.next, block([body], node.coord), node.coord)

    def _with_most_trips(self, node: c_ast.For, context: Context, error: Uncounted) -> c_ast.Compound:
        """The loop as one of so many trips as it makes at most, which ends from inside. Raises `error`, with what else
        can be written, if nothing says how many these are."""
        scope, place = context.scope.apart().inner(), self._source.place(node.coord)
        name, _, declaration = read_start(node, self._source)
        if declaration is not None:
            scope.declare(declaration, "inner")
        type = iterator_type(name, node, scope)
        scope.names[name] = Variable(name, name, type, (), "inner", place)  # of whose value nothing is known
        inside = replace(context, scope=scope)
        trips = most_trips(node, name, type, lambda part: self._span(part, inside), partial(_shape, context.scope))
        largest = limit("trips_by_data")
        if trips is None or trips.most > largest:
            hint = (f"{error.reason}; or say how many trips the loop makes at most, by "
                    "#pragma sluice max_trips(N) before it")
            if isinstance(error, DataBound):
                hint += f", or in its condition: {name} < N && ..."
            if trips is not None:
                hint += f"; its values allow {trips.most}, of more than {largest} {limit_note('trips_by_data')}"
            raise ScopError(error.place, hint)

        def refuse(part: Any, reason: str) -> ScopError:
            return ScopError(self._source.place(part.coord), reason)

        most = c_ast.Constant("int", str(trips.most), node.coord)
        made = bounded(node, most, refuse, context.scope.free_name("trip"),
                       "" if trips.proven else MORE_TRIPS_THAN_ELEMENTS)
        return block(remove_jumps(made, refuse), node.coord)

    def _span(self, node: Any, context: Context) -> Span | None:
        """What is known of the values of an expression."""
        if context.domain.is_empty():
            return None
        inside = replace(context, scope=context.scope.apart())
        names = tuple(loop.name for loop in context.loops)
        found = Lowering(inside.reader(), context.domain, names, frozenset(context.values.unwritten),
                         data=self._data.apart()).values(node)
        return found and Span(*found)

    @staticmethod
    def _is_known(condition: Any, head: LoopHead, context: Context) -> bool:
        """Whether a part of a loop's condition is a function of iterators, which the body does not change."""
        if used_names(condition) & set(assigned_names(head.node.stmt)):
            return False
        scope, depth = context.scope.apart().inner(), len(context.loops)
        if head.declaration is not None:
            scope.declare(head.declaration, "inner")
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, depth + 1)
        counter = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.set, depth)
        value = IteratorValue(isl.PwAff.from_aff(counter), iterator_type(head.name, head.node, scope), depth + 1)
        reader = AffineReader(scope.source, scope, space, {**context.iterators, head.name: value},
                              context.values.known, context.values.unknown)
        try:
            reader.condition(condition)
        except NotAffine:
            return False
        return True

    def _counted_loop(self, node: c_ast.For, context: Context) -> None:
        scope = context.scope.inner()
        head = read_head(node, scope)
        if head.declaration is not None:
            scope.declare(head.declaration, "inner")
        if head.name in context.iterators and head.declaration is None:
            reason = f"a loop around this one has the same iterator '{head.name}'"
            raise ScopError(self._source.place(node.coord), reason)
        type = iterator_type(head.name, head.node, scope)
        depth = len(context.loops)
        if depth >= (most := limit("nested_loops")):
            raise ScopError(self._source.place(node.coord), f"more than {most} loops are nested; use the quotient and "
                            f"the remainder of one iterator for several {limit_note('nested_loops')}")

        values, checks = self._values_in_head(head, scope, context)

        def reader(value: IteratorValue) -> AffineReader:
            space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, depth + 1)
            return AffineReader(self._source, scope, space, {**context.iterators, head.name: value},
                                values.known, values.unknown, list(checks))

        domain, value = iterations(head, context.domain, context.reader(), reader, type)
        loop = Loop(self._iterator_name(head.name, context), self._loop_count)
        self._loop_count += 1
        inside = replace(context, loops=(*context.loops, loop), domain=domain, position=context.next_position(),
                         iterators={**context.iterators, head.name: value}, scope=scope, counter=[0], breaks=None)
        if contains(node.stmt, (c_ast.Break,), (c_ast.For, c_ast.While, c_ast.DoWhile)):
            inside = self._until_break(head, inside, context)
        self._iterate(head, inside, context)

    def _values_in_head(self, head: LoopHead, scope: Scope,
                        context: Context) -> tuple[LocalValues, list[tuple[Any, isl.PwAff, Int]]]:
        """What the condition of a loop finds in scalars, those that its body steps as functions of the iteration; and
        these with the types that they must not leave."""
        used = used_names(head.condition)
        stepped = [v for v in context.values.stepped(head.node, scope) if v.variable.name in used]
        if not stepped:
            return context.values, []
        with suppress(NotAffine):  # of which `iterations` says where and why
            index = iteration_number(context.reader().function(head.start), head.step)
            return context.values.in_head(stepped, index, head.condition, self._source.place(head.node.coord).line)
        return context.values, []

    def _until_break(self, head: LoopHead, inside: Context, context: Context) -> Context:
        """`inside` without the iterations that come after one in which a ``break`` is reached."""
        trial = Walker(self._source, self._data)
        trial._loop_count, trial._declared_under = self._loop_count, dict(self._declared_under)
        scope = inside.scope.apart()
        breaks = Breaks(len(context.guards), isl.Set.empty(inside.domain.get_space()))
        values = context.values.copy()
        body = replace(inside, scope=scope, values=values, counter=[0], breaks=breaks)
        trial._iterate(head, body, replace(context, scope=scope, values=values))
        reached = breaks.reached.coalesce()
        return replace(inside, domain=before_first(inside.domain, reached).coalesce(),
                       breaks=Breaks(len(context.guards), reached))

    def _break(self, node: c_ast.Break, context: Context, breaks: Breaks) -> None:
        if len(context.guards) > breaks.guards:
            raise BreakOnData
        breaks.reached = breaks.reached.union(context.domain)

    def _iterate(self, head: LoopHead, inside: Context, context: Context) -> None:
        """Walk the body of a loop, `inside`, and follow the scalars that it changes to the end of the loop."""
        values, line = context.values, self._source.place(head.node.coord).line
        first = context.reader().function(head.start)
        index, count = counts(inside.domain, first, head.step, context.domain)
        stepped, unwritten = values.stepped(head.node, inside.scope), set(values.unwritten)
        if not inside.domain.is_empty():
            values.enter(stepped, index, inside.domain, line)
            self._item(head.node.stmt, inside)
        values.leave(stepped, count, context.domain, line, lambda v: self._is_held_back(v, context))
        values.unwritten |= unwritten
        variable = inside.scope.find(head.name)
        if head.declaration is None and isinstance(variable, Variable):
            if inside.breaks is not None:  # the last iteration does not step
                count = count.sub(projected(inside.breaks.reached.intersect(inside.domain)).indicator_function())
            final = None if self._is_held_back(variable, context) else \
                first.add(count.scale_val(isl.Val(head.step)))
            values.finish(variable, final, context.domain)

    def _is_held_back(self, variable: Variable, context: Context) -> bool:
        """Whether an assignment to `variable` here is under a condition on data."""
        return len(context.guards) > self._declared_under.get(variable, 0)

    @staticmethod
    def _iterator_name(name: str, context: Context) -> str:
        taken = {loop.name for loop in context.loops}
        candidate, number = name, 1
        while candidate in taken or not _possible(candidate):
            candidate = f"{name}_{number}"
            number += 1
        return candidate

    # Conditions.

    def _if(self, node: c_ast.If, context: Context) -> None:
        where = context.reader().settled(node.cond, context.domain)
        if where is None:
            mixed = _separated(node, context)
            self._item(mixed, context) if mixed else self._data_condition(node, context)
            return
        ends: list[LocalValues] = []
        for domain, branch in ((context.domain.intersect(where), node.iftrue),
                               (context.domain.subtract(where), node.iffalse)):
            if not domain.is_empty():
                inside = replace(context, domain=domain.coalesce(), values=context.values.copy())
                ends.append(inside.values)
                if branch is not None:
                    self._item(branch, inside)
        if ends:
            context.values.merge(ends[0], ends[-1], where, context.domain)

    def _data_condition(self, node: c_ast.If, context: Context) -> None:
        """``if`` on data: both branches run, their assignments select."""
        both = as_assignment(node)
        if both is not None:
            self._item(both, context)
            return
        target = single_assignment(node.iftrue) if node.iffalse is None else None
        condition = node.cond if target is not None else self._stored_condition(node, context)
        first = Guard(condition, node if node.iffalse else None)
        self._item(node.iftrue, replace(context, guards=(*context.guards, first)))
        if node.iffalse is not None:
            opposite = c_ast.UnaryOp("!", condition, node.coord)
            self._item(node.iffalse, replace(context, guards=(*context.guards, Guard(opposite))))

    def _stored_condition(self, node: c_ast.If, context: Context) -> c_ast.ID:
        """Keep the value of the condition, since the branches may change what it depends on."""
        name = self._scalar("condition", Int(8, signed=False), context, self._source.place(node.cond.coord))
        target = c_ast.ID(name, node.cond.coord)
        value = c_ast.BinaryOp("!=", node.cond, c_ast.Constant("int", "0", node.cond.coord), node.cond.coord)
        self._assignment(c_ast.Assignment("=", target, value, node.cond.coord), context, None)
        return target

    def _scalar(self, name: str, type: Int, context: Context, place: Place) -> str:
        """A new scalar of the block, which is dead where the conditions around it fail; its name."""
        chosen = context.scope.free_name(name)
        variable = context.scope.names[chosen] = Variable(chosen, chosen, type, (), "inner", place)
        self._declared_under[variable] = len(context.guards)
        return chosen

    # Assignments.

    def _assignment(self, node: c_ast.Assignment, context: Context, label: str | None) -> None:
        value = node.rvalue
        if isinstance(value, c_ast.Assignment):
            self._assignment(value, context, None)
            value = value.lvalue
        if node.op != "=":
            value = c_ast.BinaryOp(node.op[:-1], node.lvalue, value, node.coord)
        if self._is_memory(node.lvalue, context):
            self._store(node, value, context, context.domain)
            return
        guards = self._guards(node.lvalue, context)
        for guard in reversed(guards):
            value = Selection(guard, value, node.lvalue, node.lvalue, node.coord)
        self._emit(node, value, context, context.next_position(), context.domain, label)
        if not context.domain.is_empty():
            context.values.assign(node.lvalue, value, context.reader(), context.domain, bool(guards))

    def _guards(self, target: Any, context: Context) -> tuple[Any, ...]:
        """Conditions on data for an assignment: a variable declared under some of them is dead where they fail."""
        found = context.scope.find(variable_name(target))
        first = self._declared_under.get(found, 0) if isinstance(found, Variable) else 0
        return tuple(guard.condition for guard in context.guards[first:] if guard.holds_back(target))

    def _not_selected(self, target: Any, context: Context) -> tuple[Condition, ...]:
        """Conditions that an assignment to `target` need not ask for, though C evaluates its value only under them."""
        selected = self._guards(target, context)
        return _conditions([guard for guard in context.guards if guard.condition not in selected])

    def _emit(self, node: c_ast.Assignment, value: Any, context: Context, position: tuple[int, ...],
              domain: isl.Set, label: str | None) -> None:
        """Add the statement for the iterations in `domain`, in parts if a condition on iterators divides them."""
        if domain.is_empty():
            return
        names = tuple(loop.name for loop in context.loops)
        reader = context.reader()
        lowering = Lowering(reader, domain, names, frozenset(context.values.unwritten), data=self._data,
                            conditions=self._not_selected(node.lvalue, context))
        try:
            write = lowering.element(node.lvalue)
            result = lowering.converted(value, write.variable.stored)
        except Split as split:
            self._emit(node, value, context, position, domain.intersect(split.where), label)
            self._emit(node, value, context, position, domain.subtract(split.where), label)
            return
        reader.check(domain)
        if write.variable.const and write.variable.storage in ("parameter", "global"):
            reason = f"'{write.variable.name}' cannot be assigned: it is declared const"
            raise ScopError(self._source.place(node.coord), reason)
        if write.variable.fixed:
            reason = f"'{write.variable.name}' cannot be assigned: its value is fixed"
            raise ScopError(self._source.place(node.coord), reason)
        if self._hoist(lowering, context, domain):
            position = context.next_position()
        self._add(label, context, position, domain, lowering.reads, write, result,
                  self._source.place(node.coord))

    def _is_memory(self, target: Any, context: Context) -> bool:
        """Whether an lvalue is an element of an array whose places depend on data."""
        found = context.scope.find(variable_name(target))
        return isinstance(found, Variable) and found.array in self._data.names

    def _store(self, node: c_ast.Assignment, value: Any, context: Context, domain: isl.Set) -> None:
        """Add the store of an assignment to a memory, under conditions on data."""
        if domain.is_empty():
            return
        guards = tuple(guard for guard in context.guards if guard.holds_back(node.lvalue))
        names = tuple(loop.name for loop in context.loops)
        reader = context.reader()
        lowering = Lowering(reader, domain, names, frozenset(context.values.unwritten), data=self._data,
                            conditions=_conditions(guards))
        try:
            memory, variable, index = lowering.address(node.lvalue)
            stored = lowering.under(_conditions(context.guards)).converted(value, variable.stored)
            enable = building.conjunction(lowering.evaluated_conditions())
        except Split as split:
            for part in (domain.intersect(split.where), domain.subtract(split.where)):
                self._store(node, value, context, part)
            return
        reader.check(domain)
        self._hoist(lowering, context, domain)
        place = self._source.place(node.coord)
        token = Element(scalar(context.scope, f"{variable.array}_store", BIT, place), lowering.scalar_map(), place)
        self._add(None, context, context.next_position(), domain, lowering.reads, token,
                  Store(memory, index, stored, enable, ()), place, None if guards else lowering.elements(node.lvalue))

    def _assert_unreachable(self, node: Unreachable, context: Context) -> None:
        """Add a store that ends the run, if it takes place."""
        if context.domain.is_empty():
            return
        names = tuple(loop.name for loop in context.loops)
        lowering = Lowering(context.reader(), context.domain, names, frozenset(context.values.unwritten),
                            data=self._data, conditions=_conditions(context.guards))
        enable = building.conjunction(lowering.evaluated_conditions())
        place = self._source.place(node.coord)
        token = Element(scalar(context.scope, "assertion", BIT, place), lowering.scalar_map(), place)
        value = Store(self._data.assertion(node.reason, context.scope), ASSERTED, Const(0, BIT), enable, ())
        self._add(None, context, context.next_position(), context.domain, lowering.reads, token, value, place)

    def _hoist(self, lowering: Lowering, context: Context, domain: isl.Set) -> bool:
        """Add the loads that come before a statement; whether there are any."""
        for load in lowering.hoisted.values():
            place = load.variable.place
            write = Element(load.variable, lowering.scalar_map(), place)
            self._add(None, context, context.next_position(), domain, load.reads, write, load.value, place)
        return bool(lowering.hoisted)

    def _add(self, label: str | None, context: Context, position: tuple[int, ...], domain: isl.Set,
             reads: Sequence[Element], write: Element, value: Expr, place: Place,
             stored: isl.Map | None = None) -> None:
        """One more statement."""
        most = limit("statements")
        if len(self.statements) >= most:
            raise ScopError(place, f"the scop has more than {most} statements after calls, "
                            f"copies and conditions are written out; write loops {limit_note('statements')}")
        time = _time(position, context.loops)
        self.statements.append(RawStatement(self._statement_name(label), context.loops, time, domain.coalesce(),
                                            tuple(reads), write, value, place, stored))

    def _statement_name(self, label: str | None) -> str:
        name, number = label or f"S{len(self.statements)}", 1
        while name in self._names or not _possible(name):
            name = f"{label or 'S'}_{number}"
            number += 1
        self._names.add(name)
        return name


def _time(position: tuple[int, ...], loops: tuple[Loop, ...]) -> tuple[int | str, ...]:
    vector: list[int | str] = []
    for place, loop in zip(position, loops, strict=False):
        vector += [place, loop.name]
    return (*vector, position[-1])


def _conditions(guards: Iterable[Guard]) -> tuple[Condition, ...]:
    return tuple(Condition(guard.condition, True) for guard in guards)


def _shape(scope: Scope, name: str) -> Sequence[int | None]:
    """The sizes of array `name`; none if it is no array."""
    found = scope.find(name)
    return found.shape if isinstance(found, Variable) else ()


def _possible(name: str) -> bool:
    try:
        check_name(name, "")
    except ProgramError:
        return False
    return True


def _separated(node: c_ast.If, context: Context) -> c_ast.If | None:
    """``if (affine && data)`` as two nested ``if``, likewise ``||``; None if no part of the condition is affine."""
    operator = node.cond.op if isinstance(node.cond, c_ast.BinaryOp) else ""
    parts: dict[bool, list[Any]] = {True: [], False: []}
    for part in _operands(node.cond, operator) if operator in ("&&", "||") else []:
        parts[context.reader().settled(part, context.domain) is not None].append(part)
    if not parts[True] or not parts[False]:
        return None
    affine, data = (reduce(lambda a, b: c_ast.BinaryOp(operator, a, b, a.coord), parts[kind]) for kind in (True, False))
    inner = c_ast.If(data, node.iftrue, node.iffalse, node.coord)
    if operator == "&&":
        return c_ast.If(affine, inner, node.iffalse, node.coord)
    return c_ast.If(affine, node.iftrue, inner, node.coord)


def _operands(node: Any, operator: str) -> list[Any]:
    """The operands of a chain of ``&&`` or of ``||``."""
    if isinstance(node, c_ast.BinaryOp) and node.op == operator:
        return [*_operands(node.left, operator), *_operands(node.right, operator)]
    return [node]

"""Statements added beside others, in the same iterations."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import islpy as isl

from compiler.ir.expr import Expr
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.passes.directives.place import places
from compiler.passes.recurrence.shorten_recurrences import hull

__all__ = ["StatementGroups"]


class StatementGroups:
    """A program in the making. `groups`: the statements that are in the place of each, in their order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arrays = {array.name: array for array in program.arrays}
        self.groups = {statement.name: [statement] for statement in program.statements}
        self._names = set(program.names)
        self._lows: dict[str, tuple[int, ...]] = {}

    def beside(self, statement: Statement, suffix: str, value: Expr, reads: tuple[Access, ...]
               ) -> tuple[Statement, Array]:
        """A statement of the iterations of another one, with `reads` of that one, and the array that it writes: an
        element in each. It still has to become one of a group."""
        name, array = (fresh_name(f"{old}_{suffix}", self._names) for old in (statement.name, statement.write.array))
        box = hull(statement).values()
        made = Array(array, tuple(high - low + 1 for low, high in box) or (1,), value.type, "intermediate")
        self._lows[array] = tuple(low for low, _ in box)
        self._names |= {name, array}
        self.arrays[array] = made
        moved = tuple(replace(read, map=read.map.set_tuple_name(isl.dim_type.in_, name)) for read in reads)
        new = replace(statement, name=name, domain=statement.domain.set_tuple_name(name), reads=moved, value=value)
        return replace(new, write=self.element(new, made)), made

    def element(self, statement: Statement, array: Array) -> Access:
        """The element of an array that `beside` has made that belongs to an iteration of a statement."""
        lows = self._lows[array.name]
        places = [f"{name} - ({low})" for name, low in zip(statement.iterators, lows, strict=True)] or ["0"]
        relation = f"{{ {statement.name}[{', '.join(statement.iterators)}] -> {array.name}[{', '.join(places)}] }}"
        return Access(array.name, isl.Map(relation), statement.location)

    def result(self) -> Program:
        """The program, the statements of a group one after the other where the last one was alone."""
        order = isl.UnionMap.empty(self.program.order.get_space().params())
        room = max(map(len, self.groups.values()), default=1)
        for name, place in places(self.program).items():
            for number, statement in enumerate(self.groups[name]):
                before = self.program.order_of(name).set_tuple_name(isl.dim_type.in_, statement.name)
                order = order.union(isl.UnionMap.from_map(before.apply_range(
                    _spread(before.dim(isl.dim_type.out), 2 * len(place.loops), number, room))))
        statements = tuple(chain.from_iterable(self.groups[s.name] for s in self.program.statements))
        return replace(self.program, arrays=tuple(self.arrays.values()), statements=statements, order=order)


def _spread(count: int, last: int, number: int, room: int) -> isl.Map:
    """Times of `count` dimensions, positions `room` times as far apart; of a statement whose own position is dimension
    number `last`, the time of the `number`-th in its group."""
    names = [f"o{k}" for k in range(count)]
    later = [name if k % 2 else f"{room} * {name} + {number if k == last else 0}" for k, name in enumerate(names)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(later)}] }}")

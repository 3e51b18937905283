"""Memories of loop nests: how they are filled and drained, and what each access waits for.

An access waits for those before it through what they write: the word of a load, the bit that a store gives
(`compiler.ir.memory_order`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from compiler.frontend.expand import expand
from compiler.frontend.flow import reaching_writes
from compiler.frontend.kernel import iterator
from compiler.frontend.nest_accesses import INDEX, Nest, array_index, cell
from compiler.ir.expr import Const, Expr, Load, Read, Store, fold, with_children
from compiler.ir.memory_order import accesses_memory, last_instances
from compiler.ir.narrow import narrow
from compiler.ir.program import Access, Array, Location, Program, Statement
from compiler.ir.types import BIT

__all__ = ["TimedStatement", "order_of", "with_memories"]

_FIRST, _LAST = -(1 << 20), 1 << 20
"""Places that come before and after all others of the program."""


@dataclass(frozen=True)
class TimedStatement:
    """A statement, its 2d+1 time vector of positions and names of loops, and a number for each loop around it."""

    statement: Statement
    time: tuple[int | str, ...]
    loops: tuple[int, ...]


def order_of(timed: Sequence[TimedStatement]) -> isl.UnionMap:
    """The original order; shorter time vectors end with zeros."""
    length = max((len(each.time) for each in timed), default=1)
    texts = []
    for each in timed:
        time = ", ".join(map(str, (*each.time, *[0] * (length - len(each.time)))))
        texts.append(f"{each.statement.name}[{', '.join(each.statement.iterators)}] -> [{time}]")
    return isl.UnionMap(f"{{ {'; '.join(texts)} }}")


def with_memories(program: Program, timed: Sequence[TimedStatement], nest: Nest) -> Program:
    """`program`, whose accesses to memories wait for nothing yet, with all that they wait for."""
    every = [*_fills(nest), *timed, *_drains(nest)]
    scalars = tuple(Array(name, (1,), type, "intermediate") for name, type in nest.scalars.items())
    kept = tuple(array for array in program.arrays if array.name not in nest.memories or array.role != "intermediate")
    memories = tuple(memory for _, memory, _ in nest.memories.values())
    program = _of(replace(program, arrays=(*kept, *scalars), memories=memories), every)
    waiting = [replace(each, statement=_waiting(each.statement, program)) for each in every]
    program = _of(program, waiting)
    starts = [_start(name, program, nest) for name in nest.scalars if _is_early(name, program)]
    waiting = [*starts, *waiting]
    loops = {each.statement.name: each.loops for each in waiting}
    program = expand(_of(program, waiting), list(nest.scalars), loops, nest.used)
    return narrow(program)


def _of(program: Program, timed: Sequence[TimedStatement]) -> Program:
    return replace(program, statements=tuple(each.statement for each in timed), order=order_of(timed))


# Fill and drain.


def _fills(nest: Nest) -> list[TimedStatement]:
    """Every word of every memory, from an input, else 0."""
    fills = []
    for number, (array, memory, place) in enumerate(nest.memories.values()):
        frame, index, identity = _whole(array, nest.new_name(f"{array.name}_filled"), place)
        reads = (Access(array.name, identity, place),) if array.role == "input" else ()
        value: Expr = Read(0, array.type) if reads else Const(0, array.type)
        token = nest.add_scalar(f"{array.name}_fill", BIT)
        store = Store(memory.name, index, value, Const(1, BIT), ())
        fills.append(_timed(replace(frame, reads=reads, write=cell(frame, token, place), value=store),
                            _FIRST + number))
    return fills


def _drains(nest: Nest) -> list[TimedStatement]:
    """Every element of the outputs that are memories."""
    drains = []
    for number, (array, memory, place) in enumerate(nest.memories.values()):
        if array.role == "output":
            frame, index, identity = _whole(array, nest.new_name(f"{array.name}_drained"), place)
            value = Load(memory.name, index, (), memory.type)
            drains.append(_timed(replace(frame, write=Access(array.name, identity, place), value=value),
                                 _LAST + number))
    return drains


def _whole(array: Array, name: str, place: Location) -> tuple[Statement, Expr, isl.Map]:
    """A statement for each element of an array, the element's number, and the map to it."""
    names = tuple(f"d{k}" for k in range(len(array.shape)))
    point = ", ".join(names)
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, array.shape, strict=True))
    identity = isl.Map(f"{{ {name}[{point}] -> {array.name}[{point}] }}")
    index = array_index([iterator(name, INDEX) for name in names], array.shape)
    frame = Statement(name, names, isl.Set(f"{{ {name}[{point}] : {bounds} }}"), (), Access(array.name, identity),
                      Const(0, array.type), place)
    return frame, index, identity


def _timed(statement: Statement, place: int) -> TimedStatement:
    time: list[int | str] = [place]
    for name in statement.iterators:
        time += [name, 0]
    return TimedStatement(statement, tuple(time), tuple(-place - k for k in range(len(statement.iterators))))


# Order.


def _waiting(statement: Statement, program: Program) -> Statement:
    """`statement` with what its accesses to memories wait for."""
    reads = list(statement.reads)

    def step(node: Expr, parts: list[Expr]) -> Expr:
        node = with_children(node, parts)
        if not isinstance(node, Load | Store):
            return node
        tokens = []
        for other in _before(statement, node, program):
            token = program.array(other.write.array)
            tokens.append(Read(len(reads), token.type))
            reads.append(cell(statement, token.name, statement.write.location or Location("", 0)))
        return replace(node, after=tuple(tokens))

    value = fold(statement.value, step)
    return replace(statement, value=value, reads=tuple(reads))


def _before(statement: Statement, node: Load | Store, program: Program) -> list[Statement]:
    """The other statements with instances that an access of `statement` waits for."""
    kinds = (Store,) if isinstance(node, Load) else (Load, Store)
    return [other for other in program.statements if other.name != statement.name
            and accesses_memory(other.value, node.memory, kinds)
            and not last_instances(program, statement, other).is_empty()]


def _is_early(scalar: str, program: Program) -> bool:
    """Whether something waits that has nothing before it to wait for."""
    return any(not reach.missing.is_empty() for reach in reaching_writes(program, scalar))


def _start(scalar: str, program: Program, nest: Nest) -> TimedStatement:
    """The first value of what accesses wait for, which does not matter."""
    array = program.array(scalar)
    writer = next(s for s in program.statements if s.write.array == scalar)
    name = nest.new_name(f"{scalar}_start")
    domain = isl.Set(f"{{ {name}[] }}")
    frame = Statement(name, (), domain, (), writer.write, Const(0, array.type), writer.location)
    place = writer.write.location or Location("", 0)
    return TimedStatement(replace(frame, write=cell(frame, scalar, place)), (_FIRST - 1 - len(nest.used),), ())

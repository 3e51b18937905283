"""Order of the accesses to memories whose addresses are data.

Which words two accesses touch is not known, so every store must come after all accesses before it, and every load after
all stores before it. What they wait for is part of their expressions (`Load.after`, `Store.after`), so the order is a
value-based dependence like any other: of each statement that has to be waited for, its last instance before. Instances
of one statement are executed in their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from compiler.ir.expr import Expr, Load, Read, Store, postorder
from compiler.ir.last_writes import last_writes
from compiler.ir.program import Program, Statement
from compiler.ir.types import ProgramError

__all__ = ["accesses_memory", "check_memories", "last_instances", "must_wait", "stores"]


def accesses_memory(value: Expr, memory: str, kinds: tuple[type, ...] = (Load, Store)) -> bool:
    """Whether an expression has a node of `kinds` that accesses `memory`."""
    return any(isinstance(node, kinds) and getattr(node, "memory", None) == memory for node in postorder(value))


def stores(statement: Statement) -> bool:
    """Whether `statement` stores to a memory: its instances have to stay in their order, each exactly once."""
    return any(isinstance(node, Store) for node in postorder(statement.value))


def must_wait(later: Statement, earlier: Statement, memory: str) -> bool:
    """Whether accesses of `later` to `memory` have to wait for those of `earlier` that come before."""
    loads, stores = (accesses_memory(later.value, memory, (kind,)) for kind in (Load, Store))
    stored, accessed = accesses_memory(earlier.value, memory, (Store,)), accesses_memory(earlier.value, memory)
    if later.name == earlier.name:
        return loads and stores
    return (stored and loads) or (stores and accessed)


def last_instances(program: Program, later: Statement, earlier: Statement) -> isl.Map:
    """{instance of `later` -> last instance of `earlier` before it}; instances of `later` before all are missing."""
    domains = later.domain, earlier.domain
    times = [program.order_of(s.name).intersect_domain(d) for s, d in zip((later, earlier), domains, strict=True)]
    before = times[0].lex_gt_map(times[1])
    last = before.apply_range(times[1]).lexmax()
    return last.apply_range(times[1].reverse()).coalesce()


def check_memories(program: Program, guarded: bool = False) -> None:
    """Raise `ProgramError` for an access to a memory that does not wait for one before it. `guarded`: instances of
    which a read has no element access nothing, behind a guard that is closed."""
    for memory in program.memories:
        users = [s for s in program.statements if accesses_memory(s.value, memory.name)]
        for later in users:
            waits = dict(_waits(program, later, memory.name))
            for earlier in users:
                if must_wait(later, earlier, memory.name):
                    needed = last_instances(program, later, earlier)
                    _check_pair(later, earlier, memory.label, waits, _open(needed, later) if guarded else needed)


def _open(needed: isl.Map, statement: Statement) -> isl.Map:
    """`needed` for those instances of `statement` whose reads have elements."""
    for read in statement.reads:
        needed = needed.intersect_domain(read.map.domain())
    return needed


def _check_pair(later: Statement, earlier: Statement, memory: str, waits: dict[str, isl.Map], needed: isl.Map) -> None:
    if not needed.is_empty() and not (earlier.name in waits and needed.is_subset(waits[earlier.name])):
        raise ProgramError(f"{later} accesses memory '{memory}' without waiting for {earlier}, which comes before")


def _waits(program: Program, statement: Statement, memory: str) -> Iterator[tuple[str, isl.Map]]:
    """(source, {instance of `statement` -> instance of the source that it waits for}) of its accesses to `memory`."""
    found: dict[str, isl.Map] = {}
    for number in sorted(_tokens(statement, memory)):
        access = statement.reads[number]
        writers = [s for s in program.statements if s.write.array == access.array]
        for relation in _sources(program, statement, access.map, writers):
            source = relation.get_tuple_name(isl.dim_type.out)
            found[source] = found[source].union(relation) if source in found else relation
    yield from found.items()


def _sources(program: Program, statement: Statement, read: isl.Map, writers: list[Statement]) -> list[isl.Map]:
    """What instances of `writers` the instances of `statement` see, for an access of it."""
    reads = isl.UnionMap.from_map(read.intersect_domain(statement.domain))
    writes, times = isl.UnionMap("{}"), isl.UnionMap.from_map(program.order_of(statement.name))
    for writer in writers:
        writes = writes.union(isl.UnionMap.from_map(writer.write.map.intersect_domain(writer.domain)))
        times = times.union(isl.UnionMap.from_map(program.order_of(writer.name)))
    found: list[isl.Map] = []
    last_writes(reads, writes, times).foreach_map(found.append)
    return found


def _tokens(statement: Statement, memory: str) -> set[int]:
    """Numbers of the reads that accesses to `memory` wait for, those below their operands, too."""
    return {leaf.index for node in postorder(statement.value)
            if isinstance(node, Load | Store) and node.memory == memory
            for leaf in postorder(node) if isinstance(leaf, Read)}

"""Tables that a loop fills before data index them: memories of a program that memory tiles in ROM mode hold.

One statement stores every word, word 0 first, before anything is loaded. Its stream is the input 1 of all tiles that
look words up. What a load waits for is no word on a wire: the schedule and the retiming see to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from compiler.bind.buffers.counters import counted
from compiler.ir.affine_index import affine_index
from compiler.ir.expr import Const, Expr, Load, Read, Store, children, postorder
from compiler.ir.program import Memory, Program, Statement
from compiler.sched.static.schedule import StatementSchedule
from hw.errors import SluiceError
from hw.memtile import Affine, AffineNest, DualPortConfig, DualPortInput, MemTileSpec, PubConfig, PubInput

__all__ = ["FILL_PORT", "FilledTableError", "cycles_with_fills", "fill_delay", "fill_of", "is_indexed_by_data",
           "plan_filled", "refusal", "require_fillable", "token_reads", "with_stored_word"]

FILL_PORT = 1
"""The input of a memory tile in ROM mode that fills it; input 0 takes what is looked up."""


class FilledTableError(SluiceError):
    """A memory that no tile in ROM mode holds."""


@dataclass(frozen=True)
class _Access:
    statement: Statement
    node: Load | Store


def refusal(program: Program) -> tuple[Statement, str, str] | None:
    """The first statement whose accesses to a memory tiles in ROM mode do not serve, whether it reads or writes which
    array at which kind of place, and why; None if there is none."""
    for memory in program.memories:
        accesses = list(_accesses(program, memory))
        if not any(is_indexed_by_data(access.node) for access in accesses):
            continue
        stores = [access for access in accesses if isinstance(access.node, Store)]
        for access in sorted(accesses, key=_rank):
            reason = _reason(program, memory, access, stores)
            if reason:
                verb = "reads" if isinstance(access.node, Load) else "writes"
                place = " at a place that depends on data" if is_indexed_by_data(access.node) else ""
                return access.statement, f"{verb} '{memory.label}'{place}", reason
    return None


def _rank(access: _Access) -> int:
    """Which accesses are named first: stores at places that depend on data, then those that come later than others."""
    return 0 if _scatters(access) else 1 if isinstance(access.node, Store) and access.node.after else 2


def _scatters(access: _Access) -> bool:
    return isinstance(access.node, Store) and is_indexed_by_data(access.node)


def is_indexed_by_data(node: Load | Store) -> bool:
    """Whether the place of an access depends on what is read."""
    return any(isinstance(part, Read) for part in postorder(node.index))


def _accesses(program: Program, memory: Memory) -> Iterator[_Access]:
    for statement in program.statements:
        for node in postorder(statement.value):
            if isinstance(node, Load | Store) and node.memory == memory.name:
                yield _Access(statement, node)


_TABLES = "looks words up in tables that are "


def _reason(program: Program, memory: Memory, access: _Access, stores: list[_Access]) -> str:
    """Why an access is not served, "" if it is."""
    node, statement = access.node, access.statement
    if _scatters(access):
        return f"{_TABLES}filled before, and has no memory that is written at such places"
    if isinstance(node, Load) and memory.trap:
        return (f"has no errors at run time, and the index may be outside the {memory.words} elements: mask it, or "
                "take --bounds-check wrap")
    if isinstance(node, Load):
        return "" if stores else f"{_TABLES}filled before"
    if node.after or statement.value is not node or not all(_comes_before(program, statement, load.statement)
                                                            for load in _accesses(program, memory)
                                                            if isinstance(load.node, Load)):
        return f"{_TABLES}filled once, before anything is looked up"
    if len(stores) > 1:
        return f"{_TABLES}filled by one statement, and {len(stores)} write it"
    if not (isinstance(node.enable, Const) and node.enable.value and _stores_in_order(statement, node)):
        return f"{_TABLES}filled in order, every word once"
    if memory.initial is not None and statement.domain.count_val().to_python() < memory.words:
        return f"{_TABLES}filled as a whole"
    return ""


def _comes_before(program: Program, fill: Statement, load: Statement) -> bool:
    """Whether all of a fill comes before anything is loaded."""
    first, second = (program.order_of(s.name).intersect_domain(s.domain) for s in (fill, load))
    return second.lex_le_map(first).is_empty()


def _stores_in_order(statement: Statement, store: Store) -> bool:
    """Whether instance n, in their order, stores word n."""
    box, index = statement.box(), affine_index(statement, store.index)
    if box is None or index is None:
        return False
    rank = isl.Aff.zero_on_domain(index.get_domain_local_space())
    for number, (low, high) in enumerate(box.values()):
        place = isl.Aff.var_on_domain(index.get_domain_local_space(), isl.dim_type.set, number)
        rank = rank.scale_val(isl.Val(high - low + 1)).add(place).add_constant_val(isl.Val(-low))
    inside = isl.Set.from_basic_set(rank.sub(index).zero_basic_set())
    return statement.domain.is_subset(inside)


def fill_of(program: Program, memory: str) -> Statement:
    """The statement that fills `memory`. Raises `FilledTableError` if none does in the way that tiles are filled, as a
    pass may have changed it."""
    found = [s for s in program.statements if isinstance(s.value, Store) and s.value.memory == memory]
    refused = refusal(program)
    if refused:
        statement, access, reason = refused
        raise FilledTableError(f"{statement.label()} {access}: target cgra {reason}; take target fpga or dataflow")
    if len(found) != 1:
        raise FilledTableError(f"memory '{memory}' of program '{program.name}' is not filled once and in order")
    return found[0]


def cycles_with_fills(program: Program, instances: Mapping[str, int]) -> int:
    """Cycles that filling a table and then looking up in it take at least, at one word a cycle; 0 without tables.
    `instances`: of every statement, how many are needed. Raises `FilledTableError`."""
    cycles = [instances[fill_of(program, memory.name).name] + instances[access.statement.name]
              for memory in program.memories for access in _accesses(program, memory) if isinstance(access.node, Load)]
    return max(cycles, default=0)


def with_stored_word(statement: Statement) -> Statement:
    """A statement that fills a memory as one whose value is the word; any other one as it is."""
    return replace(statement, value=statement.value.value) if isinstance(statement.value, Store) else statement


def token_reads(statement: Statement) -> frozenset[int]:
    """Numbers of the reads that accesses to memories only wait for."""
    needed: set[int] = set()
    seen: set[int] = set()
    waiting: list[Expr] = [statement.value]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Read):
            needed.add(node.index)
        count = {Load: 1, Store: 3}.get(type(node))
        waiting += children(node)[:count]
    every = {node.index for node in postorder(statement.value) if isinstance(node, Read)}
    return frozenset(every - needed)


# The controllers that fill a tile.


def fill_delay(entry: StatementSchedule, spec: MemTileSpec) -> int:
    """Cycles from the last word at the input until one that is looked up at the other input may be any."""
    if spec.kind != "pub":
        return 1
    count, stride = _levels(entry)[0]
    return 2 + -count % spec.fetch_width * stride


def plan_filled(entry: StatementSchedule, shift: int, spec: MemTileSpec) -> PubConfig | DualPortConfig:
    """Configuration of a tile that looks words up and is filled by the statement that `entry` schedules; `shift` is
    added to logical cycles to get those at the input. Raises `FilledTableError`."""
    levels, words = _levels(entry), [1]
    for count, _ in levels:
        words.append(words[-1] * count)
    ranges, times = tuple(count for count, _ in levels), tuple(stride for _, stride in levels)
    start, steps = entry.offset + shift, tuple(words[:-1])
    write = AffineNest(ranges, times, start, (Affine(steps),))
    if spec.kind == "dual-port":
        return DualPortConfig((None, DualPortInput(counted(write))), rom=True)
    width = spec.fetch_width
    blocks = -(-ranges[0] // width), *ranges[1:]
    places = Affine((1, *(step // width for step in steps[1:])))
    store = AffineNest(blocks, (times[0] * width, *times[1:]), start + times[0] * (width - 1) + 1, (places, places))
    return PubConfig((None, PubInput(counted(write), counted(store))), rom=True)


def require_fillable(statement: Statement, entry: StatementSchedule, words: int, spec: MemTileSpec) -> None:
    """Raise `FilledTableError` if no tile can be filled as `entry` schedules it."""
    if spec.kind not in ("pub", "dual-port"):
        raise FilledTableError(f"{statement} fills a table that data index, which memory tiles of kind '{spec.kind}' "
                               "have no port for; use --memory pub or --memory dual-port")
    if words > spec.capacity_words:
        raise FilledTableError(f"{statement} fills a table of {words} words that data index; a memory tile holds "
                               f"{spec.capacity_words}")
    levels = _levels(entry)
    if spec.kind == "pub" and len(levels) > 1 and levels[0][0] % spec.fetch_width:
        raise FilledTableError(f"{statement} fills a table in rows of {levels[0][0]} words, which memory tiles of kind "
                               f"'pub' take in blocks of {spec.fetch_width}; use --memory dual-port")


def _levels(entry: StatementSchedule) -> list[tuple[int, int]]:
    """Trips and cycles of the loops, innermost first, neighbours as one where their iterations are evenly spaced."""
    levels: list[tuple[int, int]] = []
    for name in reversed(list(entry.trips)):
        count, stride = entry.trips[name], entry.strides[name]
        if count == 1:
            continue
        if levels and levels[-1][0] * levels[-1][1] == stride:
            levels[-1] = levels[-1][0] * count, levels[-1][1]
        else:
            levels.append((count, stride))
    return levels or [(1, 1)]


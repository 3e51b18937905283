"""Tables of 32-bit integers that are filled and that data index, as two memories of words: low and high ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Read, Store, fold, memories_used, postorder, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Memory, Program, Statement
from compiler.ir.relations import maps
from compiler.ir.types import Int

__all__ = ["with_word_memories"]

_WIDTH = 16
_WORD = Int(_WIDTH, False)


def with_word_memories(program: Program) -> Program:
    """`program`, whose memories of 17 to 32 bits that one statement fills are two, of low and of high words; itself if
    it has none."""
    for memory in program.memories:
        fills = [s for s in program.statements if isinstance(s.value, Store) and s.value.memory == memory.name]
        if isinstance(memory.type, Int) and _WIDTH < memory.type.width <= 2 * _WIDTH and len(fills) == 1:
            program = _split(program, memory, fills[0])
    return program


@dataclass(frozen=True)
class _Halves:
    """Memories, and what loads from them wait for, in the order low, high; the first has the old name."""

    memories: tuple[Memory, Memory]
    tokens: tuple[str, str]


def _split(program: Program, memory: Memory, fill: Statement) -> Program:
    taken = set(program.names)
    names = [fresh_name(f"{memory.name}_{half}", taken) for half in ("low", "high")]
    token = fresh_name(f"{fill.write.array}_high", taken)
    parts = [replace(memory, name=name, type=_WORD, array=memory.label,
                     initial=None if memory.initial is None else memory.initial >> shift & _WORD.maximum)
             for name, shift in zip(names, (0, _WIDTH), strict=True)]
    halves = _Halves((parts[0], parts[1]), (fill.write.array, token))
    other = fresh_name(f"{fill.name}_high", taken)
    statements: list[Statement] = []
    for statement in program.statements:
        if statement.name == fill.name:
            statements += [_storing(fill, halves, 0), _renamed(_storing(fill, halves, 1), other)]
        else:
            statements.append(_loading(statement, memory.name, halves))
    old = program.array(fill.write.array)
    return replace(program, statements=tuple(statements), order=_order(program, fill, other),
                   arrays=(*program.arrays, Array(token, old.shape, old.type, "intermediate")),
                   memories=(*(m for m in program.memories if m.name != memory.name), *parts))


def _storing(fill: Statement, halves: _Halves, half: int) -> Statement:
    """`fill` of half of the words."""
    store = fill.value
    assert isinstance(store, Store)
    value = store.value
    if half:
        value = Apply("shr", (value, Const(_WIDTH, value.type)), value.type)
    array = halves.tokens[half]
    write = Access(array, fill.write.map.set_tuple_name(isl.dim_type.out, array), fill.write.location)
    return replace(fill, write=write, value=replace(store, memory=halves.memories[half].name, value=Cast(value, _WORD)))


def _renamed(statement: Statement, name: str) -> Statement:
    def access(old: Access) -> Access:
        return replace(old, map=old.map.set_tuple_name(isl.dim_type.in_, name))

    return replace(statement, name=name, domain=statement.domain.set_tuple_name(name),
                   reads=tuple(map(access, statement.reads)), write=access(statement.write))


def _loading(statement: Statement, memory: str, halves: _Halves) -> Statement:
    """`statement`, which puts together what it loads from the two memories, and waits for both."""
    if memory not in memories_used(statement.value):
        return statement
    reads = list(statement.reads)
    second: dict[int, int] = {}
    for number in sorted({n.index for n in postorder(statement.value) if isinstance(n, Read)}):
        read = statement.reads[number]
        if read.array == halves.tokens[0]:
            second[number] = len(reads)
            reads.append(Access(halves.tokens[1], read.map.set_tuple_name(isl.dim_type.out, halves.tokens[1]),
                                read.location))

    def waiting(node: Expr, parts: list[Expr]) -> Expr:
        return replace(node, index=second.get(node.index, node.index)) if isinstance(node, Read) else (
            with_children(node, parts))

    def step(node: Expr, parts: list[Expr]) -> Expr:
        new = with_children(node, parts)
        if not isinstance(new, Load) or new.memory != memory:
            return new
        after = (new.after, tuple(fold(token, waiting) for token in new.after))
        low, high = (Cast(Load(part.name, new.index, tokens, _WORD), new.type)
                     for part, tokens in zip(halves.memories, after, strict=True))
        return Apply("or", (Apply("shl", (high, Const(_WIDTH, new.type)), new.type), low), new.type)

    return replace(statement, reads=tuple(reads), value=fold(statement.value, step))


def _order(program: Program, fill: Statement, other: str) -> isl.UnionMap:
    """The order with the statement `other` right after `fill`."""
    found = isl.UnionMap("{ }")
    for time in maps(program.order):
        end = time.dim(isl.dim_type.out)
        places = {time.get_tuple_name(isl.dim_type.in_): 0}
        if fill.name in places:
            places[other] = 1
        for name, place in places.items():
            last = time.insert_dims(isl.dim_type.out, end, 1).fix_val(isl.dim_type.out, end, isl.Val(place))
            found = found.union(isl.UnionMap.from_map(last.set_tuple_name(isl.dim_type.in_, name)))
    return found

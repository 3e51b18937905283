"""Memories that are filled once, as arrays that the lanes gather from.

A memory whose every word is stored by one statement, at addresses of its iterators alone, before all loads, is an array
of one dimension: its store writes it like any other array, its loads take elements. Of other memories, stores are
selections (`compiler.bind.vector.scatters`).
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.scatters import affine_write, with_selected_stores, word_access
from compiler.ir.affine_index import affine_index
from compiler.ir.expr import Expr, Load, Read, Store, fold, postorder, pruned, with_children
from compiler.ir.memory_bounds import doubtful_user
from compiler.ir.memory_order import accesses_memory, last_instances
from compiler.ir.program import Access, Array, Memory, Program, Statement

__all__ = ["with_gathers"]


def with_gathers(program: Program) -> Program:
    """`program` with arrays in place of its memories, whose names the loads keep. Raises `VectorTargetError`."""
    for memory in program.memories:
        if memory.trap:
            user = doubtful_user(program, memory)
            raise VectorTargetError(f"{user.label()}: an index of '{memory.label}' may be outside its {memory.words} "
                                    "elements, which the vector target does not trap: mask the index, or say "
                                    "--bounds-check wrap")
    for memory in program.memories:
        if not _is_filled_once(program, memory):
            program = with_selected_stores(program, memory)
    if program.memories:
        program = _with_arrays(program)
    return replace(program, statements=tuple(map(_with_reads, program.statements)))


def _with_arrays(program: Program) -> Program:
    """`program` with arrays in place of memories that are filled once."""
    stores = {memory.name: next(s for s in program.statements if accesses_memory(s.value, memory.name, (Store,)))
              for memory in program.memories}
    writes = {store.name: affine_write(store, program.memory(name)) for name, store in stores.items()}
    arrays = tuple(Array(m.name, (m.words,), m.type, "intermediate") for m in program.memories)
    tokens = {store.write.array for store in stores.values()}
    statements = tuple(_plain(statement, writes.get(statement.name)) for statement in program.statements)
    kept = tuple(array for array in program.arrays if array.name not in tokens)
    statements = tuple(s for s in statements if s.write.array not in tokens)  # what sets a token at first
    return replace(program, arrays=(*kept, *arrays), statements=statements, memories=())


def _is_filled_once(program: Program, memory: Memory) -> bool:
    """Whether one statement fills a memory, at affine places, before all loads."""
    stores = [s for s in program.statements if accesses_memory(s.value, memory.name, (Store,))]
    return len(stores) == 1 and affine_write(stores[0], memory) is not None and all(
        last_instances(program, stores[0], s).is_empty() for s in program.statements
        if accesses_memory(s.value, memory.name, (Load,)))


def _plain(statement: Statement, write: Access | None) -> Statement:
    """A statement that waits for nothing but the arrays that it reads."""
    value = statement.value
    if write is not None:
        assert isinstance(value, Store)
        value = value.value
    return _waiting(replace(statement, value=fold(value, _without_tokens), write=write or statement.write))


def _waiting(statement: Statement) -> Statement:
    """A statement with the reads of its value, that comes after what fills the memories that it loads from."""
    memories = [node.memory for node in postorder(statement.value) if isinstance(node, Load)]
    value, used = pruned(statement.value, statement.reads)
    reads = [*used]
    for memory in dict.fromkeys(memories):
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        reads.append(Access(memory, isl.Map(f"{{ {point} -> {memory}[0] }}"), statement.location))
    return replace(statement, value=value, reads=tuple(reads))


def _with_reads(statement: Statement) -> Statement:
    """A statement with reads in place of loads from words that are functions of iterators."""
    reads = [*statement.reads]
    if isinstance(statement.value, Store):  # which names the word that it changes
        return statement

    def step(node: Expr, parts: list[Expr]) -> Expr:
        index = affine_index(statement, parts[0]) if isinstance(node, Load) else None
        if index is None or not isinstance(node, Load):
            return with_children(node, parts)
        reads.append(word_access(statement, node.memory, index, statement.location))
        return Read(len(reads) - 1, node.type)

    value = fold(statement.value, step)
    known = len(reads) > len(statement.reads)
    return _waiting(replace(statement, value=value, reads=tuple(reads))) if known else statement


def _without_tokens(node: Expr, parts: list[Expr]) -> Expr:
    return Load(node.memory, parts[0], (), node.type) if isinstance(node, Load) else with_children(node, parts)

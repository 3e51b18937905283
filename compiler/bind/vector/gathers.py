"""Memories that are filled once, as arrays that the lanes gather from.

A memory whose every word is stored by one statement, at addresses of its iterators alone, before all loads, is an array
of one dimension: its store writes it like any other array, its loads take elements. Of other memories, stores are
selections (`compiler.bind.vector.scatters`).
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.scatters import affine_write, with_selected_stores
from compiler.ir.expr import Expr, Load, Store, fold, postorder, pruned, with_children
from compiler.ir.memory_order import accesses_memory, last_instances
from compiler.ir.program import Access, Array, Memory, Program, Statement

__all__ = ["with_gathers"]


def with_gathers(program: Program) -> Program:
    """`program` with arrays in place of its memories, whose names the loads keep. Raises `VectorTargetError`."""
    for memory in program.memories:
        if memory.trap:
            user = next(s for s in program.statements if accesses_memory(s.value, memory.name))
            raise VectorTargetError(f"{user.label()}: an index of '{memory.label}' may be outside its {memory.words} "
                                    "elements, which the vector target does not trap: mask the index, or say "
                                    "--bounds-check wrap")
    for memory in program.memories:
        if not _is_filled_once(program, memory):
            program = with_selected_stores(program, memory)
    if not program.memories:
        return program
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
    memories = [node.memory for node in postorder(value) if isinstance(node, Load)]
    value, used = pruned(fold(value, _without_tokens), statement.reads)
    reads = [*used]
    for memory in dict.fromkeys(memories):  # so that it comes after what fills the memory
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        reads.append(Access(memory, isl.Map(f"{{ {point} -> {memory}[0] }}"), statement.location))
    return replace(statement, value=value, reads=tuple(reads), write=write or statement.write)


def _without_tokens(node: Expr, parts: list[Expr]) -> Expr:
    return Load(node.memory, parts[0], (), node.type) if isinstance(node, Load) else with_children(node, parts)

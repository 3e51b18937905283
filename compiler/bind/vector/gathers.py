"""Memories that are filled once, as arrays that the lanes gather from.

A memory whose every word is stored by one statement, at addresses of its iterators alone, before all loads, is an array
of one dimension: its store writes it like any other array, its loads take elements. Stores at places that depend on
data are refused.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.bind.vector.errors import VectorTargetError
from compiler.ir.affine_index import affine_index
from compiler.ir.expr import (
    Expr,
    Load,
    Read,
    Store,
    fold,
    postorder,
    renumbered,
    with_children,
)
from compiler.ir.memory_order import accesses_memory, last_instances
from compiler.ir.program import Access, Array, Memory, Program, Statement

__all__ = ["with_gathers"]


def with_gathers(program: Program) -> Program:
    """`program` with arrays in place of its memories, whose names the loads keep. Raises `VectorTargetError`."""
    if not program.memories:
        return program
    stores = {memory.name: _only_store(program, memory) for memory in program.memories}
    writes = {store.name: _write(program.memory(name), store) for name, store in stores.items()}
    arrays = tuple(Array(m.name, (m.words,), m.type, "intermediate") for m in program.memories)
    tokens = {store.write.array for store in stores.values()}
    statements = tuple(_plain(statement, writes.get(statement.name)) for statement in program.statements)
    kept = tuple(array for array in program.arrays if array.name not in tokens)
    statements = tuple(s for s in statements if s.write.array not in tokens)  # what sets a token at first
    return replace(program, arrays=(*kept, *arrays), statements=statements, memories=())


def _only_store(program: Program, memory: Memory) -> Statement:
    """The statement that fills a memory before all loads."""
    stores = [s for s in program.statements if accesses_memory(s.value, memory.name, (Store,))]
    for store in stores:
        for node in postorder(store.value):
            if isinstance(node, Store) and any(isinstance(part, Read) for part in postorder(node.index)):
                raise VectorTargetError(f"{store.label()} writes '{memory.label}' at a place that depends on data; the "
                                        "vector target gathers only: use target fpga or dataflow, or loop over all "
                                        "indices and use the one that is equal")
    if len(stores) != 1 or any(not last_instances(program, stores[0], s).is_empty() for s in program.statements
                               if accesses_memory(s.value, memory.name, (Load,))):
        raise VectorTargetError(f"{stores[-1].label()} changes '{memory.label}', which is read at places that depend "
                                "on data; the vector target gathers from arrays that are written once, before: copy it "
                                "to another array")
    if memory.trap:
        raise VectorTargetError(f"an index of '{memory.label}' may be outside its {memory.words} elements, which the "
                                "vector target does not trap: mask the index, or say --bounds-check wrap")
    return stores[0]


def _write(memory: Memory, store: Statement) -> Access:
    """The elements that a store writes: all of them."""
    value = store.value
    assert isinstance(value, Store)
    index = affine_index(store, value.index)
    if index is None:
        raise VectorTargetError(f"{store.label()}: the index of what it stores is no sum of iterators")
    relation = isl.Map.from_pw_aff(isl.PwAff.from_aff(index)).set_tuple_name(isl.dim_type.out, memory.name)
    for position, name in enumerate(store.iterators):
        relation = relation.set_dim_name(isl.dim_type.in_, position, name)
    return Access(memory.name, relation, store.write.location)


def _plain(statement: Statement, write: Access | None) -> Statement:
    """A statement that waits for nothing but the arrays that it reads."""
    value = statement.value
    if write is not None:
        assert isinstance(value, Store)
        value = value.value
    memories = [node.memory for node in postorder(value) if isinstance(node, Load)]
    value = fold(value, _without_tokens)
    used = sorted({node.index for node in postorder(value) if isinstance(node, Read)})
    reads = [statement.reads[k] for k in used]
    for memory in dict.fromkeys(memories):  # so that it comes after what fills the memory
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        reads.append(Access(memory, isl.Map(f"{{ {point} -> {memory}[0] }}"), statement.location))
    return replace(statement, value=renumbered(value, used.index), reads=tuple(reads), write=write or statement.write)


def _without_tokens(node: Expr, parts: list[Expr]) -> Expr:
    return Load(node.memory, parts[0], (), node.type) if isinstance(node, Load) else with_children(node, parts)

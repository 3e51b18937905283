"""Memories of a scop: how they are filled and drained, and what each access waits for.

Before the scop a memory is filled with what its array holds, after it the array is written from it, where the scop has
changed it. An access waits for the accesses before it through scalars: the result of a load, and the bit that a store
gives. What a scalar holds is what its last assignment gave, so that ordinary data flow does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.data_addresses import ASSERTED, DataArrays, row_major_index, scalar, words
from compiler.frontend.c_scop.expressions import Element
from compiler.frontend.c_scop.types import INT
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.frontend.c_scop.walk import Loop, RawStatement
from compiler.ir.expr import Const, Expr, Load, Read, Store, fold, postorder, with_children
from compiler.ir.expr import Iterator as Counter
from compiler.ir.memory_order import accesses_memory
from compiler.ir.program import Memory
from compiler.ir.types import BIT

__all__ = ["declared_memories", "with_memories"]

_FIRST, _LAST = -(1 << 20), 1 << 20
"""Places among the statements of the scop that come before and after all of them."""


def with_memories(raw: Sequence[RawStatement], data: DataArrays, scope: Scope, kept: frozenset[str],
                  outputs: frozenset[str]) -> list[RawStatement]:
    """All statements, with those that fill and drain memories, each access waiting for those before it.

    `kept`: arrays that have a value before the scop; `outputs`: those that are used after it.
    """
    if not data.memories:
        return list(raw)
    fills = [_fill(array, data, scope, kept, k) for k, array in enumerate(data.memories)
             if not _is_covered(array, data, raw)]
    stored = {node.memory for statement in raw for node in postorder(statement.value) if isinstance(node, Store)}
    drains = [_drain(array, data, scope, k) for k, array in enumerate(data.memories)
              if array in outputs and data.memories[array][0] in stored]
    every = [*fills, *raw, *drains]
    return [_waiting(statement, every) for statement in every]


def declared_memories(data: DataArrays) -> tuple[Memory, ...]:
    """The memories of the program."""
    assert isinstance(ASSERTED.value, int)
    return (*(Memory(name, words(variable), variable.type, variable.array)
              for name, variable in data.memories.values()),
            *(Memory(name, ASSERTED.value, BIT, assertion=reason) for name, reason in data.assertions.items()))


# Fill and drain.


def _fill(array: str, data: DataArrays, scope: Scope, kept: frozenset[str], number: int) -> RawStatement:
    """Every word of a memory from its array; 0 if that has no value before the scop."""
    memory, variable = data.memories[array]
    loops, domain, index, identity = _whole(variable)
    reads = (Element(variable, identity, variable.place),) if array in kept else ()
    value: Expr = Read(0, variable.type) if reads else Const(0, variable.type)
    token = scalar(scope, f"{array}_fill", BIT, variable.place)
    write = Element(token, _to_scalar(domain), variable.place)
    return RawStatement(scope.free_name(f"{array}_filled"), loops, _time(_FIRST + number, loops), domain, reads, write,
                        Store(memory, index, value, building.bit(True), ()), variable.place)


def _drain(array: str, data: DataArrays, scope: Scope, number: int) -> RawStatement:
    """Every element of an array from its memory."""
    memory, variable = data.memories[array]
    loops, domain, index, identity = _whole(variable)
    write = Element(variable, identity, variable.place)
    return RawStatement(scope.free_name(f"{array}_drained"), loops, _time(_LAST + number, loops), domain, (), write,
                        Load(memory, index, (), variable.type), variable.place)


def _whole(variable: Variable) -> tuple[tuple[Loop, ...], isl.Set, Expr, isl.Map]:
    """Loops over all elements of an array, their domain, number and subscripts of an element."""
    names = [f"d{k}" for k in range(len(variable.shape))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, variable.shape, strict=True))
    domain = isl.Set(f"{{ [{', '.join(names)}] : {bounds} }}")
    index = row_major_index([Counter(name, INT) for name in names], variable)
    identity = isl.Map.identity(domain.get_space().map_from_set())
    return tuple(Loop(name, -1 - k) for k, name in enumerate(names)), domain, index, identity


def _time(place: int, loops: Sequence[Loop]) -> tuple[int | str, ...]:
    time: list[int | str] = [place]
    for loop in loops:
        time += [loop.name, 0]
    return tuple(time)


def _to_scalar(domain: isl.Set) -> isl.Map:
    return isl.Map.from_domain_and_range(isl.Set.universe(domain.get_space()), isl.Set("{ [0] }"))


def _is_covered(array: str, data: DataArrays, raw: Sequence[RawStatement]) -> bool:
    """Whether the scop stores every word of a memory before it loads any."""
    memory, variable = data.memories[array]
    every = _whole(variable)[1]
    stores = [s for s in raw if s.stored is not None and accesses_memory(s.value, memory, (Store,))]
    loads = [s for s in raw if accesses_memory(s.value, memory, (Load,))]
    missing = every
    for store in stores:
        missing = missing.subtract(_stored(store).range())
    return missing.is_empty() and all(_is_stored_before(load, stores, every) for load in loads)


def _is_stored_before(load: RawStatement, stores: Sequence[RawStatement], every: isl.Set) -> bool:
    """Whether each of the elements `every` is stored before each instance of `load`."""
    missing = isl.Map.from_domain_and_range(load.domain, every)
    for store in stores:
        later, earlier = _times(load, store)
        missing = missing.subtract(later.lex_gt_map(earlier).apply_range(_stored(store)))
        if missing.is_empty():
            return True
    return False


def _stored(statement: RawStatement) -> isl.Map:
    """The elements that each instance of a statement stores."""
    assert statement.stored is not None
    return statement.stored.intersect_domain(statement.domain)


# Order.


def _waiting(statement: RawStatement, every: Sequence[RawStatement]) -> RawStatement:
    """`statement` with what its accesses to memories wait for."""
    reads = list(statement.reads)

    def step(node: Expr, parts: list[Expr]) -> Expr:
        node = with_children(node, parts)
        if not isinstance(node, Load | Store):
            return node
        tokens = []
        for other in _before(statement, node, every):
            tokens.append(Read(len(reads), other.write.variable.type))
            reads.append(Element(other.write.variable, _to_scalar(statement.domain), statement.write.place))
        return replace(node, after=tuple(tokens))

    value = fold(statement.value, step)
    return replace(statement, value=value, reads=tuple(reads))


def _before(statement: RawStatement, node: Load | Store, every: Sequence[RawStatement]) -> Iterator[RawStatement]:
    """The statements that an access of `statement` waits for, of which some instance is earlier."""
    for other in every:
        kinds = (Store,) if isinstance(node, Load) else (Load, Store)
        accesses = other is not statement and accesses_memory(other.value, node.memory, kinds)
        if accesses and _some_before(other, statement):
            yield other


def _some_before(first: RawStatement, second: RawStatement) -> bool:
    earlier, later = _times(first, second)
    return not earlier.range().lex_lt_set(later.range()).is_empty()


def _times(*statements: RawStatement) -> list[isl.Map]:
    """When each instance of some statements takes place, in vectors of one length."""
    length = max(len(statement.time) for statement in statements)
    times = []
    for statement in statements:
        names = [loop.name for loop in statement.loops]
        vector = [*statement.time, *[0] * (length - len(statement.time))]
        order = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(map(str, vector))}] }}")
        times.append(order.intersect_domain(statement.domain))
    return times

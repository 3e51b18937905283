"""From the statements of a scop to a verified `Program`: which arrays come in, which go out, and all others.

* A variable that some read sees as it was before the scop is an **input**; a scalar becomes an array of one element.
* A variable that the scop assigns is an **output** if it is a parameter of the function (an array), a global, or a
  local that the function mentions after the scop.
* A variable that is both is a pair: the input ``NAME_in`` and the output ``NAME``. So is an output that the scop does
  not assign completely: its other elements keep what ``NAME_in`` holds.
* All others are intermediate. Scalars, and arrays declared in a loop's body, are expanded
  (`compiler.frontend.expand`).
* Constants with an initialiser are part of the expressions, as numbers or tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import islpy as isl

from compiler.frontend.c_scop.data_addresses import DataArrays
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.expressions import Element
from compiler.frontend.c_scop.memories import declared_memories, with_memories
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.frontend.c_scop.walk import RawStatement
from compiler.frontend.expand import expand
from compiler.frontend.flow import Reach, reaching_writes
from compiler.ir.expr import Apply, Const, Expr, Iterator, Lookup, Read, postorder
from compiler.ir.program import Access, Array, Location, Program, Role, Statement, Table
from compiler.ir.relations import coordinates, maps, resolve_wraps
from compiler.ir.roots import live_roots
from compiler.ir.types import Int

__all__ = ["Surroundings", "assemble"]


@dataclass(frozen=True)
class Surroundings:
    """What the scop's function does outside it: names it mentions before and after, and where the scop is."""

    scope: Scope
    before: frozenset[str]
    after: frozenset[str]
    place: Place


def assemble(name: str, raw: Sequence[RawStatement], around: Surroundings, data: DataArrays) -> Program:
    """The program of the statements `raw`, with memories for the arrays of `data`, before narrowing. Raises
    `ScopError`."""
    if not raw:
        raise ScopError(around.place, "the scop has no statements that are ever executed")
    inside = {array: variable for array, (_, variable) in data.memories.items()}
    kept = frozenset(array for array, variable in inside.items() if _has_value(variable, around))
    used = frozenset(array for array, variable in inside.items() if _role(variable, {array}, around) == "output")
    raw = with_memories(raw, data, around.scope, kept, used)
    touched = {e.variable.array: e.variable for s in raw for e in (*s.reads, s.write)}
    variables = {v.array: v for v in around.scope.everything() if v.array in touched} | touched
    statements = tuple(map(_statement, raw))
    order = _order({s.name: (_iterators(s), s.time) for s in raw})
    written = {s.write.variable.array for s in raw}
    arrays = tuple(_array(v, statements, _role(v, written, around)) for v in variables.values())
    program = Program(name, arrays, (), statements, order, memories=declared_memories(data))
    for variable in variables.values():
        if variable.array in written or not _has_value(variable, around) or _is_known(variable, around):
            program = _with_initial(program, variable, around, {s.name: s for s in raw})
    program = _without_dead(program)
    if not program.outputs:
        raise ScopError(around.place, "nothing that the scop computes is used after it: assign to an array parameter, "
                                      "a global, or a local that is used later")
    program = _expanded(program, raw, variables, around.scope.used)
    return replace(program, tables=_tables(program, around.scope, raw))


def _iterators(raw: RawStatement) -> tuple[str, ...]:
    return tuple(loop.name for loop in raw.loops)


def _location(place: Any) -> Location:
    return Location(place.file, place.line)


def _statement(raw: RawStatement) -> Statement:
    names = _iterators(raw)
    domain = resolve_wraps(raw.domain).set_tuple_name(raw.name)
    for position, name in enumerate(names):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)

    def access(element: Element) -> Access:
        mapping = element.map.set_tuple_name(isl.dim_type.in_, raw.name)
        for position, name in enumerate(names):
            mapping = mapping.set_dim_name(isl.dim_type.in_, position, name)
        mapping = mapping.set_tuple_name(isl.dim_type.out, element.variable.array)
        return Access(element.variable.array, mapping, _location(element.place))

    reads = tuple(map(access, raw.reads))
    return Statement(raw.name, names, domain, reads, access(raw.write), raw.value, _location(raw.place))


def _order(times: dict[str, tuple[tuple[str, ...], tuple[int | str, ...]]]) -> isl.UnionMap:
    length = max(len(time) for _, time in times.values())
    texts = [
        f"{name}[{', '.join(names)}] -> [{', '.join(map(str, (*time, *[0] * (length - len(time)))))}]"
        for name, (names, time) in times.items()
    ]
    return isl.UnionMap(f"{{ {'; '.join(texts)} }}")


# Arrays and their roles.


def _role(variable: Variable, written: set[str], around: Surroundings) -> Role:
    if variable.array not in written:
        return "intermediate" if _is_known(variable, around) else "input"
    if variable.storage == "global" or (variable.storage == "parameter" and not variable.scalar):
        return "output"
    return "output" if variable.storage == "local" and variable.name in around.after else "intermediate"


def _array(variable: Variable, statements: Sequence[Statement], role: Role) -> Array:
    if not variable.scalar and variable.shape[0] is None:
        sizes = (_extent(variable, statements), *variable.shape[1:])
    else:
        sizes = variable.shape or (1,)
    return Array(variable.array, tuple(size or 1 for size in sizes), variable.type, role)


def _extent(variable: Variable, statements: Sequence[Statement]) -> int:
    """The first size of an array that states none: one more than its largest subscript."""
    largest = [
        access.map.intersect_domain(statement.domain).range().dim_max_val(0).to_python()
        for statement in statements for access in (*statement.reads, statement.write)
        if access.array == variable.array
    ]
    return max(0, *largest) + 1


# What variables hold before the scop.


def _with_initial(program: Program, variable: Variable, around: Surroundings, raw: dict[str, RawStatement]) -> Program:
    """`program` in which no read of `variable` sees what was there before the scop, except through an input."""
    array = program.array(variable.array)
    missing = [reach for reach in reaching_writes(program, array.name) if not reach.missing.is_empty()]
    kept = _box(array).subtract(_written(program, array.name)) if array.role == "output" else None
    if not _has_value(variable, around):
        if missing:
            raise _unassigned(missing[0], variable, raw)
        if kept is not None and not kept.is_empty():
            element = list(coordinates(kept.lexmin().sample_point()))
            raise ScopError(variable.place, f"'{variable.name}'{_subscripts(variable, element)} is never assigned")
        return program
    if not missing and (kept is None or kept.is_empty()):
        return program
    return _joined(program, variable, missing, kept, around)


def _has_value(variable: Variable, around: Surroundings) -> bool:
    outside = variable.storage == "local" and variable.name in around.before
    return outside or variable.storage in ("parameter", "global") or variable.values is not None


def _is_known(variable: Variable, around: Surroundings) -> bool:
    """Whether it is known what a variable holds before the scop."""
    return variable.values is not None and variable.name not in around.before


def _unassigned(reach: Reach, variable: Variable, raw: dict[str, RawStatement]) -> ScopError:
    statement = reach.statement
    values = coordinates(reach.missing.lexmin().sample_point())
    where = ", ".join(f"{n}={v}" for n, v in zip(statement.iterators, values, strict=True))
    place = raw[statement.name].reads[reach.read].place
    return ScopError(place, f"'{variable.name}' is read before it is assigned{', first at ' if where else ''}{where}")


def _subscripts(variable: Variable, element: list[int]) -> str:
    return "" if variable.scalar else "".join(f"[{index}]" for index in element)


def _joined(program: Program, variable: Variable, missing: list[Reach], kept: isl.Set | None,
            around: Surroundings) -> Program:
    """Give `variable` its initial values: reads that see only them go to the input, the rest is copied first."""
    array = program.array(variable.array)
    known = variable.values if _is_known(variable, around) else None
    initial = around.scope.free_name(f"{array.name}_in")
    whole = [reach for reach in missing if known is None and reach.missing.is_equal(reach.statement.domain)]
    copied = kept if kept is not None else isl.Set.empty(_box(array).get_space())
    for reach in missing:
        if reach not in whole:
            access = reach.statement.reads[reach.read]
            copied = copied.union(access.map.intersect_domain(reach.missing).range())
    statements = tuple(_read_from(s, whole, array.name, initial) for s in program.statements)
    arrays = program.arrays
    if known is None:
        position = arrays.index(array)
        arrays = (*arrays[:position], Array(initial, array.shape, array.type, "input"), *arrays[position:])
    program = replace(program, arrays=arrays, statements=statements)
    return program if copied.is_empty() else _with_copy(program, variable, copied.coalesce(), initial, known)


def _read_from(statement: Statement, whole: list[Reach], array: str, initial: str) -> Statement:
    numbers = {reach.read for reach in whole if reach.statement.name == statement.name}
    reads = tuple(
        replace(read, array=initial, map=read.map.set_tuple_name(isl.dim_type.out, initial)) if n in numbers else read
        for n, read in enumerate(statement.reads)
    )
    return replace(statement, reads=reads)


def _with_copy(program: Program, variable: Variable, elements: isl.Set, initial: str,
               known: tuple[int, ...] | None) -> Program:
    """A first statement that sets `elements` of the variable to their initial values."""
    array = program.array(variable.array)
    taken = {s.name for s in program.statements}
    name = next(n for n in (f"{array.name}_copy{'_' * k}" for k in range(len(taken) + 1)) if n not in taken)
    names = tuple(f"d{k}" for k in range(len(array.shape)))
    head, subscripts = f"{name}[{', '.join(names)}]", f"[{', '.join(names)}]"
    domain = elements.set_tuple_name(name)
    for position, iterator in enumerate(names):
        domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
    location = _location(variable.place)
    write = Access(array.name, isl.Map(f"{{ {head} -> {array.name}{subscripts} }}"), location)
    reads: tuple[Access, ...] = ()
    value: Expr = Read(0, variable.type)
    if known is None:
        reads = (Access(initial, isl.Map(f"{{ {head} -> {initial}{subscripts} }}"), location),)
    else:
        value = _known_value(variable, array, known, names)
    statement = Statement(name, names, domain, reads, write, value, location)
    return _placed_first(replace(program, statements=(statement, *program.statements)), statement)


def _known_value(variable: Variable, array: Array, known: tuple[int, ...], names: tuple[str, ...]) -> Expr:
    type = Int(32)
    if len(set(known)) == 1:
        return Const(known[0], variable.type)
    index: Expr = Iterator(names[0], type)
    for name, size in zip(names[1:], array.shape[1:], strict=True):
        index = Apply("add", (Apply("mul", (index, Const(size, type)), type), Iterator(name, type)), type)
    return Lookup(f"{variable.array}_initial", index, variable.type)


def _placed_first(program: Program, statement: Statement) -> Program:
    """The order with `statement` before all others."""
    times = maps(program.order)
    length = max(times[0].dim(isl.dim_type.out), 2 * len(statement.iterators) + 1)
    first = min(m.range().dim_min_val(0).to_python() for m in times) - 1
    time = [str(first)]
    for name in statement.iterators:
        time += [name, "0"]
    time += ["0"] * (length - len(time))
    order = isl.UnionMap(f"{{ {statement.name}[{', '.join(statement.iterators)}] -> [{', '.join(time)}] }}")
    for relation in times:
        missing = length - relation.dim(isl.dim_type.out)
        zeros = isl.Map(f"{{ [{', '.join(f't{k}' for k in range(length - missing))}] -> "
                        f"[{', '.join([*(f't{k}' for k in range(length - missing)), *['0'] * missing])}] }}")
        order = order.union(isl.UnionMap.from_map(relation.apply_range(zeros)))
    return replace(program, order=order)


def _box(array: Array) -> isl.Set:
    names = [f"i{k}" for k in range(len(array.shape))]
    bounds = " and ".join(f"0 <= {n} < {size}" for n, size in zip(names, array.shape, strict=True))
    return isl.Set(f"{{ {array.name}[{', '.join(names)}] : {bounds} }}")


def _written(program: Program, array: str) -> isl.Set:
    result = isl.Set.empty(_box(program.array(array)).get_space())
    for statement in program.statements:
        if statement.write.array == array:
            result = result.union(statement.write.map.intersect_domain(statement.domain).range())
    return result


# Clean-up.


def _without_dead(program: Program) -> Program:
    """Leave out statements whose results nothing uses, and arrays that nothing touches."""
    roots = live_roots(program)
    while True:
        read = {access.array for s in program.statements for access in s.reads}
        statements = tuple(s for s in program.statements if s.write.array in read or s.name in roots)
        if len(statements) == len(program.statements):
            break
        program = replace(program, statements=statements)
    touched = {access.array for s in program.statements for access in (*s.reads, s.write)}
    names = {s.name for s in program.statements}
    order = isl.UnionMap("{}")
    for relation in maps(program.order):
        if relation.get_tuple_name(isl.dim_type.in_) in names:
            order = order.union(isl.UnionMap.from_map(relation))
    return replace(program, arrays=tuple(a for a in program.arrays if a.name in touched), order=order)


def _expanded(program: Program, raw: Sequence[RawStatement], variables: dict[str, Variable], used: set[str]) -> Program:
    names = [
        array.name for array in program.arrays
        if array.role == "intermediate"
        and (variables[array.name].scalar or variables[array.name].storage == "inner")
    ]
    loops = {s.name: tuple(loop.number for loop in s.loops) for s in raw}
    loops |= {s.name: tuple(-1 - k for k in range(len(s.iterators))) for s in program.statements if s.name not in loops}
    return expand(program, names, loops, used)


def _tables(program: Program, scope: Scope, raw: Sequence[RawStatement]) -> tuple[Table, ...]:
    """The constant arrays that expressions look up."""
    wanted = dict.fromkeys(
        node.table for s in program.statements for node in postorder(s.value) if isinstance(node, Lookup)
    )
    known: dict[str, Variable] = {v.array: v for v in scope.everything() if v.values is not None}
    known |= {f"{name}_initial": v for name, v in list(known.items())}
    tables = []
    for name in wanted:
        variable = known[name]
        assert variable.values is not None and len(variable.values) == prod(s or 1 for s in variable.shape)
        tables.append(Table(name, variable.values, variable.type))
    return tuple(tables)

"""Checks of the data that a program touches, as part of its verification (`compiler.ir.verify`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.relations import coordinates
from compiler.ir.types import ProgramError

__all__ = ["check_bounds", "check_initialised", "check_outputs"]


def check_bounds(program: Program) -> None:
    """Of all accesses outside their array, report the one that happens first."""
    outside = []
    for statement in program.statements:
        for verb, access in _accesses(statement):
            array = program.array(access.array)
            inside = access.map.intersect_range(_elements(array)).domain()
            asked = statement.domain.intersect(access.map.domain())
            time = _first(program, statement, asked.subtract(inside))
            if time is not None:
                outside.append((time, statement, verb, access))
    if outside:
        time, statement, verb, access = min(outside, key=lambda entry: entry[0])
        shape = list(program.array(access.array).shape)
        where = _iteration(program, statement, time)
        raise ProgramError(
            f"{statement.label(access)} {verb} '{access.array}'{_element(access, where)} outside its shape {shape}, "
            f"first at {_where_text(statement, where)}"
        )


def _accesses(statement: Statement) -> list[tuple[str, Access]]:
    return [*(("reads", access) for access in statement.reads), ("writes", statement.write)]


def check_initialised(program: Program) -> None:
    """Of all reads of elements that nothing has written, report the one that happens first."""
    missing = []
    for statement, access, iterations in _reads_without_source(program):
        time = _first(program, statement, iterations)
        if time is not None:
            missing.append((time, statement, access))
    if missing:
        time, statement, access = min(missing, key=lambda entry: entry[0])
        where = _iteration(program, statement, time)
        raise ProgramError(
            f"{statement.label(access)} reads '{access.array}'{_element(access, where)} before anything is written "
            f"there, first at {_where_text(statement, where)}"
        )


def _reads_without_source(program: Program) -> Iterator[tuple[Statement, Access, isl.Set]]:
    """Reads of arrays other than inputs, with the iterations whose element has not been written before."""
    inputs = {array.name for array in program.inputs}
    for statement in program.statements:
        for access in statement.reads:
            if access.array not in inputs:
                yield statement, access, _unwritten(program, statement, access)


def _unwritten(program: Program, statement: Statement, access: Access) -> isl.Set:
    """Iterations of `statement` for which no write to the element of `access` comes earlier."""
    read = access.map.intersect_domain(statement.domain)
    missing = read.domain()
    for writer in program.statements:
        if writer.write.array == access.array and not missing.is_empty():
            write = writer.write.map.intersect_domain(writer.domain)
            pairs = read.apply_range(write.reverse())
            earlier = program.order_of(statement.name).lex_gt_map(program.order_of(writer.name))
            missing = missing.subtract(pairs.intersect(earlier).domain())
    return missing


def check_outputs(program: Program) -> None:
    for array in program.outputs:
        missing = _elements(array)
        for statement in program.statements:
            if statement.write.array == array.name:
                missing = missing.subtract(statement.write.map.intersect_domain(statement.domain).range())
        if not missing.is_empty():
            element = list(coordinates(missing.lexmin().sample_point()))
            raise ProgramError(f"output '{array.name}' of shape {list(array.shape)} is never written at {element}")


def _elements(array: Array) -> isl.Set:
    names = [f"i{dim}" for dim in range(len(array.shape))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, array.shape, strict=True))
    return isl.Set(f"{{ {array.name}[{', '.join(names)}] : {bounds or '0 = 0'} }}")


def _first(program: Program, statement: Statement, iterations: isl.Set) -> tuple[int, ...] | None:
    """The earliest time of `iterations` of `statement`, None if there are none."""
    if iterations.is_empty():
        return None
    return coordinates(program.order_of(statement.name).intersect_domain(iterations).range().lexmin().sample_point())


def _iteration(program: Program, statement: Statement, time: tuple[int, ...]) -> isl.Set:
    """The iteration of `statement` that runs at `time`, as a set of one point."""
    order = program.order_of(statement.name).intersect_domain(statement.domain)
    for position, value in enumerate(time):
        order = order.fix_val(isl.dim_type.out, position, isl.Val(value))
    return order.domain()


def _element(access: Access, where: isl.Set) -> list[int]:
    return list(coordinates(access.map.intersect_domain(where).range().sample_point()))


def _where_text(statement: Statement, where: isl.Set) -> str:
    values = coordinates(where.sample_point())
    named: Iterable[str] = (f"{name}={value}" for name, value in zip(statement.iterators, values, strict=True))
    return ", ".join(named) or "its only iteration"

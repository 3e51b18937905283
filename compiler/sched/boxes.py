"""Statements whose iteration domain is several boxes, as a border is, become one statement for each box.

Static schedules count in loops of constant bounds, so every statement needs a box of its own.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.ir.names import fresh_name
from compiler.ir.program import Program, Statement
from compiler.sched.transform.place import Place, order_of_places, places

__all__ = ["split_into_boxes"]

_MOST = 16
"""Most boxes of one statement."""


def split_into_boxes(program: Program) -> Program:
    """`program` with statements split whose domain is a union of a few boxes; others are left as they are.

    Statements that share units have to stay alike and are left, too.
    """
    shared = {name for group in program.shared for name in group}
    for statement in program.statements:
        if statement.box() is None and statement.name not in shared:
            boxes = _boxes(statement.domain)
            if boxes is not None:
                program = _split(program, statement, boxes)
    return program


def _boxes(domain: isl.Set) -> list[isl.Set] | None:
    """Disjoint boxes that make up `domain`, None if there are none, or too many: cut off one by one where a loop's
    first or last iterations are a box."""
    found: list[isl.Set] = []
    pending = [domain.coalesce()]
    while pending:
        part = pending.pop()
        if part.is_box():
            found.append(part)
        else:
            halves = _halves(part)
            if halves is None:
                return None
            pending += halves
        if len(found) + len(pending) > _MOST:
            return None
    return sorted(found, key=lambda box: [box.dim_min_val(k).to_python() for k in range(box.dim(isl.dim_type.set))])


def _halves(part: isl.Set) -> list[isl.Set] | None:
    """A set cut in two at a bound of one of its convex pieces, None if no bound of theirs is inside of it."""
    pieces: list[isl.BasicSet] = []
    part.make_disjoint().foreach_basic_set(pieces.append)
    for axis in range(part.dim(isl.dim_type.set)):
        low = part.dim_min_val(axis).to_python()
        high = part.dim_max_val(axis).to_python()
        for piece in map(isl.Set.from_basic_set, pieces):
            for cut in (piece.dim_min_val(axis).to_python(), piece.dim_max_val(axis).to_python() + 1):
                if low < cut <= high:
                    below = part.upper_bound_val(isl.dim_type.set, axis, isl.Val(cut - 1)).coalesce()
                    return [below, part.lower_bound_val(isl.dim_type.set, axis, isl.Val(cut)).coalesce()]
    return None


def _split(program: Program, statement: Statement, boxes: list[isl.Set]) -> Program:
    """`program` with a statement for each of `boxes`, one after the other where `statement` stands."""
    where = places(program)
    mine = where.pop(statement.name)
    depth = len(mine.positions) - 1
    spread: dict[str, Place] = {}
    for name, place in where.items():
        beside = len(place.positions) > depth and place.positions[:depth] == mine.positions[:depth]
        spread[name] = place.moved(depth, len(boxes) * place.positions[depth]) if beside else place
    taken = {item.name for item in (*program.arrays, *program.tables, *program.statements)}
    parts: list[Statement] = []
    for number, box in enumerate(boxes):
        name = fresh_name(f"{statement.name}_box{number}", taken)
        parts.append(_part(statement, box, name))
        walked = ", ".join(statement.iterators)
        old = isl.MultiAff(f"{{ {name}[{walked}] -> {statement.name}[{walked}] }}")
        loops = tuple(loop.pullback_multi_aff(old) for loop in mine.loops)
        spread[name] = Place((*mine.positions[:depth], len(boxes) * mine.positions[depth] + number), loops)
    kept = program.statements.index(statement)
    statements = (*program.statements[:kept], *parts, *program.statements[kept + 1 :])
    return replace(program, statements=statements, order=order_of_places(statements, spread))


def _part(statement: Statement, box: isl.Set, name: str) -> Statement:
    """`statement` for the instances of `box`."""
    domain = box.set_tuple_name(name)
    reads = tuple(replace(read, map=read.map.set_tuple_name(isl.dim_type.in_, name)) for read in statement.reads)
    write = replace(statement.write, map=statement.write.map.set_tuple_name(isl.dim_type.in_, name))
    return replace(statement, name=name, domain=domain, reads=reads, write=write)

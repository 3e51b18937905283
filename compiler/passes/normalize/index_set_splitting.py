"""Statements whose iteration domain is several boxes, as a border is, become one statement for each box.

Static schedules count in loops of constant bounds, so every statement needs a box of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import pieces
from compiler.analysis.dependences import flow, recurring
from compiler.ir.expr import with_children
from compiler.ir.memory_order import stores
from compiler.ir.names import fresh_name
from compiler.ir.program import Program, Statement
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import rewritten, unchanged

__all__ = ["few_boxes", "split_by_access", "split_by_dependence", "split_unions"]

_MOST = 16
"""Most boxes of one statement."""


def split_unions(program: Program) -> Program:
    """`program` with statements split whose domain is a union of a few boxes; others are left as they are.

    Statements that share units have to stay alike and are left, too, and those that store to memories in one order.
    """
    shared = {name for group in program.shared for name in group}
    for statement in program.statements:
        if statement.box() is None and statement.name not in shared and not stores(statement):
            boxes = few_boxes(statement.domain)
            if boxes is not None:
                program = _split(program, statement, boxes)
    return program


def split_by_access(program: Program) -> Program:
    """`program` with statements split where a read changes its function, as one that stops at the edge of an image, so
    that every part reads by loop nests; itself if there are none, or none whose parts are a few boxes."""
    shared = {name for group in program.shared for name in group}
    for statement in program.statements:
        if statement.name not in shared and not stores(statement):
            boxes = _by_reads(statement)
            if boxes is not None:
                program = _split(program, statement, boxes)
    return program


def split_by_dependence(program: Program) -> Program:
    """`program` with statements split where the instance that they see the value of changes its function, as that does
    of which the final values of a product of polynomials are; itself if there are none, or none whose parts are a few
    boxes. Statements of recurrences stay whole."""
    dependences = flow(program)
    kept = {name for group in program.shared for name in group} | recurring(dependences)
    for statement in program.statements:
        if statement.name not in kept and not stores(statement):
            boxes = _by_functions(statement, [d.relation for d in dependences if d.sink == statement.name])
            if boxes is not None:
                program = _split(program, statement, boxes)
    return program


def _by_reads(statement: Statement) -> list[isl.Set] | None:
    """Boxes in which every read is one function; None if it is so in all of the domain, or if there are no few such."""
    return _by_functions(statement, [read.map.intersect_domain(statement.domain) for read in statement.reads])


def _by_functions(statement: Statement, functions: Sequence[isl.Map]) -> list[isl.Set] | None:
    """Boxes in which each of `functions`, on parts of the domain, has one piece; None if each has one in all, or if
    there are no few such."""
    parts = [statement.domain]
    for function in functions:
        found = [piece for piece, _ in pieces(function)]
        if len(found) > 1:
            rest = statement.domain.subtract(function.domain())
            found += [] if rest.is_empty() else [rest]
            parts = [both for part in parts for piece in found if not (both := part.intersect(piece)).is_empty()]
    if len(parts) == 1 or len(parts) > _MOST:
        return None
    split = [few_boxes(part) for part in parts]
    boxes = [box for part in split for box in part or ()]
    return None if None in split or len(boxes) > _MOST else boxes


def few_boxes(domain: isl.Set) -> list[isl.Set] | None:
    """Disjoint boxes that make up `domain`, None if there are none, or too many: cut off one by one where a loop's
    first or last iterations are a box."""
    found: list[isl.Set] = []
    pending = [domain]
    while pending:
        part = pending.pop()
        whole = part.coalesce()  # on which isl sees a box; what is not is cut at the pieces before, which may be boxes
        if whole.is_box():
            found.append(whole)
        elif not part.is_empty():
            halves = _halves(part)
            if halves is None:
                return None
            pending += halves
        if len(found) + len(pending) > _MOST:
            return None
    return sorted(found, key=lambda box: [box.dim_min_val(k).to_python() for k in range(box.dim(isl.dim_type.set))])


def _halves(part: isl.Set) -> list[isl.Set] | None:
    """A set cut in two at a bound of one of its convex pieces, None if no bound of theirs is inside of it."""
    found: list[isl.BasicSet] = []
    part.make_disjoint().foreach_basic_set(found.append)
    parts = [piece for piece in map(isl.Set.from_basic_set, found) if not piece.is_empty()]
    for axis in range(part.dim(isl.dim_type.set)):
        low = part.dim_min_val(axis).to_python()
        high = part.dim_max_val(axis).to_python()
        for piece in parts:
            for cut in (piece.dim_min_val(axis).to_python(), piece.dim_max_val(axis).to_python() + 1):
                if low < cut <= high:
                    return [part.upper_bound_val(isl.dim_type.set, axis, isl.Val(cut - 1)),
                            part.lower_bound_val(isl.dim_type.set, axis, isl.Val(cut))]
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
    walked = [f"n{k}" for k in range(len(statement.iterators))]
    parts = []
    for number, box in enumerate(boxes):
        name = fresh_name(f"{statement.name}_box{number}", program.names)
        part = Renaming(replace(statement, domain=box), name, statement.iterators, walked)
        loops = tuple(map(part.time, mine.loops))
        spread[name] = Place((*mine.positions[:depth], len(boxes) * mine.positions[depth] + number), loops)
        parts.append(part)
    images = unchanged(program) | {statement.name: [part.image for part in parts]}
    kept = program.statements.index(statement)
    statements = (*program.statements[:kept], *(part.statement(with_children) for part in parts),
                  *program.statements[kept + 1 :])
    return rewritten(program, statements, spread, images, f"splitting '{statement.name}' into boxes")

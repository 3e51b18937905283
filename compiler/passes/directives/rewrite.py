"""What all directives share: choosing statements, and concluding a rewrite with its checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.ir.types import ProgramError
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.legality import Images, check_legal
from compiler.passes.directives.place import Place, order_of_places

__all__ = ["chosen", "depth_of", "moved", "rewritten", "unchanged"]


def chosen(program: Program, iterators: Iterable[str], statements: Iterable[str] | None) -> tuple[Statement, ...]:
    """The statements that a directive applies to: those named, else all that have every one of `iterators`.

    Raises `TransformError` if there is none or one that is named lacks an iterator, `ProgramError` on unknown names.
    """
    wanted = tuple(iterators)
    named = None if statements is None else [program.statement(name) for name in statements]
    for statement in named or ():
        missing = [name for name in wanted if name not in statement.iterators]
        if missing:
            known = ", ".join(statement.iterators) or "none"
            raise TransformError(f"{statement} has no iterator '{missing[0]}'; it has: {known}")
    found = tuple(s for s in named or program.statements if set(wanted) <= set(s.iterators))
    if not found:
        raise TransformError(f"no statement of program '{program.name}' has the iterators {', '.join(wanted)}")
    return found


def depth_of(statement: Statement, place: Place, iterator: str) -> int:
    """The loop that walks `iterator` of `statement`. Raises `TransformError` if no loop walks it alone."""
    depth = place.depth_of(statement.iterators.index(iterator))
    if depth is None:
        raise TransformError(f"{statement}: no loop walks '{iterator}' alone")
    return depth


def moved(program: Program, where: Mapping[str, Place], directive: str) -> Program:
    """`program` with its statements at other places, checked. Raises `TransformError`."""
    return rewritten(program, program.statements, where, unchanged(program), directive)


def unchanged(program: Program) -> dict[str, list[isl.Map]]:
    """Images of a rewrite that leaves every instance what it is."""
    return {s.name: [isl.Map.identity(s.domain.get_space().map_from_set())] for s in program.statements}


def rewritten(program: Program, statements: tuple[Statement, ...], where: Mapping[str, Place], images: Images,
              directive: str, commuting: Collection[str] = ()) -> Program:
    """`program` with other statements and places, checked: dependences kept (but between instances of one statement
    of `commuting`), verifier passed.

    `images` says where the instances of every old statement went; the parts of statements that share units share them
    part by part. Raises `TransformError`.
    """
    result = replace(program, statements=statements, order=order_of_places(statements, where),
                     shared=tuple(g for group in program.shared for g in _parts(program, group, images, directive)))
    check_legal(program, result, images, directive, commuting)
    try:
        verify(result, guarded=True)
    except ProgramError as error:
        raise TransformError(f"{directive}: {error}") from None
    return result


def _parts(program: Program, group: tuple[str, ...], images: Images, directive: str) -> list[tuple[str, ...]]:
    """The groups that a group of statements with shared units becomes."""
    parts = [[image.get_tuple_name(isl.dim_type.out) for image in images[name]] for name in group]
    for name, mine in zip(group, parts, strict=True):
        if len(mine) != len(parts[0]):
            raise TransformError(f"{directive} makes {len(mine)} of {program.statement(name)} and {len(parts[0])} of "
                                 f"{program.statement(group[0])}, with which it shares its units")
    return list(zip(*parts, strict=True))

"""The directive that gives a loop several copies of its hardware: parallelize."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.program import Program
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.loops import reorder
from compiler.passes.directives.rewrite import chosen
from compiler.passes.directives.split import split
from compiler.passes.directives.unroll import unroll

__all__ = ["parallelize"]


def parallelize(program: Program, iterator: str, lanes: int, statements: Iterable[str] | None = None) -> Program:
    """The iterations of a loop in `lanes` consecutive blocks that advance together, each in statements of its own.

    Unrolling by blocks: lane k works on its own strip of an image, and strips of rows are contiguous in memory. Blocks
    are as long as needed for `lanes` of them to cover the loop; the last one may be shorter, or not be needed at all.
    Raises `TransformError`.
    """
    if lanes < 1:
        raise TransformError(f"'{iterator}' cannot run in {lanes} lanes; there is at least 1")
    picked = chosen(program, (iterator,), statements)
    kept = [s.name for s in picked]
    numbers = [(s, s.iterators.index(iterator)) for s in picked]
    first = min(s.domain.dim_min_val(k).to_python() for s, k in numbers)
    last = max(s.domain.dim_max_val(k).to_python() for s, k in numbers)
    lane = f"{iterator}_lane"
    program = split(program, iterator, -(-(last - first + 1) // lanes), (lane, iterator), kept)
    for statement in map(program.statement, kept):
        inner = [name for name in statement.iterators if name != lane]
        program = reorder(program, [*inner[inner.index(iterator):], lane], [statement.name])
    return unroll(program, lane, statements=kept)

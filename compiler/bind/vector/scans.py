"""Recurrences that are sums, minima or maxima of all elements before: prefix sums along one loop or along several.

A statement that adds to its term the element ``d`` iterations before is a prefix sum; one that adds the elements before
along each of two loops and takes off the one before along both, as integral images do, is a prefix sum along one loop
and then along the other, and so on for more loops: 1 - (1 - Z1)(1 - Z2) with Zk the step back along loop k. These need
not be done element by element: doubling takes log2(n) operations on whole arrays (Hillis 1986).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.element_types import bounds
from compiler.frontend.parallel_array.expression import default
from compiler.frontend.parallel_array.functions import maximum, minimum, shift
from compiler.ir.expr import Apply, Cast, Const, Expr, Read
from compiler.ir.program import Program, Statement
from compiler.ir.relations import coordinates
from compiler.ir.types import Int

__all__ = ["COMBINED", "Scan", "doubled", "neutral_number", "scan_of", "scanned"]

COMBINED: dict[str, Callable[[Array, Array], Array]] = {"add": lambda a, b: a + b, "min": minimum, "max": maximum}
"""What elements are combined by."""


@dataclass(frozen=True)
class Scan:
    """``element = term op elements before``. `steps`: along which loops, by number, and how many iterations back;
    `starts`: per such loop the reads, with their signs, that bring what was there before its first iterations."""

    op: str
    term: Expr
    steps: tuple[tuple[int, int], ...]
    starts: tuple[tuple[tuple[int, int], ...], ...]


def scan_of(program: Program, statement: Statement) -> Scan | None:
    """The scan that a statement is; None if it is none, or runs over no box of iterations."""
    kind = program.array(statement.write.array).type
    own = [n for n, read in enumerate(statement.reads) if read.array == statement.write.array]
    if not own or statement.box() is None or not isinstance(kind, Int):
        return None
    back = {n: distance for n in own if (distance := _distance(program, statement, n)) is not None}
    found = _extremum(statement.value, back) or _linear(statement.value, back, kind.width)
    if found is None:
        return None
    op, term, signs = found
    if any(n not in signs and _meets(statement, n) for n in own):
        return None
    return _arranged(op, term, {n: (back[n], sign) for n, sign in signs.items()})


def _distance(program: Program, statement: Statement, number: int) -> tuple[int, ...] | None:
    """By how many iterations of each loop the element of a read is written before, if that is the same everywhere and
    the program's order has it so."""
    read, write = statement.reads[number].map, statement.write.map
    sources = read.apply_range(write.reverse())
    deltas = sources.deltas()
    if not write.is_injective() or deltas.is_empty() or not deltas.is_singleton():
        return None
    distance = tuple(-step for step in coordinates(deltas.sample_point()))
    order = program.order_of(statement.name)
    inside = sources.reverse().intersect_domain(statement.domain).intersect_range(statement.domain)
    ordered = inside.is_subset(order.lex_lt_map(order))
    return distance if any(distance) and min(distance) >= 0 and ordered else None


def _meets(statement: Statement, number: int) -> bool:
    """Whether a read brings elements that the statement writes, in whatever order."""
    written, read = (a.map.intersect_domain(statement.domain).range() for a in (statement.write,
                                                                                statement.reads[number]))
    return not written.intersect(read).is_empty()


_Found = tuple[str, Expr, dict[int, int]]
"""Operation, term without the elements before, and the sign of each read of one."""


def _extremum(value: Expr, back: dict[int, tuple[int, ...]]) -> _Found | None:
    """A minimum or maximum of one element before and a term."""
    if not isinstance(value, Apply) or value.op not in ("min", "max"):
        return None
    own = [n for n, a in enumerate(value.args) if isinstance(a, Read) and a.index in back]
    if len(own) != 1 or value.args[own[0]].type != value.type:
        return None
    read = value.args[own[0]]
    assert isinstance(read, Read)
    return value.op, value.args[1 - own[0]], {read.index: 1}


def _linear(value: Expr, back: dict[int, tuple[int, ...]], width: int) -> _Found | None:
    """A sum of a term and elements before, each once."""
    signs: dict[int, int] = {}
    term = _without(value, 1, back, width, signs)
    return ("add", term, signs) if term is not None and signs else None


def _without(value: Expr, sign: int, back: dict[int, tuple[int, ...]], width: int,
             signs: dict[int, int]) -> Expr | None:
    """`value` with zeros for the elements before, whose `signs` are noted; None if one is read twice. Sums wrap in at
    least `width` bits, those of the result, on the way."""
    if not isinstance(value.type, Int) or value.type.width < width:
        return value
    match value:
        case Read(index=index) if index in back:
            if index in signs:
                return None
            signs[index] = sign
            return Const(0, value.type)
        case Cast(arg=arg):
            inner = _without(arg, sign, back, width, signs)
            return None if inner is None else Cast(inner, value.type)
        case Apply(op="add" | "sub" as op, args=(a, b)):
            first = _without(a, sign, back, width, signs)
            second = _without(b, sign if op == "add" else -sign, back, width, signs)
            return None if first is None or second is None else Apply(op, (first, second), value.type)
    return value


def _arranged(op: str, term: Expr, reads: dict[int, tuple[tuple[int, ...], int]]) -> Scan | None:
    """The scan whose elements before are these; None if they are not those of a product of steps back."""
    distances = [distance for distance, _ in reads.values()]
    loops = [k for k in range(len(distances[0])) if any(distance[k] for distance in distances)]
    steps = tuple((k, max(distance[k] for distance in distances)) for k in loops)
    corners = {tuple(distance) for distance in distances}
    if len(corners) < len(reads) or len(reads) != (1 << len(loops)) - 1 or (op != "add" and len(loops) > 1):
        return None
    for distance, sign in reads.values():
        whole = all(distance[k] in (0, d) for k, d in steps)
        if not whole or (op == "add" and sign != (-1) ** (1 + sum(d > 0 for d in distance))):
            return None
    starts = tuple(tuple((n, sign) for n, (distance, sign) in reads.items()
                         if distance[k] and not any(distance[other] for other in loops[:place]))
                   for place, k in enumerate(loops))
    return Scan(op, term, steps, starts)


def scanned(scan: Scan, term: Array, words: Callable[[int], Array], neutral: int) -> Array:
    """The elements of a scan whose term has the value `term` in every iteration. `words`: what a read found there
    before the statement ran."""
    combine, value = COMBINED[scan.op], term
    for (loop, step), starts in zip(scan.steps, scan.starts, strict=True):
        first = tuple(slice(0, step) if k == loop else slice(None) for k in range(value.ndim))
        signed = [(words(number)[first], sign) for number, sign in starts]
        before = signed[0][0]
        for words_there, sign in signed[1:]:
            before = before + words_there if sign > 0 else before - words_there
        if value.shape[loop] > step:
            before = before.section((0,) * value.ndim, value.shape, 1, default(neutral))
        value = doubled(combine(value, before.astype(value.dtype)), combine, loop, step, neutral)
    return value


def doubled(value: Array, combine: Callable[[Array, Array], Array], loop: int, step: int, neutral: int) -> Array:
    """Every element combined with all those that are multiples of `step` before it along dimension `loop`, twice as
    many at a time; `neutral` changes nothing."""
    distance = step
    while distance < value.shape[loop]:
        amounts = tuple(distance if k == loop else 0 for k in range(value.ndim))
        value = combine(value, shift(value, amounts, default(neutral)))
        distance *= 2
    return value


def neutral_number(op: str, kind: np.dtype) -> int:
    """What accumulating leaves as it is."""
    low, high = bounds(kind)
    return {"add": 0, "sub": 0, "min": high, "max": low}[op]

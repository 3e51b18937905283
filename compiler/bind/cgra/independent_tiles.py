"""Tiles of loops that no dependence crosses, around sums: which loops they are, and which sizes end soonest.

A matrix product in tiles of its result, for example: every tile needs some rows of one operand and some columns of the
other, whole. The loops of a sum go around those of a tile, so that a sum has the time of a tile to come back, and the
array keeps the tile of the result and little else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.boxes import bounds, extents
from compiler.analysis.dependences import DependenceError, agree, flow
from compiler.bind.cgra.transfers import ELEMENT_BYTES
from compiler.ir.program import Access, Program, Statement
from compiler.passes.directives import TransformError, apply_script
from hw.dma.descriptor import LINE_BYTES

__all__ = ["IndependentLoops", "best_sizes", "independent_loops"]

_LOOPS = 2
"""Loops over tiles that the DMA engine counts."""

_WAY_BACK = 48
"""Cycles in which a sum comes back through a memory."""

_BURST_CYCLES, _BURST_BYTES = 4, 128
"""Cycles from one burst to the next, besides those of its words, and bytes of a burst."""

_TILES = 65535
"""Tiles that a run counts."""


@dataclass(frozen=True)
class IndependentLoops:
    """The `iterators`, outermost first, which all `statements` have, and the values that they take."""

    statements: tuple[str, ...]
    iterators: tuple[str, ...]
    extents: tuple[int, ...]

    def sizes(self) -> Iterator[tuple[int, ...]]:
        """Sizes of several tiles: powers of two, and what divides the extents."""
        ways = [[n for n in range(1, extent + 1) if extent % n == 0 or n.bit_count() == 1] for extent in self.extents]
        return (sizes for sizes in product(*ways) if sizes != self.extents)

    def script(self, program: Program, sizes: tuple[int, ...]) -> str:
        """The directives for tiles of these sizes. Raises `TransformError` where loops cannot be joined."""
        taken: list[str] = []
        for name in self.statements[1:]:
            with suppress(TransformError):
                text = f"distribute({name}, 1)"
                program = apply_script(program, text)
                taken.append(text)
        texts = [f"tile({', '.join(f'{name}={size}' for name, size in zip(self.iterators, sizes, strict=True))})"]
        inside = [f"{name}_i" for name in self.iterators]
        for statement in program.statements:
            rest = [name for name in statement.iterators if name not in self.iterators]
            if rest:
                texts.append(f"reorder({', '.join([*rest, *inside])}, on=[{statement.name}])")
        texts += [f"fuse({self.statements[0]}, {name}, {len(self.iterators)})" for name in self.statements[1:]]
        for text in texts:
            program = apply_script(program, text)
        return "; ".join([*taken, *texts])


def independent_loops(program: Program) -> IndependentLoops | None:
    """The loops that all statements have, with the same values, and that no dependence crosses, as many as there can be
    over tiles; None if there are none, or if nothing is summed up in others."""
    first = program.statements[0]
    with suppress(DependenceError):
        names = [name for name in first.iterators if _same_everywhere(program, name) and not _crossed(program, name)]
        rest = max(len(s.iterators) for s in program.statements) > len(names)
        if names and rest:
            values = dict(zip(first.iterators, extents(first.domain), strict=True))
            taken = tuple(names[:_LOOPS])
            return IndependentLoops(tuple(s.name for s in program.statements), taken,
                                    tuple(values[name] for name in taken))
    return None


def _same_everywhere(program: Program, name: str) -> bool:
    """Whether all statements have a loop of this name with the same bounds."""
    if not all(name in s.iterators for s in program.statements):
        return False
    return len({bounds(s.domain)[s.iterators.index(name)] for s in program.statements}) == 1


def _crossed(program: Program, name: str) -> bool:
    """Whether a statement sees values of another iteration of this loop."""
    for dependence in flow(program):
        sink, source = program.statement(dependence.sink), program.statement(dependence.source)
        if not agree(dependence.relation, sink.iterators.index(name), source.iterators.index(name)):
            return True
    return False


def best_sizes(program: Program, loops: IndependentLoops, most: int) -> list[tuple[int, ...]]:
    """Sizes of tiles none of which touches more than `most` words of an array, those first that end soonest by
    prediction; the smallest of those."""
    found = []
    for sizes in loops.sizes():
        count = prod(-(-e // s) for e, s in zip(loops.extents, sizes, strict=True))
        inside = dict(zip(loops.iterators, sizes, strict=True))
        boxes = _boxes(program, inside)
        if count <= _TILES and max(prod(box) for box in boxes.values()) <= most:
            steps = max(prod(_trips(s, inside)) for s in program.statements) * max(1, _WAY_BACK / prod(sizes))
            found.append((_predicted_cycles(program, count, boxes, steps), prod(sizes), sizes))
    return [sizes for *_, sizes in sorted(found)]


def _trips(statement: Statement, sizes: Mapping[str, int]) -> list[int]:
    """Iterations of each loop of a statement in a tile."""
    values = zip(statement.iterators, extents(statement.domain), strict=True)
    return [sizes.get(name, trips) for name, trips in values]


def _boxes(program: Program, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Of every input and output the extents of the box that a tile touches."""
    found: dict[str, tuple[int, ...]] = {}
    for statement in program.statements:
        trips = _trips(statement, sizes)
        for access in (*statement.reads, statement.write):
            array = program.array(access.array)
            if array.role != "intermediate":
                box = _box(statement, access, array.shape, trips)
                found[array.name] = tuple(map(max, box, found.get(array.name, box)))
    return found


def _box(statement: Statement, access: Access, shape: tuple[int, ...], trips: Sequence[int]) -> tuple[int, ...]:
    function = isl.PwMultiAff.from_map(access.map.intersect_domain(statement.domain))
    box = []
    for dimension, size in enumerate(shape):
        form = affine_form(function.get_pw_aff(dimension))
        span = size if form is None else 1 + sum(abs(c) * (n - 1) for c, n in zip(form[0], trips, strict=True))
        box.append(min(size, span))
    return tuple(box)


def _predicted_cycles(program: Program, count: int, boxes: Mapping[str, tuple[int, ...]], steps: float) -> float:
    """Cycles from start to done of `count` tiles of `steps` cycles: one is computed while words of others are moved,
    those of the first one before and of the last one behind."""
    moved = {role: sum(_moved(boxes[array.name], array.shape) for array in program.arrays
                       if array.role == role and array.name in boxes) for role in ("input", "output")}
    return count * max(steps, *moved.values()) + sum(moved.values())


def _moved(box: Sequence[int], shape: Sequence[int]) -> int:
    """Cycles that the DMA engine takes for a box: rows of words that follow each other in memory are bursts."""
    row = 1
    for extent, size in zip(reversed(box), reversed(shape), strict=True):
        row *= extent
        if extent != size:
            break
    bursts = -(-row * ELEMENT_BYTES // _BURST_BYTES)
    return prod(box) // row * (-(-row * ELEMENT_BYTES // LINE_BYTES) + bursts * _BURST_CYCLES)

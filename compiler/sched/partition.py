"""Arrays in parts: what parallel statements read and write apart becomes arrays of their own.

A stream moves one word per cycle. After `transform.unroll` the copies of a statement work at the same time on
different strips of an image, so each strip needs a stream; so does each plane of a colour image. `partition` is a
program transform: an output that several statements write in disjoint boxes, and an input of which distant boxes are
read, become one array per box; input boxes may overlap (halos). The host splits inputs and joins outputs
(`Partition.split`, `Partition.join`); a strip of whole rows is a contiguous part of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import islpy as isl
import numpy as np

from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["Part", "Partition", "partition"]

_SLACK = 1.25
"""One stream serves several readers if the box it moves is at most this many times what one of them needs, or what
the busiest statement takes: the halo of a stencil does not ask for a second stream."""


@dataclass(frozen=True)
class Part:
    """Array `name` is the box of `parent` whose first element is `low`; `shape` in numpy order."""

    name: str
    parent: str
    low: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def box(self) -> tuple[slice, ...]:
        """The part as an index of its parent."""
        return tuple(slice(first, first + size) for first, size in zip(self.low, self.shape, strict=True))

    def holds(self, elements: isl.Set) -> bool:
        """Whether all `elements` of the parent lie in the part."""
        return elements.is_subset(_box_set(self.parent, self.low, self.shape))

    def local(self) -> isl.Map:
        """{parent element -> element of the part}."""
        names = [f"a{k}" for k in range(len(self.low))]
        inside = ", ".join(f"{name} - {first}" for name, first in zip(names, self.low, strict=True))
        return isl.Map(f"{{ {self.parent}[{', '.join(names)}] -> {self.name}[{inside}] }}")


@dataclass(frozen=True)
class Partition:
    """`program` is `original` with the parents of `parts` replaced by their parts."""

    original: Program
    program: Program
    parts: tuple[Part, ...]

    def split(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Inputs of `program` from those of `original`."""
        cut = {part.parent for part in self.parts}
        whole = {name: data for name, data in inputs.items() if name not in cut}
        return whole | {p.name: np.asarray(inputs[p.parent])[p.box] for p in self.parts if p.parent in inputs}

    def join(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs of `original` from those of `program`."""
        found: dict[str, np.ndarray] = {}
        for array in self.original.outputs:
            parts = [part for part in self.parts if part.parent == array.name]
            found[array.name] = self._joined(array, parts, outputs) if parts else outputs[array.name]
        return found

    @staticmethod
    def _joined(array: Array, parts: Sequence[Part], outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        whole = np.zeros(array.shape, outputs[parts[0].name].dtype)
        for part in parts:
            whole[part.box] = outputs[part.name]
        return whole


def partition(program: Program) -> Partition:
    """`program` with the arrays that parallel statements use apart in parts; itself if there is nothing to split."""
    parts: list[Part] = []
    result = program
    for array in (*program.inputs, *program.outputs):
        boxes = _output_boxes(program, array) if array.role == "output" else _input_boxes(program, array)
        found = _parts(result, array, boxes)
        redirected = _redirected(result, array, found)
        if redirected is not None:
            parts += found
            result = redirected
    return Partition(program, result, tuple(parts))


_Box = tuple[tuple[int, ...], tuple[int, ...]]


def _parts(program: Program, array: Array, boxes: Sequence[_Box]) -> list[Part]:
    taken = {item.name for item in (*program.arrays, *program.tables)}
    found: list[Part] = []
    for number, (low, shape) in enumerate(boxes):
        name = f"{array.name}_{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(Part(name, array.name, low, shape))
    return found


def _touched(statement: Statement, access: Access) -> isl.Set:
    return access.map.intersect_domain(statement.domain).range()


def _hull(elements: isl.Set) -> _Box:
    dims = range(elements.dim(isl.dim_type.set))
    low = tuple(elements.dim_min_val(k).to_python() for k in dims)
    return low, tuple(elements.dim_max_val(k).to_python() - low[k] + 1 for k in dims)


def _box_set(array: str, low: Sequence[int], shape: Sequence[int]) -> isl.Set:
    names = [f"a{k}" for k in range(len(low))]
    bounds = [f"{first} <= {name} < {first + size}" for name, first, size in zip(names, low, shape, strict=True)]
    return isl.Set(f"{{ {array}[{', '.join(names)}] : {' and '.join(bounds or ['true'])} }}")


def _output_boxes(program: Program, array: Array) -> list[_Box]:
    """One box per writer if there are several, each fills its box, and no two boxes share an element."""
    writers = [s for s in program.statements if s.write.array == array.name]
    written = [_touched(s, s.write) for s in writers]
    if len(writers) < 2 or any(not a.is_disjoint(b) for a, b in combinations(written, 2)):
        return []
    boxes = [_hull(elements) for elements in written]
    full = all(_box_set(array.name, *box).is_subset(elements) for box, elements in zip(boxes, written, strict=True))
    return boxes if full else []


def _input_boxes(program: Program, array: Array) -> list[_Box]:
    """Boxes that reads touch, joined where one stream is as good as two."""
    busiest = max(s.domain.count_val().to_python() for s in program.statements)
    boxes: list[_Box] = []
    for statement in program.statements:
        reads = [_hull(_touched(statement, read)) for read in statement.reads if read.array == array.name]
        boxes += _joined_while(reads, _overlap)
    boxes = _joined_while(boxes, lambda a, b: _one_stream_will_do(a, b, busiest))
    return sorted(boxes) if len(boxes) > 1 else []


def _joined_while(boxes: list[_Box], together: Callable[[_Box, _Box], bool]) -> list[_Box]:
    """`boxes` with pairs that belong `together` replaced by their hull, as long as there are any."""
    while True:
        pair = next(((a, b) for a, b in combinations(boxes, 2) if together(a, b)), None)
        if pair is None:
            return boxes
        rest = list(boxes)
        for box in pair:
            rest.remove(box)
        boxes = [*rest, _around(*pair)]


def _overlap(a: _Box, b: _Box) -> bool:
    return all(p < q + n and q < p + m for p, m, q, n in zip(a[0], a[1], b[0], b[1], strict=True))


def _one_stream_will_do(a: _Box, b: _Box, busiest: int) -> bool:
    """Whether moving both boxes as one holds nobody up: hardly more words than one of them, or than the program's
    busiest statement has instances."""
    return prod(_around(a, b)[1]) <= _SLACK * max(prod(a[1]), prod(b[1]), busiest)


def _around(a: _Box, b: _Box) -> _Box:
    low = tuple(map(min, a[0], b[0]))
    high = [max(p + m, q + n) for p, m, q, n in zip(a[0], a[1], b[0], b[1], strict=True)]
    return low, tuple(end - first for end, first in zip(high, low, strict=True))


def _redirected(program: Program, array: Array, parts: Sequence[Part]) -> Program | None:
    """`program` on the parts of `array`; None if there are none, or if an access touches more than one of them."""
    statements = []
    for statement in program.statements if parts else ():
        accesses = [_moved(statement, access, array, parts) for access in (*statement.reads, statement.write)]
        if any(access is None for access in accesses):
            return None
        *reads, write = [access for access in accesses if access is not None]
        statements.append(replace(statement, reads=tuple(reads), write=write))
    if not parts:
        return None
    arrays = [Array(part.name, part.shape, array.type, array.role) for part in parts]
    place = program.arrays.index(array)
    return replace(program, arrays=(*program.arrays[:place], *arrays, *program.arrays[place + 1 :]),
                   statements=tuple(statements))


def _moved(statement: Statement, access: Access, array: Array, parts: Sequence[Part]) -> Access | None:
    if access.array != array.name:
        return access
    elements = _touched(statement, access)
    part = next((part for part in parts if part.holds(elements)), None)
    return None if part is None else Access(part.name, access.map.apply_range(part.local()), access.location)

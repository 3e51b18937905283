"""Arrays in parts: what parallel statements read and write apart becomes arrays of their own.

A stream moves one word per cycle. After `transform.unroll` the copies of a statement work at the same time on
different strips of an image, so each strip needs a stream; so does each plane of a colour image. `partition` is a
program transform: an output that several statements write in disjoint boxes, and an input of which distant boxes are
read, become one array per box; input boxes may overlap (halos). The host splits inputs and joins outputs
(`Partition.split`, `Partition.join`); a strip of whole rows is a contiguous part of the image. Elements of an output
that the program leaves as they were are the host's too (`compiler.passes.normalize.identity_copies`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import gcd, prod
from typing import NamedTuple

import islpy as isl
import numpy as np

from compiler.analysis.instance_budget import count_instances
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.relations import coordinates
from compiler.passes.arrays.packed_arrays import PackedArrays
from compiler.passes.arrays.split_arrays import SplitArrays
from compiler.passes.normalize.domain_padding import PaddedProgram
from compiler.passes.normalize.identity_copies import Untouched, remove_identity_copies

__all__ = ["Part", "Partition", "partition"]

_SLACK = 1.25
"""One stream serves several readers if the box it moves is at most this many times what one of them needs, or what
the busiest statement takes: the halo of a stencil does not ask for a second stream."""

_SHARES = (1 / 8, 1 / 4, 1 / 2, 1, float("inf"))
"""Of the busiest statement's instances: how many words one stream may move before accumulations wait for them."""


@dataclass(frozen=True)
class Part:
    """Array `name` is a part of `parent`: of each dimension `shape` elements (numpy order), every `step`-th from `low`
    on."""

    name: str
    parent: str
    low: tuple[int, ...]
    shape: tuple[int, ...]
    step: tuple[int, ...]

    @property
    def box(self) -> tuple[slice, ...]:
        """The part as an index of its parent."""
        return tuple(slice(first, first + step * (size - 1) + 1, step)
                     for first, size, step in zip(self.low, self.shape, self.step, strict=True))

    def holds(self, elements: isl.Set) -> bool:
        """Whether all `elements` of the parent lie in the part."""
        return elements.is_subset(_box_set(self.parent, _Box(self.low, self.shape, self.step)))

    def local(self) -> isl.Map:
        """{parent element -> element of the part}."""
        outer = [f"a{k}" for k in range(len(self.low))]
        inner = [f"b{k}" for k in range(len(self.low))]
        equal = [f"{a} = {first} + {step}*{b}"
                 for a, b, first, step in zip(outer, inner, self.low, self.step, strict=True)]
        return isl.Map(f"{{ {self.parent}[{', '.join(outer)}] -> {self.name}[{', '.join(inner)}] : "
                       f"{' and '.join(equal or ['true'])} }}")


@dataclass(frozen=True)
class Partition:
    """`program` is `original` with the parents of `parts` replaced by their parts, and without the statements that
    keep what is `untouched`. `constants`: inputs of `program` that are none of `original`, with their elements.
    `words`: where `original` is a program on arrays of words, what it was made from. `growth`: where that is, or
    `original` is, one on whole boxes, what it was made from. `elements`: where `original` has arrays of values
    (`compiler.passes.recurrence.array_expansion`), the program on elements. `packed`: how inputs are written and
    outputs are read, where some have wide elements."""

    original: Program
    program: Program
    parts: tuple[Part, ...]
    untouched: tuple[Untouched, ...] = ()
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    growth: PaddedProgram | None = None
    words: SplitArrays | None = None
    elements: Program | None = None
    packed: PackedArrays | None = None

    @property
    def asked(self) -> Program:
        """The program whose inputs are given and whose outputs are wanted."""
        if self.growth:
            return self.growth.before
        return self.words.before if self.words else self.original

    @cached_property
    def instances(self) -> dict[str, int]:
        """How many instances are asked for of statements that have more behind guards, by name."""
        return self.growth.asked_instances() if self.growth else {}

    def split(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Inputs of `program` from those that are `asked` for."""
        inputs = {**self._in_words(self._filled(self._wide(inputs))), **self.constants}
        streamed = {array.name for array in self.program.inputs}
        whole = {name: data for name, data in inputs.items() if name in streamed}
        return whole | {p.name: np.asarray(inputs[p.parent])[p.box] for p in self.parts if p.parent in inputs}

    def join(self, outputs: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs that are `asked` for from those of `program`, and from the `inputs` what is untouched."""
        found: dict[str, np.ndarray] = {}
        inputs = self._in_words(self._filled(self._wide(inputs)))
        for array in self.original.outputs:
            parts = [part for part in self.parts if part.parent == array.name]
            found[array.name] = self._joined(array, parts, outputs, inputs) if parts else outputs[array.name]
        found = self.words.join(found) if self.words else found
        found = {name: whole[self._place(name)] for name, whole in found.items()}
        return self.packed.join(found) if self.packed else found

    def _place(self, output: str) -> tuple[slice, ...]:
        """Where an output that is asked for is in one that has grown."""
        shape = self.asked.array(output).shape
        front = self.growth.front(output) if self.growth else (0,) * len(shape)
        return tuple(slice(first, first + size) for first, size in zip(front, shape, strict=True))

    def _wide(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return self.packed.split(inputs) if self.packed else inputs

    def _in_words(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return self.words.split(inputs) if self.words else inputs

    def _filled(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Inputs with zeros, or copies of the nearest elements, around them where they have grown."""
        if self.growth is None:
            return inputs
        found = {}
        for name, data in inputs.items():
            shape, front = self.growth.after.array(name).shape, self.growth.front(name)
            more = [(first, new - first - old) for old, new, first in zip(np.shape(data), shape, front, strict=True)]
            found[name] = np.pad(np.asarray(data), more, mode="edge" if name in self.growth.edges else "constant")
        return found

    def _joined(self, array: Array, parts: Sequence[Part], outputs: Mapping[str, np.ndarray],
                inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        whole = np.zeros(array.shape, outputs[parts[0].name].dtype)
        for kept in self.untouched:
            if kept.output == array.name:
                index = _index(kept.elements)
                whole[index] = np.asarray(inputs[kept.input])[index]
        for part in parts:
            whole[part.box] = outputs[part.name]
        return whole


def partition(program: Program, streams: int | None = None, tile_depth: int = 0) -> Partition:
    """`program` with the arrays that parallel statements use apart in parts; itself if there is nothing to split.

    With more parts than `streams`, operands of accumulations are moved in fewer of them, which takes longer. Words are
    counted per tile, against the busiest statement's instances in it: a word that several tiles read is moved for
    each. The first `tile_depth` loops of all statements enumerate tiles.
    """
    result = _partition(program, _SHARES[0], tile_depth)
    for share in _SHARES[1:]:
        if streams is None or _streams(result.program) <= streams:
            break
        result = _partition(program, share, tile_depth)
    return result


def _streams(program: Program) -> int:
    return len(program.inputs) + len(program.outputs)


def _partition(program: Program, share: float, tile_depth: int) -> Partition:
    parts: list[Part] = []
    touched, untouched = remove_identity_copies(program)
    result = touched
    for array in (*touched.inputs, *touched.outputs):
        boxes = (_output_boxes(touched, array) if array.role == "output" else
                 _input_boxes(touched, array, share, tile_depth))
        found = _parts(result, array, boxes)
        redirected = _redirected(result, array, found)
        if redirected is not None:
            parts += found
            result = redirected
    whole = {array.name for array in result.outputs}
    if any(kept.output in whole for kept in untouched):
        return Partition(program, program, ())
    return Partition(program, result, tuple(parts), untouched)


class _Box(NamedTuple):
    low: tuple[int, ...]
    shape: tuple[int, ...]
    step: tuple[int, ...]


def _parts(program: Program, array: Array, boxes: Sequence[_Box]) -> list[Part]:
    taken = {item.name for item in (*program.arrays, *program.tables)}
    found: list[Part] = []
    for number, box in enumerate(boxes):
        name = fresh_name(f"{array.name}_{number}", taken)
        taken.add(name)
        found.append(Part(name, array.name, *box))
    return found


def _touched(statement: Statement, access: Access) -> isl.Set:
    return access.map.intersect_domain(statement.domain).range()


def _index(elements: isl.Set) -> tuple[np.ndarray, ...]:
    """A numpy index of all elements of a set."""
    points: list[tuple[int, ...]] = []
    elements.foreach_point(lambda point: points.append(coordinates(point)))
    return tuple(np.array(points, dtype=np.int64).reshape(-1, elements.dim(isl.dim_type.set)).T)


def _hull(elements: isl.Set) -> _Box:
    dims = range(elements.dim(isl.dim_type.set))
    low = tuple(elements.dim_min_val(k).to_python() for k in dims)
    span = [elements.dim_max_val(k).to_python() - low[k] for k in dims]
    step = tuple(elements.get_stride(k).to_python() if span[k] else 1 for k in dims)
    return _Box(low, tuple(s // t + 1 for s, t in zip(span, step, strict=True)), step)


def _box_set(array: str, box: _Box) -> isl.Set:
    names = [f"a{k}" for k in range(len(box.low))]
    bounds = [f"{first} <= {name} < {first + size * step} and ({name} - {first}) mod {step} = 0"
              for name, first, size, step in zip(names, *box, strict=True)]
    return isl.Set(f"{{ {array}[{', '.join(names)}] : {' and '.join(bounds or ['true'])} }}")


def _output_boxes(program: Program, array: Array) -> list[_Box]:
    """One box per writer if there are several or the only one leaves something out, each fills its box, and no two
    boxes share an element."""
    writers = [s for s in program.statements if s.write.array == array.name]
    written = [_touched(s, s.write) for s in writers]
    if any(not a.is_disjoint(b) for a, b in combinations(written, 2)):
        return []
    boxes = [_hull(elements) for elements in written]
    if any(box.shape == array.shape for box in boxes):
        return []
    full = all(_box_set(array.name, box).is_subset(elements) for box, elements in zip(boxes, written, strict=True))
    return boxes if full else []


class _Piece(NamedTuple):
    """What one stream moves: the box in the array, and how much of it is moved for the first tile."""

    box: _Box
    tile: _Box

    @staticmethod
    def of(statement: Statement, access: Access, tile_depth: int) -> _Piece:
        """What one access touches."""
        tile = access.map.intersect_domain(_first_tile(statement, tile_depth)).range()
        return _Piece(_hull(_touched(statement, access)), _hull(tile))

    @property
    def words(self) -> int:
        """Words per tile."""
        return prod(self.tile.shape)

    def around(self, other: _Piece) -> _Piece:
        """The smallest piece that holds both."""
        return _Piece(_around(self.box, other.box), _around(self.tile, other.tile))


def _input_boxes(program: Program, array: Array, share: float, tile_depth: int) -> list[_Box]:
    """Boxes that reads touch, joined where one stream is as good as two."""
    busiest = max(count_instances(_first_tile(s, tile_depth)) for s in program.statements)
    pieces: list[_Piece] = []
    allowed: float = 0
    for statement in program.statements:
        reads = [_Piece.of(statement, read, tile_depth) for read in statement.reads if read.array == array.name]
        if _accumulates(statement):
            pieces += reads
            allowed = max(allowed, share * busiest)
        elif reads:
            pieces += _joined_while(reads, lambda a, b: _overlap(a.box, b.box))
            allowed = max(allowed, busiest * _SLACK)
    pieces = _joined_while(list(dict.fromkeys(pieces)), lambda a, b: _one_stream_will_do(a, b, allowed))
    return sorted(piece.box for piece in pieces) if len(pieces) > 1 else []


def _first_tile(statement: Statement, tile_depth: int) -> isl.Set:
    """Instances of a statement in the first tile."""
    first = statement.domain
    for k in range(tile_depth):
        first = first.fix_val(isl.dim_type.set, k, statement.domain.dim_min_val(k))
    return first


def _accumulates(statement: Statement) -> bool:
    return any(read.array == statement.write.array for read in statement.reads)


def _joined_while(pieces: list[_Piece], together: Callable[[_Piece, _Piece], bool]) -> list[_Piece]:
    """`pieces` with pairs that belong `together` replaced by what holds both, as long as there are any."""
    while True:
        pair = next(((a, b) for a, b in combinations(pieces, 2) if together(a, b)), None)
        if pair is None:
            return pieces
        rest = list(pieces)
        for piece in pair:
            rest.remove(piece)
        pieces = [*rest, pair[0].around(pair[1])]


def _overlap(a: _Box, b: _Box) -> bool:
    return all(p <= high_b and q <= high_a
               for p, q, high_a, high_b in zip(a.low, b.low, _ends(a), _ends(b), strict=True))


def _ends(box: _Box) -> list[int]:
    """The last element of a box in every dimension."""
    return [first + step * (size - 1) for first, size, step in zip(*box, strict=True)]


def _one_stream_will_do(a: _Piece, b: _Piece, allowed: float) -> bool:
    """Whether moving both as one holds nobody up: hardly more words than one of them; or no more than `allowed`, hardly
    any of which nobody wants (unless any number is allowed)."""
    words = a.around(b).words
    wasteful = words > _SLACK * (a.words + b.words) and allowed != float("inf")
    return words <= _SLACK * max(a.words, b.words) or (words <= allowed and not wasteful)


def _around(a: _Box, b: _Box) -> _Box:
    low = tuple(map(min, a.low, b.low))
    step = tuple(gcd(s if n > 1 else 0, t if m > 1 else 0, p - q) or 1
                 for p, n, s, q, m, t in zip(a.low, a.shape, a.step, b.low, b.shape, b.step, strict=True))
    high = map(max, _ends(a), _ends(b))
    return _Box(low, tuple((end - first) // s + 1 for end, first, s in zip(high, low, step, strict=True)), step)


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
    arrays = [Array(part.name, part.shape, array.type, array.role, array.level) for part in parts]
    place = program.arrays.index(array)
    return replace(program, arrays=(*program.arrays[:place], *arrays, *program.arrays[place + 1 :]),
                   statements=tuple(statements))


def _moved(statement: Statement, access: Access, array: Array, parts: Sequence[Part]) -> Access | None:
    if access.array != array.name:
        return access
    elements = _touched(statement, access)
    part = next((part for part in parts if part.holds(elements)), None)
    return None if part is None else Access(part.name, access.map.apply_range(part.local()), access.location)

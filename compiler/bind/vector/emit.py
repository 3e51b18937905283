"""Instruction selection: the statements that compute a tile, node by node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from compiler.bind.vector.access import Access, Box, compose, image
from compiler.bind.vector.float_words import FLOAT_CODES, gives_floats, is_half, is_repeated, sign_of, takes_floats
from compiler.bind.vector.graph import (
    FUSED_ADDS,
    MULTIPLY_ADDS,
    Extend,
    Node,
    Op,
    Reduce,
    Scatter,
    Stretch,
    Take,
    Value,
)
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.layout import Layout, extents, reduced_box, regions
from compiler.bind.vector.order import Order
from compiler.bind.vector.scatter_code import ScatterCode
from compiler.bind.vector.shapes import Dimension, Operands, Settings, cycles, instructions
from compiler.bind.vector.sizes import Form, Sizes
from compiler.bind.vector.translate import Graph
from compiler.bind.vector.window_packing import WindowPack, window_pack
from hw.vector_lanes.isa import FLOAT, Mode
from hw.vector_lanes.isa import Op as Opcode

__all__ = ["Placement", "TileCode", "TileRegions", "fill_boxes", "scratch_bytes"]

_LOG = {1: 0, 2: 1, 4: 2}

_PLAIN = {"add": Opcode.VADD, "multiply": Opcode.VMUL, "multiply_high": Opcode.VMULHI, "bitwise_and": Opcode.VAND,
          "bitwise_or": Opcode.VOR, "bitwise_xor": Opcode.VXOR, "minimum": Opcode.VMIN, "maximum": Opcode.VMAX,
          "equal": Opcode.VSEQ, "not_equal": Opcode.VSNE}
_MIRRORED = {"less": (Opcode.VSLT, Opcode.VSGT), "less_equal": (Opcode.VSLE, Opcode.VSGE)}
_SHIFTS = {"left_shift": Opcode.VSHL, "right_shift": Opcode.VSHR}


@dataclass(frozen=True)
class _Single:
    """One instruction: opcode, absolute bit, and operands A and B; whether it takes and gives floating-point numbers,
    and whether it is signed if that does not depend on ranges. `repeated`: B is one element for all of a row."""

    op: Opcode
    a: Value | None
    b: Value | None = None
    absolute: bool = False
    float_in: bool = False
    float_out: bool = False
    signed: bool | None = None
    repeated: bool = False


def single_instruction(operation: str, operands: Sequence[Value]) -> _Single:
    """The instruction for an operation that takes only one. Scalars become operand A."""
    if operation in FLOAT_CODES:
        return _on_floats(operation, operands)
    x = operands[0]
    y = operands[1] if len(operands) > 1 else x
    if operation in _PLAIN:
        return _Single(_PLAIN[operation], y, x) if isinstance(y, int) else _Single(_PLAIN[operation], x, y)
    if operation in _MIRRORED:
        straight, mirrored = _MIRRORED[operation]
        return _Single(mirrored, y, x) if isinstance(y, int) else _Single(straight, x, y)
    if operation in _SHIFTS:
        return _Single(_SHIFTS[operation], y, x)
    if operation == "subtract":
        return _Single(Opcode.VADD, -y, x) if isinstance(y, int) else _Single(Opcode.VSUB, x, y)
    if operation == "abs_difference":
        return _Single(Opcode.VSUB, *((y, x) if isinstance(y, int) else (x, y)), absolute=True)
    return _Single(Opcode.VMOV, x, absolute=operation == "absolute")


def _multiply_add(operation: str, factor: Value, vector: Value) -> _Single:
    """The instruction that adds a product to what is there."""
    if operation in FUSED_ADDS:
        return _on_floats(operation, (factor, vector))
    floats = takes_floats(operation)
    return _Single(Opcode.VMAC, factor, vector, absolute=floats and is_half(operation), float_in=floats,
                   float_out=floats)


def _on_floats(operation: str, operands: Sequence[Value]) -> _Single:
    """The instruction for an operation on floating-point numbers."""
    x, y = operands[0], operands[-1]
    code, mirrored = FLOAT_CODES[operation]
    half = is_half(operation)
    if code is Opcode.VSUB and isinstance(y, int):
        x, y, mirrored = x, y ^ sign_of(half), Opcode.VADD
    if isinstance(y, int) or (is_repeated(x) and not is_repeated(y)):
        x, y, code = y, x, mirrored
    signed = None if gives_floats(operation) else not operation.endswith("to_uint")
    return _Single(code, x, y, absolute=half, float_in=takes_floats(operation), float_out=gives_floats(operation),
                   signed=signed, repeated=len(operands) == 2 and is_repeated(y))


@dataclass(frozen=True)
class Placement:
    """Addresses of buffers: of the node that owns it, one per tile that may be in work at once; and of scratch space
    that a node needs only while it is computed."""

    addresses: Mapping[Node, tuple[int, ...]]
    scratch: Mapping[Node, int]


def fill_boxes(outer: Box, inner: Box) -> list[Box]:
    """Boxes that cover `outer` without `inner`."""
    if any(low >= high for low, high in inner):
        return [outer]
    found: list[Box] = []
    rest = list(outer)
    for axis in range(len(outer)):
        (low, high), (first, last) = outer[axis], inner[axis]
        for part in ((low, first), (last, high)):
            if part[0] < part[1]:
                found.append((*rest[:axis], part, *rest[axis + 1:]))
        rest[axis] = (first, last)
    return found


class TileRegions(NamedTuple):
    """Of every node, where a whole tile there has its elements, and which of them this one needs."""

    places: dict[Node, Box]
    needed: dict[Node, Box]

    @classmethod
    def of(cls, graph: Graph, tile: tuple[int, ...], box: Box) -> TileRegions:
        """Those of the tile at `box`, of tiles of the shape `tile`."""
        whole = tuple((low, low + n) for (low, _), n in zip(box, tile, strict=True))
        return cls(regions(graph, whole, clip=False), regions(graph, box, clip=True))


class TileCode:
    """Makes the statements of one tile: `box` of the results in their common indices, `turn`-th in work.

    `settings` carries over from tile to tile.
    """

    def __init__(self, graph: Graph, sizes: Sizes, layout: Layout, placement: Placement, settings: Settings,
                 row_bytes: int, box: Box, turn: int, found: TileRegions | None = None) -> None:
        self.graph = graph
        self.sizes = sizes
        self.layout = layout
        self.placement = placement
        self.settings = settings
        self.row_bytes = row_bytes
        self.turn = turn
        self.box = box
        self.places, self.regions = found or TileRegions.of(graph, layout.tile, box)

    # Addresses.

    def address(self, node: Node, index: Sequence[int]) -> int:
        """Address of an element of a node's buffer."""
        owner = self.layout.root(node)
        addresses = self.placement.addresses[owner]
        base = addresses[self.turn % len(addresses)]
        strides = self.layout.buffers[owner].strides
        base += self.layout.buffers[owner].lead
        return base + sum((i - low) * s for i, (low, _), s in zip(index, self.places[node], strides, strict=True))

    def strides(self, node: Node) -> tuple[int, ...]:
        """Steps in bytes of a node's buffer."""
        return self.layout.buffers[self.layout.root(node)].strides

    def first(self, access: Access, corner: Sequence[int]) -> int:
        index = [o + sum(c * x for c, x in zip(row, corner, strict=True))
                 for row, o in zip(access.matrix, access.offset, strict=True)]
        return self.address(access.node, index)

    def steps(self, access: Access, rank: int) -> list[int]:
        strides = self.strides(access.node)
        return [sum(row[k] * s for row, s in zip(access.matrix, strides, strict=True)) for k in range(rank)]

    # Nodes.

    def compute(self, order: Order) -> Iterator[Statement]:
        """Everything between loading and storing."""
        for node in order.nodes:
            if node in self.regions and all(low < high for low, high in self.regions[node]):
                yield from self.node(node)

    def node(self, node: Node) -> Iterator[Statement]:
        """The statements of one node."""
        box = self.regions[node]
        match node:
            case Op():
                yield from self._operation(node, box)
            case Reduce():
                yield from self._reduce(node, box)
            case Extend():
                yield from self._extend(node, box)
            case Stretch():
                yield from self._stretch(node, box)
            case Take():
                table = self.address(node.table.node, node.table.offset)
                single = _Single(Opcode.VGATHER, table, node.index)
                # What lies between rows is no index.
                yield from self._instruction(node, box, single, self.sizes.forms[node], gaps=False)

            case Scatter():
                yield from self._scatter(node)

    def _scatter(self, node: Scatter) -> Iterator[Statement]:
        box = ((0, node.kept),)
        if isinstance(node.base, Access):
            yield from self._bring(node.base, node, box)
        else:
            yield from self.fill(node, box, node.base)
        yield from ScatterCode(self, node).statements(self.placement.scratch.get(node, 0))

    def _operation(self, node: Op, box: Box) -> Iterator[Statement]:
        form = self.sizes.forms[node]
        if node.operation in MULTIPLY_ADDS:
            total, *factors = node.operands
            yield from self._bring(total, node, box)
            yield from self._instruction(node, box, _multiply_add(node.operation, *factors), form)
        elif node.operation == "where":
            condition, a, b = node.operands
            yield from self._bring(b, node, box)
            yield from self._instruction(node, box, _Single(Opcode.VCMV_NZ, a, condition), form)
        elif node.operation == "copy" and self._repeats(node, box):
            yield from self._broadcast(node, box, form)
        else:
            yield from self._instruction(node, box, single_instruction(node.operation, node.operands), form)

    def _bring(self, value: Value, node: Node, box: Box) -> Iterator[Statement]:
        """`value` to where `node` goes, unless it is there."""
        if isinstance(value, Access):
            if self.layout.root(value.node) is self.layout.root(node):
                return
            form = Form(self.sizes.bytes[value.node], value.node.low < 0)
        else:
            form = Form(self.sizes.bytes[node], False)
        yield from self._instruction(node, box, _Single(Opcode.VMOV, value), form)

    def _mode(self, single: _Single, form: Form, out: int) -> Mode:
        scalar = isinstance(single.a, int)
        vectors = isinstance(single.a, Access) or isinstance(single.b, Access)
        size = form.in_size if vectors else out
        in_code, out_code = FLOAT if single.float_in else _LOG[size], FLOAT if single.float_out else _LOG[out]
        signed = form.signed if single.signed is None else single.signed
        return Mode(single.op, signed, in_code, out_code, enumerated=single.repeated, scalar=scalar,
                    absolute=single.absolute)

    def _dimensions(self, box: Box, d_steps: Sequence[int], a: Value | None, b: Value | None) -> list[Dimension]:
        rank = len(box)
        a_steps = self.steps(a, rank) if isinstance(a, Access) else [0] * rank
        b_steps = self.steps(b, rank) if isinstance(b, Access) else [0] * rank
        return [Dimension(n, *steps) for n, *steps in zip(extents(box), d_steps, a_steps, b_steps, strict=True)]

    def _operands(self, d: int, corner: Sequence[int], a: Value | None, b: Value | None) -> Operands:
        def first(value: Value | None) -> int:
            return self.first(value, corner) if isinstance(value, Access) else (value or 0) & 0xFFFFFFFF

        return Operands(d, first(a), first(b))

    def _instruction(self, node: Node, box: Box, single: _Single, form: Form, gaps: bool = True) -> Iterator[Statement]:
        corner = [low for low, _ in box]
        mode = self._mode(single, form, self.sizes.bytes[node])
        dimensions = self._dimensions(box, self.strides(node), single.a, single.b)
        operands = self._operands(self.address(node, corner), corner, single.a, single.b)
        yield from instructions(self.settings, mode, operands, dimensions, self.row_bytes, gaps)

    # Broadcasts.

    def _repeats(self, node: Op, box: Box) -> bool:
        (source,) = node.operands
        if isinstance(source, int) or not box:
            return False
        return self.steps(source, len(box))[-1] == 0 and extents(box)[-1] > 1

    def _broadcast(self, node: Op, box: Box, form: Form) -> Iterator[Statement]:
        """One element per row, then what is there is doubled until the row is full."""
        (low, high) = box[-1]
        first = (*box[:-1], (low, low + 1))
        yield from self._instruction(node, first, single_instruction("copy", node.operands), form)
        done, size = 1, self.sizes.bytes[node]
        mode = Mode(Opcode.VMOV, False, _LOG[size], _LOG[size])
        start = self.address(node, [a for a, _ in box])
        while done < high - low:
            count = min(done, high - low - done)
            shape = (*extents(box)[:-1], count)
            dimensions = [Dimension(n, s, s, 0) for n, s in zip(shape, self.strides(node), strict=True)]
            operands = Operands(start + done * size, start, 0)
            yield from instructions(self.settings, mode, operands, dimensions, self.row_bytes)
            done += count

    # Extensions and stretching.

    def _extend(self, node: Extend, box: Box) -> Iterator[Statement]:
        inner = self.regions.get(node.source)
        clipped = tuple((max(low, s), min(high, s + n))
                        for (low, high), s, n in zip(box, node.starts, node.shape, strict=True))
        hosted = self.layout.root(node.source) is self.layout.root(node)
        if inner is not None and not hosted and all(low < high for low, high in clipped):
            form = Form(self.sizes.bytes[node.source], node.source.low < 0)
            yield from self._instruction(node, clipped, single_instruction("copy", node.accesses), form)
        values = {b.value for b in node.boundaries if b is not None}
        for part in fill_boxes(box, clipped):
            yield from self.fill(node, part, next(iter(values)))

    def fill(self, node: Node, box: Box, value: int) -> Iterator[Statement]:
        """`value` in all of `box`."""
        size = self.sizes.bytes[node]
        mode = Mode(Opcode.VMOV, False, _LOG[size], _LOG[size], scalar=True)
        dimensions = [Dimension(n, s, 0, 0) for n, s in zip(extents(box), self.strides(node), strict=True)]
        operands = Operands(self.address(node, [low for low, _ in box]), value, 0)
        yield from instructions(self.settings, mode, operands, dimensions, self.row_bytes)

    def _stretch(self, node: Stretch, box: Box) -> Iterator[Statement]:
        word = self._group_bytes(node)
        for parts in itertools.product(*(_aligned(r, f) for r, f in zip(box, node.factors, strict=True))):
            yield from self._stretched(node, parts, word if word and parts[-1][2] == node.factors[-1] else 0)

    def _group_bytes(self, node: Stretch) -> int:
        """Bytes of the copies of an element along the innermost dimension, if they are a halfword or a word that a
        multiplication makes of it; else 0."""
        size, source = self.sizes.bytes[node], self.sizes.bytes[node.source.node]
        group = node.factors[-1] * size if node.rank else 0
        fits = group in (2, 4) and group > size and (source == size or node.low >= 0)
        return group if fits and self.steps(node.source, node.rank)[-1] == source else 0

    def _stretched(self, node: Stretch, parts: Sequence[_Piece], group: int) -> Iterator[Statement]:
        """Pieces of every dimension; see `_group_bytes` for `group`."""
        size, source = self.sizes.bytes[node], self.sizes.bytes[node.source.node]
        dimensions: list[Dimension] = []
        steps = self.steps(node.source, node.rank)
        for (_, quotients, rest), factor, d, a in zip(parts, node.factors, self.strides(node), steps, strict=True):
            dimensions += [Dimension(quotients, factor * d, a, 0), Dimension(rest, d, 0, 0)]
        place = self.address(node, [start for start, _, _ in parts])
        first = self.first(node.source, [p[0] // f for p, f in zip(parts, node.factors, strict=True)])
        mode, operands = Mode(Opcode.VMOV, node.low < 0, _LOG[source], _LOG[size]), Operands(place, first, 0)
        if group:
            ones = sum(1 << 8 * byte for byte in range(0, group, size))
            mode = Mode(Opcode.VMUL, False, _LOG[source], _LOG[group], scalar=True)
            operands = Operands(place, ones, first)
            dimensions = [Dimension(x.extent, x.d, 0, x.a) for x in dimensions[:-1]]
        yield from instructions(self.settings, mode, operands, dimensions, self.row_bytes)

    # Reductions.

    def _reduce(self, node: Reduce, box: Box) -> Iterator[Statement]:
        plan = _ReducePlan(self, node, box)
        yield from plan.statements()


_Piece = tuple[int, int, int]
"""Of a stretched dimension: its start, elements of the source, and copies of each."""


def _aligned(limits: tuple[int, int], factor: int) -> list[_Piece]:
    """Pieces of a range: whole groups of `factor`, and the cut ones at the ends."""
    low, high = limits
    pieces: list[_Piece] = []
    head = min(high, -(-low // factor) * factor)
    if low < head:
        pieces.append((low, 1, head - low))
    whole = (high - head) // factor
    if whole:
        pieces.append((head, whole, factor))
    tail = head + whole * factor
    if tail < high:
        pieces.append((tail, 1, high - tail))
    return pieces


class _ReducePlan:
    """A sum by the accumulator: in one instruction if the reduced dimensions of all operands can be merged; else row
    sums that are summed in turn, or operands packed so that they can be merged, whichever is faster."""

    def __init__(self, code: TileCode, node: Reduce, box: Box) -> None:
        self.code = code
        self.node = node
        self.box = box
        self.space = reduced_box(node, box)
        source = node.source
        rank = len(self.space)
        if source.node in code.sizes.fused:
            assert isinstance(source.node, Op)
            operands = [compose(o, source.matrix, source.offset, rank) if isinstance(o, Access) else o
                        for o in source.node.operands]
            self.single = single_instruction(source.node.operation, operands)
        else:
            self.single = _Single(Opcode.VMOV, source)
        self.form = code.sizes.forms[node]
        self.corner = [low for low, _ in self.space]

    @property
    def out(self) -> int:
        """Bytes of a result."""
        return self.code.sizes.bytes[self.node]

    def _mode(self) -> Mode:
        mode = self.code._mode(self.single, self.form, self.out)
        return replace(mode, accumulate=True)

    def statements(self) -> Iterator[Statement]:
        """The cheaper way's statements."""
        dimensions = self._dimensions(self.code.strides(self.node))
        if self._merges(dimensions):
            yield from self._direct(dimensions, self._places())
        elif (windows := self._windows()) is not None:
            yield from self._pack_windows(*windows)
        elif self.packed_cycles < self.nested_cycles:
            yield from self._packed()
        else:
            yield from self._nested()

    def _dimensions(self, d_steps: Sequence[int]) -> list[Dimension]:
        reduced = len(self.node.extents)
        return self.code._dimensions(self.space, (*d_steps, *(0,) * reduced), self.single.a, self.single.b)

    def _places(self) -> Operands:
        d = self.code.address(self.node, self.corner[:self.node.rank])
        return self.code._operands(d, self.corner, self.single.a, self.single.b)

    def _merges(self, dimensions: list[Dimension]) -> bool:
        tail = dimensions[self.node.rank:]
        size = self.form.in_size
        last = _joined(dimensions, self.node.rank)[-1]
        vectors = [step for step, value in ((last.a, self.single.a), (last.b, self.single.b))
                   if isinstance(value, Access)]
        if last.extent > 1 and any(step != size for step in vectors):
            return False
        tail = [d for d in tail if d.extent > 1]
        return all(o.extent == 1 or (i.extent * i.a == o.a and i.extent * i.b == o.b)
                   for o, i in itertools.pairwise(tail))

    def _direct(self, dimensions: list[Dimension], operands: Operands) -> Iterator[Statement]:
        yield from instructions(self.code.settings, self._mode(), operands,
                                _joined(dimensions, self.node.rank), self.code.row_bytes)

    # Row sums, then their sum.

    def _row_sums(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and steps of the scratch array of row sums."""
        shape = (*extents(self.box), *self.node.extents[:-1])
        steps, step = [], self.out
        for extent in reversed(shape):
            steps.append(step)
            step *= extent
        return shape, tuple(reversed(steps))

    @cached_property
    def nested_cycles(self) -> int:
        """Cycles of row sums and their sum."""
        _, steps = self._row_sums()
        first = [Dimension(d.extent, s, d.a, d.b) for d, s in
                 zip(self._dimensions(self.code.strides(self.node)), (*steps, 0), strict=True)]
        count = 1
        for extent in extents(self.box):
            count *= extent
        rows = 1
        for extent in self.node.extents[:-1]:
            rows *= extent
        return cycles(first, self._mode(), self.code.row_bytes) + count * -(-rows * self.out // self.code.row_bytes)

    def _nested(self) -> Iterator[Statement]:
        shape, steps = self._row_sums()
        scratch = self.code.placement.scratch[self.node]
        places = self._places()
        first = [Dimension(d.extent, s, d.a, d.b) for d, s in
                 zip(self._dimensions(self.code.strides(self.node)), (*steps, 0), strict=True)]
        yield from instructions(self.code.settings, self._mode(), Operands(scratch, places.a, places.b), first,
                                self.code.row_bytes)
        kept = self.node.rank
        second = [Dimension(n, s, t, 0) for n, s, t in
                  zip(shape, (*self.code.strides(self.node), *(0,) * (len(shape) - kept)), steps, strict=True)]
        mode = Mode(Opcode.VMOV, self.node.low < 0, _LOG[self.out], _LOG[self.out], accumulate=True)
        yield from instructions(self.code.settings, mode, Operands(places.d, scratch, 0), _joined(second, kept),
                                self.code.row_bytes)

    # Packed operands.

    def _loose(self) -> list[Access]:
        """Operands whose reduced dimensions do not follow each other in memory."""
        found = []
        for value in (self.single.a, self.single.b):
            if isinstance(value, Access):
                steps = self.code.steps(value, len(self.space))[self.node.rank:]
                if any(o != i * n for o, i, n in zip(steps, steps[1:], self.node.extents[1:], strict=False)):
                    found.append(value)
        return found

    def _turns(self) -> list[int]:
        """Kept dimensions along which loose operands move in the innermost dimension: packed afresh for each step."""
        return [k for k in range(self.node.rank) if any(a.matrix[-1][k] for a in self._loose())]

    def _packs(self, space: Box) -> dict[Access, tuple[Box, tuple[int, ...]]]:
        """For each loose operand the box to pack, and steps of the packed array."""
        found = {}
        for access in self._loose():
            box = image(access, space)
            steps, step = [], self.code.sizes.bytes[access.node]
            for extent in reversed(extents(box)):
                steps.append(step)
                step *= extent
            found[access] = (box, tuple(reversed(steps)))
        return found

    def _turn_spaces(self) -> Iterator[Box]:
        turns = self._turns()
        for index in itertools.product(*(range(*self.space[k]) for k in turns)):
            place = dict(zip(turns, index, strict=True))
            yield tuple((place[k], place[k] + 1) if k in place else r for k, r in enumerate(self.space))

    @cached_property
    def packed_cycles(self) -> float:
        """Cycles of packing and sums, or infinity if packing does not help."""
        total = 0
        for space in self._turn_spaces():
            packs = self._packs(space)
            dimensions, _ = self._packed_dimensions(space, packs, 0)
            if not self._merges(dimensions):
                return float("inf")
            total += cycles(_joined(dimensions, self.node.rank), self._mode(), self.code.row_bytes)
            for access, (box, steps) in packs.items():
                total += cycles(self._pack_dimensions(access, box, steps), self._pack_mode(access),
                                self.code.row_bytes)
        return total

    def scratch_bytes(self) -> int:
        """Scratch space of the way that will be taken."""
        dimensions = self._dimensions(self.code.strides(self.node))
        if self._merges(dimensions):
            return 0
        if (windows := self._windows()) is not None:
            return windows[1].bytes
        if self.packed_cycles < self.nested_cycles:
            packs = self._packs(next(self._turn_spaces()))
            return sum(steps[0] * extents(box)[0] for box, steps in packs.values())
        shape, steps = self._row_sums()
        return steps[0] * shape[0] if shape else self.out

    # Windows, packed for all columns at once.

    def _windows(self) -> tuple[Access, WindowPack, list[Dimension]] | None:
        """If windows of the only loose operand can be packed, and that is fastest: the operand, how to pack it and
        the dimensions of the sum."""
        loose = self._loose()
        if len(loose) != 1:
            return None
        (access,) = loose
        box, size = image(access, self.space), self.code.sizes.bytes[access.node]
        found = window_pack(access, box, self.code.strides(access.node), size, self.space, self.node.rank,
                            self.code.row_bytes)
        if found is None or not found[1].fits:
            return None
        turn, pack = found
        rank = len(self.space)
        packed = [pack.steps(access.matrix, turn, k) for k in range(rank)]
        steps = [packed if value is access else self.code.steps(value, rank) if isinstance(value, Access) else
                 [0] * rank for value in (self.single.a, self.single.b)]
        targets = (*self.code.strides(self.node), *(0,) * len(self.node.extents))
        dimensions = [Dimension(n, *s) for n, *s in zip(extents(self.space), targets, *steps, strict=True)]
        if not self._merges(dimensions):
            return None
        total = pack.cycles() + cycles(_joined(dimensions, self.node.rank), self._mode(), self.code.row_bytes)
        return (access, pack, dimensions) if total <= min(self.packed_cycles, self.nested_cycles) else None

    def _pack_windows(self, access: Access, pack: WindowPack, dimensions: list[Dimension]) -> Iterator[Statement]:
        scratch = self.code.placement.scratch[self.node]
        source = self.code.address(access.node, [low for low, _ in pack.box])
        yield from pack.statements(self.code.settings, scratch, source)
        places, window = self._places(), scratch + pack.windows
        a, b = (window if value is access else place
                for value, place in ((self.single.a, places.a), (self.single.b, places.b)))
        yield from self._direct(dimensions, Operands(places.d, a, b))

    def _pack_mode(self, access: Access) -> Mode:
        size = _LOG[self.code.sizes.bytes[access.node]]
        return Mode(Opcode.VMOV, False, size, size)

    def _pack_dimensions(self, access: Access, box: Box, steps: tuple[int, ...]) -> list[Dimension]:
        strides = self.code.strides(access.node)
        return [Dimension(n, d, a, 0) for n, d, a in zip(extents(box), steps, strides, strict=True)]

    def _packed_dimensions(self, space: Box, packs: Mapping[Access, tuple[Box, tuple[int, ...]]],
                           scratch: int) -> tuple[list[Dimension], Operands]:
        """Dimensions and operands with packed operands in scratch space."""
        corner = [low for low, _ in space]
        steps: list[list[int]] = []
        firsts: list[int] = []
        place = scratch
        bases = {}
        for access, (box, strides) in packs.items():
            bases[access] = place
            place += strides[0] * extents(box)[0]
        for value in (self.single.a, self.single.b):
            if isinstance(value, Access) and value in packs:
                box, strides = packs[value]
                steps.append([sum(row[k] * s for row, s in zip(value.matrix, strides, strict=True))
                              for k in range(len(space))])
                index = [o + sum(c * x for c, x in zip(row, corner, strict=True))
                         for row, o in zip(value.matrix, value.offset, strict=True)]
                firsts.append(bases[value] + sum((i - low) * s for i, (low, _), s
                                                 in zip(index, box, strides, strict=True)))
            elif isinstance(value, Access):
                steps.append(self.code.steps(value, len(space)))
                firsts.append(self.code.first(value, corner))
            else:
                steps.append([0] * len(space))
                firsts.append(value or 0)
        d_steps = (*self.code.strides(self.node), *(0,) * len(self.node.extents))
        dimensions = [Dimension(n, *s) for n, *s in zip(extents(space), d_steps, *steps, strict=True)]
        d = self.code.address(self.node, corner[:self.node.rank])
        return dimensions, Operands(d, *firsts)

    def _packed(self) -> Iterator[Statement]:
        scratch = self.code.placement.scratch[self.node]
        for space in self._turn_spaces():
            packs = self._packs(space)
            place = scratch
            for access, (box, steps) in packs.items():
                source = self.code.address(access.node, [low for low, _ in box])
                yield from instructions(self.code.settings, self._pack_mode(access), Operands(place, source, 0),
                                        self._pack_dimensions(access, box, steps), self.code.row_bytes)
                place += steps[0] * extents(box)[0]
            dimensions, operands = self._packed_dimensions(space, packs, scratch)
            yield from self._direct(dimensions, operands)


def _joined(dimensions: list[Dimension], kept: int) -> list[Dimension]:
    """Reduced dimensions that follow each other as one."""
    tail = [d for d in dimensions[kept:] if d.extent > 1] or dimensions[-1:]
    length = 1
    for dimension in tail:
        length *= dimension.extent
    return [*dimensions[:kept], Dimension(length, 0, tail[-1].a, tail[-1].b)]


def scratch_bytes(code: TileCode, nodes: Sequence[Node]) -> dict[Node, int]:
    """Scratch space per reduction and scatter."""
    found = {}
    for node in nodes:
        if isinstance(node, Reduce) and node in code.regions:
            size = _ReducePlan(code, node, code.regions[node]).scratch_bytes()
            if size:
                found[node] = size
        elif isinstance(node, Scatter) and node in code.regions:
            size = ScatterCode(code, node).scratch_bytes()
            if size:
                found[node] = size
    return found

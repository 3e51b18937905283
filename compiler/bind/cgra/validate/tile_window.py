"""The proof for a few tiles instead of all of them, where every tile does the same.

Shifted by the period of a tile, every controller does the same again, at addresses that move alike for all who share a
memory; every statement runs in the same cycles of its tile and sees the values of the same instances of that tile, or
elements that move evenly; the DMA engine moves evenly, too. Then what an instance sees depends only on tiles that are
under way with its own: those up to `K` before and behind it, where all that belongs to one tile lies within `K + 1`
periods. Older writes precede the one of its own tile that it sees. So the first ``2 K + 1`` tiles stand for all: what
is behind the first `K` tiles and before the last `K` does as the one in the middle. All of this is checked here, on the
decoded configuration and the original program; where it does not hold, there is no window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod

import islpy as isl
import numpy as np

from compiler.analysis.points import count_points
from compiler.bind.cgra.validate.claims import Claims
from compiler.bind.cgra.validate.nests import Events, PrefixNest, with_turns
from compiler.ir.expr import Iterator as IteratorValue
from compiler.ir.expr import postorder
from compiler.ir.program import Array, Program, Statement
from compiler.sched.verify import final_origins, read_origins
from compiler.sched.verify.relations import first_point
from hw.dma.descriptor import DmaDescriptor
from hw.fabric.config import ArrayConfig
from hw.fabric.driver import RunPlan
from hw.fabric.spec import FabricSpec
from hw.memtile import AffineNest, DualPortConfig, MemTileSpec, PubConfig
from hw.pe.config import PeConfig

__all__ = ["TileWindow", "find_window"]

_WORTH = 1 << 16
"""Instances of a statement from which on a window is looked for: fewer are quickly gone through."""

_BYTES = 2

_ROLES = ("write", "store", "fetch", "read")
"""Controllers of ports of memories."""

_Memory = PubConfig | DualPortConfig


@dataclass(frozen=True)
class TileWindow:
    """The first tiles: their instances, controllers that end with them, and the plan of a run of them."""

    program: Program
    config: ArrayConfig
    plan: RunPlan


def find_window(program: Program, claims: Claims, config: ArrayConfig, plan: RunPlan,
                spec: FabricSpec) -> TileWindow | None:
    """The tiles that stand for all; None if they are not much fewer, or if tiles are not proven to be alike."""
    staged, period = claims.application.schedule.staged, plan.period
    tiles = _Tiles(staged.tile_depth, staged.tile_starts, staged.tile_counts)
    few = max(count_points(s.domain) for s in program.statements) <= _WORTH
    if not tiles.depth or few or tiles.count != plan.tiles or program.memories or not _keeps_no_count(config):
        return None
    if not all(_moves_alike(core, spec.mem_at(place[1]), period) for place, core in _memories(config)):
        return None
    if not _Evenly(program, tiles, claims, plan).holds():
        return None
    count = 2 * _reach(program, tiles, claims, config, period, spec) + 1
    if 2 * count > plan.tiles:
        return None
    dropped = (plan.tiles - count) * period
    shorter = replace(plan, tiles=count, run_cycles=plan.run_cycles - dropped)
    return TileWindow(tiles.first(program, count), _cut(config, spec, period, dropped), shorter)


@dataclass(frozen=True)
class _Tiles:
    """The loops over tiles, which are the outermost of all statements."""

    depth: int
    starts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.counts)

    @property
    def numbers(self) -> np.ndarray:
        """Of every tile, in order, its number in each loop: shape [tiles, loops]."""
        return np.stack(np.unravel_index(np.arange(self.count), self.counts), axis=1)

    def first(self, program: Program, count: int) -> Program:
        """The instances of the first `count` tiles."""
        return replace(program, statements=tuple(
            replace(s, domain=s.domain.intersect(self._first(s, count))) for s in program.statements))

    def _first(self, statement: Statement, count: int) -> isl.Set:
        steps = [prod(self.counts[k + 1:]) for k in range(self.depth)]
        number = " + ".join(f"{step}*({name} - ({start}))" for step, name, start in
                            zip(steps, statement.iterators, self.starts, strict=False))
        return isl.Set(f"{{ {statement.name}[{', '.join(statement.iterators)}] : {number} < {count} }}")

    def box(self, names: Sequence[str]) -> str:
        """That `names` are the numbers of a tile's iterators, as isl's text."""
        return " and ".join(f"{start} <= {name} < {start + count}" for name, start, count in
                            zip(names, self.starts, self.counts, strict=True))

    def at(self, relation: isl.Map, tile: Sequence[int]) -> isl.Map:
        """The part of a relation from instances that begins in one tile."""
        for k, value in enumerate(tile):
            relation = relation.fix_val(isl.dim_type.in_, k, isl.Val(value))
        return relation


# Memories.


@dataclass(frozen=True)
class _Controller:
    """A controller of a memory; `widths`: bits of its addresses. Loops that go on evenly are one in `merged`, whose
    `steps` outermost iterations are a tile."""

    nest: AffineNest
    widths: tuple[int, ...]
    period: int

    @cached_property
    def _with_turns(self) -> tuple[AffineNest, dict[int, int]]:
        return with_turns(self.nest, self.widths)

    @property
    def merged(self) -> AffineNest:
        return self._with_turns[0]

    @property
    def steps(self) -> int:
        """0 if a tile is no number of iterations."""
        stride = self.merged.time[-1]
        return self.period // stride if stride and self.merged.ranges[-1] > 1 and self.period % stride == 0 else 0

    @property
    def last_of_tile(self) -> int:
        """The cycle of its last event in the first tile."""
        inside = (*self.merged.ranges[:-1], self.steps)
        return self.nest.time_offset + sum((n - 1) * s for n, s in zip(inside, self.merged.time, strict=True))

    def shift(self, number: int, size: int, scale: int = 1) -> _Shift:
        """By how much address generator `number`, in units of `scale` words, moves from tile to tile in a memory of
        `size` words."""
        merged, turns = self._with_turns
        function, modulus = merged.addresses[number], scale << self.widths[number]
        if number in turns and len(merged.ranges) == 1:
            moved = self.steps % turns[number]
            return _Shift(moved * function.strides[0] * scale, turns[number], function.offset) if moved else _STAYS
        size = size if modulus % size == 0 else modulus
        moved = self.steps * function.strides[-1] * scale % size
        return _Shift(moved, size) if moved else _STAYS

    def cut(self, cycles: int) -> AffineNest:
        """The same nest, ending so many cycles earlier."""
        merged, nest = self.merged, self.nest
        kept = prod(merged.ranges[:-1]) * (merged.ranges[-1] - cycles // merged.time[-1])
        ranges = list(nest.ranges)
        for level in reversed(range(len(ranges))):
            ranges[level] = min(ranges[level], -(-kept // prod(ranges[:level])))
            if ranges[level] > 1:
                break
        if kept == prod(ranges):
            return replace(nest, ranges=tuple(ranges))
        return PrefixNest(tuple(ranges), nest.time, nest.time_offset, nest.addresses, kept)


@dataclass(frozen=True)
class _Shift:
    """How places move from tile to tile: by `words` modulo `size`, in a ring that starts at `start`."""

    words: int
    size: int
    start: int = 0


_STAYS = _Shift(0, 0)


def _memories(config: ArrayConfig) -> Iterator[tuple[tuple[int, int], _Memory]]:
    return ((place, tile.core) for place, tile in config.tiles.items()
            if isinstance(tile.core, PubConfig | DualPortConfig))


def _controllers(core: _Memory, spec: MemTileSpec, period: int) -> dict[str, _Controller]:
    """The controllers of a memory by name, such as ``write0``."""
    found = {}
    for ports in (core.inputs, core.outputs):
        for k, port in enumerate(ports):
            for role in _ROLES:
                if port is not None and hasattr(port, role):
                    widths = spec.controllers[f"{role}{k}"].address_widths
                    found[f"{role}{k}"] = _Controller(getattr(port, role), widths, period)
    return found


def _keeps_no_count(config: ArrayConfig) -> bool:
    """Whether nothing but controllers of memories knows which cycle it is."""
    return all(tile.core is None or isinstance(tile.core, PubConfig | DualPortConfig)
               or (isinstance(tile.core, PeConfig) and tile.core.op != "counter") for tile in config.tiles.values())


@dataclass(frozen=True)
class _Region:
    """What an address generator may touch: places from `low` to `high`."""

    low: int
    high: int
    shift: _Shift

    def disturbs(self, other: _Region) -> bool:
        """Whether both touch some place and move in different ways."""
        return self.low <= other.high and other.low <= self.high and self.shift != other.shift


def _moves_alike(core: _Memory, spec: MemTileSpec, period: int) -> bool:
    """Whether a memory begins anew with every tile, and all that read and write a place move on alike; what nothing
    writes stays."""
    controllers = _controllers(core, spec, period)
    if not all(controller.steps for controller in controllers.values()):
        return False
    regions = list(_regions(core, spec, controllers))
    if any(a.disturbs(b) for a, b in combinations(regions, 2)):
        return False
    fixed = core.chain_id is not None or not any(core.inputs)
    if fixed and any(region.shift != _STAYS for region in regions):
        return False
    return not isinstance(core, PubConfig) or _moves_inside(controllers, spec)


def _regions(core: _Memory, spec: MemTileSpec, controllers: Mapping[str, _Controller]) -> Iterator[_Region]:
    """Places of the SRAM by address generator."""
    roles = (("store", 1), ("fetch", 0)) if isinstance(core, PubConfig) else (("write", 0), ("read", 0))
    for (role, number), ports in zip(roles, (core.inputs, core.outputs), strict=True):
        for k, port in enumerate(ports):
            if port is None:
                continue
            controller = controllers[f"{role}{k}"]
            reach = Events(role, controller.nest, controller.widths, rings=True).unwrapped(number)
            inside = reach.low >= 0 and reach.high <= port.mask
            low, high = (reach.low, reach.high) if inside else (0, port.mask)
            yield _Region(port.base + low, port.base + high, controller.shift(number, port.mask + 1))


def _moves_inside(controllers: Mapping[str, _Controller], spec: MemTileSpec) -> bool:
    """The same within aggregators and transpose buffers, whose other side counts in blocks."""
    for words, blocks, number, size in (("write", "store", 0, spec.agg_words), ("read", "fetch", 1, spec.tb_words)):
        for k in range(len(controllers)):
            if f"{words}{k}" in controllers:
                fine = controllers[f"{words}{k}"].shift(0, size)
                if fine != controllers[f"{blocks}{k}"].shift(number, size, spec.fetch_width):
                    return False
    return True


def _cut(config: ArrayConfig, spec: FabricSpec, period: int, cycles: int) -> ArrayConfig:
    """The same with controllers that end so many cycles earlier."""
    tiles = dict(config.tiles)
    for place, core in _memories(config):
        cut = {name: controller.cut(cycles)
               for name, controller in _controllers(core, spec.mem_at(place[1]), period).items()}
        inputs, outputs = (tuple(port and replace(port, **{role: cut[f"{role}{k}"] for role in _ROLES
                                                           if hasattr(port, role)})
                                 for k, port in enumerate(ports)) for ports in (core.inputs, core.outputs))
        tiles[place] = replace(tiles[place], core=replace(core, inputs=inputs, outputs=outputs))
    return replace(config, tiles=tiles)


def _reach(program: Program, tiles: _Tiles, claims: Claims, config: ArrayConfig, period: int, spec: FabricSpec) -> int:
    """How many tiles before or behind a tile are under way with it, at most."""
    spans = [(bank.nest.time_offset, bank.nest.last_time) for bank in config.banks.values()]
    for statement in tiles.first(program, 1).statements:
        if statement.name in claims.application.results:
            cycles = claims.visible(statement).range()
            spans.append((cycles.dim_min_val(0).to_python(), cycles.dim_max_val(0).to_python()))
    for place, core in _memories(config):
        spans += [(controller.nest.time_offset, controller.last_of_tile)
                  for controller in _controllers(core, spec.mem_at(place[1]), period).values()]
    return (max(last for _, last in spans) - min(first for first, _ in spans)) // period


# The program.


@dataclass(frozen=True)
class _Evenly:
    """Whether every tile of `program` does the same as the first, with elements of arrays that move evenly."""

    program: Program
    tiles: _Tiles
    claims: Claims
    plan: RunPlan

    def holds(self) -> bool:
        """Whether all of that is so."""
        moves: dict[str, np.ndarray] = {}
        return (all(self._same_instances(s) for s in self.program.statements)
                and all(self._even(relation, source, computed, moves)
                        for relation, source, computed in self._relations())
                and all(self._transferred(array, moves) for array in (*self.program.inputs, *self.program.outputs)))

    def _relations(self) -> Iterator[tuple[isl.Map, str, bool]]:
        """From instances to what they see, and to the elements of outputs that they write."""
        for statement in self.program.statements:
            for k in range(len(statement.reads)):
                for source, relation in read_origins(self.program, statement, k).items():
                    yield relation, source.name, source.computed
        for array in self.program.outputs:
            for relation in final_origins(self.program, array.name).values():
                yield relation.reverse(), array.name, False

    def _same_instances(self, statement: Statement) -> bool:
        names, depth = statement.iterators, self.tiles.depth
        if any(isinstance(node, IteratorValue) and node.name in names[:depth] for node in postorder(statement.value)):
            return False
        return self._extended(isl.Map.identity(statement.domain.get_space().map_from_set()).intersect_domain(
            statement.domain), np.zeros((0, depth), dtype=np.int64), computed=True)

    def _even(self, relation: isl.Map, source: str, computed: bool, moves: dict[str, np.ndarray]) -> bool:
        """Whether the relation of the first tile, moved, is that of every tile."""
        if computed:
            return self._extended(relation, np.zeros((0, self.tiles.depth), dtype=np.int64), computed=True)
        move = self._move(relation)
        if move is None or not np.array_equal(moves.setdefault(source, move), move):
            return False
        return self._extended(relation, move, computed=False)

    def _move(self, relation: isl.Map) -> np.ndarray | None:
        """Elements by which a relation to an array moves from tile to tile: shape [dimensions, tile loops]."""
        columns = []
        start = self._element(relation, self.tiles.starts)
        for k, count in enumerate(self.tiles.counts):
            there = [value + (number == k and count > 1) for number, value in enumerate(self.tiles.starts)]
            element = self._element(relation, there)
            if start is None or element is None:
                return None
            columns.append(element - start)
        return np.stack(columns, axis=1)

    def _element(self, relation: isl.Map, tile: Sequence[int]) -> np.ndarray | None:
        part = self.tiles.at(relation, tile)
        if part.is_empty():
            return None
        first = part.intersect_domain(part.domain().lexmin())
        return np.array(first_point(first.range().lexmin()), dtype=np.int64)

    def _extended(self, relation: isl.Map, move: np.ndarray, computed: bool) -> bool:
        """Whether `relation` is its part of the first tile in every tile, to instances of that or to elements moved."""
        depth = self.tiles.depth
        source, target = (relation.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out))
        xs = [f"x{k}" for k in range(relation.dim(isl.dim_type.in_) - depth)]
        ys = [f"y{k}" for k in range(relation.dim(isl.dim_type.out) - (depth if computed else 0))]
        ts, starts = [f"t{k}" for k in range(depth)], [str(start) for start in self.tiles.starts]
        if computed:
            before, after = [*starts, *ys], [*ts, *ys]
        else:
            before = ys
            after = [" + ".join([y, *(f"{step}*({t} - ({start}))" for step, t, start in
                                      zip(row, ts, starts, strict=True) if step)])
                     for y, row in zip(ys, move.tolist(), strict=True)]
        old = f"[{source}[{', '.join([*starts, *xs])}] -> {target}[{', '.join(before)}]]"
        new = f"[{source}[{', '.join([*ts, *xs])}] -> {target}[{', '.join(after)}]]"
        moved = isl.Map(f"{{ {old} -> {new} : {self.tiles.box(ts)} }}")
        first = self.tiles.at(relation, self.tiles.starts)
        return first.wrap().apply(moved).unwrap().is_equal(relation)

    def _transferred(self, array: Array, moves: dict[str, np.ndarray]) -> bool:
        """Whether the DMA engine moves an array as the program does."""
        streams = self.claims.application.streams_in | self.claims.application.streams_out
        if array.name not in streams or array.name not in moves:
            return array.name not in streams
        words = np.array([prod(array.shape[k + 1:]) for k in range(len(array.shape))], dtype=np.int64)
        wanted = _BYTES * (self.tiles.numbers @ (words @ moves[array.name]))
        descriptor = self.plan.banks.get(self.claims.bank(array.name))
        return descriptor is not None and np.array_equal(_bytes(descriptor, self.tiles.count), wanted)


def _bytes(descriptor: DmaDescriptor, count: int) -> np.ndarray:
    """Of every tile the bytes from the first one's start to its own."""
    inner, outer = descriptor.tiles
    tile = np.arange(count, dtype=np.int64)
    return tile % inner.count * inner.stride + tile // inner.count % outer.count * outer.stride

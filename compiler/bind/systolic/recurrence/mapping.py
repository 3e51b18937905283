"""From a recurrence and its space loops to the array: one kind of cell for each behaviour, wires, chains.

A cell runs the instances at its place in the order of the other loops, which is legal because every value is made at a
lexicographically earlier point. Links with a step along a space loop are wires to a neighbour, others queues in the
cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl
import numpy as np

from compiler.bind.dataflow.expressions import Pipeline, pipeline, word
from compiler.bind.dataflow.iteration_counters import TickClock, tick_clock
from compiler.bind.dataflow.quasi_affine import piecewise, predicate
from compiler.bind.systolic.recurrence.links import Distance, Link
from compiler.bind.systolic.recurrence.recurrence import Group, Recurrence, Result
from compiler.bind.systolic.recurrence.settings import Settings
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.space_time.errors import SpaceTimeError
from hw.dataflow.spec import Predicate, StreamSpec, Word
from hw.systolic.recurrence.spec import (
    CellSpec,
    ChainSpec,
    NodeSpec,
    OperandSpec,
    Place,
    PlacedCell,
    QueueSpec,
    RecurrenceSpec,
    SourceSpec,
    Wire,
)

__all__ = ["ArrayMapping", "Stream", "check_space", "map_recurrence", "space_choices"]

_UNSIZED = 1 << 20
"""Depth of queues before it is known."""


@dataclass(frozen=True)
class Stream:
    """A stream of words from or to memory: `elements` of `array`, as row-major numbers, in order. `statement`: whose
    results they are, None for inputs; `words`: {point at which a word is made or comes in -> element}."""

    name: str
    array: str
    statement: str | None
    elements: np.ndarray
    words: isl.Map


@dataclass(frozen=True)
class ArrayMapping:
    """The array of `recurrence` with space loops `space`; streams in the order of the array's."""

    recurrence: Recurrence
    space: tuple[str, ...]
    spec: RecurrenceSpec
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]
    behaviours: tuple[frozenset[str], ...] = field(default=())

    def __hash__(self) -> int:
        return hash(self.spec)


def space_choices(recurrence: Recurrence) -> list[tuple[str, ...]]:
    """All legal choices of one or two space loops."""
    loops = recurrence.loops
    pool = [name for k, name in enumerate(loops) if all(abs(d[k]) <= 1 for _, d in _distances(recurrence))]
    return [(name,) for name in pool] + [(a, b) for k, a in enumerate(pool) for b in pool[k + 1:]]


def _distances(recurrence: Recurrence) -> list[tuple[Group, Distance]]:
    return [(group, link.distance) for group in recurrence.groups for link in group.links]


def check_space(recurrence: Recurrence, space: Sequence[str]) -> tuple[str, ...]:
    """`space` in the order of the loops. Raises `SpaceTimeError` for loops that cannot be space loops, saying why."""
    for name in space:
        if name not in recurrence.loops:
            raise SpaceTimeError(f"there is no loop '{name}'; loops: {', '.join(recurrence.loops)}")
        for group, distance in _distances(recurrence):
            step = distance[recurrence.loops.index(name)]
            if abs(step) > 1:
                statement = recurrence.program.statement(next(iter(group.uses))[0])
                legal = "; ".join(", ".join(choice) for choice in space_choices(recurrence)) or "none"
                raise SpaceTimeError(f"{statement}: loop '{name}' cannot be a space loop: a value of '{group.array}' "
                                     f"would travel {abs(step)} cells in one step; legal: {legal}")
    if not 1 <= len(space) <= 2:
        raise SpaceTimeError(f"an array has one or two space loops, not {len(space)}")
    return tuple(name for name in recurrence.loops if name in space)


def map_recurrence(recurrence: Recurrence, space: Sequence[str], settings: Settings,
                   depths: Mapping[tuple[int, str], int] | None = None) -> ArrayMapping:
    """The array. `depths`: words of each queue, by number of the cell's kind and name; those left out are unbounded,
    which no hardware is built from."""
    return _Mapper(recurrence, check_space(recurrence, space), settings, depths or {}).result()


@dataclass(frozen=True)
class _Item:
    """Something that a cell may do, at the points `at` (in the order: space loops, then the others)."""

    name: str
    at: isl.Set
    places: frozenset[Place]

    def __hash__(self) -> int:
        return hash(self.name)


class _Mapper:
    def __init__(self, recurrence: Recurrence, space: tuple[str, ...], settings: Settings,
                 depths: Mapping[tuple[int, str], int]) -> None:
        self.recurrence = recurrence
        self.space = space
        self.settings = settings
        self.depths = depths
        loops = recurrence.loops
        self.axes = [loops.index(name) for name in space]
        self.axes += [k for k in range(len(loops)) if k not in self.axes]
        self.items: dict[str, _Item] = {}
        tables = [table.name for table in recurrence.program.tables]
        self.pipelines = {s.name: pipeline(s, settings.latencies(s), tables) for s in recurrence.program.statements}

    def result(self) -> ArrayMapping:
        self._collect()
        behaviours: dict[frozenset[str], list[Place]] = {}
        for place in sorted(set().union(*(item.places for item in self.items.values()))):
            names = frozenset(name for name, item in self.items.items() if place in item.places)
            behaviours.setdefault(names, []).append(place)
        kinds = tuple(_KindBuilder(self, number, names, places).build()
                      for number, (names, places) in enumerate(behaviours.items()))
        cells = tuple(sorted((PlacedCell(kind, place) for kind, places in enumerate(behaviours.values())
                              for place in places), key=lambda c: c.place))
        spec, inputs, outputs = self._array(kinds, cells)
        return ArrayMapping(self.recurrence, self.space, spec, inputs, outputs, tuple(behaviours))

    # What happens where.

    def permuted(self, points: isl.Set, axes: Sequence[int] | None = None) -> isl.Set:
        """Points of the loops with their dimensions in the order of `axes` (default: space loops first)."""
        names = [f"x{k}" for k in range(len(self.axes))]
        order = ", ".join(names[k] for k in axes or self.axes)
        return points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{order}] }}")).coalesce()

    def _collect(self) -> None:
        for statement in self.recurrence.order:
            self._add(f"node {statement}", self.recurrence.points(statement))
        for number, group in enumerate(self.recurrence.groups):
            self._add(f"operand {number}", group.sources.domain())
            for use, points in group.uses.items():
                self._add(f"use {number} {use[0]} {use[1]}", points)
            for index, link in enumerate(group.links):
                self._add(f"pop {number} {index}", link.users)
                self._add(f"push {number} {index}", link.givers)
            if group.maker is None:
                self._add(f"entry {number}", group.entries)
        for number, result in enumerate(self.recurrence.results):
            self._add(f"result {number}", result.elements.domain())

    def _add(self, name: str, points: isl.Set) -> None:
        at = self.permuted(points)
        if at.is_empty():
            return
        self.items[name] = _Item(name, at, frozenset(self.places_of(at)))

    def places_of(self, at: isl.Set) -> list[Place]:
        """The places that a permuted set touches."""
        count = at.dim(isl.dim_type.set)
        ends = at.project_out(isl.dim_type.set, len(self.space), count - len(self.space)).coalesce()
        _, columns = enumerate_points(ends)
        return [tuple(int(v) for v in row) for row in zip(*columns, strict=True)]

    def step(self, link: Link) -> Place:
        """How far the link goes along the space loops."""
        return tuple(link.distance[k] for k in self.axes[: len(self.space)])

    def word(self, array: str) -> Word:
        """The words of an array."""
        return word(self.recurrence.program.array(array).type, f"array '{array}'")

    # The whole.

    def _array(self, kinds: tuple[CellSpec, ...], cells: tuple[PlacedCell, ...]
               ) -> tuple[RecurrenceSpec, tuple[Stream, ...], tuple[Stream, ...]]:
        numbers = {cell.place: k for k, cell in enumerate(cells)}
        wires = []
        for g, group in enumerate(self.recurrence.groups):
            for index, link in enumerate(group.links):
                step, name = self.step(link), _link_name(g, index)
                if not any(step):
                    continue
                for place in sorted(self.items[f"pop {g} {index}"].places):
                    source = numbers[tuple(p - s for p, s in zip(place, step, strict=True))]
                    sink = numbers[place]
                    wires.append(Wire(source, kinds[cells[source].kind].queue(name), sink,
                                      kinds[cells[sink].kind].port(name)))
        loads, inputs = self._loads(kinds, cells, numbers)
        drains, outputs = self._drains(kinds, cells, numbers)
        spec = RecurrenceSpec(
            name=self.recurrence.program.name, kinds=kinds, cells=cells, wires=tuple(wires),
            inputs=tuple(StreamSpec(s.name, self.word(s.array), len(s.elements)) for s in inputs),
            outputs=tuple(StreamSpec(s.name, self.word(s.array), len(s.elements)) for s in outputs),
            loads=loads, drains=drains, divider_bits=self.settings.divider_bits,
        )
        return spec, inputs, outputs

    def _loads(self, kinds: Sequence[CellSpec], cells: Sequence[PlacedCell], numbers: Mapping[Place, int]
               ) -> tuple[tuple[ChainSpec, ...], tuple[Stream, ...]]:
        chains, streams = [], []
        for g, group in enumerate(self.recurrence.groups):
            if group.maker is None:
                leaves = [(k, kinds[cells[k].kind].port(f"entry{g}"))
                          for k in (numbers[place] for place in sorted(self.items[f"entry {g}"].places))]
                chains.append(self._chain(len(streams), group.entries, leaves, cells, rows=False))
                streams.append(self._stream(f"{group.array}_{g}", group.array, None, group.entries, group.sources))
        return tuple(chains), tuple(streams)

    def _drains(self, kinds: Sequence[CellSpec], cells: Sequence[PlacedCell], numbers: Mapping[Place, int]
                ) -> tuple[tuple[ChainSpec, ...], tuple[Stream, ...]]:
        chains, streams = [], []
        for r, result in enumerate(self.recurrence.results):
            points = result.elements.domain()
            leaves = [(k, kinds[cells[k].kind].queue(f"result{r}"))
                      for k in (numbers[place] for place in sorted(self.items[f"result {r}"].places))]
            chains.append(self._chain(r, points, leaves, cells, rows=True))
            streams.append(self._stream(f"{result.array}_{result.statement}", result.array, result.statement, points,
                                        result.elements))
        return tuple(chains), tuple(streams)

    def _stream(self, name: str, array: str, statement: str | None, points: isl.Set, elements: isl.Map) -> Stream:
        count, columns = enumerate_points(points)
        flat = np.zeros(count, np.int64)
        subscripts = evaluate_map(elements, points, columns, count)
        for size, index in zip(self.recurrence.program.array(array).shape, subscripts, strict=True):
            flat = flat * size + index
        return Stream(name, array, statement, flat, elements.intersect_domain(points).coalesce())

    def _chain(self, stream: int, points: isl.Set, leaves: Sequence[tuple[int, int]], cells: Sequence[PlacedCell],
               *, rows: bool) -> ChainSpec:
        clock = tick_clock([isl.Map.from_range(points)])
        at = predicate(points, clock.box)
        position = tuple(self.axes[: len(self.space)])
        major = self._major([cells[k].place for k, _ in leaves])
        plain = ChainSpec(stream, clock.counters, at, position, major, tuple(leaves), leaf_words=_UNSIZED)
        crowded = self._crowded([cells[k].place for k, _ in leaves], major)
        if not rows or not crowded:
            return plain
        axes = [position[major], *(k for k in range(len(self.axes)) if k != position[major])]
        turned = self.permuted(points, axes)
        row_clock = tick_clock([isl.Map.from_range(turned)])
        return ChainSpec(stream, clock.counters, at, position, major, tuple(leaves), row_clock.counters,
                         predicate(turned, row_clock.box), axes.index(position[1 - major]))

    @staticmethod
    def _crowded(places: Sequence[Place], major: int) -> bool:
        """Whether several rows have several cells."""
        rows = [place[major] for place in places]
        return len(set(rows)) > 1 and len(set(rows)) < len(rows)

    @staticmethod
    def _major(places: Sequence[Place]) -> int:
        """The loop along which words leave the edge: the one that makes the longest way short."""
        if len(places[0]) == 1:
            return 0
        rows = [len({place[axis] for place in places}) for axis in (0, 1)]
        return 1 if rows[1] < rows[0] else 0


def _link_name(group: int, index: int) -> str:
    return f"g{group}l{index}"


class _KindBuilder:
    """One kind of cell: for the places at which exactly the things called `names` happen."""

    def __init__(self, mapper: _Mapper, number: int, names: frozenset[str], places: Sequence[Place]) -> None:
        self.mapper = mapper
        self.number = number
        self.names = names
        self.items = {name: mapper.items[name] for name in mapper.items if name in names}
        self.places = places
        self.clock = self._clock()
        self.nodes = [s for s in mapper.recurrence.order if f"node {s}" in names]
        self.groups = [g for g in range(len(mapper.recurrence.groups)) if f"operand {g}" in names]
        self.ports: list[tuple[str, Word]] = []
        self.inner: list[str] = []
        self.delays: dict[str, int] = {}
        self.offsets: dict[int, int] = {}

    def _clock(self) -> TickClock:
        """Counters for all steps of the kind's places."""
        here = self._where()
        total, *others = (item.at for name, item in self.items.items() if name.startswith("node "))
        for other in others:
            total = total.union(other)
        return tick_clock([isl.Map.from_range(total.intersect(here).coalesce())])

    def _where(self) -> isl.Set:
        """The places as a set with all time dimensions, or a superset that is as simple."""
        count = len(self.mapper.axes)
        space = len(self.mapper.space)
        if len(self.places) == 1:
            where = isl.Set.universe(next(iter(self.items.values())).at.get_space())
            for k, value in enumerate(self.places[0]):
                where = where.fix_val(isl.dim_type.set, k, isl.Val(value))
            return where
        flat = None
        for item in self.items.values():
            ends = item.at.project_out(isl.dim_type.set, space, count - space).coalesce()
            flat = ends if flat is None else flat.intersect(ends)
        assert flat is not None
        for item in self.mapper.items.values():
            if item.name not in self.names and flat.count_val().to_python() > len(self.places):
                ends = item.at.project_out(isl.dim_type.set, space, count - space).coalesce()
                flat = flat.subtract(ends).coalesce()
        return flat.insert_dims(isl.dim_type.set, space, count - space)

    def _predicate(self, name: str, given: str | None = None) -> Predicate:
        """When `name` happens, for steps of this kind, or for those of them in which `given` happens."""
        context = self.clock.box if given is None else self.clock.box.intersect(self.items[given].at)
        return predicate(self.items[name].at, context)

    def build(self) -> CellSpec:
        """The cell. Operands, then the statements that use them, in their order."""
        mapper = self.mapper
        self._find_ports()
        self._find_queues()
        for statement in self.nodes:
            line = mapper.pipelines[statement]
            wanted = {g for g in self.groups for s, _ in mapper.recurrence.groups[g].uses if s == statement}
            for g in sorted(wanted - set(self.offsets)):
                self.offsets[g] = self._offset(mapper.recurrence.groups[g], g)
            self.delays[statement] = max((self.offsets[g] for g in wanted), default=0)
            assert line.operators
        operands = tuple(self._operand(g) for g in self.groups)
        nodes = tuple(self._node(s) for s in self.nodes)
        return CellSpec(
            name=str(self.number), space=len(mapper.space), counters=self.clock.counters, ports=tuple(self.ports),
            operands=operands, nodes=nodes, queues=tuple(self._queues()),
            tables=tuple(table.values for table in mapper.recurrence.program.tables),
        )

    def _links(self, action: str) -> list[tuple[int, int, Link]]:
        """Links of which this kind is an end: "pop" or "push"."""
        found = []
        for g, group in enumerate(self.mapper.recurrence.groups):
            found += [(g, i, link) for i, link in enumerate(group.links) if f"{action} {g} {i}" in self.names]
        return found

    def _find_ports(self) -> None:
        for g, group in enumerate(self.mapper.recurrence.groups):
            if f"entry {g}" in self.names:
                self.ports.append((f"entry{g}", self.mapper.word(group.array)))
        for g, i, link in self._links("pop"):
            if any(self.mapper.step(link)):
                self.ports.append((_link_name(g, i), self.mapper.word(self.mapper.recurrence.groups[g].array)))

    def _find_queues(self) -> None:
        self.inner = [_link_name(g, i) for g, i, link in self._links("push") if any(link.distance)]
        self.inner += [f"result{r}" for r in range(len(self.mapper.recurrence.results)) if f"result {r}" in self.names]

    def _ready(self, statement: str) -> int:
        """Cycles from the step to the statement's result."""
        return self.delays[statement] + self.mapper.pipelines[statement].latency

    def _offset(self, group: Group, number: int) -> int:
        ready = [0]
        for index, link in enumerate(group.links):
            if not any(link.distance) and f"pop {number} {index}" in self.names:
                if link.via is not None:
                    ready.append(self.offsets[link.via])
                elif group.maker is not None:
                    ready.append(self._ready(group.maker))
        return max(ready)

    def _operand(self, number: int) -> OperandSpec:
        group = self.mapper.recurrence.groups[number]
        sources = []
        whole = f"operand {number}"
        if f"entry {number}" in self.names:
            sources.append(SourceSpec("port", self._port(f"entry{number}"), self._predicate(f"entry {number}", whole)))
        for index, link in enumerate(group.links):
            if f"pop {number} {index}" in self.names:
                select = self._predicate(f"pop {number} {index}", whole)
                sources.append(self._source(group, _link_name(number, index), link, select))
        return OperandSpec(self.mapper.word(group.array), self.offsets[number], self._predicate(whole), tuple(sources))

    def _port(self, name: str) -> int:
        return next(k for k, (known, _) in enumerate(self.ports) if known == name)

    def _source(self, group: Group, name: str, link: Link, select: Predicate) -> SourceSpec:
        if not any(link.distance) and link.via is not None:
            return SourceSpec("operand", self.groups.index(link.via), select)
        if not any(link.distance):
            assert group.maker is not None
            return SourceSpec("node", self.nodes.index(group.maker), select)
        if any(self.mapper.step(link)):
            return SourceSpec("port", self._port(name), select)
        return SourceSpec("queue", self.inner.index(name), select)

    def _node(self, name: str) -> NodeSpec:
        mapper = self.mapper
        statement = mapper.recurrence.program.statement(name)
        line: Pipeline = mapper.pipelines[name]
        reads = tuple(self._read(name, number) for number in range(len(statement.reads)))
        indices = tuple(piecewise(self._iterator(name, iterator), self.clock.box) for iterator in line.indices)
        return NodeSpec(name, self._predicate(f"node {name}"), self.delays[name], reads, line.operators, indices,
                        mapper.settings.interval(statement), statement.source)

    def _read(self, statement: str, number: int) -> tuple[tuple[int, Predicate], ...]:
        found = []
        for place, g in enumerate(self.groups):
            use = f"use {g} {statement} {number}"
            if use in self.names:
                found.append((place, self._predicate(use, f"node {statement}")))
        return tuple(found)

    def _iterator(self, statement: str, name: str) -> isl.Map:
        """{step -> value of the iterator}."""
        mapper = self.mapper
        program = mapper.recurrence.program
        place = mapper.recurrence.places[statement]
        names = [f"x{k}" for k in range(len(mapper.axes))]
        order = ", ".join(names[k] for k in mapper.axes)
        back = place.apply_range(isl.Map(f"{{ [{', '.join(names)}] -> [{order}] }}")).reverse()
        back = back.intersect_domain(self.clock.box)
        position = program.statement(statement).iterators.index(name)
        count = len(program.statement(statement).iterators)
        back = back.project_out(isl.dim_type.out, position + 1, count - position - 1)
        return back.project_out(isl.dim_type.out, 0, position).reset_tuple_id(isl.dim_type.out)

    def _queues(self) -> list[QueueSpec]:
        found = []
        for g, i, link in self._links("push"):
            if any(link.distance):
                group = self.mapper.recurrence.groups[g]
                maker = None if link.passes else group.maker
                carrier = g if link.via is None else link.via
                found.append(self._queue(_link_name(g, i), f"push {g} {i}", group.array, maker, carrier,
                                         any(self.mapper.step(link))))
        for r, result in enumerate(self.mapper.recurrence.results):
            if f"result {r}" in self.names:
                found.append(self._result(r, result))
        return found

    def _result(self, number: int, result: Result) -> QueueSpec:
        return self._queue(f"result{number}", f"result {number}", result.array, result.statement, 0, True)

    def _queue(self, name: str, when: str, array: str, maker: str | None, group: int, outside: bool) -> QueueSpec:
        depth = self.mapper.depths.get((self.number, name), _UNSIZED)
        if maker is None:
            kind, number, delay = "operand", self.groups.index(group), self.offsets[group]
        else:
            kind, number, delay = "node", self.nodes.index(maker), self._ready(maker)
        return QueueSpec(name, kind, number, self.mapper.word(array), depth, delay, self._predicate(when), outside)

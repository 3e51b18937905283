"""Translation validation: what every processing element does in every step, from the description of the hardware and
the contents of memory alone, against what the program's statement instances need.

Memory is filled with the numbers of elements instead of their values. Following the description (feeder, address,
tile), every operand of every step must be the element that the program's access names for the instance of that step,
every instance must have its step, results must lie where the program writes them, accumulators must not collide, and
steps beyond a reduction's bound must change nothing. Nothing here knows how words were numbered or directions chosen.

A tile repeats with constant strides, so two tiles per loop, the last of them as full as the program's last one, stand
for all. Up to `_EXHAUSTIVE` steps are followed one by one; of larger tiles a random sample is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import islpy as isl
import numpy as np

from compiler.bind.systolic.layout import result_places, to_tiles
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.validate_numbers import Meaning, validate_numbers
from compiler.ir.expr import fold
from compiler.ir.points import contains, evaluate_map
from compiler.ir.program import Program, Statement
from compiler.ir.ranges import type_range, value_range
from compiler.sched.space_time import hull
from compiler.sched.verify import ValidationError, final_origins, read_origins
from hw.systolic.spec import EAST, INTERIOR, OperandSpec

__all__ = ["validate_plan"]

_EXHAUSTIVE = 300_000
_SAMPLE = 60_000
_POINTS = 4096


def validate_plan(plan: Plan) -> None:
    """Raise `ValidationError`, with a witness, unless the array of `plan` computes what its program says."""
    check = _Check(_small(plan))
    check.schedule()
    for number in range(len(plan.spec.operands)):
        check.operand(number)
    for number in range(len(plan.kernel.extras)):
        check.extra(number)
    check.padding()
    check.results()
    validate_numbers(plan, Meaning(
        check.program, check.update, tuple(check.read_of(number) for number in range(len(plan.kernel.reads))),
        tuple(statement for statement, _ in check.starts), tuple(statement for statement, _ in check.stores),
        check.extras))


def _small(plan: Plan) -> Plan:
    """The plan for sizes of at most two tiles per loop; the plan itself if its iterations are no box."""
    if plan.kernel.iterations is not None:
        return plan
    extents = tuple(extent if extent <= 2 * split.tile else split.tile + 1 + (extent - 1) % split.tile
                    for extent, split in zip(plan.kernel.extents, plan.splits, strict=True))
    return replace(plan, kernel=replace(plan.kernel, extents=extents))


@dataclass(frozen=True)
class _Steps:
    """Lanes of steps of processing elements: per tile loop, row, column, per time loop, lane; columns of numbers."""

    tiles: tuple[np.ndarray, ...]
    row: np.ndarray
    column: np.ndarray
    times: tuple[np.ndarray, ...]
    lane: np.ndarray

    def only(self, chosen: np.ndarray) -> _Steps:
        """Those where `chosen` holds."""
        return _Steps(tuple(t[chosen] for t in self.tiles), self.row[chosen], self.column[chosen],
                      tuple(t[chosen] for t in self.times), self.lane[chosen])


class _Check:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.spec, self.kernel = plan, plan.spec, plan.kernel
        self.program: Program = plan.kernel.analysis.program
        self.update: Statement = self.program.statement(plan.kernel.update)
        self.lows = [low for low, _ in hull(self.update).values()]
        extents = (*plan.tiles, self.spec.rows, self.spec.columns, *(t.extent for t in self.spec.time_loops),
                   self.spec.lanes)
        self.exhaustive = prod(extents) <= _EXHAUSTIVE
        if self.exhaustive:
            columns = list(np.indices(extents).reshape(len(extents), -1))
        else:
            random = np.random.default_rng(0)
            columns = [random.integers(0, extent, _SAMPLE) for extent in extents]
        count = len(plan.tiles)
        self.steps = _Steps(tuple(columns[:count]), columns[count], columns[count + 1], tuple(columns[count + 2 : -1]),
                            columns[-1])
        self.loops = self.loop_values(self.steps)
        free = [k for k, name in enumerate(self.kernel.loops) if name not in self.kernel.reduction_loops]
        inside = [value < extent for value, extent in zip(self.loops, self.kernel.extents, strict=True)]
        self.extras: dict[tuple[str, int], int] = {}
        """By statement and number of a read: which extra it is."""
        self.boxed = self.inside = np.logical_and.reduce(inside)
        self.needed = np.logical_and.reduce([inside[k] for k in free] or [np.ones(len(self.steps.row), bool)])
        if self.kernel.iterations is not None:
            points = [value + low for value, low in zip(self.loops, self.lows, strict=True)]
            self.inside = self.boxed & contains(self.kernel.iterations, points, len(self.boxed))
            results = self.update.domain
            for k in reversed([k for k in range(len(self.loops)) if k not in free]):
                results = results.project_out(isl.dim_type.set, k, 1)
            self.needed &= contains(results, [points[k] for k in free], len(self.boxed))

    def fail(self, problem: str, at: np.ndarray) -> None:
        """Name the first step where `at` holds."""
        first = int(np.flatnonzero(at)[0])
        instance = ", ".join(f"{name}={value[first] + low}" for name, value, low in
                             zip(self.kernel.loops, self.loops, self.lows, strict=True))
        place = f"row {self.steps.row[first]}, column {self.steps.column[first]}"
        raise ValidationError(f"array {self.spec.name}: {problem} at {instance} ({place})")

    def loop_values(self, steps: _Steps) -> list[np.ndarray]:
        """Iterations, from 0, that steps are, by the splitting of loops."""
        found = []
        for split in self.plan.splits:
            tile = next(t for t, loop in zip(steps.tiles, self.spec.tile_loops, strict=True) if loop.name == split.loop)
            time = next(t for t, loop in zip(steps.times, self.spec.time_loops, strict=True) if loop.name == split.loop)
            position = 0 if split.axis is None else (steps.row, steps.column)[split.axis]
            lane = steps.lane if split.lanes > 1 else 0
            found.append(((tile * split.count + position) * split.time + time) * split.lanes + lane)
        return found

    def schedule(self) -> None:
        """Every instance has one step."""
        counts = (prod(split.count for split in self.plan.splits if split.axis == 0),
                  prod(split.count for split in self.plan.splits if split.axis == 1),
                  prod(split.lanes for split in self.plan.splits))
        if counts != (self.spec.rows, self.spec.columns, self.spec.lanes):
            raise ValidationError(f"array {self.spec.name}: loops use {counts} rows, columns and lanes, it has others")
        for split, extent in zip(self.plan.splits, self.kernel.extents, strict=True):
            loop = next(loop for loop in self.spec.time_loops if loop.name == split.loop)
            if loop.extent != split.time or split.tile * split.tiles(extent) < extent:
                raise ValidationError(f"array {self.spec.name}: loop {split.loop} does not get all of its iterations")
        if self.exhaustive:
            keys = np.ravel_multi_index([v[self.boxed] for v in self.loops], self.kernel.extents)
            if len(keys) != prod(self.kernel.extents) or len(np.unique(keys)) != len(keys):
                raise ValidationError(f"array {self.spec.name}: some iteration has no step, or two")

    # Operands.

    def operand(self, number: int) -> None:
        """Words are the elements that the program reads."""
        operand = self.spec.operands[number]
        if operand.initial:
            self.initial(number)
            return
        array = self.program.array(self.kernel.reads[number].array or "")
        found = self.words(number, array.shape)
        iterators = [value[self.inside] + low for value, low in zip(self.loops, self.lows, strict=True)]
        count = len(iterators[0])
        index = evaluate_map(self.update.reads[self.read_of(number)].map, self.update.domain, iterators, count)
        expected = np.ravel_multi_index([np.broadcast_to(i, count) for i in index], array.shape) + 1
        differs = found[self.inside] != expected
        if differs.any():
            where = np.zeros(len(self.inside), bool)
            where[np.flatnonzero(self.inside)[differs]] = True
            self.fail(f"operand {operand.name} is not the element that the program reads", where)

    def words(self, number: int, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers of elements, from 1, that steps get; 0 where a word is a zero."""
        numbers = np.arange(1, prod(shape) + 1).reshape(shape)
        return self.fetched(number, to_tiles(self.plan, number, numbers), self.steps)

    def fetched(self, number: int, tiles: np.ndarray, steps: _Steps) -> np.ndarray:
        """What the hardware brings to steps out of memory contents [tiles, feeders, words, elements]."""
        operand = self.spec.operands[number]
        tile = np.zeros(len(steps.row), np.int64)
        for k in operand.tile_loops:
            tile = tile * self.plan.tiles[k] + steps.tiles[k]
        address = operand.address.constant + sum(
            c * t for c, t in zip(operand.address.coefficients, steps.times, strict=True))
        address = np.broadcast_to(address, steps.row.shape)
        if (address < 0).any() or (address >= operand.words).any():
            raise ValidationError(f"array {self.spec.name}: operand {operand.name} is read outside its feeder")
        lane = steps.lane if operand.vector else 0
        return tiles[tile, self.feeder(operand, steps), address, lane]

    def feeder(self, operand: OperandSpec, steps: _Steps) -> np.ndarray:
        """Whose words reach the steps."""
        if operand.copied:
            return np.zeros_like(steps.row)
        if operand.direction == INTERIOR:
            return steps.column * self.spec.rows + steps.row
        return steps.row if operand.direction == EAST else steps.column

    def initial(self, number: int) -> None:
        """What accumulators start from is what the program's first update of them sees."""
        firsts = np.logical_and.reduce([value == 0 for value, name in
                                        zip(self.loops, self.kernel.loops, strict=True)
                                        if name in self.kernel.reduction_loops] or [np.ones(len(self.inside), bool)])
        chosen = firsts & self.boxed & self.needed
        iterators = [value[chosen] + low for value, low in zip(self.loops, self.lows, strict=True)]
        reference = self.plan.sources[number].reference
        steps = self.steps.only(chosen)
        if reference.array is None:
            found = self.fetched(number, to_tiles(self.plan, number, None), steps)
            expected: np.ndarray = np.full(len(found), reference.constant)
        else:
            shape = self.program.array(reference.array).shape
            numbers = np.arange(1, prod(shape) + 1).reshape(shape)
            found = self.fetched(number, to_tiles(self.plan, number, numbers), steps)
            origins = self.initial_elements(reference.array)
            index = evaluate_map(origins, origins.domain(), iterators, len(found))
            expected = np.ravel_multi_index([np.broadcast_to(i, len(found)) for i in index], shape) + 1
        if (found != expected).any():
            where = np.zeros(len(self.inside), bool)
            where[np.flatnonzero(chosen)[found != expected]] = True
            self.fail("an accumulator does not start from what the program says", where)

    def initial_elements(self, array: str) -> isl.Map:
        """{first update -> element of `array`} by value."""
        read = self.kernel.analysis.reductions[self.update.name].read
        for source, relation in read_origins(self.program, self.update, read).items():
            if source.name != self.update.name:
                start = self.program.statement(source.name)
                if start.reads:
                    return relation.apply_range(start.reads[0].map)
        for source, relation in final_origins(self.program, self.kernel.output).items():
            for access in self.program.statement(source.name).reads:
                if access.array == array and source.name != self.update.name:
                    return self.destinations.apply_range(relation).apply_range(access.map)
        raise ValidationError(f"array {self.spec.name}: no first update of {array} sees an initial value")

    # Extras.

    def extra(self, number: int) -> None:
        """The element that goes with a result is the one that the program reads for it."""
        spec, stream = self.spec, len(self.spec.operands) + number
        array = self.program.array(self.kernel.extras[number].array or "")
        numbers = np.arange(1, prod(array.shape) + 1).reshape(array.shape)
        tiles = to_tiles(self.plan, stream, numbers)
        steps = self.steps.only(self.needed & self.boxed)
        tile, exits, words, lane = self.result_at(steps)
        beat, place = np.divmod(words, spec.result.pack)
        found = tiles[tile, 0, (beat * spec.exits + exits) * spec.result.pack + place, lane]
        wanted = {(statement.name, k): self._elements(relation.apply_range(access.map), steps, array.shape)
                  for statement, relation in (*self.late_starts, *self.stores)
                  for k, access in enumerate(statement.reads) if access.array == array.name}
        same = [key for key, elements in wanted.items() if (found == elements + 1).all()]
        self.extras |= dict.fromkeys(same, number)
        if not same:
            raise ValidationError(f"array {spec.name}: no elements of '{array.name}' that the program reads for its "
                                  "results come with them")

    def _elements(self, relation: isl.Map, steps: _Steps, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers of the elements, in an array of `shape`, that `relation` gives for updates at `steps`."""
        iterators = [value + low for value, low in zip(self.loop_values(steps), self.lows, strict=True)]
        index = evaluate_map(relation, relation.domain(), iterators, len(steps.row))
        return np.ravel_multi_index([np.broadcast_to(i, len(steps.row)) for i in index], shape)

    @cached_property
    def stores(self) -> list[tuple[Statement, isl.Map]]:
        """Statements that store functions of results, with {any update of a result -> instance}."""
        found = []
        for source, relation in final_origins(self.program, self.kernel.output).items():
            copy = self.program.statement(source.name)
            if copy.name != self.update.name and any(a.array == self.update.write.array for a in copy.reads):
                found.append((copy, self.destinations.apply_range(relation)))
        return found

    @property
    def late_starts(self) -> list[tuple[Statement, isl.Map]]:
        """Those of `starts` whose elements come with results: none if accumulators start from an element."""
        return [] if self.kernel.initial is not None and self.kernel.initial.array is not None else self.starts

    @cached_property
    def starts(self) -> list[tuple[Statement, isl.Map]]:
        """Statements that updates start from, with {any update of a result -> instance}."""
        reduction = self.kernel.analysis.reductions.get(self.update.name)
        origins = {} if reduction is None else read_origins(self.program, self.update, reduction.read)
        write = self.update.write.map.intersect_domain(self.update.domain)
        same = write.apply_range(write.reverse())
        return [(self.program.statement(source.name), same.apply_range(relation))
                for source, relation in origins.items() if source.name != self.update.name]

    # Padding.

    def padding(self) -> None:
        """Steps of results that count, beyond the bound of a reduction, change nothing."""
        beyond = self.needed & ~self.inside & self.active()
        if not beyond.any():
            return
        zeros = [self.words(n, self.program.array(r.array or "").shape) == 0
                 for n, r in enumerate(self.kernel.reads)]
        patterns = np.array([z[beyond] for z in zeros]).T.reshape(int(beyond.sum()), len(zeros))
        for pattern in np.unique(patterns, axis=0):
            reads = [(0, 0) if zero else type_range(reference.type)
                     for zero, reference in zip(pattern, self.kernel.reads, strict=True)]
            found = fold(self.kernel.body, lambda node, parts, r=reads: value_range(node, parts, r, {}, {}))
            if found != (self.kernel.neutral, self.kernel.neutral):
                at = beyond.copy()
                at[beyond] = (patterns == pattern).all(axis=1)
                self.fail("padding changes a result", at)

    def active(self) -> np.ndarray:
        """Steps that no guard holds back."""
        found = np.ones(len(self.steps.row), bool)
        for guard in self.spec.guards:
            name = self.spec.tile_loops[guard.tile_loop].name
            index = sum(c * t for c, t in zip(guard.coefficients, self.steps.times, strict=True))
            index = index + guard.rows * self.steps.row + guard.columns * self.steps.column
            index = index + guard.lanes * self.steps.lane + guard.tile * self.steps.tiles[guard.tile_loop]
            found &= index < self.kernel.extent(name)
        return found

    # Results.

    def results(self) -> None:
        """Every element that the update writes last comes out of its accumulator, once; accumulators do not collide."""
        array = self.program.array(self.kernel.output)
        where, inside = result_places(self.plan, array.shape)
        chosen = self.needed & self.boxed
        steps = self.steps.only(chosen)
        at = self.result_at(steps)
        expected = self._elements(self.destinations, steps, array.shape)
        wrong = ~inside[at] | (where[at] != expected)
        if wrong.any():
            mask = np.zeros(len(chosen), bool)
            mask[np.flatnonzero(chosen)[wrong]] = True
            self.fail(f"a result is not stored where the program writes '{array.name}'", mask)
        if len(np.unique(where[inside])) != int(inside.sum()):
            raise ValidationError(f"array {self.spec.name}: two results are stored in one element of '{array.name}'")
        if self.exhaustive and len(np.unique(expected)) != int(inside.sum()):
            raise ValidationError(f"array {self.spec.name}: it stores results that the program does not compute")

    def result_at(self, steps: _Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Tile, exit, word and lane at which the results of steps come out."""
        exits, words = self.places(steps)
        tile = np.zeros(len(steps.row), np.int64)
        for k in self.spec.result_loops:
            tile = tile * self.plan.tiles[k] + steps.tiles[k]
        return tile, exits, words, steps.lane if self.spec.result.vector else np.zeros_like(steps.lane)

    def places(self, steps: _Steps) -> tuple[np.ndarray, np.ndarray]:
        """Exit and word at which accumulators come out: completed in the order of the time loops."""
        result = self.spec.result
        free = [k for k, loop in enumerate(self.spec.time_loops) if not loop.reduction]
        order = {}
        for number, values in enumerate(product(*(range(self.spec.time_loops[k].extent) for k in free))):
            times = [0] * len(self.spec.time_loops)
            for k, value in zip(free, values, strict=True):
                times[k] = value
            order[result.address.at(times)] = number
        if sorted(order) != list(range(result.words)):
            raise ValidationError(f"array {self.spec.name}: accumulators collide or are left out")
        rank = np.array([order[k] for k in range(result.words)])
        address = result.address.constant + sum(
            c * t for c, t in zip(result.address.coefficients, steps.times, strict=True))
        word = rank[np.broadcast_to(address, steps.row.shape)]
        exits = np.zeros_like(steps.row) if result.space == "both" else steps.row
        if result.space != "none":
            return exits, word
        turn, place = np.divmod(word, result.row_pack)
        return exits, (turn * self.spec.columns + steps.column) * result.row_pack + place

    @cached_property
    def destinations(self) -> isl.Map:
        """{update -> element of the output that its accumulator ends in}, by value."""
        for source, relation in final_origins(self.program, self.kernel.output).items():
            if source.name == self.update.name:
                return self._same_result(relation)
        for source, relation in final_origins(self.program, self.kernel.output).items():
            copy = self.program.statement(source.name)
            for number in range(len(copy.reads)):
                for origin, seen in read_origins(self.program, copy, number).items():
                    if origin.name == self.update.name:
                        return self._same_result(relation.apply_range(seen))
        raise ValidationError(f"array {self.spec.name}: no result reaches '{self.kernel.output}'")

    def _same_result(self, last: isl.Map) -> isl.Map:
        """{element -> last update} as {any update of the same accumulator -> element}."""
        write = self.update.write.map.intersect_domain(self.update.domain)
        same = write.apply_range(write.reverse())
        return same.apply_range(last.reverse())

    def read_of(self, number: int) -> int:
        """The read of the statement that is reference `number`; checks of elements and of numbers rely on it."""
        reference = self.kernel.reads[number]
        chosen = np.flatnonzero(self.inside)
        chosen = chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), _POINTS)).astype(np.int64)]
        points = [value[chosen] for value in self.loops]
        iterators = [point + low for point, low in zip(points, self.lows, strict=True)]
        wanted = [s.constant + sum(c * p for c, p in zip(s.coefficients, points, strict=True))
                  for s in reference.subscripts]
        own = self.kernel.analysis.reductions.get(self.update.name)
        for k, access in enumerate(self.update.reads):
            if access.array == reference.array and not (own and own.read == k):
                index = evaluate_map(access.map, self.update.domain, iterators, len(points[0]))
                if all((np.asarray(i) == w).all() for i, w in zip(index, wanted, strict=True)):
                    return k
        raise ValidationError(f"array {self.spec.name}: operand {number} is no read of the program")

"""Translation validation of a finished pipeline, on every compile and from outside.

The input is what the hardware is built from: cells and the streams' walks through memory. They are proven to compute
the program for every instance of every statement, one by one, without sampling. Nothing is shared with scheduling,
retiming or the planning of buffers; only the meaning of the original program (`compiler.sched.verify`) and of the cells
(`hw.pipeline.spec`) is used. Claims of the compiler say which cell carries a statement's values, and when; by induction
on time every claim is reduced to claims about earlier cycles and, in the end, to words that streams bring.

1. From the cell of a statement's value the operators are followed back, adding up cycles, to *leaves*: cells of other
   statements, inputs, buffers, counters. Delay lines are exact delays. At every instance each leaf must carry the value
   that one of the statement's reads means in the original program. A buffer is run in numbers: every read finds the
   last write to its address; a read in the cycle of a write to its address is an error. A counter must have the
   iterator's value.
2. The operators compute the statement's expression: compared on corner and random operands. This is the only part that
   is checked by examples. Tables are compared entry by entry. Loads and stores give numbers that depend on their
   place, operands and all that they come after, so that each is there, behind what it has to wait for; a store is
   enabled for the instances of its statement and in no other cycle.
3. Every element that the program writes to an output is given away by the statement that writes it last, in the order
   in which the stream's walk stores it; nothing else is. Words of inputs come from the element that the walk fetches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import islpy as isl
import numpy as np

from compiler.analysis.instance_budget import count_instances, require_few
from compiler.analysis.points import all_points, values_at
from compiler.bind.fpga.arithmetic import check_arithmetic
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.errors import FpgaError
from compiler.bind.fpga.fanin import Leaf, accesses, leaves
from compiler.bind.fpga.formats import check_formats, check_loaded, keeps_iterator
from compiler.bind.fpga.instance_trace import MOST_EVENTS
from compiler.bind.fpga.nest_checks import NestChecks
from compiler.bind.word_formats import number_of
from compiler.ir.expr import Const
from compiler.ir.program import Program, Statement
from compiler.sched.verify import Origins, Source, ValidationError, bounded_effort, final_origins, read_origins
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    ConstantCell,
    CounterCell,
    InputCell,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    StoreCell,
    Tap,
    Walk,
)
from hw.pipeline.streams import ArrayStream
from hw.pipeline.system import SystemSpec

__all__ = ["validate"]

_Meaning = dict[Source | int, isl.Map | isl.Set]
"""Origins, but of constants by their value where they are meant."""

_NO_NEST = "what it sees is proven of no loop nest"

_SPAN = 1 << 32
"""More than any statement has instances, or an array elements."""


def validate(program: Program, built: BuiltPipeline, system: SystemSpec) -> None:
    """Prove that the pipeline of `system` computes `program`. Raises `ValidationError` with a witness."""
    _Proof(program, built, system).run()


class Tokens:
    """Numbers for values, -1 for none: those of a statement's instances, of an input array's elements, and constants
    have numbers in a row. A statement and an array of one name are two sources."""

    def __init__(self) -> None:
        self._first: dict[Source | int, int] = {}

    def of(self, source: Source, index: np.ndarray) -> np.ndarray:
        """The values number `index` of `source`, -1 where that is -1."""
        first = self._first.setdefault(source, len(self._first) * _SPAN)
        return np.where(index < 0, -1, index + first)

    def constant(self, value: int, like: np.ndarray) -> np.ndarray:
        """The constant `value`, as many times as there are values in `like`."""
        first = self._first.setdefault(value, len(self._first) * _SPAN)
        return np.full(len(like), first, np.int64)

    def source(self, number: int) -> str:
        """Whose value a number is."""
        if number < 0:
            return "nothing"
        source = list(self._first)[number // _SPAN]
        return f"constant {source}" if isinstance(source, int) else source.name

    def text(self, number: int) -> str:
        """A value for messages."""
        return f"value {number % _SPAN} of {self.source(number)}" if number >= 0 else "no value"


@dataclass
class _Proof:
    program: Program
    built: BuiltPipeline
    system: SystemSpec
    tokens: Tokens = field(default_factory=Tokens)
    _points: dict[str, np.ndarray] = field(default_factory=dict)

    def run(self) -> None:
        """All parts, for every statement that outputs need."""
        self.spec = self.system.pipeline
        stored = self._only_stored()
        self.carries = {claim.cell: name for name, claim in self.built.results.items() if name not in stored}
        if len(self.carries) != len(self.built.results) - len(stored):
            raise ValidationError("two statements are said to have their values in one cell")
        tables = tuple(table.values for table in self.program.tables)
        if self.spec.tables != tables:
            raise ValidationError("the tables of the pipeline are not those of the program")
        self._check_memories()
        self.streams: dict[str, ArrayStream] = {}
        self.nests = NestChecks(self.program, self.built, self.spec, self.carries, self.streams)
        self._check_inputs()
        self._check_outputs_named()
        check_formats(self.program, self.spec)
        for statement in self.program.statements:
            if statement.name in self.built.results:
                self._check_statement(statement)
        self._check_outputs()

    def _only_stored(self) -> set[str]:
        """Statements that only copy what another one has computed to an output: not the program's, nor loads."""
        own = {statement.name for statement in self.program.statements}
        outputs = {footprint.statement for footprint in self.built.schedule.staged.outputs}
        return outputs - own

    # Cycles and numbers of instances.

    def _cycles(self, name: str) -> np.ndarray:
        """Cycle in which each instance's value is in the statement's cell."""
        return self.built.events.times(name) + self.built.results[name].shift

    def _instances(self, statement: Statement) -> np.ndarray:
        """Iterators of all instances, in order: shape [instances, iterators]."""
        if statement.name not in self._points:
            require_few(statement.domain, str(statement), _NO_NEST, FpgaError)
            self._points[statement.name] = all_points(statement.domain)
        return self._points[statement.name]

    def _element(self, array: str, points: np.ndarray) -> np.ndarray:
        """Row-major numbers of an array's elements."""
        return _row_major(points, np.zeros(points.shape[1], np.int64), self.program.array(array).shape)

    def _number(self, source: Source, points: np.ndarray) -> np.ndarray:
        """Numbers of instances of a statement, by their iterators, or of an input array's elements."""
        if not source.computed:
            return self._element(source.name, points)
        statement = self.program.statement(source.name)
        box = statement.box()
        if box is None:
            raise ValidationError(f"{statement}: its domain is no box")
        low = np.array([first for first, _ in box.values()], np.int64)
        return _row_major(points, low, tuple(last - first + 1 for first, last in box.values()))

    # What cells carry.

    def _carried(self, tap: Tap, cycles: np.ndarray) -> np.ndarray:
        """What a tap carries in the given cycles."""
        cell, cycles = self.spec.cells[tap.cell], cycles - tap.cycles
        if tap.cell in self.carries:
            name = self.carries[tap.cell]
            index = self.built.events.clock(name).places(cycles - self.built.results[name].shift)
            return self._fetched(name, index) if isinstance(cell, InputCell) else self.tokens.of(_computed(name), index)
        match cell:
            case LineCell():
                return self._carried(cell.source, cycles - cell.cycles)
            case BufferCell():
                return self._stored(tap.cell, cell, cycles)
            case MergeCell():
                return self._merged(cell, cycles)
            case ConstantCell():
                return self.tokens.constant(cell.value, cycles)
            case OperatorCell(op="cast", operands=(source,), words=(word,)) if word == cell.word:
                return self._carried(source, cycles - cell.latency)
        raise ValidationError(f"cell {tap.cell} carries no statement's values, but a read sees it")

    def _fetched(self, name: str, index: np.ndarray) -> np.ndarray:
        """Elements instead of instances of a statement that only loads."""
        stream = self.streams[name]
        elements = _elements(stream, self.program.array(stream.name).shape)
        return self.tokens.of(Source(stream.name, computed=False), np.where(index < 0, -1, elements[index]))

    def _stored(self, number: int, cell: BufferCell, cycles: np.ndarray) -> np.ndarray:
        """What a buffer gives: the last write to the address of the last read."""
        reads, read_at = _listed(cell.read)
        writes, write_at = _listed(cell.write)
        event = _place(reads, writes)
        both = (event >= 0) & (read_at[event] == write_at)
        if both.any():
            cycle = writes[np.argmax(both)]
            raise ValidationError(f"buffer in cell {number} reads and writes one address in cycle {cycle}")
        last = np.searchsorted(reads, cycles - BUFFER_LATENCY, side="right") - 1
        cycle = np.where(last < 0, -1, reads[np.maximum(last, 0)])
        address = np.where(last < 0, 0, read_at[np.maximum(last, 0)])
        order = np.argsort(write_at, kind="stable")  # those at one address stay in their order
        span = int(max(writes[-1], reads[-1])) + 2
        keys = write_at[order] * span + writes[order]
        place = np.searchsorted(keys, address * span + cycle) - 1
        found = (place >= 0) & (write_at[order][np.maximum(place, 0)] == address) & (last >= 0)
        return np.where(found, self._carried(cell.source, writes[order][np.maximum(place, 0)]), -1)

    def _merged(self, cell: MergeCell, cycles: np.ndarray) -> np.ndarray:
        """What a merge gives: in the cycles of its events that of the source that is selected."""
        times, addresses = _listed(cell.select)
        event = _place(times, cycles)
        result = np.full(len(cycles), -1)
        for number, source in enumerate(cell.sources):
            mine = (event >= 0) & ((addresses[event] >= cell.cut) == bool(number))
            result[mine] = self._carried(source, cycles[mine])
        return result

    # Statements.

    def _check_statement(self, statement: Statement) -> None:
        claim = self.built.results[statement.name]
        found = leaves(self.spec, claim.cell, self.carries)
        origins = [self._origins(statement, k) for k in range(len(statement.reads))] if found else []
        meanings = [self._meaning(origin) for origin in origins]
        operands: dict[Leaf, int | str] = {}
        for leaf in found:
            if isinstance(self.spec.cells[leaf.cell], ConstantCell):
                self._check_settled(statement, leaf)
            elif isinstance(self.spec.cells[leaf.cell], CounterCell):
                operands[leaf] = self.nests.iterator(statement, leaf) or self._iterator(statement, leaf)
            else:
                proven = [k for k, origin in enumerate(origins) if self.nests.read(statement, leaf, k, origin)]
                operands[leaf] = _most(proven, meanings) if proven else self._read(statement, leaf, origins)
        for access in accesses(self.spec, claim.cell, self.carries):
            self._check_access(statement, access)
        same = [_fullest(meanings, k) for k in range(len(origins))]
        check_arithmetic(self.program, statement, self.spec, claim.cell, operands, same)

    def _check_memories(self) -> None:
        """The memories are those of the program."""
        meant = [(memory.type, memory.words, memory.initial) for memory in self.program.memories]
        if [(number_of(memory.word), memory.words, memory.initial) for memory in self.spec.memories] != meant:
            raise ValidationError("the memories of the pipeline are not those of the program")

    def _check_access(self, statement: Statement, access: Leaf) -> None:
        """A store takes place when its operands are there, for every instance and at no other time; an access that may
        be outside of its memory is looked at then."""
        cell = self.spec.cells[access.cell]
        assert isinstance(cell, LoadCell | StoreCell)
        memory = self.program.memories[cell.memory]
        watched = cell.trap if isinstance(cell, StoreCell) else cell.walk is not None
        if memory.trap and not watched:
            raise ValidationError(f"{statement}: cell {access.cell} may be outside of '{memory.label}' unseen")
        if cell.walk is None:
            return
        cycles = self.nests.clock(statement.name).plus(-access.cycles)
        if not (self.nests.happens(cell.walk, cycles) or np.array_equal(_listed(cell.walk)[0], cycles.values())):
            raise ValidationError(f"{statement}: the access of cell {access.cell} to '{memory.label}' is not when its "
                                  "operands are there")

    def _check_settled(self, statement: Statement, leaf: Leaf) -> None:
        """What is computed from a constant is asked for after the registers behind that have taken it."""
        first = self.nests.clock(statement.name).base
        if first < leaf.cycles:
            raise ValidationError(f"{statement}: its first value is wanted in cycle {first}, but what is computed from "
                                  f"constant {leaf.cell} takes {leaf.cycles} cycles")

    def _origins(self, statement: Statement, read: int) -> Origins:
        """What a read means."""
        with bounded_effort():
            return read_origins(self._concerned(statement, read), statement, read)

    def _meaning(self, origins: Origins) -> _Meaning:
        """Origins with the instances of equal constants together."""
        found: _Meaning = {}
        for source, relation in origins.items():
            value = self.program.statement(source.name).value if source.computed else None
            if isinstance(value, Const):
                known, where = found.get(value.value), relation.domain()
                found[value.value] = where.union(known) if isinstance(known, isl.Set) else where
            else:
                found[source] = relation
        return found

    def _origin(self, statement: Statement, relations: Origins) -> np.ndarray:
        """What a read means: for every instance the value it sees."""
        points = self._instances(statement)
        result = np.full(len(points), -1)
        for source, relation in relations.items():
            defined, values = values_at(relation, points)
            result[defined] = self._produced(source, values[defined])
        return result

    def _produced(self, source: Source, points: np.ndarray) -> np.ndarray:
        """Values of an array's elements or of a statement's instances, those of a constant all the same."""
        value = self.program.statement(source.name).value if source.computed else None
        if isinstance(value, Const):
            return self.tokens.constant(value.value, points)
        return self.tokens.of(source, self._number(source, points))

    def _concerned(self, statement: Statement, read: int) -> Program:
        """The program with only those statements that the meaning of a read depends on: the reader and the writers of
        what it reads, in their order."""
        array = statement.reads[read].array
        kept = [s for s in self.program.statements if s is statement or s.write.array == array]
        order = isl.UnionMap.empty(self.program.order.get_space().params())
        for s in kept:
            order = order.union(isl.UnionMap.from_map(self.program.order_of(s.name)))
        return replace(self.program, statements=tuple(kept), order=order)

    def _read(self, statement: Statement, leaf: Leaf, relations: Sequence[Origins]) -> int:
        """Which read a leaf is, by all instances."""
        cycles = self._cycles(statement.name) - leaf.cycles
        origins = [self._origin(statement, relation) for relation in relations]
        seen = self._carried(Tap(leaf.cell), cycles)
        right = [k for k, origin in enumerate(origins) if _agree(origin, seen)]
        if right:
            return max(right, key=lambda k: np.count_nonzero(origins[k] >= 0))
        sources = self._sources(seen)
        best = min(origins, key=lambda o: (not sources & self._sources(o), int(_wrong(o, seen).sum())), default=None)
        if best is None or (sources and not sources & self._sources(best)):
            names = ", ".join(sorted(sources))
            raise ValidationError(f"{statement}: it takes values of {names}, which it does not read")
        wrong = int(np.flatnonzero(_wrong(best, seen))[0])
        point = tuple(int(i) for i in self._instances(statement)[wrong])
        raise ValidationError(f"{statement} at {point}: {self.tokens.text(int(seen[wrong]))} arrives in cycle "
                              f"{cycles[wrong]}, it means {self.tokens.text(int(best[wrong]))}")

    def _sources(self, values: np.ndarray) -> set[str]:
        """Whose values these are."""
        return {self.tokens.source(int(number)) for number in np.unique(values)} - {"nothing"}

    def _iterator(self, statement: Statement, leaf: Leaf) -> str:
        """Which iterator a counter counts."""
        cell = self.spec.cells[leaf.cell]
        assert isinstance(cell, CounterCell)
        times, values = _listed(cell.walk)
        if np.array_equal(times, self._cycles(statement.name) - leaf.cycles):
            for place, name in enumerate(statement.iterators):
                meant = self._instances(statement)[:, place]
                if np.array_equal(values, meant % cell.walk.size) and keeps_iterator(cell, meant.min(), meant.max()):
                    return name
        raise ValidationError(f"{statement}: counter in cell {leaf.cell} counts none of its iterators")

    # Streams.

    def _check_inputs(self) -> None:
        """Words come in the cycles of the walks; which elements they are says the stream."""
        for stream, cell in zip(self.system.inputs, self.spec.inputs, strict=True):
            number = self.spec.cells.index(cell)
            name = self.carries.get(number)
            if name is None:
                raise ValidationError(f"input {cell.name} is no statement's")
            if not (self.nests.loads(name, cell) or np.array_equal(_listed(cell.walk)[0], self._cycles(name))):
                raise ValidationError(f"input {cell.name} is not taken when statement '{name}' has its values")
            check_loaded(self.program, stream.name, cell)
            self.streams[name] = stream

    def _check_outputs_named(self) -> None:
        named = {array.name for array in self.program.outputs}
        if {cell.name for cell in self.spec.outputs} != named or len(self.spec.outputs) != len(named):
            raise ValidationError("the output streams are not the program's outputs")

    def _check_outputs(self) -> None:
        for stream, cell in zip(self.system.outputs, self.spec.outputs, strict=True):
            with bounded_effort():
                self._check_output(stream, cell)

    def _check_output(self, stream: ArrayStream, cell: OutputCell) -> None:
        array = self.program.array(cell.name)
        if stream.name != array.name:
            raise ValidationError(f"output {cell.name} goes to array {stream.name}")
        origins = final_origins(self.program, array.name)
        if not self.nests.output(stream, cell, origins):
            self._check_elements(stream, cell, origins)

    def _check_elements(self, stream: ArrayStream, cell: OutputCell, origins: Origins) -> None:
        """The output, element by element."""
        array = self.program.array(cell.name)
        given = self._carried(cell.operand, _listed(cell.walk)[0])
        elements = _elements(stream, array.shape)
        if len(elements) != len(given):
            raise ValidationError(f"output {cell.name}: {len(given)} words for {len(elements)} elements")
        stored: dict[int, int] = dict(zip(elements.tolist(), given.tolist(), strict=True))
        count = 0
        for source, relation in origins.items():
            points = all_points(relation.domain())
            count += len(points)
            _, values = values_at(relation, points)
            meant = self.tokens.of(source, self._number(source, values))
            places = self._element(array.name, points)
            actual = np.array([stored.get(place, -1) for place in places.tolist()])
            if not np.array_equal(actual, meant):
                given_by = ", ".join(sorted(self._sources(given)))
                raise ValidationError(f"output {cell.name}: it gets values of {given_by}, "
                                      f"where the program writes those of {source.name}")
        if count != len(stored):
            raise ValidationError(f"output {cell.name}: {len(stored)} elements are stored, the program writes {count}")


def _computed(statement: str) -> Source:
    return Source(statement, computed=True)


def _wrong(origin: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Instances that see something else than they mean; some mean nothing, behind a closed guard."""
    return (origin >= 0) & (origin != seen)


def _agree(origin: np.ndarray, seen: np.ndarray) -> bool:
    return not _wrong(origin, seen).any()


def _fullest(origins: Sequence[_Meaning], read: int) -> int:
    """Of the reads that mean what this one does wherever it means anything, the first of those that mean most."""
    return _most([k for k, other in enumerate(origins) if _covers(other, origins[read])], origins)


def _covers(other: _Meaning, origin: _Meaning) -> bool:
    return all(source in other and _within(relation, other[source]) for source, relation in origin.items())


def _within(part: isl.Map | isl.Set, whole: isl.Map | isl.Set) -> bool:
    if isinstance(part, isl.Set):
        return isinstance(whole, isl.Set) and part.is_subset(whole)
    return isinstance(whole, isl.Map) and part.is_subset(whole)


def _most(reads: Sequence[int], origins: Sequence[_Meaning]) -> int:
    """The first of the reads that mean something in most instances."""
    if len(reads) == 1:
        return reads[0]
    return max(reads, key=lambda k: (sum(_size(part) for part in origins[k].values()), -k))


def _size(part: isl.Map | isl.Set) -> int:
    """Number of points: those of a box without counting."""
    points = part.domain() if isinstance(part, isl.Map) else part
    return count_instances(points)


def _place(sorted_cycles: np.ndarray, cycles: np.ndarray) -> np.ndarray:
    """Position of each cycle among `sorted_cycles`, -1 for those that are not there."""
    place = np.minimum(np.searchsorted(sorted_cycles, cycles), len(sorted_cycles) - 1)
    return np.where(sorted_cycles[place] == cycles, place, -1)


def _row_major(points: np.ndarray, low: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    number = np.zeros(len(points), np.int64)
    for k, size in enumerate(shape):
        number = number * size + (points[:, k] - low[k])
    return number


def _listed(walk: Walk) -> tuple[np.ndarray, np.ndarray]:
    """Cycles and addresses of all events. Raises `FpgaError` for too many."""
    if walk.count > MOST_EVENTS:
        raise FpgaError(f"a port has {walk.count} events, which would have to be listed ({_NO_NEST}); the fpga target "
                        f"lists up to {MOST_EVENTS}: compile a smaller image, a tile of it at a time")
    return walk.events()


def _elements(stream: ArrayStream, shape: tuple[int, ...]) -> np.ndarray:
    """Row-major numbers of the array elements that a stream walks; -1 for what is none."""
    first = np.array(stream.addresses, np.int64)
    bytes_ = (first[:, None] + np.arange(stream.row) * stream.element_bytes).ravel()
    numbers = bytes_ // stream.element_bytes
    inside = (bytes_ % stream.element_bytes == 0) & (numbers >= 0) & (numbers < int(np.prod(shape)))
    return np.where(inside, numbers, -1)

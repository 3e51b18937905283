"""Pieces of a program whose arrays stay in main memory: statements that are computed at once, and stored in place.

All arrays are in memory before and after a piece. Inside it statements see what those before have computed without a
way through memory, if each reads all from one of them or all from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.boxes import bounds
from compiler.bind.vector.access import Box
from compiler.bind.vector.accumulations import in_statement_order
from compiler.bind.vector.array_state import Contents, Written
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.code_generation import Planned, lowered, planned
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_values import check_lanes
from compiler.bind.vector.from_program import Translation, given_array
from compiler.bind.vector.graph import Leaf, Node, Part, Value
from compiler.bind.vector.ir import Loop, MemoryArray, Statement, Transfer
from compiler.bind.vector.iteration_spaces import Space
from compiler.bind.vector.layout import extents, regions
from compiler.bind.vector.moving_boxes import MaskTable, MovingMask
from compiler.bind.vector.options import Options
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.resident_arrays import ResidentArrays
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.spill import PhasePlanner
from compiler.bind.vector.tile_search import Choice
from compiler.bind.vector.translate import Graph, Result
from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.frontend.parallel_array.expression import Expression, Input, Place
from compiler.frontend.parallel_array.functions import broadcast_to
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.frontend.parallel_array.program import program as array_program
from compiler.ir.program import Access, Program
from compiler.ir.program import Array as ProgramArray
from compiler.ir.program import Statement as ProgramStatement
from hw.vector_lanes.spec import VectorSpec

__all__ = ["MemoryPool", "PieceCompiler", "declared_arrays", "memory_arrays"]

Spaces = Callable[[ProgramStatement], Space]
"""The index space that a statement runs over."""


def _element_box(elements: isl.Set) -> Box:
    """The least box around elements of an array: low and high index, the latter not included, per dimension."""
    return tuple((low, high + 1) for low, high in bounds(elements))


def _meets(a: Box, b: Box) -> bool:
    return all(low < other_high and other_low < high for (low, high), (other_low, other_high) in zip(a, b, strict=True))


def _clipped(box: Box, whole: Box) -> Box:
    return tuple((max(low, first), min(high, last)) for (low, high), (first, last) in zip(box, whole, strict=True))


def _within(inner: Box, outer: Box) -> bool:
    return all(first <= low and high <= last for (low, high), (first, last) in zip(inner, outer, strict=True))


def _keeps(statement: ProgramStatement, access: Access, space: Space) -> bool:
    """Whether elements around those of the iterations are stored again as an access finds them."""
    own = statement.write
    return space.mask is not None and access.array == own.array and access.map.is_equal(own.map)


def _reads_apart(statement: ProgramStatement) -> bool:
    """Whether a statement reads no element that it writes but the one of the same iteration. Elements around those of
    the iterations, which are stored as they were, do not count: each is loaded where it is stored."""
    write = statement.write.map
    written = write.intersect_domain(statement.domain).range()
    others = [read.map for read in statement.reads
              if read.array == statement.write.array and not read.map.is_equal(write)]
    return all(read.intersect_domain(statement.domain).range().is_disjoint(written) for read in others)


def _box_of(part: Written) -> Box:
    return tuple((along.start, along[-1] + 1) for along in map(part.along, range(part.value.ndim)))


class _InMemory(Contents):
    """An array in memory, and what statements of the piece have written to it."""

    def __init__(self, given: Array) -> None:
        super().__init__(given.shape, given.dtype, given)
        self.given = given
        self.parts: list[Written] = []
        self.boxes: dict[Box, Array] = {}

    def write(self, part: Written) -> None:
        """`part` replaces what was there."""
        box = _box_of(part)
        if any(step > 1 for step in part.place.steps):
            raise VectorTargetError("it writes elements that do not lie side by side")
        others = [other for other in self.parts if not _within(_box_of(other), box)]
        if any(_meets(_box_of(other), box) for other in others):
            raise VectorTargetError("it writes some of the elements that another statement has written")
        self.parts = [*others, part]

    def read(self) -> Array:
        """All of the array."""
        if self.parts:
            raise VectorTargetError("it reads all of an array that has just been written in part")
        return self.given

    def source(self, box: Box, around: Box) -> tuple[Array, tuple[int, ...]]:
        """What holds the elements of a box, and the index of its first element; of memory it is all of the box
        `around`."""
        met = [part for part in self.parts if _meets(_box_of(part), box)]
        if not met:
            return self._part(around), tuple(low for low, _ in around)
        (part, *others) = met
        if others or not _within(box, _box_of(part)):
            raise VectorTargetError("it reads both elements that have just been written and others")
        return part.value, part.place.first

    def _part(self, box: Box) -> Array:
        """A box of the array in memory. Each is an input of its own, so that boxes far from each other are loaded one
        by one."""
        if all(low == 0 and high == n for (low, high), n in zip(box, self.shape, strict=True)):
            return self.given
        if box not in self.boxes:
            whole = self.given.expression
            assert isinstance(whole, Input)
            self.boxes[box] = Array(replace(whole, shape=extents(box), name=f"{whole.name}__box{len(self.boxes)}"))
        return self.boxes[box]


class _PieceTranslation(Translation):
    """Statements in order as expressions of the arrays in memory."""

    def __init__(self, program: Program, spaces: Spaces) -> None:
        super().__init__(program)
        self._spaces = spaces
        self._memory: dict[str, _InMemory] = {}

    def piece(self, statements: Sequence[ProgramStatement]) -> dict[str, list[Written]]:
        """What the statements write, by array."""
        for statement in statements:
            for step in in_statement_order(self.program, statement, self.space_of(statement)):
                self._translated(step)
        return {name: held.parts for name, held in self._memory.items() if held.parts}

    def boxes(self) -> dict[str, tuple[str, Part]]:
        """The inputs that are boxes of arrays in memory."""
        return {f"{name}__box{n}": (name, Part(held.shape, tuple(low for low, _ in box), (1,) * len(box)))
                for name, held in self._memory.items() for n, box in enumerate(held.boxes)}

    def space_of(self, statement: ProgramStatement) -> Space:
        return self._spaces(statement)

    def simplified(self, statement: ProgramStatement) -> ProgramStatement:
        return statement

    def source_of(self, statement: ProgramStatement, access: Access) -> tuple[Array, tuple[int, ...]]:
        read = access.map.intersect_domain(statement.domain).range()
        held = self._held(access.array)
        whole = tuple((0, n) for n in held.shape)
        space = self.space_of(statement)
        around = _clipped(_element_box(access.map.intersect_domain(space.domain).range()), whole)
        needed = around if read.is_empty() or _keeps(statement, access, space) else _element_box(read)
        return held.source(needed, around)

    def _held(self, name: str, role: str = "array") -> _InMemory:
        if name not in self._memory:
            self._memory[name] = _InMemory(given_array(self.program.array(name), f"{role} {name}"))
        return self._memory[name]


@dataclass
class MemoryPool:
    """Arrays that pieces bring besides those of the program: constants with their data, and temporary ones. Those that
    are alike are one."""

    constants: dict[str, np.ndarray] = field(default_factory=dict)
    temporaries: dict[str, MemoryArray] = field(default_factory=dict)
    _names: dict[object, str] = field(default_factory=dict)

    def constant(self, data: np.ndarray) -> str:
        """The name of a constant array."""
        name = self._names.setdefault((data.shape, data.dtype.str, data.tobytes()), f"constant_{len(self.constants)}")
        self.constants.setdefault(name, data)
        return name

    def temporary(self, array: MemoryArray) -> str:
        """The name of a temporary array like that one: no two of a piece are."""
        key = (array.name, array.shape, array.dtype)
        name = self._names.setdefault(key, f"temporary_{len(self.temporaries)}")
        self.temporaries.setdefault(name, replace(array, name=name))
        return name


@dataclass
class PieceCompiler:
    """Makes the code of pieces. Plans are the first ones that fit: pieces are small, and there are many. `choices` are
    all plans so far, `pool` the arrays that they need."""

    program: Program
    options: Options
    pool: MemoryPool = field(default_factory=MemoryPool)
    choices: list[Choice] = field(default_factory=list)
    resident: ResidentArrays | None = None

    @cached_property
    def spec(self) -> VectorSpec:
        """The machine, with the part of its scratchpad that pieces may use."""
        machine = self.options.spec()
        return replace(machine, scratchpad_bytes=self.resident.low) if self.resident else machine

    def keep_on_chip(self) -> bool:
        """Arrays of the program stay in one half of the scratchpad, as far as they fit; some of it is left for those
        of pieces. Whether any fits."""
        half = self.options.spec().capacity // 2
        resident = ResidentArrays(half, 2 * half)
        given = [array.name for array in self.program.inputs]
        for array in sorted(self.program.arrays, key=lambda a: (a.name in given, self._bytes(a))):
            if resident.used + self._bytes(array) > half - half // 4:
                resident.elsewhere.add(array.name)
            resident.place(array.name, self._bytes(array))
        self.resident = resident
        return bool(resident.places)

    @staticmethod
    def _bytes(array: ProgramArray) -> int:
        given = given_array(array, f"array {array.name}")
        return MemoryArray.of(array.name, "", given.shape, given.dtype).bytes

    def code(self, statements: Sequence[ProgramStatement], spaces: Spaces) -> tuple[Statement, ...]:
        """Statements that compute those of the program at once. Raises `VectorTargetError`."""
        translation = _PieceTranslation(self.program, spaces)
        written = translation.piece(statements)
        masks = [space.mask for space in map(spaces, statements)]
        tables = [table for mask in masks if isinstance(mask, MovingMask) for table in mask.tables()]
        apart = len(statements) == 1 and _reads_apart(statements[0])
        return self._stored(written, translation.boxes(), tables, apart)

    def zeros(self, names: Sequence[str]) -> tuple[Statement, ...]:
        """Statements that fill arrays with zeros."""
        written = {}
        for name in names:
            given = given_array(self.program.array(name), f"array {name}")
            zero = broadcast_to(array_constant(np.zeros((), given.dtype)), given.shape)
            written[name] = [Written(zero, Place((0,) * given.ndim, (1,) * given.ndim))]
        return self._stored(written, {}) if written else ()

    def _stored(self, written: Mapping[str, Sequence[Written]], boxes: Mapping[str, tuple[str, Part]],
                tables: Sequence[MaskTable] = (), apart: bool = False) -> tuple[Statement, ...]:
        """The code of what is written, by array; `boxes` are the inputs that are parts of arrays, `tables` those that
        are parts of constants: where these lie on chip does not depend on the part. `apart`: what is written does not
        depend on other elements that are."""
        bits = {table.name: (table.name, Part(table.words.shape, (table.first,), (1,))) for table in tables}
        outputs, places = {}, {}
        for name, parts in written.items():
            for number, part in enumerate(parts):
                output = f"{name}__{number}"
                outputs[output] = part.value
                places[output] = (name, Part(self.program.array(name).shape, part.place.first, part.place.steps))
        graph = lowered(array_program(self.program.name, **outputs), self.spec)
        check_lanes([result.node for result in graph.results], self.spec)
        graph = _BoxPass(graph, GraphBuilder(), {**boxes, **bits}).run()
        placed = [replace(result, name=places[result.name][0], memory=places[result.name][1])
                  if result.name in places else result for result in graph.results]
        quick = replace(self.options, segment=None)
        found = planned(replace(graph, results=placed), PhasePlanner(self.spec, search=False), quick)
        if not apart:
            _check_order(found)
        self.choices += found.choices
        body = _renamed(found.body, self._names(graph, found, tables))
        return self.resident.code(body, self._size_of, self._is_given) if self.resident else body

    def _size_of(self, name: str) -> int:
        if name in self.pool.temporaries:
            return self.pool.temporaries[name].bytes
        return self.pool.constants[name].nbytes if name in self.pool.constants else \
            self._bytes(self.program.array(name))

    def _is_given(self, name: str) -> bool:
        return name in self.pool.constants or any(name == array.name for array in self.program.inputs)

    def _names(self, graph: Graph, found: Planned, tables: Sequence[MaskTable]) -> dict[str, str]:
        """The pool's names of a piece's own arrays."""
        names = {name: self.pool.constant(data) for name, data in graph.constants.items()}
        names |= {table.name: self.pool.constant(table.words) for table in tables}
        memories = dict.fromkeys(memory for phase in found.phases for memory in phase.temporaries)
        return names | {memory.name: self.pool.temporary(memory) for memory in memories}


def _renamed(body: Sequence[Statement], names: Mapping[str, str]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in body:
        match statement:
            case Loop():
                found.append(replace(statement, body=_renamed(statement.body, names)))
            case Transfer():
                found.append(replace(statement, array=names.get(statement.array, statement.array)))
            case _:
                found.append(statement)
    return tuple(found)


class _BoxPass(Rewriter):
    """Inputs that are boxes of arrays as parts of these."""

    def __init__(self, graph: Graph, builder: GraphBuilder, boxes: Mapping[str, tuple[str, Part]]) -> None:
        super().__init__(graph, builder)
        self._boxes = boxes

    def visit(self, node: Node) -> Value:
        if isinstance(node, Leaf) and node.name in self._boxes:
            name, part = self._boxes[node.name]
            return self.builder.leaf(name, node.shape, node.dtype, node.low, node.high, node.location, node.boundaries,
                                     node.variant, part)
        return self.same(node)


# Values that are read have to be loaded before they are replaced.


def _check_order(found: Planned) -> None:
    """Raises `VectorTargetError` if a phase replaces elements in memory that it, or a later one, has yet to load."""
    for number, (phase, choice) in enumerate(zip(found.phases, found.choices, strict=False)):
        for result in phase.graph.results:
            if result.memory is None:
                continue
            for later, (other, plan) in enumerate(zip(found.phases[number:], found.choices[number:], strict=False)):
                alone = not later and plan.plan.steps == 1
                if not alone and _reads_replaced(other, result) and (later or not _in_place(phase, result, choice)):
                    raise VectorTargetError(f"{result.node.location}: elements of '{result.name}' are replaced while "
                                            "others are computed from them")


def _loaded(phase: Phase, name: str, tile: Box) -> list[Box]:
    """Elements in memory of an array that a tile needs."""
    boxes = regions(phase.graph, tile, clip=True)
    return [leaf.part.box(box) if leaf.part else box for leaf, box in boxes.items()
            if isinstance(leaf, Leaf) and leaf.name == name]


def _stored(result: Result) -> Box:
    """Elements in memory of a result."""
    assert result.memory is not None
    return result.memory.box(tuple((0, n) for n in result.shape))


def _reads_replaced(phase: Phase, result: Result) -> bool:
    whole = tuple((0, n) for n in phase.shape)
    stored = _stored(result)
    return any(len(box) != len(stored) or _meets(box, stored) for box in _loaded(phase, result.name, whole))


def _in_place(phase: Phase, result: Result, choice: Choice) -> bool:
    """Whether every tile reads just those elements that it replaces."""
    tile = choice.plan.layout.tile
    corners = [tuple((0, t) for t in tile), tuple((n - t, n) for n, t in zip(phase.shape, tile, strict=True))]
    assert result.memory is not None
    whole = _stored(result)
    return all(box == result.memory.box(corner) or not _meets(box, whole) for corner in corners
               for box in _loaded(phase, result.name, corner))


# The whole program's arrays.


def memory_arrays(pieces: PieceCompiler) -> tuple[MemoryArray, ...]:
    """All arrays in main memory, those of the program first."""
    found = []
    for role, arrays in (("input", pieces.program.inputs), ("output", pieces.program.outputs),
                         ("temporary", _intermediate(pieces.program))):
        for array in arrays:
            given = given_array(array, f"{role} {array.name}")
            found.append(MemoryArray.of(array.name, role, given.shape, given.dtype))
    constants = [MemoryArray.of(name, "constant", data.shape, data.dtype)
                 for name, data in pieces.pool.constants.items()]
    return (*found, *constants, *pieces.pool.temporaries.values())


def _intermediate(program: Program) -> list[ProgramArray]:
    ends = (*program.inputs, *program.outputs)
    return [array for array in program.arrays if array not in ends]


@dataclass(frozen=True)
class _Declared(ArrayProgram):
    """Inputs and outputs of a program that is no expression of whole arrays."""

    declared: dict[str, Input]

    @cached_property
    def inputs(self) -> dict[str, Input]:
        return self.declared


def declared_arrays(program: Program) -> ArrayProgram:
    """What goes in and comes out."""
    def node(array: ProgramArray, role: str) -> Input:
        found = given_array(array, f"{role} {array.name}").expression
        assert isinstance(found, Input)
        return found

    inputs = {array.name: node(array, "input") for array in program.inputs}
    outputs: dict[str, Expression] = {array.name: node(array, "output") for array in program.outputs}
    location = next(iter(outputs.values())).location
    return _Declared(program.name, outputs, location, inputs)

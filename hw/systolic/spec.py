"""A systolic array with its I/O network as plain data: what the compiler hands over and the hardware is built from.

Wang 2021, sections 5 and 6. A loop l of the program is split into
``l = ((T * A + p) * H + t) * lanes + v`` or ``l = ((T * H + t) * A + p) * lanes + v``:
tile loop T (its extent is a register), position p in the array, time loop t (fixed extent), lane v. Every PE runs
through the tile loops, then the time loops (each outermost first), one step per cycle. Positions are (row, column);
words enter at the west edge and go east, or enter at the north edge and go south; results leave at the south-east
corner. What is the same for all steps of a tile is in the layout of the words in memory (`hw.systolic.layout`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Operator, Word
from hw.errors import SluiceError
from hw.labels import Label

__all__ = ["BITS_OF_A_BEAT", "BUSES", "EAST", "INTERIOR", "SOUTH", "Address", "ArraySpec", "Conversion", "Direction",
           "ExtraSpec", "GuardSpec", "OperandSpec", "ResultSpec", "SystolicError", "TileLoop", "TimeLoop"]


class SystolicError(SluiceError):
    """An array that cannot be built."""


Direction = tuple[int, int] | None

EAST: Direction = (0, 1)
"""The operand is the same in all columns: a feeder for each row at the west edge."""

SOUTH: Direction = (1, 0)
"""The operand is the same in all rows: a feeder for each column at the north edge."""

INTERIOR: Direction = None
"""Every PE has a feeder of its own."""


@dataclass(frozen=True)
class TileLoop:
    """A loop over tiles; its extent (1 to 2**24 - 1) is a register. `reduction`: results do not depend on it; such
    loops are the innermost tile loops."""

    name: str
    reduction: bool = False


@dataclass(frozen=True)
class TimeLoop:
    """A loop of `extent` steps inside a tile. `reduction`: results do not depend on it; at any place in the order."""

    name: str
    extent: int
    reduction: bool = False


@dataclass(frozen=True)
class Address:
    """``constant + sum(coefficient * time loop)``, one coefficient per time loop."""

    coefficients: tuple[int, ...]
    constant: int = 0

    def at(self, times: Sequence[int]) -> int:
        """The address in the step with these values of the time loops."""
        return self.constant + sum(c * t for c, t in zip(self.coefficients, times, strict=True))


@dataclass(frozen=True)
class Conversion:
    """A function of each element on its way between memory and the array: before sums begin, or after their end.

    `stored`: an element in memory. `body`: operators like those of `ArraySpec`, ``read`` 0 being the element that
    comes; the last one's result is what leaves.
    """

    stored: Word
    body: tuple[Operator, ...]


@dataclass(frozen=True)
class OperandSpec:
    """A read reference: where its words enter and which of them a step takes.

    * `word`: an element; elements take 1, 2, 4 or 8 bytes in memory. `vector`: a word of a feeder has one element for
      each lane (the reference depends on the lane loop), else one for all lanes.
    * `direction`: `EAST`, `SOUTH` or `INTERIOR`. `copied`: all feeders get the same words, which are in memory once.
    * `words`: of one tile in one feeder; a step takes the one at `address`.
    * `tile_loops`: numbers of the tile loops on which the tile depends; each has a stride register. It is fetched again
      when one of them, or one outside the innermost of them that has several turns, steps (pruning).
    * `pack`: words per beat of the daisy chain, a power of two. `double_buffered`: the next tile is filled in while
      one is read.
    * `initial`: its word is what the reduction starts from, and not a read of the body. Without a reduction in space it
      may have any direction; with one it goes `EAST`, and with ``"both"`` rows other than the first are given words
      that change nothing (zeros for a sum). `conversion`: what an element becomes before; only with `initial`.
    """

    name: str
    word: Word
    direction: Direction
    words: int
    address: Address
    tile_loops: tuple[int, ...]
    vector: bool = False
    copied: bool = False
    pack: int = 1
    double_buffered: bool = True
    initial: bool = False
    conversion: Conversion | None = None

    @property
    def in_memory(self) -> OperandSpec:
        """The operand before its conversion."""
        return self if self.conversion is None else replace(self, word=self.conversion.stored, conversion=None)


@dataclass(frozen=True)
class ResultSpec:
    """What the array computes: ``result[address] combine= body`` in every step.

    * `word`: of accumulators and of results, which wrap. `vector`: one result per lane; else, the lanes are combined.
    * `words`: accumulators, and results of a tile, per PE (or row, or array: `space`); a step updates the one at
      `address`, which does not depend on reduction loops and takes each value once per combination of them.
    * `combine`: an associative and commutative operation of `hw.ops` (add, mul, min, max, and, or, xor), or None for
      an assignment, which needs an array without reductions.
    * `space`: where results come from. ``"none"``: every PE. ``"columns"``: combined along each row, at the east edge.
      ``"both"``: combined along rows and then down the east edge, in one place.
    * `pack`: results per beat of the chain down the edge, a power of two. `row_pack`: results of one PE per beat of the
      chain along its row, a power of two that divides `pack` and `words`; 1 with a reduction in space.
    * `double_buffered`: the next tile begins while results leave; else after they have left.
    * `conversion`: what becomes of each result when it is complete; ``read`` k being its k-th extra element.
    * `latency`: cycles of the operation that combines, 0 for one that is ready in its own cycle. Steps wait where they
      would update an accumulator whose last update is on its way (`ArraySpec.interval`), and reach the next PE that a
      sum goes to as much later (`ArraySpec.delay`).
    * `parts`: partial sums of each result, a power of two, that the steps of the innermost time loop with several steps
      take in turns: a reduction, of a multiple of them. They are combined when they are complete.
    """

    word: Word
    words: int
    address: Address
    combine: str | None = "add"
    space: Literal["none", "columns", "both"] = "none"
    vector: bool = False
    pack: int = 1
    double_buffered: bool = True
    row_pack: int = 1
    conversion: Conversion | None = None
    latency: int = 0
    parts: int = 1

    @property
    def levels(self) -> int:
        """Levels of the tree over partial sums."""
        return (self.parts - 1).bit_length()

    @property
    def accumulators(self) -> int:
        """Accumulators where results are completed: partial sums of one result side by side."""
        return self.words * self.parts

    @property
    def in_memory(self) -> ResultSpec:
        """The result after its conversion."""
        return self if self.conversion is None else replace(self, word=self.conversion.stored, conversion=None)


@dataclass(frozen=True)
class ExtraSpec:
    """An element of memory for every result, which the results' conversion reads: a factor or a bias of its channel,
    say. Its tiles lie in memory as those of the results do, and are fetched once for each of them."""

    name: str
    word: Word


@dataclass(frozen=True)
class GuardSpec:
    """Lanes of a step take part only while an index is inside its bound, a register in elements.

    For a reduction loop whose extent the tiles need not divide, when zero words would change the result. The index in
    the tile is ``sum(coefficients * time) + row * rows + column * columns + lane * lanes`` (`lanes`: 0 or 1) and goes
    from 0 to `tile` - 1; the index in the program is that plus `tile` times tile loop number `tile_loop`.
    """

    name: str
    tile_loop: int
    tile: int
    coefficients: tuple[int, ...]
    rows: int = 0
    columns: int = 0
    lanes: int = 0


_BODY = Label("body")


@dataclass(frozen=True)
class ArraySpec:
    """An array of `rows` times `columns` PEs with `lanes` lanes each; one-dimensional with one row or one column.

    `body`: operators as in `hw.dataflow.spec`, in an order in which operands come first, the last one's result is
    combined; ``read`` with `value`, a number among `operands`; ``const``, ``cast`` and operations of `hw.ops` (not
    ``index`` and ``table``). Their `latency` and `start` are ignored: the hardware sets them. `format`: the number
    format (`hw.systolic.formats`). `bus_bits`: of the AXI4 port, 32 to 1024. `extras`: ``read`` 1, 2 and so on of the
    results' conversion. `label`: whose statement the body is.
    Raises `SystolicError` if the parts do not fit together.
    """

    name: str
    rows: int
    columns: int
    tile_loops: tuple[TileLoop, ...]
    time_loops: tuple[TimeLoop, ...]
    operands: tuple[OperandSpec, ...]
    body: tuple[Operator, ...]
    result: ResultSpec
    lanes: int = 1
    guards: tuple[GuardSpec, ...] = ()
    bus_bits: int = 64
    format: str = "integer"
    extras: tuple[ExtraSpec, ...] = ()
    label: Label = _BODY

    def __post_init__(self) -> None:
        _check_shape(self)
        for operand in self.operands:
            _check_operand(self, operand)
        _check_body(self)
        _check_result(self)
        for guard in self.guards:
            _check_guard(self, guard)

    @property
    def macs(self) -> int:
        """Evaluations of the body per cycle: PEs times lanes."""
        return self.rows * self.columns * self.lanes

    @cached_property
    def steps(self) -> int:
        """Steps of a tile."""
        return prod(loop.extent for loop in self.time_loops)

    @cached_property
    def interval(self) -> int:
        """Cycles from a step to the next one at least: more than 1 where an accumulator is updated again before the
        operation that combines is done. Updates of one accumulator are all steps apart that lie inside the innermost
        reduction loop, and at least as many from tile to tile, since loops go through every tile in the same order."""
        if not self.result.latency:
            return 1
        apart = 1
        for loop in reversed(self.time_loops):
            if loop.reduction and loop.extent > 1:
                apart *= self.result.parts
                break
            apart *= loop.extent
        return -(-(self.result.latency + 1) // apart)

    def delay(self, axis: Literal["rows", "columns"]) -> int:
        """Cycles that steps take longer to the next of the rows (or columns), to come there with the sums that are
        combined along them."""
        summed = self.result.space == "both" or (axis == "columns" and self.result.space == "columns")
        return self.result.latency if summed else 0

    @property
    def skew(self) -> int:
        """Cycles that sums take longer from the first PE on for the operation that combines them along the axes."""
        return self.delay("columns") * self.columns + self.delay("rows") * self.rows

    def entry(self, operand: OperandSpec) -> int:
        """Cycles that words take longer from the operand's feeders to the first PE."""
        axes: dict[Direction, int] = {EAST: self.delay("columns"), SOUTH: self.delay("rows"), INTERIOR: 0}
        return axes[operand.direction]

    def spread(self, operand: OperandSpec) -> int:
        """Cycles by which steps of the operand's farthest feeder are later than words come there, beside those of the
        nearest one: the chain goes on when it has room."""
        down, along = self.delay("rows") * (self.rows - 1), self.delay("columns") * (self.columns - 1)
        axes: dict[Direction, int] = {EAST: down, SOUTH: along, INTERIOR: down + along}
        return axes[operand.direction]

    @property
    def step_cycles(self) -> int:
        """Cycles in which a PE can begin the steps of a tile."""
        return self.steps * self.interval

    @property
    def bus_bytes(self) -> int:
        """Bytes of a beat of main memory. All tiles begin at multiples of it."""
        return self.bus_bits // 8

    def innermost(self, operand: OperandSpec, tiles: Sequence[int] | None = None) -> int:
        """Number of the innermost tile loop on which the operand's tile depends, -1 if there is none. With the extents
        `tiles` of all tile loops only those count that have several turns: only these are fetched for."""
        return max((k for k in operand.tile_loops if tiles is None or tiles[k] > 1), default=-1)

    @property
    def result_loops(self) -> tuple[int, ...]:
        """Numbers of the tile loops on which the result's tile depends; each has a stride register."""
        return tuple(k for k, loop in enumerate(self.tile_loops) if not loop.reduction)

    def feeders(self, operand: OperandSpec) -> int:
        """Feeders of an operand; unless it is `copied`, each has words of its own in memory."""
        counts = {EAST: self.rows, SOUTH: self.columns, INTERIOR: self.rows * self.columns}
        return counts[operand.direction]

    def word_elements(self, part: OperandSpec | ResultSpec) -> int:
        """Elements of a word."""
        return self.lanes if part.vector else 1

    def word_bits(self, part: OperandSpec | ResultSpec) -> int:
        """Bits of a word in hardware."""
        return self.word_elements(part) * part.word.width

    def word_bytes(self, part: OperandSpec | ResultSpec) -> int:
        """Bytes of a word in memory: its elements, and what is missing to a power of two."""
        size = self.word_elements(part) * element_bytes(part.in_memory.word.width)
        return 1 << (size - 1).bit_length()

    def feeder_beats(self, operand: OperandSpec) -> int:
        """Beats of the daisy chain that fill a feeder; words that are too many in the last one are ignored."""
        return -(-operand.words // operand.pack)

    def is_streamed(self, operand: OperandSpec) -> bool:
        """Whether steps begin while the rest of the operand's tile is still on its way: words take several beats, and
        steps take them for the first time in the order of their numbers."""
        weight = 1
        for loop, coefficient in zip(reversed(self.time_loops), reversed(operand.address.coefficients), strict=True):
            if loop.extent > 1 and coefficient:
                if coefficient != weight:
                    return False
                weight *= loop.extent
        return weight == operand.words and operand.address.constant == 0 and self.feeder_beats(operand) > 1

    def operand_bytes(self, operand: OperandSpec) -> int:
        """Bytes of an operand's tile in memory: whole beats of memory."""
        images = 1 if operand.copied else self.feeders(operand)
        return self._whole(images * self.feeder_beats(operand) * operand.pack * self.word_bytes(operand))

    @cached_property
    def streams(self) -> tuple[OperandSpec, ...]:
        """What is read from memory: operands, then extras, whose words are a tile's in the order of memory."""
        words = self.exits * self.exit_beats * self.result.pack
        return (*self.operands, *(OperandSpec(
            extra.name, extra.word, EAST, words, Address((0,) * len(self.time_loops)), self.result_loops,
            vector=self.result.vector, copied=True, pack=self.result.pack) for extra in self.extras))

    @property
    def exits(self) -> int:
        """Places at the east edge where results come out: rows, or 1 with a reduction over both axes."""
        return 1 if self.result.space == "both" else self.rows

    @property
    def exit_words(self) -> int:
        """Results of a tile that come out at each of these places."""
        return self.result.words * (self.columns if self.result.space == "none" else 1)

    @property
    def exit_beats(self) -> int:
        """Beats of `result.pack` results that these are; what is left of the last beat is undefined."""
        return -(-self.exit_words // self.result.pack)

    @property
    def result_bytes(self) -> int:
        """Bytes of a tile of results in memory: whole beats of memory."""
        return self._whole(self.exits * self.exit_beats * self.result.pack * self.word_bytes(self.result))

    def _whole(self, size: int) -> int:
        return -(-size // self.bus_bytes) * self.bus_bytes


BUSES = (32, 64, 128, 256, 512, 1024)
"""Bits of the memory bus that there can be."""
_COMBINES = ("add", "mul", "min", "max", "and", "or", "xor")
BITS_OF_A_BEAT = 2048
"""Of a daisy chain, at most."""


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise SystolicError(problem)


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _check_shape(spec: ArraySpec) -> None:
    for name in ("rows", "columns", "lanes"):
        value = getattr(spec, name)
        _require(value >= 1, f"array {spec.name} has {name} {value}, not at least 1")
    _require(spec.bus_bits in BUSES, f"the memory bus has 32, 64, 128, 256, 512 or 1024 bits, not {spec.bus_bits}")
    _require(bool(spec.tile_loops and spec.time_loops), f"array {spec.name} needs a tile loop and a time loop")
    for loop in spec.time_loops:
        _require(loop.extent >= 1, f"time loop {loop.name} has extent {loop.extent}, not at least 1")
    order = [loop.reduction for loop in spec.tile_loops]
    _require(order == sorted(order), "reduction loops must be the innermost tile loops")


def _check_operand(spec: ArraySpec, operand: OperandSpec) -> None:
    where = f"operand {operand.name}"
    _require(operand.direction in (EAST, SOUTH, INTERIOR), f"{where} cannot go in direction {operand.direction}")
    _require(operand.words >= 1, f"{where} has {operand.words} words per tile, not at least 1")
    _require(all(0 <= k < len(spec.tile_loops) for k in operand.tile_loops), f"{where}: there is no such tile loop")
    _check_chain(spec, operand, where)
    _check_address(spec, operand, where)
    _check_conversion(operand, where, 1)
    _require(operand.initial or operand.conversion is None, f"{where}: only initial values can be converted")
    if operand.initial:
        _require(operand.direction == EAST or spec.result.space == "none",
                 f"{where}: with a reduction in space, initial values go east")
        _require(spec.result.combine is not None, f"{where}: an assignment has no initial values")
        _require(operand.vector == spec.result.vector, f"{where}: initial values must have as many lanes as results")


def _check_chain(spec: ArraySpec, part: OperandSpec | ResultSpec, where: str) -> None:
    bits = 8 * part.pack * spec.word_bytes(part)
    _require(_is_power(part.pack), f"{where}: {part.pack} words per beat are not a power of two")
    _require(bits <= BITS_OF_A_BEAT, f"{where}: a beat of the chain has {bits} bits, more than {BITS_OF_A_BEAT}")


def _check_address(spec: ArraySpec, part: OperandSpec | ResultSpec, where: str) -> None:
    coefficients = part.address.coefficients
    _require(len(coefficients) == len(spec.time_loops),
             f"{where} has {len(coefficients)} coefficients for {len(spec.time_loops)} time loops")
    spans = [c * (loop.extent - 1) for c, loop in zip(coefficients, spec.time_loops, strict=True)]
    low = part.address.constant + sum(min(0, span) for span in spans)
    high = part.address.constant + sum(max(0, span) for span in spans)
    _require(low >= 0 and high < part.words, f"{where}: addresses {low} to {high} are outside 0 to {part.words - 1}")


def _check_body(spec: ArraySpec) -> None:
    _require(bool(spec.body), f"array {spec.name} has no body")
    _check_operators(spec.body, {k for k, operand in enumerate(spec.operands) if not operand.initial}, "the body")


def _check_conversion(part: OperandSpec | ResultSpec, where: str, reads: int) -> None:
    if part.conversion is not None:
        _require(bool(part.conversion.body), f"{where}: its conversion has no operators")
        _check_operators(part.conversion.body, range(reads), f"the conversion of {where}")


def _check_operators(body: Sequence[Operator], reads: Collection[int], where: str) -> None:
    for number, operator in enumerate(body):
        _require(operator.op not in ("index", "table"), f"{where} cannot use '{operator.op}'")
        _require(all(0 <= k < number for k in operator.operands), f"operator {number} comes before its operands")
        if operator.op == "read":
            _require(operator.value in reads,
                     f"operator {number} reads operand {operator.value}, which {where} does not have")


def _check_result(spec: ArraySpec) -> None:
    result = spec.result
    _require(result.words >= 1, f"there are {result.words} results per tile, not at least 1")
    _require(result.combine is None or result.combine in _COMBINES,
             f"results cannot be combined with '{result.combine}', only with {', '.join(_COMBINES)}")
    _check_chain(spec, result, "the result")
    _check_conversion(result, "the result", 1 + len(spec.extras))
    for extra in spec.extras:
        _require(result.conversion is not None, f"extra {extra.name} has no conversion of results that would read it")
    for stream in spec.streams[len(spec.operands):]:
        _check_chain(spec, stream, f"extra {stream.name}")
    if result.latency:
        _require(result.combine is not None, "an assignment does not combine in several cycles")
    _check_parts(spec)
    turn = result.row_pack
    _require(_is_power(turn) and result.pack % turn == 0 and result.words % turn == 0,
             f"{turn} results per beat along rows: not a power of two that divides the {result.pack} of a beat down "
             f"the edge and the {result.words} of a PE")
    _require(result.space == "none" or turn == 1, "with a reduction in space no results go along rows")
    _check_address(spec, result, "the result")
    for loop, coefficient in zip(spec.time_loops, result.address.coefficients, strict=True):
        _require(not (loop.reduction and coefficient), f"the result's address depends on reduction loop {loop.name}")
    count = prod(loop.extent for loop in spec.time_loops if not loop.reduction)
    _require(count == result.words, f"a tile computes {count} results per PE, but has room for {result.words}")
    if result.combine is None:
        reductions = [loop.name for loop in (*spec.tile_loops, *spec.time_loops) if loop.reduction]
        _require(not reductions, f"an assignment cannot have reduction loops ({', '.join(reductions)})")
        _require(result.space == "none", "an assignment cannot be combined over the array")
        _require(result.vector or spec.lanes == 1, "an assignment cannot combine lanes")
    _require(sum(operand.initial for operand in spec.operands) <= 1, "there can be one operand of initial values")


def _check_parts(spec: ArraySpec) -> None:
    parts = spec.result.parts
    if parts == 1:
        return
    _require(_is_power(parts), f"there are {parts} partial sums, not a power of two")
    _require(spec.result.combine is not None, "an assignment has no partial sums")
    inner = next((loop for loop in reversed(spec.time_loops) if loop.extent > 1), None)
    _require(inner is not None and inner.reduction and inner.extent % parts == 0,
             f"{parts} partial sums alternate in the innermost time loop: a reduction of a multiple of {parts} steps")


def _check_guard(spec: ArraySpec, guard: GuardSpec) -> None:
    where = f"guard {guard.name}"
    _require(spec.result.combine is not None, f"{where}: an assignment is not guarded")
    _require(0 <= guard.tile_loop < len(spec.tile_loops), f"{where}: there is no tile loop {guard.tile_loop}")
    _require(len(guard.coefficients) == len(spec.time_loops),
             f"{where} has {len(guard.coefficients)} coefficients for {len(spec.time_loops)} time loops")
    parts = [c * (loop.extent - 1) for c, loop in zip(guard.coefficients, spec.time_loops, strict=True)]
    parts += [guard.rows * (spec.rows - 1), guard.columns * (spec.columns - 1), guard.lanes * (spec.lanes - 1)]
    _require(all(part >= 0 for part in parts) and guard.lanes in (0, 1), f"{where} has a negative coefficient")
    _require(sum(parts) < guard.tile, f"{where}: the index goes to {sum(parts)}, beyond the tile of {guard.tile}")

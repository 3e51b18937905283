"""Pipelines in numpy: what every cell carries in every cycle, and what comes out. Says nothing about hardware."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from graphlib import TopologicalSorter

import numpy as np

from compiler.bind.fpga.arithmetic import compute_floats
from compiler.bind.fpga.design import FpgaDesign
from compiler.ir.floating import from_words, to_words
from compiler.ir.types import Float, Int
from hw.dataflow.floating import is_floating
from hw.ops import operation
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    Cell,
    ConstantCell,
    CounterCell,
    Exit,
    InputCell,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
    Word,
    operands,
)
from hw.pipeline.streams import ArrayStream

__all__ = ["count_cycles", "run_design", "run_pipeline"]


def run_design(design: FpgaDesign, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs of the original program, by way of the streams' walks through memory and the emulated pipeline."""
    results = run_pipeline(design.system.pipeline, _streamed(design, inputs))
    found = {}
    for stream in design.system.outputs:
        array = design.parts.program.array(stream.name)
        assert isinstance(array.type, Int | Float)
        whole = np.zeros(array.shape, array.type.dtype)
        whole.ravel()[_elements(stream)] = _numbers(array.type, results[stream.name])
        found[stream.name] = whole
    return design.parts.join(found, inputs)


def _streamed(design: FpgaDesign, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The words of the input streams."""
    given_parts = design.parts.split(inputs)
    types = {array.name: array.type for array in design.parts.program.arrays}
    return {s.name: to_words(types[s.name], given_parts[s.name]).ravel()[_elements(s)] for s in design.system.inputs}


def _numbers(type_: Int | Float, words: np.ndarray) -> np.ndarray:
    return from_words(type_, words) if isinstance(type_, Float) else words.astype(type_.dtype)


def _elements(stream: ArrayStream) -> np.ndarray:
    first = np.array(stream.addresses) // stream.element_bytes
    return (first[:, None] + np.arange(stream.row)).ravel()


def run_pipeline(spec: PipelineSpec, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Words of every output stream, from those of every input stream (in their order).

    Where there are memories or a loop that may end early, cycle by cycle. Else merges see nothing at first of what
    comes back to them; every round is right for some more cycles.
    """
    if spec.memories or spec.exit:
        return _Cycles(spec, inputs).run()
    carried = [np.zeros(spec.cycles, object) for _ in spec.cells]
    while True:
        before = list(carried)
        outputs = _round(spec, inputs, carried)
        if all(np.array_equal(old, new) for old, new in zip(before, carried, strict=True)):
            return outputs


def count_cycles(design: FpgaDesign, inputs: Mapping[str, np.ndarray]) -> int:
    """Cycles of an emulated run."""
    words = _streamed(design, inputs)
    machine = _Cycles(design.system.pipeline, words)
    machine.run()
    return design.system.pipeline.cycles - machine.skipped


def _round(spec: PipelineSpec, inputs: Mapping[str, np.ndarray], carried: list[np.ndarray]) -> dict[str, np.ndarray]:
    """All cells once, in order: what they carry is put into `carried`."""
    outputs: dict[str, np.ndarray] = {}
    for number, cell in enumerate(spec.cells):
        value = np.zeros(spec.cycles, object)
        match cell:
            case InputCell():
                times = cell.walk.events()[0]
                seen = times < spec.cycles
                value[times[seen]] = inputs[cell.name].ravel()[: len(times)][seen]
            case ConstantCell():
                value[:] = cell.value
            case CounterCell():
                times, values = cell.walk.events()
                seen = times < spec.cycles
                value[times[seen]] = Int(cell.word.width, cell.word.signed).wrap(values[seen])
            case OperatorCell():
                value = _operator(spec, cell, [_late(carried, tap) for tap in cell.operands])
            case LineCell():
                value = _delayed(_late(carried, cell.source), cell.cycles)
            case BufferCell():
                value = _buffer(cell, _late(carried, cell.source))
            case MergeCell():
                times, addresses = cell.select.events()
                for source, tap in enumerate(cell.sources):
                    mine = times[((addresses >= cell.cut) == bool(source)) & (times < spec.cycles)]
                    value[mine] = _late(carried, tap)[mine]
            case OutputCell():
                outputs[cell.name] = _late(carried, cell.operand)[cell.walk.events()[0]]
            case _:
                raise AssertionError("memories are run cycle by cycle")
        carried[number] = value
    return outputs


def _late(carried: list[np.ndarray], tap: Tap) -> np.ndarray:
    return _delayed(carried[tap.cell], tap.cycles)


def _delayed(value: np.ndarray, cycles: int) -> np.ndarray:
    return np.concatenate([np.zeros(cycles, object), value])[: len(value)]


def _operator(spec: PipelineSpec, cell: OperatorCell, operands: list[np.ndarray]) -> np.ndarray:
    return _delayed(_computed(spec, cell, operands), cell.latency)


def _computed(spec: PipelineSpec, cell: OperatorCell, operands: list[np.ndarray]) -> np.ndarray:
    """What the operation makes of its operands, as soon as it has them."""
    if is_floating(cell.op, (cell.word, *cell.words)):
        return np.array(compute_floats(cell, operands), object)
    if cell.op == "cast":
        result = operands[0]
    elif cell.op == "table":
        table = np.array(spec.tables[cell.value], object)
        result = table[operands[0].astype(np.int64) % len(table)]
    else:
        width = 1 if cell.op == "lut3" else max(word.width for word in cell.words)
        result = operation(cell.op).evaluate(width, *operands)
    return np.array(Int(cell.word.width, cell.word.signed).wrap(result), object)


_QUICK = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
          "xor": operator.xor, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
          "gt": operator.gt, "ge": operator.ge, "cast": int, "select": lambda c, a, b: a if c else b}
"""Operations on numbers in Python, which take a fraction of the time that arrays of one element do."""


def _wrapped(value: int, word: Word) -> int:
    value &= (1 << word.width) - 1
    return value - (1 << word.width) if word.signed and value >> (word.width - 1) else value


def _buffer(cell: BufferCell, source: np.ndarray) -> np.ndarray:
    memory = np.zeros(cell.depth, object)
    value = np.zeros(len(source), object)
    events = sorted([(int(t), 0, int(a)) for t, a in zip(*cell.read.events(), strict=True)]
                    + [(int(t), 1, int(a)) for t, a in zip(*cell.write.events(), strict=True)])
    for time, writes, address in events:
        if time >= len(source):
            break
        if writes:
            memory[address] = source[time]
        else:
            value[time + BUFFER_LATENCY :] = memory[address]
    return value


class _Cycles:
    """A pipeline cycle by cycle."""

    def __init__(self, spec: PipelineSpec, inputs: Mapping[str, np.ndarray]) -> None:
        self.spec, self.skipped, self.quiet = spec, 0, 0
        self.values = [[0] * spec.cycles for _ in spec.cells]
        self.words = [[memory.initial or 0] * memory.words for memory in spec.memories]
        self.outputs: dict[str, list[int]] = {cell.name: [] for cell in spec.outputs}
        self.given = {cell.name: inputs[cell.name].ravel().tolist() for cell in spec.inputs}
        self.events = {}
        self.buffers: dict[int, tuple[list[int], int]] = {}
        for number, cell in enumerate(spec.cells):
            if isinstance(cell, BufferCell):
                self.events[number] = _by_cycle(cell.write), _by_cycle(cell.read)
                self.buffers[number] = [0] * cell.depth, 0
            elif (walk := getattr(cell, "walk", None) or getattr(cell, "select", None)) is not None:
                self.events[number] = (_by_cycle(walk),)
        self.looks = _looks(spec.exit) if spec.exit else {}
        self.gone: set[int] = set()
        edges = {number: [tap.cell for tap in operands(cell) if self._at_once(cell, tap)]
                 for number, cell in enumerate(spec.cells)}
        self.order = list(TopologicalSorter(edges).static_order())

    @staticmethod
    def _at_once(cell: Cell, tap: Tap) -> bool:
        return not tap.cycles and not isinstance(cell, BufferCell | LineCell) and not getattr(cell, "latency", 0)

    def run(self) -> dict[str, np.ndarray]:
        time = 0
        while time + self.skipped < self.spec.cycles:
            for number in self.order:
                self.values[number][time] = self._value(number, self.spec.cells[number], time)
            for number, cell in sorted(enumerate(self.spec.cells), key=lambda item: _turn(item[1])):
                self._write(number, cell, time)
            time += 1
            if self.spec.exit is not None:
                self._leave(self.spec.exit, time - 1)
        return {name: np.array(words, object) for name, words in self.outputs.items()}

    def _leave(self, leave: Exit, time: int) -> None:
        """Where the next cycle counts as one behind the loop, go on there."""
        look = self.looks.get(time + self.skipped)
        if look is None:
            return
        start, number = look
        self.quiet = 0 if number == 0 else self.quiet
        self.quiet += all(self._tap(flag, time) == 0 for flag in leave.flags)
        if self.quiet == leave.quiet and number < leave.looks and not self.gone.issuperset({start}):
            self.gone.add(start)
            self.skipped = start + leave.target - (time + 1)

    def _tap(self, tap: Tap, time: int) -> int:
        return self.values[tap.cell][time - tap.cycles] if time >= tap.cycles else 0

    def _event(self, number: int, time: int, which: int = 0) -> int | None:
        return self.events[number][which].get(time + self.skipped)

    def _value(self, number: int, cell: Cell, time: int) -> int:
        match cell:
            case InputCell():
                return self.given[cell.name].pop(0) if self._event(number, time) is not None else 0
            case ConstantCell():
                return cell.value
            case CounterCell():
                found = self._event(number, time)
                held = self.values[number][time - 1] if time else 0
                return held if found is None else int(Int(cell.word.width, cell.word.signed).wrap(found))
            case LineCell():
                return self._tap(cell.source, time - cell.cycles) if time >= cell.cycles else 0
            case MergeCell():
                found = self._event(number, time)
                return self._tap(cell.sources[found is not None and found >= cell.cut], time)
            case BufferCell():
                return self.values[number][time]
            case OutputCell():
                if self._event(number, time) is not None:
                    self.outputs[cell.name].append(self._tap(cell.operand, time))
                return 0
        start = time - cell.latency
        given = [self._tap(tap, start) if start >= 0 else 0 for tap in cell.operands]
        if isinstance(cell, LoadCell):
            return self.values[number][time]  # put there when it was asked for
        if isinstance(cell, StoreCell):
            return given[2]
        if cell.op in _QUICK and not is_floating(cell.op, (cell.word, *cell.words)):
            return _wrapped(int(_QUICK[cell.op](*given)), cell.word)
        columns = [np.array([value], object) for value in given]
        return int(_computed(self.spec, cell, columns)[0])

    def _write(self, number: int, cell: Cell, time: int) -> None:
        """What a cycle asks memories for and leaves in them."""
        match cell:
            case LoadCell():
                start, words = time - max(0, cell.forwarded - 1), self.words[cell.memory]
                index = self._tap(cell.index, start) if start >= 0 else 0
                self._later(number, start + cell.latency, words[index] if 0 <= index < len(words) else 0)
            case StoreCell() if self._event(number, time) is not None and self._tap(cell.enable, time) & 1:
                self.words[cell.memory][self._tap(cell.index, time)] = self._tap(cell.value, time)
            case BufferCell():
                memory, held = self.buffers[number]
                read, write = self._event(number, time, 1), self._event(number, time)
                held = held if read is None else memory[read]
                if write is not None:
                    memory[write] = self._tap(cell.source, time)
                self.buffers[number] = memory, held
                self._later(number, time + BUFFER_LATENCY, held)

    def _later(self, number: int, time: int, value: int) -> None:
        if time < self.spec.cycles:
            self.values[number][time] = value


def _turn(cell: Cell) -> int:
    """When in a cycle a cell's access is: loads see what was there before the cycle's stores, or they have left."""
    return 1 if isinstance(cell, StoreCell) else 2 * (isinstance(cell, LoadCell) and cell.forwarded > 0)


def _by_cycle(walk: Walk) -> dict[int, int]:
    return dict(zip(*(column.tolist() for column in walk.events()), strict=True))


def _looks(leave: Exit) -> dict[int, tuple[int, int]]:
    """For the cycles in which an exit looks: when that iteration of the loops around begins, and the look's number."""
    trips = leave.walk.levels[0].trips if leave.walk.levels else 1
    times = leave.walk.events()[0].reshape(-1, trips)
    return {cycle: (row[0] - leave.walk.start, k) for row in times.tolist() for k, cycle in enumerate(row)}

"""Pipelines in numpy: what every cell carries in every cycle, and what comes out. Says nothing about hardware."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.bind.fpga.design import FpgaDesign
from compiler.ir.types import Int
from hw.ops import operation
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
    PipelineSpec,
    StoreCell,
    Tap,
)
from hw.pipeline.streams import ArrayStream

__all__ = ["run_design", "run_pipeline"]


def run_design(design: FpgaDesign, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs of the original program, by way of the streams' walks through memory and the emulated pipeline."""
    given_parts = design.parts.split(inputs)
    words = {s.name: given_parts[s.name].ravel()[_elements(s)] for s in design.system.inputs}
    results = run_pipeline(design.system.pipeline, words)
    found = {}
    for stream in design.system.outputs:
        array = design.parts.program.array(stream.name)
        assert isinstance(array.type, Int)
        whole = np.zeros(array.shape, array.type.dtype)
        whole.ravel()[_elements(stream)] = results[stream.name].astype(array.type.dtype)
        found[stream.name] = whole
    return design.parts.join(found, inputs)


def _elements(stream: ArrayStream) -> np.ndarray:
    first = np.array(stream.addresses) // stream.element_bytes
    return (first[:, None] + np.arange(stream.row)).ravel()


def run_pipeline(spec: PipelineSpec, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Words of every output stream, from those of every input stream (in their order).

    Merges see nothing at first of what comes back to them; every round is right for some more cycles.
    """
    carried = [np.zeros(spec.cycles, object) for _ in spec.cells]
    while True:
        before = list(carried)
        outputs = _round(spec, inputs, carried)
        if all(np.array_equal(old, new) for old, new in zip(before, carried, strict=True)):
            return outputs


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
            case LoadCell() | StoreCell():
                continue
            case LineCell():
                value = _delayed(_late(carried, cell.source), cell.cycles)
            case BufferCell():
                value = _buffer(cell, _late(carried, cell.source))
            case MergeCell():
                times, addresses = cell.select.events()
                for source, tap in enumerate(cell.sources):
                    mine = times[((addresses >= cell.cut) == bool(source)) & (times < spec.cycles)]
                    value[mine] = _late(carried, tap)[mine]
            case _:
                outputs[cell.name] = _late(carried, cell.operand)[cell.walk.events()[0]]
        carried[number] = value
    for memory in range(len(spec.memories)):
        _access(spec, memory, carried)
    return outputs


def _access(spec: PipelineSpec, memory: int, carried: list[np.ndarray]) -> None:
    """What loads and stores of a memory carry, cycle by cycle."""
    users = [(n, c) for n, c in enumerate(spec.cells) if isinstance(c, LoadCell | StoreCell) and c.memory == memory]
    _, depth = spec.memories[memory]
    words = np.zeros(depth, object)
    given = {n: [_late(carried, tap) for tap in cell.operands] for n, cell in users}
    fires = {n: set(cell.walk.events()[0].tolist()) for n, cell in users if isinstance(cell, StoreCell)}
    loads = {n: np.zeros(spec.cycles, object) for n, cell in users if isinstance(cell, LoadCell)}
    for time in range(spec.cycles):
        for n, values in loads.items():
            index = int(given[n][0][time])
            values[time] = words[index] if 0 <= index < depth else 0
        for n, times in fires.items():
            index, value, enable = (int(part[time]) for part in given[n][:3])
            if time in times and enable & 1:
                words[index] = value
    for n, cell in users:
        carried[n] = _delayed(loads[n] if n in loads else given[n][2], cell.latency)


def _late(carried: list[np.ndarray], tap: Tap) -> np.ndarray:
    return _delayed(carried[tap.cell], tap.cycles)


def _delayed(value: np.ndarray, cycles: int) -> np.ndarray:
    return np.concatenate([np.zeros(cycles, object), value])[: len(value)]


def _operator(spec: PipelineSpec, cell: OperatorCell, operands: list[np.ndarray]) -> np.ndarray:
    if cell.op == "cast":
        result = operands[0]
    elif cell.op == "table":
        table = np.array(spec.tables[cell.value], object)
        result = table[operands[0].astype(np.int64) % len(table)]
    else:
        width = 1 if cell.op == "lut3" else max(word.width for word in cell.words)
        result = operation(cell.op).evaluate(width, *operands)
    return _delayed(np.array(Int(cell.word.width, cell.word.signed).wrap(result), object), cell.latency)


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

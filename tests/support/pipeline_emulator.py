"""Pipelines in numpy: what every cell carries in every cycle, and what comes out. Says nothing about hardware."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.ir.types import Int
from hw.ops import operation
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    ConstantCell,
    CounterCell,
    InputCell,
    LineCell,
    OperatorCell,
    PipelineSpec,
    Tap,
)

__all__ = ["run_pipeline"]


def run_pipeline(spec: PipelineSpec, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Words of every output stream, from those of every input stream (in their order)."""
    carried: list[np.ndarray] = []
    outputs: dict[str, np.ndarray] = {}
    for cell in spec.cells:
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
            case _:
                outputs[cell.name] = _late(carried, cell.operand)[cell.walk.events()[0]]
        carried.append(value)
    return outputs


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

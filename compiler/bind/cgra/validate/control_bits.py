"""In which cycles a port takes the bit 0 or 1 that a table in a memory gives, as sets, however many cycles these are.

A memory that nothing writes shows the words of its contents, and holds each until its next read event; an element
compares them with a constant, and a truth table may join several such bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import islpy as isl
import numpy as np

from compiler.bind.cgra.validate.fabric import PE_LATENCY, Fabric, Origin
from compiler.bind.cgra.validate.memory import MemoryProof
from hw.fabric.routing import CoreOutput
from hw.pe.config import PeConfig

__all__ = ["BitCycles", "Memories", "behind_delays", "bit_cycles", "later"]

BitCycles: TypeAlias = tuple[isl.Set, isl.Set]
"""Cycles, [c], in which a bit is 0, and those in which it is 1; in all others it is unknown."""

Memories: TypeAlias = dict[tuple[int, int], MemoryProof]


def bit_cycles(fabric: Fabric, memories: Memories, unit: CoreOutput, port: str, run: isl.Set) -> BitCycles | None:
    """What a bit port of an element takes in the cycles of `run`; None if no table in `memories` says it."""
    test, lag = behind_delays(fabric, unit, port)
    if not isinstance(test, CoreOutput):
        return None
    core, lag = fabric.tile(test.row, test.column).core, lag + PE_LATENCY
    if not isinstance(core, PeConfig):
        return None
    if core.op == "lut3":
        bits = [_constant(constant, run) if constant is not None else
                bit_cycles(fabric, memories, test, f"bit{k}", later(run, -lag))
                for k, constant in enumerate(core.bit_constants)]
        known = [bit for bit in bits if bit is not None]
        joined = _looked_up(core.table, known) if len(known) == len(bits) else None
        return None if joined is None else (later(joined[0], lag), later(joined[1], lag))
    tested = core.constants[1] if core.op == "ne" else None
    table, more = behind_delays(fabric, test, "word0")
    if tested is None or core.constants[0] is not None or not isinstance(table, CoreOutput):
        return None
    memory, lag = memories.get((table.row, table.column)), lag + more
    if memory is None:
        return None
    found = _shown(memory, int(table.port.removeprefix("out")), tested, later(run, -lag))
    return None if found is None else (later(found[0], lag), later(found[1], lag))


def behind_delays(fabric: Fabric, unit: CoreOutput, port: str) -> tuple[Origin, int]:
    """What comes to a port, and how long ago it left, units that only delay it passed over."""
    arrival = fabric.arrival(unit.row, unit.column, port)
    origin, lag = arrival.origin, arrival.lag
    while (passed := fabric.passed(origin) or fabric.passed_bit(origin)) is not None:
        origin, lag = passed.origin, lag + passed.lag
    return origin, lag


def later(cycles: isl.Set, lag: int) -> isl.Set:
    """Cycles `lag` later."""
    return cycles.apply(isl.Map(f"{{ [c] -> [c + {lag}] }}"))


def _constant(value: int, run: isl.Set) -> BitCycles:
    nothing = run.subtract(run)
    return (nothing, run) if value else (run, nothing)


def _looked_up(table: int, bits: Sequence[BitCycles]) -> BitCycles:
    """What a truth table makes of bits, the first one its lowest."""
    found = [bits[0][0].subtract(bits[0][0]), bits[0][0].subtract(bits[0][0])]
    for values in product((0, 1), repeat=len(bits)):
        together = bits[0][values[0]]
        for bit, value in zip(bits[1:], values[1:], strict=True):
            together = together.intersect(bit[value])
        result = table >> sum(value << k for k, value in enumerate(values)) & 1
        found[result] = found[result].union(together)
    return found[0].coalesce(), found[1].coalesce()


def _shown(memory: MemoryProof, output: int, tested: int, run: isl.Set) -> BitCycles | None:
    """Cycles of `run` in which an output shows a word of a memory that nothing writes: `tested`, or another one."""
    words = memory.table_words(output)
    if words is None:
        return None
    seen = memory.held(output, run).apply_range(words)
    contents = np.zeros(memory.spec.capacity_words, np.int64)
    contents[: len(memory.config.contents)] = memory.config.contents
    equal, other = _places(contents == tested), _places(contents != tested)
    return seen.intersect_range(equal).domain().coalesce(), seen.intersect_range(other).domain().coalesce()


def _places(chosen: np.ndarray) -> isl.Set:
    """The numbers at which a mask is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
    parts = "; ".join(f"word[w] : {low} <= w < {high}" for low, high in edges.reshape(-1, 2).tolist())
    return isl.Set(f"{{ {parts or 'word[w] : 1 = 0'} }}")

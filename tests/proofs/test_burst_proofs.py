"""Burst engines, and the bursts of a systolic array's tiles, against their contracts, by a solver.

Bounded model checking from reset over as many cycles as a job takes (`burst_contract.DEPTH`), for small parameters:
beats of two bytes, bursts of two, rows of up to three bytes about the end of a page, which bursts meet.
Errors of memory and `stop` are simulated, in ``tests/dma/test_engines.py``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assume, Module, Mux, Signal
from amaranth.lib.wiring import In
from burst_contract import DEPTH, LateWriterProof, ReaderProof, WriterProof
from formal import Contract, Together, mutant, prove

from hw.dma.addresses import BeatCounter, BurstSplitter
from hw.dma.packing import Packer, Unpacker
from hw.dma.reader import BurstReader
from hw.dma.writer import BurstWriter
from hw.systolic.loader import BURST_BEATS, Bursts, StreamPlan

BEAT_BYTES = 8
TILE_BEATS = 3
TILES = 2


class BurstsProof(Contract):
    """Bursts of two tiles: each tile from its first beat to its last, none across a multiple of 16 beats (so none
    across 4 KiB), and all of them within so many cycles."""

    PATIENCE = 12
    depth = DEPTH

    def __init__(self, kind: Any):
        self._kind = kind
        super().__init__({"base": In(10), "stride": In(10), "ready": In(1)})

    def state(self, m: Module) -> None:
        m.submodules.dut = dut = self._kind(StreamPlan(TILE_BEATS, 1, (0,)), 8 * BEAT_BYTES)
        begun, base, stride = Signal(), Signal(10), Signal(10)
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.sync += [base.eq(self.base), stride.eq(self.stride)]
            m.d.comb += Assume((self.base[:3] == 0) & (self.stride[:3] == 0))
        m.d.comb += [dut.load.eq(~begun), dut.base.eq(Mux(begun, base, self.base)), dut.extents[0].eq(TILES),
                     dut.strides[0].eq(Mux(begun, stride, self.stride)), dut.o.ready.eq(self.ready)]
        tile, beats, waited = Signal(range(TILES + 1)), Signal(range(TILE_BEATS + 1)), Signal(range(self.PATIENCE + 2))
        burst, after = dut.o.p, Signal(range(2 * BURST_BEATS))
        m.d.comb += after.eq(beats + burst.beats)
        with m.If(dut.o.valid & dut.o.ready):
            m.d.sync += [beats.eq(Mux(after == TILE_BEATS, 0, after)), tile.eq(tile + (after == TILE_BEATS))]
        m.d.sync += waited.eq(waited + (begun & ~dut.o.valid & (tile != TILES)))
        place = base + Mux(tile == 0, 0, stride) + beats * BEAT_BYTES
        self.must(m, ~dut.o.valid | (burst.address == place), "a burst is elsewhere")
        self.must(m, ~dut.o.valid | ((burst.beats != 0) & (after <= TILE_BEATS) & (tile != TILES)), "too many beats")
        self.must(m, ~dut.o.valid | (burst.address[3:7] + burst.beats <= BURST_BEATS), "a burst crosses a boundary")
        self.must(m, (tile == TILES) | ~begun | dut.left, "bursts are missing")
        self.must(m, waited <= self.PATIENCE, "a burst does not come")


ENGINES = {
    "reader": (ReaderProof, BurstReader), "writer": (WriterProof, BurstWriter),
    "late writer": (LateWriterProof, partial(BurstWriter, late=True)), "tiles": (BurstsProof, Bursts),
}

MUTATIONS = {
    "reader": [
        (BurstReader, "chunk.p.lane.eq(beats.beat.p.lane)", "chunk.p.lane.eq(0)"),
        (BurstSplitter, "Mux(to_page < self.spec.max_beats, to_page, self.spec.max_beats)", "self.spec.max_beats"),
        (Packer, "rotate_bytes(m, self.chunk.p.data, fill - self.chunk.p.lane, size)", "self.chunk.p.data"),
    ],
    "writer": [
        (BurstWriter, "| (self.outstanding != 0))", "| 0)"),
        (Unpacker, "fill - beat.count", "fill"),
        (BeatCounter, "self.beat.p.last.eq(last)", "self.beat.p.last.eq(1)"),
    ],
    "late writer": [
        (Unpacker, "rotate_bytes(m, joined, amount, size)", "joined"),
    ],
    "tiles": [
        (Bursts, "beats.eq(Mux(left < room, left, room))", "beats.eq(left)"),
    ],
}
"""By engine: a module, which is the engine or a part of it, a text in it and what stands there instead."""


def mutated(engine: Any, part: Any, old: str, new: str) -> Any:
    """The engine with a mutant of the part."""
    if isinstance(engine, partial):
        return partial(mutated(engine.func, part, old, new), **engine.keywords)
    changed = mutant(part, old, new)
    if part is engine:
        return changed
    head = f"class {engine.__name__}("
    copy = mutant(engine, head, head)
    copy.elaborate.__globals__[part.__name__] = changed
    return copy


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_keeps_its_contract(name: str, tmp_path: Path) -> None:
    proof, kind = ENGINES[name]
    assert not prove(tmp_path, Together({name: proof(kind)}), proof.depth)


@pytest.mark.parametrize(("name", "mutation"), [(name, m) for name, found in MUTATIONS.items() for m in found])
def test_a_mutant_is_refuted(name: str, mutation: tuple[Any, str, str], tmp_path: Path) -> None:
    """Of the engine, or of a part that it has."""
    proof, kind = ENGINES[name]
    assert "Assert failed" in prove(tmp_path, Together({name: proof(mutated(kind, *mutation))}), proof.depth)

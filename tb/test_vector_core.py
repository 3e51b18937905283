"""The vector core against the reference simulator, and its cycles: what runs without a bubble, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vector_core_cases as cases
from vector_core_cases import Cases

from hw.sim.bench import run_bench
from hw.vector_lanes.core import sum_lag, write_lag
from hw.vector_lanes.isa import Control, Entry, Mode, Op
from hw.vector_lanes.spec import VectorSpec

BENCH = Path(__file__).with_name("vector_core_bench.py")
PLAYER = BENCH.with_suffix(".v")
NOTHING = np.zeros(0, np.uint8)
_SOURCES: dict[VectorSpec, dict[str, str]] = {}


def small(lanes: int) -> VectorSpec:
    """A core with a small scratchpad, so that random accesses meet."""
    return VectorSpec(lanes=lanes, scratchpad_bytes=max(4096, 128 * lanes))


def play(spec: VectorSpec, cases_: Cases, simulator: str) -> None:
    """Run the cases on the core."""
    sources = _SOURCES.setdefault(spec, cases.sources(spec))
    run_bench(
        {PLAYER.name: PLAYER.read_text(), **sources}, "vector_core_bench", BENCH, simulator=simulator,
        parameters=cases.parameters(spec), data=cases_.list,
    )


@pytest.mark.parametrize(("lanes", "runs", "count"), [(1, 6, 200), (4, 8, 400), (16, 4, 150)])
def test_random_streams(lanes: int, runs: int, count: int, simulator: str) -> None:
    """All kinds of entries, with gaps between them and a DMA engine that stalls."""
    if simulator == "icarus":
        runs, count = 1, 80 if lanes < 16 else 30
    made = Cases(small(lanes))
    for run in range(runs):
        made.add_random(1000 * lanes + run, count, gap=(0, 0, 100, 200)[run % 4], stall=(0, 30, 120, 200)[run % 4])
        made.add_indexed(2000 * lanes + run, count // 8, gap=(0, 100)[run % 2], stall=(0, 60)[run % 2])
    play(made.spec, made, simulator)


SPEC = small(4)
LAG, SUM_LAG = write_lag(SPEC), sum_lag(SPEC)
WORDS = SPEC.lanes
WIDTH = SPEC.row_bytes
START = 12
"""Cycles of an instruction besides those of its wavefronts and until its results are written: queue, dispatch,
sequencer, and those of the bench before and after."""


def words(op: Op = Op.VADD, **fields: Any) -> Mode:
    return Mode(op, False, **fields)


def timed(made: Cases, entries: list[Entry], cycles: int, bubbles: int, busy: int) -> None:
    """A case that takes so many cycles of the lanes exactly: `busy` ones and `bubbles`, of `cycles` in all."""
    assert busy + bubbles <= cycles
    made.add(
        entries, NOTHING, dumps=False, cycles=(cycles + START, cycles + START), bubbles=(bubbles, bubbles),
        busy=(busy, busy),
    )


def fill(made: Cases) -> None:
    """Something in the scratchpad."""
    memory = np.random.default_rng(5).integers(0, 256, 4096, dtype=np.uint8)
    made.add([Entry.of(Control.DMA_TO_VECTOR, 0, 0, 4096, 1)], memory, dumps=False)


def test_cycles(simulator: str) -> None:
    made = Cases(SPEC)
    fill(made)
    for count in (10, 40):
        independent(made, count)
        dependent(made, count)
        short_vectors(made, count)
        rows(made, count)
        sums(made, count)
    tables(made)
    scattered_sums(made)
    empty_wavefronts(made)
    made.add([], NOTHING)
    play(SPEC, made, simulator)


def independent(made: Cases, count: int) -> None:
    """Instructions of one wavefront, one after the other: one per cycle, at any alignment."""
    vl = Entry.of(Control.SET_VL, WORDS)
    add = [Entry.vector(words(), 2048 + WIDTH * i + 3, 16 + WIDTH * i + 1, WIDTH * i + 2) for i in range(count)]
    timed(made, [vl, *add], count + 1 + SUM_LAG, 0, count)


def dependent(made: Cases, count: int) -> None:
    """Each reads, at least in one byte, what the one before writes: `lag` bubbles between them."""
    vl = Entry.of(Control.SET_VL, WORDS)
    add = [Entry.vector(words(), (WIDTH - 1) * (i + 1), (WIDTH - 1) * i, 4000) for i in range(count)]
    timed(made, [vl, *add], count + 1 + LAG * (count - 1) + SUM_LAG, LAG * (count - 1), count)


def short_vectors(made: Cases, count: int) -> None:
    """Chains of dependent instructions: no bubble from lag + 1 wavefronts on, and one for each that is missing."""
    for waves in (LAG + 1, LAG, 3):
        vl = Entry.of(Control.SET_VL, WORDS * waves)
        add = [Entry.vector(words(), 512, 512, 0) for _ in range(count)]
        bubbles = (LAG + 1 - waves) * (count - 1)
        timed(made, [vl, *add], count * waves + 1 + bubbles + SUM_LAG, bubbles, count * waves)


def rows(made: Cases, count: int) -> None:
    """No bubble between rows, matrices and instructions, forwards and backwards."""
    setup = [
        Entry.of(Control.SET_VL, WORDS), Entry.of(Control.SET_2D_ROWS, count, -WIDTH),
        Entry.of(Control.SET_2D_SOURCES, WIDTH, 0), Entry.of(Control.SET_3D_MATS, 2, 4),
        Entry.of(Control.SET_3D_SOURCES, -4, 8),
    ]
    move = words(Op.VXOR, dimensions=2)
    made.add([*setup, *(Entry.vector(move, 4000 - WIDTH, 64, 2000) for _ in range(2))], NOTHING, dumps=False,
             bubbles=(0, 0), busy=(4 * count, 4 * count), cycles=(4 * count, 4 * count + 35))


def sums(made: Cases, count: int) -> None:
    """Rows of one wavefront each give a sum per cycle; who reads a sum waits for it, who follows it for its slot."""
    setup = [
        Entry.of(Control.SET_VL, WORDS), Entry.of(Control.SET_2D_ROWS, count, 4),
        Entry.of(Control.SET_2D_SOURCES, 16, 0),
    ]
    accumulate = words(Op.VMUL, accumulate=True, dimensions=1)
    made.add([*setup, Entry.vector(accumulate, 3000, 0, 32)], NOTHING, dumps=False, bubbles=(0, 0), busy=(count, count))
    single = words(Op.VADD, accumulate=True)
    reads = [Entry.vector(single, 3000, 0, 0), Entry.vector(single, 2000, 3000, 3000)]
    made.add(reads, NOTHING, dumps=False, bubbles=(SUM_LAG, SUM_LAG), busy=(2, 2))
    # The wavefront that would be written in the cycle of the sum waits for one cycle.
    apart = [Entry.vector(single, 3000, 0, 0), *(Entry.vector(words(), 1024 + 16 * i, 0, 0) for i in range(8))]
    made.add(apart, NOTHING, dumps=False, bubbles=(1, 1), busy=(9, 9))
    over = [Entry.vector(single, 3000, 0, 0), Entry.vector(words(), 3000, 0, 0)]
    made.add(over, NOTHING, dumps=False, bubbles=(SUM_LAG - LAG,) * 2, busy=(2, 2))


def tables(made: Cases) -> None:
    """One element per cycle: table look-up, and scatter; six cycles each where indices might change."""
    count = 64
    memory = np.random.default_rng(6).integers(0, 64, count, dtype=np.uint32).view(np.uint8)
    setup = [Entry.of(Control.DMA_TO_VECTOR, 0, 0, 4 * count, 1), Entry.of(Control.SET_VL, count)]
    made.add(setup, memory, dumps=False)
    gather, scatter = words(Op.VGATHER, scalar=True), words(Op.VSCATTER)
    made.add([Entry.vector(gather, 1024, 512, 0)], NOTHING, dumps=False, bubbles=(0, 0), cycles=(0, count + 32))
    made.add([Entry.vector(words(Op.VADD, enumerated=True, scalar=True), 256, 0)], NOTHING, dumps=False)
    made.add([Entry.vector(scatter, 2048, 1024, 256)], NOTHING, dumps=False, bubbles=(0, 0), cycles=(0, count + 32))
    made.add([Entry.vector(gather, 16, 512, 0)], NOTHING, dumps=False, cycles=(5 * count, 16 * count))


def scattered_sums(made: Cases) -> None:
    """A scatter that accumulates: one element per cycle, two with a vector of terms; where addresses come again, as
    long as a result takes."""
    count = 64
    memory = np.arange(count, dtype=np.uint32)
    apart, equal, turns = (np.ascontiguousarray(x, np.uint32) for x in (memory * 5 % count, memory * 0, memory % 2))
    setup = [Entry.of(Control.DMA_TO_VECTOR, 0, 0, 12 * count, 1), Entry.of(Control.SET_VL, count)]
    made.add(setup, np.concatenate([apart, equal, turns]).view(np.uint8), dumps=False)
    one, each = words(Op.VSCATTER, scalar=True, accumulate=True), words(Op.VSCATTER, accumulate=True)
    made.add([Entry.vector(one, 2048, 3, 0)], NOTHING, dumps=False, bubbles=(0, 0), cycles=(0, count + 32))
    made.add([Entry.vector(each, 2048, 0, 0)], NOTHING, dumps=False, bubbles=(0, 0), cycles=(0, 2 * count + 32))
    for start, period in ((256, 1), (512, 2)):
        waits = (LAG + 1) * count // period
        made.add([Entry.vector(one, 3072, 7, start)], NOTHING, dumps=False, cycles=(waits - 16, waits + 32))
    made.add([Entry.vector(each, 3072, 0, 256)], NOTHING)


def empty_wavefronts(made: Cases) -> None:
    """A masked instruction takes as many cycles as the mask has wavefronts with an active element."""
    waves = 60
    memory = np.zeros(4 * WORDS * waves, np.uint8)
    memory[4 * WORDS * 7] = memory[4 * WORDS * 41 + 4] = 1
    test = Mode(Op.VCMV_NZ, False, absolute=True)
    setup = [Entry.of(Control.DMA_TO_VECTOR, 0, 0, len(memory), 1), Entry.of(Control.SET_VL, WORDS * waves),
             Entry.vector(test, 0, 0, 0)]
    made.add(setup, memory, dumps=False, busy=(waves, waves))
    move = [Entry.vector(words(Op.VMOV, scalar=True, masked=True), 2000 + 16 * i, i) for i in range(10)]
    made.add(move, NOTHING, dumps=False, busy=(20, 20), bubbles=(0, 0), cycles=(0, 20 + START + SUM_LAG + 1))


def beside(width: int, step: int, offset: int, rows_: int) -> list[Entry]:
    """Four times rows of one wavefront that are `step` bytes apart, from the bottom of the scratchpad."""
    return [
        Entry.of(Control.SET_VL, width), Entry.of(Control.SET_2D_ROWS, rows_, step),
        Entry.of(Control.SET_2D_SOURCES, step, step),
        *(Entry.vector(Mode(Op.VXOR, False, 0, 0, dimensions=1), offset, offset, offset) for _ in range(4)),
    ]


def add_transfers_beside(
    made: Cases, step: int, offset: int, rows_: int, chunks: int, slowest: float, bubbles: int
) -> None:
    """Transfers in both directions beside wavefronts: `slowest` cycles per chunk, `bubbles` for them at most."""
    spec = made.spec
    for control in (Control.DMA_TO_VECTOR, Control.DMA_TO_HOST):
        job = Entry.of(control, spec.capacity // 2, 4096, chunks * spec.memory_bytes, 1)
        made.add(
            [job, *beside(spec.row_bytes, step, offset, rows_)], NOTHING, dumps=False, busy=(4 * rows_, 4 * rows_),
            dma_cycles=(chunks, int(slowest * chunks) + 14), bubbles=(0, bubbles),
            cycles=(4 * rows_, 4 * rows_ + bubbles + 40),
        )


SHAPES = (
    # step, offset, rows, cycles per chunk at worst, bubbles for the engine at most
    (WIDTH, 0, 126, 1.1, 10),
    (WIDTH, 5, 126, 2.1, 10),
    (2 * WIDTH, 0, 63, 6.0, 90),
    (2 * WIDTH, 5, 63, 6.0, 90),
)


def test_transfers_beside_instructions(simulator: str) -> None:
    """Both go on at once: a chunk per cycle beside aligned wavefronts in sequence, one per two cycles beside unaligned
    ones, and where all wavefronts use the half of the banks that a chunk needs, bubbles let it pass."""
    made = Cases(SPEC)
    fill(made)
    for step, offset, rows_, slowest, bubbles in SHAPES:
        add_transfers_beside(made, step, offset, rows_, 40, slowest, bubbles)
    made.add([], NOTHING)
    play(SPEC, made, simulator)


def test_several_chunks_per_row(simulator: str) -> None:
    """Two chunks of a row pass together, so that a chunk per cycle goes on beside wavefronts in sequence here too."""
    spec = small(16)
    made = Cases(spec)
    fill(made)
    add_transfers_beside(made, spec.row_bytes, 0, 30, 50, 1.1, 10)
    play(spec, made, simulator)


def test_order_of_transfers_and_instructions(simulator: str) -> None:
    """Load, work, store on two halves in turn, with neither waiting nor synchronisation in the program."""
    made = Cases(SPEC)
    memory = np.random.default_rng(7).integers(0, 256, 4096, dtype=np.uint8)
    for gap, stall in ((0, 0), (100, 150)):
        entries = [Entry.of(Control.SET_VL, 300)]
        for block in range(12):
            half = 1024 * (block % 2)
            entries += [
                Entry.of(Control.DMA_TO_VECTOR, half + 3, 300 * block, 300, 1),
                Entry.vector(Mode(Op.VADD, False, 0, 0, scalar=True), half + 512, block, half + 3),
                Entry.of(Control.DMA_TO_HOST, half + 512, 4096 + 301 * block, 300, 1),
            ]
        made.add(entries, memory, gap, stall)
    play(SPEC, made, simulator)

"""The whole processor system: C and assembler programs that use the vector unit, against the reference machine."""

from __future__ import annotations

import numpy as np
import pytest
from vector_system_bench import entries_program

from hw.sim.simulate import StallProfile
from hw.soc.run import run_entries, run_program
from hw.vector_lanes.isa import Control, Entry, Mode, Op, Status
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import StreamOptions, random_entries, random_memory

SHORT = {"expected_cycles": 20_000}
"""Runs whose simulations are built in less time."""
SLOW = {**SHORT, "seed": 9, "stall": StallProfile.uniform(0.25), "latency": 23}
SYSTEMS = [(1, "icarus"), (1, "verilator"), (4, "icarus"), (4, "verilator"), (8, "verilator")]
systems = pytest.mark.parametrize(("lanes", "simulator"), SYSTEMS, ids=lambda value: str(value))

# Liu 2012, figure 2.2: three vectors are added. The third one is made by the core just before its transfer.
ADD_THREE = """
#include "soc.h"
#include "vector.h"
#define N 96
int32_t a[N] ALIGNED, b[N] ALIGNED, c[N] ALIGNED, d[N] ALIGNED, sums[2];
int main(void)
{
    for (int i = 0; i < N; i++)
        c[i] = 3 * i;
    for (int i = 0; i < N; i++)
        sums[0] += d[i];                       /* d is in the data cache, from before */
    kernel_begin();
    int32_t *va = vector_malloc(sizeof a), *vb = vector_malloc(sizeof b), *vc = vector_malloc(sizeof c);
    vector_dma_to_vector(vc, c, sizeof c);
    vector_dma_to_vector(va, a, sizeof a);
    vector_dma_to_vector(vb, b, sizeof b);
    vector_set_vl(N);
    vector(VVW, VADD, vb, va, vb);
    vector(VVW, VADD, vc, vb, vc);
    vector_dma_to_host(d, vc, sizeof d);
    vector_wait_for_dma();
    kernel_end();
    flush_cache_all();
    for (int i = 0; i < N; i++)
        sums[1] += d[i];
    return 0;
}
"""


@systems
def test_adds_three_vectors(lanes, simulator):
    rng = np.random.default_rng(lanes)
    a, b = rng.integers(-1000, 1000, (2, 96), dtype=np.int32)
    result = run_program({"main.c": ADD_THREE}, VectorSpec(lanes=lanes), simulator=simulator,
                         loads={"a": a, "b": b, "d": np.ones(96, np.int32)}, dumps=["d", "sums"], **SLOW)
    expected = a + b + 3 * np.arange(96, dtype=np.int32)
    np.testing.assert_array_equal(result.array("d", np.int32), expected)
    assert list(result.array("sums", np.int32)) == [96, expected.sum()]
    assert result.counters.instructions == 2
    assert result.counters.busy == 2 * 96 // lanes
    assert 2 * 96 // lanes < result.kernel_cycles < result.cycles


MEMORY_BYTES = 1 << 14


def random_case(spec: VectorSpec, seed: int, count: int) -> tuple[list[Entry], np.ndarray, VectorMachine]:
    """A random program that ends with its scratchpad in memory; memory before; the machine after."""
    rng = np.random.default_rng(seed)
    options = StreamOptions(memory_bytes=MEMORY_BYTES // 2, fill=4096, max_waves=3, max_rows=3)
    entries = random_entries(spec, rng, count, options)
    entries.append(Entry.of(Control.DMA_TO_HOST, 0, MEMORY_BYTES // 2, MEMORY_BYTES // 2, 0))
    memory = random_memory(rng, MEMORY_BYTES)
    machine = VectorMachine(spec, memory.copy())
    machine.execute(entries)
    return entries, memory, machine


@systems
def test_random_programs_through_the_core(lanes, simulator):
    spec = VectorSpec(lanes=lanes)
    entries, memory, machine = random_case(spec, 100 + lanes, {"icarus": 30, "verilator": 300}[simulator])
    result = run_program(entries_program(entries, MEMORY_BYTES), spec, simulator=simulator, loads={"memory": memory},
                         dumps=["memory", "status"], **SLOW)
    np.testing.assert_array_equal(result.array("memory", np.uint8), machine.memory)
    assert result.array("status", np.uint32)[0] == int(machine.status)
    assert result.counters.instructions >= 10


def test_ideal_dispatcher(simulator):
    spec = VectorSpec(lanes=1)
    entries, memory, machine = random_case(spec, 7, {"icarus": 60, "verilator": 400}[simulator])
    result = run_entries(entries, spec, memory={0: memory.tobytes()}, dumps=[(0, MEMORY_BYTES)], depth=512,
                         simulator=simulator, **SLOW)
    np.testing.assert_array_equal(np.frombuffer(result.dumps[0], np.uint8), machine.memory)
    assert len(result.vector_status) == int(machine.status).bit_count()


def test_ideal_dispatcher_keeps_the_lanes_busy(simulator):
    """Independent instructions of four wavefronts, without a bubble between them."""
    spec = VectorSpec(lanes=1)
    count = 100
    body = [Entry.vector(Mode(Op.VADD), 64 * (index % 8), 1024, 2048) for index in range(count)]
    result = run_entries([Entry.of(Control.SET_VL, 4), *body], spec, depth=512, simulator=simulator, seed=1, **SHORT)
    assert (result.counters.instructions, result.counters.busy, result.counters.bubbles) == (count, 4 * count, 0)
    assert 4 * count < result.cycles < 4 * count + 30


MISTAKES = """
#include "soc.h"
#include "vector.h"
int32_t status[16] ALIGNED, data[64] ALIGNED;
#define CHECK(...) do { __VA_ARGS__; vector_sync(); status[n++] = vector_get(VECTOR_PARAMETER_STATUS); } while (0)
int main(void)
{
    int n = 0;
    vector_set_vl(4);
    CHECK(vector(VVW, VADD, 3, 1, 2));                                         /* misaligned: as good as any */
    CHECK(vector(VVW, VADD, VECTOR_SCRATCHPAD_BYTES - 16, 0, 0));
    CHECK(vector(VVW, VADD, VECTOR_SCRATCHPAD_BYTES - 15, 0, 0));
    CHECK(vector(VVW, VADD, -4, 0, 0));
    CHECK(vector(VVW, VMAC, 0, 0, 0));
    CHECK(vector_setup_2D(2, 0, 0, -4); vector_2D(VVW, VADD, 0, 0, 0));
    CHECK(vector_set_vl(0); vector(VVW, VADD, -4, 0, 0));                       /* nothing to do */
    CHECK(vector_set_vl(-1); vector(VVB, VADD, 0, 0, 0));
    CHECK(vector_dma_to_vector(0, 0x40000000, 64));
    CHECK(vector_dma_to_host(0x40000000, 0, 64));
    CHECK(vector_dma_to_vector(VECTOR_SCRATCHPAD_BYTES - 60, data, 64));
    CHECK(vector_dma_to_vector(0, data, 0));
    CHECK(vector_dma_to_vector_2D(0, data, 4, 70000, 4, 4));
    vector_set_vl(32);
    vector_dma_to_vector(0, data, 128);
    CHECK(for (int i = 0; i < 100; i++) vector(SVW, VADD, 0, 1, 0));            /* more than the queue holds */
    vector_dma_to_host(data + 32, 0, 128);
    vector_sync();
    return 0;
}
"""


def test_mistakes_have_a_status(simulator):
    """What the vector unit refuses shows in its status, and the program goes on."""
    spec, loads = VectorSpec(lanes=1), {"data": np.arange(32, dtype=np.int32)}
    result = run_program({"main.c": MISTAKES}, spec, loads=loads, dumps=["status", "data"], simulator=simulator,
                         **SHORT)
    illegal, address, read, write = Status.ILLEGAL, Status.ADDRESS, Status.DMA_READ, Status.DMA_WRITE
    expected = [0, 0, address, address, illegal, address, 0, address, read, write, address, 0, illegal, 0]
    assert result.array("status", np.int32)[: len(expected)].tolist() == [int(status) for status in expected]
    assert (result.array("data", np.int32)[32:] == np.arange(32) + 100).all()


def test_status_of_a_run(simulator):
    """Bits that the program does not read stay for the host."""
    text = '#include "vector.h"\nint main(void) { vector_set_vl(4); vector(VVW, VADD, 1 << 20, 0, 0); return 0; }'
    result = run_program({"main.c": text}, VectorSpec(lanes=1), simulator=simulator, check=False, **SHORT)
    assert (result.vector_status, result.exit_code) == (("ADDRESS",), 0)

"""The reference simulator against the instruction set computed byte by byte."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_brute_force import BruteForce

from hw.vector_lanes.isa import Control, Entry, Mode, Op, Parameter, Size, Status, check
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import StreamOptions, random_entries, random_memory

MEMORY = 4096


def compare(spec, memory, entries):
    """Run both and compare their whole states every few entries."""
    machine, plain = VectorMachine(spec, memory.copy()), BruteForce(spec, [int(x) for x in memory])
    for start in range(0, len(entries), 16):
        group = entries[start:start + 16]
        machine.execute(group)
        for entry in group:
            plain.run(entry)
        assert machine.scratchpad.tolist() == plain.data, group
        assert machine.flags.tolist() == [int(f) for f in plain.flag], group
        assert int(machine.status) == plain.status
    assert machine.memory.tolist() == plain.memory
    return machine, plain


@pytest.mark.parametrize("lanes, seed", [(1, 1), (1, 2), (2, 3), (4, 4), (4, 5), (8, 6), (64, 7)])
def test_random_streams(lanes, seed):
    spec = VectorSpec(lanes, scratchpad_bytes=max(1024, 32 * lanes), mask_waves=4)
    rng = np.random.default_rng(seed)
    options = StreamOptions(memory_bytes=MEMORY, max_waves=3, fill=1024)
    machine, plain = compare(spec, random_memory(rng, MEMORY), random_entries(spec, rng, 700, options))
    assert machine.instructions > 150 and machine.status
    assert (machine.mask is None) == (plain.mask is None)
    if machine.mask is not None:
        assert (machine.mask.size, machine.mask.active.tolist()) == (plain.mask[0], plain.mask[1])


ONE_D = [word for word in range(0, 1 << 17, 3) if word >> 14 & 3 == 0 and not check(word)]


@settings(max_examples=800, deadline=None)
@given(st.sampled_from(ONE_D), st.integers(0, 40), st.tuples(*[st.integers(0, 60)] * 3), st.integers(0, 2**32 - 1),
       st.integers(0, 2**32 - 1))
def test_any_mode_any_overlap(word, vl, bases, scalar, seed):
    """Every legal 1-D mode word on operands within a few bytes of each other."""
    spec = VectorSpec(2, scratchpad_bytes=256)
    rng = np.random.default_rng(seed)
    mode = Mode.decode(word)
    mask = Mode(Op.VCMV_NZ, True, mode.exec_size, mode.exec_size, absolute=True)
    a = bases[1] if mode.op is Op.VGATHER or not mode.scalar else scalar
    entries = [Entry.of(Control.DMA_TO_VECTOR, 0, 0, 256), Entry.of(Control.SET_VL, vl),
               Entry.vector(Mode(Op.VADD, mode.signed), 0, 0, 4), Entry.vector(mask, 0, 0, 3),
               Entry.vector(mode, bases[0], a, bases[2])]
    compare(spec, random_memory(rng, 256), entries)


def run(mode, a=(), b=(), d=(), vl=None, kind=np.int32, out=None, flags_b=None):
    """One instruction on small arrays; A at 64, B at 128, D at 192. Returns D's elements and their flags."""
    machine = VectorMachine(VectorSpec(4, scratchpad_bytes=256))
    for base, values in ((64, a), (128, b), (192, d)):
        data = np.asarray(values, kind if base != 192 or out is None else out).view(np.uint8)
        machine.scratchpad[base:base + len(data)] = data
    if flags_b is not None:
        machine.flags[128:128 + len(flags_b)] = flags_b
    count = max(len(a), len(b)) if vl is None else vl
    scalar = a if np.isscalar(a) else 64
    machine.execute([Entry.of(Control.SET_VL, count), Entry.vector(mode, 192, scalar, 128)])
    assert not machine.status
    result = machine.scratchpad[192:192 + 4 * count].view(out or kind)[:count]
    return result.tolist(), machine.flags[192:192 + 4 * count:np.dtype(out or kind).itemsize][:count].tolist()


def test_sums_flag_overflow_or_carry():
    top = 2**31 - 1
    assert run(Mode(Op.VADD), [top, -1], [1, 1]) == ([-(2**31), 0], [1, 0])
    assert run(Mode(Op.VADD, signed=False), [top, -1], [1, 1]) == ([-(2**31), 0], [0, 1])
    assert run(Mode(Op.VSUB, signed=False), [1, 2], [2, 1]) == ([-1, 1], [1, 0])


def test_mask_setup_keeps_and_narrows():
    machine = VectorMachine(VectorSpec(1, scratchpad_bytes=64))
    machine.scratchpad[:32] = np.array([0, 1, 2, 0, 5, 0, 0, 7], np.int32).view(np.uint8)
    test = Mode(Op.VCMV_NZ, absolute=True)
    machine.execute([Entry.of(Control.SET_VL, 8), Entry.vector(test, 0, 0, 0)])
    assert machine.get(Parameter.MASK_WAVES) == 4
    machine.execute([Entry.vector(Mode(Op.VCMV_NZ, absolute=True, masked=True), 0, 0, 0)])
    assert machine.get(Parameter.MASK_WAVES) == 4
    before = machine.ideal_cycles
    machine.execute([Entry.vector(Mode(Op.VMOV, scalar=True, masked=True), 32, 9)])
    assert machine.ideal_cycles - before == 4
    assert machine.scratchpad[32:].view(np.int32).tolist() == [0, 9, 9, 0, 9, 0, 0, 9]


def test_mask_that_is_too_long_is_invalid():
    spec = VectorSpec(1, mask_waves=2)
    machine = VectorMachine(spec)
    test = Entry.vector(Mode(Op.VCMV_Z, absolute=True), 0, 0, 0)
    machine.execute([Entry.of(Control.SET_VL, 2), test])
    assert machine.mask is not None and not machine.status
    machine.execute([Entry.of(Control.SET_VL, 3), test])
    assert machine.mask is None and machine.get(Parameter.STATUS) == Status.ILLEGAL
    assert machine.get(Parameter.STATUS) == 0


def test_copy_forward_depends_on_the_wavefront():
    """D one row above A: a wavefront reads what the one before it wrote."""
    results = []
    for lanes in (1, 4):
        machine = VectorMachine(VectorSpec(lanes, scratchpad_bytes=256))
        machine.scratchpad[:64] = np.arange(64)
        machine.execute([Entry.of(Control.SET_VL, 8), Entry.vector(Mode(Op.VMOV), 4, 0)])
        results.append(machine.scratchpad[:36:4].tolist())
    assert results == [[0] * 9, [0, 0, 4, 8, 12, 12, 20, 24, 28]]


def test_transfers_clear_flags_and_leave_neighbours():
    memory = np.arange(64, dtype=np.uint8)
    machine = VectorMachine(VectorSpec(1, scratchpad_bytes=64), memory)
    machine.flags[:] = 1
    machine.execute([Entry.of(Control.SET_DMA_INC, 8, -4), Entry.of(Control.DMA_TO_VECTOR, 3, 20, 3, 3)])
    expected = np.zeros(64, int)
    for row in range(3):
        expected[3 + 8 * row:6 + 8 * row] = np.arange(20 - 4 * row, 23 - 4 * row)
    assert machine.scratchpad.tolist() == expected.tolist()
    assert machine.flags.tolist() == [int(x == 0) for x in expected]


def test_errors_of_transfers():
    machine = VectorMachine(VectorSpec(1, scratchpad_bytes=64), bytearray(16), memory_base=0x100)
    machine.execute([Entry.of(Control.DMA_TO_VECTOR, 0, 0x100, 16)])
    assert not machine.status
    for entry, status in ((Entry.of(Control.DMA_TO_VECTOR, 0, 0x101, 16), Status.DMA_READ),
                          (Entry.of(Control.DMA_TO_HOST, 0, 0xFF, 4), Status.DMA_WRITE),
                          (Entry.of(Control.DMA_TO_HOST, 61, 0x100, 4), Status.ADDRESS),
                          (Entry.of(Control.DMA_TO_HOST, 0, 0x100, 1, 65536), Status.ILLEGAL)):
        machine.execute([entry])
        assert machine.get(Parameter.STATUS) == status


def test_ideal_cycles():
    machine = VectorMachine(VectorSpec(4))
    machine.execute([Entry.of(Control.SET_VL, 17), Entry.of(Control.SET_2D_ROWS, 3, 100)])
    for mode, cycles in ((Mode(Op.VADD), 5), (Mode(Op.VADD, True, Size.BYTE, Size.BYTE), 2),
                         (Mode(Op.VADD, True, Size.BYTE, Size.HALF, dimensions=1), 9),
                         (Mode(Op.VADD, True, Size.BYTE, Size.WORD, accumulate=True), 2),
                         (Mode(Op.VGATHER, scalar=True), 17)):
        before = machine.ideal_cycles
        machine.execute([Entry.vector(mode, 512, 0, 0)])
        assert machine.ideal_cycles - before == cycles

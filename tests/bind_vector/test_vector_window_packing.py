"""Windows of short rows: packed for all columns at once, by copies or by merging blocks, and summed in one go."""

from __future__ import annotations

import numpy as np
import pytest
from compiled import compile_and_check
from random_arrays import random_inputs

from compiler.bind.vector.apps import load
from compiler.bind.vector.ir import (
    Instruction,
    MemoryArray,
    Setting,
    Transfer,
    VectorProgram,
    entries,
    unrolled,
)
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.window_packing import WindowPack
from compiler.frontend import parallel_array as pa
from hw.vector_lanes.isa import Op, Status
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec


def correlation(block: tuple[int, int], positions: tuple[int, int], kind: str) -> pa.ArrayProgram:
    """Sums of absolute differences at every position of a block in an area."""
    reference = pa.input("reference", block, kind)
    area = pa.input("area", tuple(b + p - 1 for b, p in zip(block, positions, strict=True)), kind)
    windows = pa.sliding_window_view(area, block)
    return pa.program("correlation", sums=pa.abs_difference(reference, windows).sum(axis=(2, 3), dtype="uint32"))


def run(program: pa.ArrayProgram, lanes: int) -> list[Instruction | Setting | Transfer]:
    """The statements of a program that computes on the reference machine what numpy does."""
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(1)), lanes=lanes)
    return [s for s in unrolled(design.code.body) if isinstance(s, Instruction | Setting | Transfer)]


@pytest.mark.parametrize("kind", ["uint8", "uint16"])
def test_windows_of_all_columns_are_summed_by_one_instruction(kind: str) -> None:
    instructions = [s for s in run(correlation((16, 16), (16, 16), kind), 64) if isinstance(s, Instruction)]
    assert sum(s.mode.accumulate for s in instructions) == 1
    assert any(s.mode.op is Op.VCMV_GEZ for s in instructions)


@pytest.mark.parametrize(("width", "count", "rows", "size", "lanes"), [
    (8, 21, (3, 4), 1, 16), (4, 9, (9,), 2, 16), (16, 16, (31,), 1, 64), (2, 7, (8,), 4, 4), (12, 5, (6,), 1, 16),
    (16, 1, (20,), 1, 16), (16, 3, (2, 2, 3), 4, 4),
])
def test_packed_windows(width: int, count: int, rows: tuple[int, ...], size: int, lanes: int) -> None:
    """Every window lies in its plane, row behind row, whatever the array's pitch."""
    spec = VectorSpec(lanes)
    shape = (*rows, count + width - 1)
    pitch = shape[-1] + 3
    area = np.random.default_rng(width).integers(0, 256, (*rows, pitch * size), np.uint8)
    strides = [size]
    for extent in reversed((*rows[1:], pitch)):
        strides.append(strides[-1] * extent)
    pack = WindowPack(tuple((0, n) for n in shape), tuple(reversed(strides)), width, count, size, spec.row_bytes)
    source = pack.bytes + spec.row_bytes
    memory = MemoryArray("area", "input", "uint8", (area.size,), area.size)
    body = (Transfer(False, source, "area", 0, area.size, 1), *pack.statements(Settings(), 0, source))
    program = VectorProgram("pack", spec.capacity, (memory,), body)
    machine = VectorMachine(spec, area.reshape(-1).copy())
    machine.execute(list(entries(program, {"area": 0})))
    assert machine.status == Status(0)
    for column in range(count):
        place = pack.windows + column * pack.plane
        found = np.array(machine.scratchpad[place:place + pack.rows * pack.row])
        assert (found == area[..., column * size:(column + width) * size].reshape(-1)).all()


def test_windows_that_do_not_fit_are_packed_column_by_column() -> None:
    """One instruction for every column, and one more for each of the smaller tiles at the beginning."""
    instructions = [s for s in run(correlation((16, 16), (16, 16), "uint8"), 1) if isinstance(s, Instruction)]
    assert 16 <= sum(s.mode.accumulate for s in instructions) <= 18


def test_what_is_only_summed_has_no_gaps() -> None:
    """The block, and the area with a column that nobody wants, come in one row each."""
    transfers = [s for s in run(load("motest", dtype="uint8"), 64) if isinstance(s, Transfer)]
    assert [s.rows for s in transfers] == [1, 1, 1]


@pytest.mark.parametrize(("width", "count", "columns"), [(16, 16, 31), (8, 20, 27), (32, 1, 32)])
def test_cycles_of_packing(width: int, count: int, columns: int) -> None:
    pack = WindowPack(((0, 31), (0, columns)), (64, 1), width, count, 1, 256)
    copied = count * 31
    waves = -(-31 * width // 256)
    merged = min(width, count) + -(-columns // width) * 31 + (2 * count - -(-count // width)) * waves
    assert pack.cycles() == min(copied, merged) and pack.merges == (merged < copied)

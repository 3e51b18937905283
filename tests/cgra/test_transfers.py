"""Main memory to banks: descriptors and bank schedules, walked in software, against the program's own accesses."""

from __future__ import annotations

from itertools import product

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from random_programs import programs

from compiler.bind.cgra.transfers import array_bytes, array_from_bytes, bank_config, descriptor, element_bytes, lay_out
from compiler.cli.input_files import random_inputs
from compiler.frontend.loop_nest import load, prog
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.program import Array, Program
from compiler.ir.types import Int
from compiler.sched.static.schedule import Schedule
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import Footprint, StreamError, choose_tile_depth, stage_streams
from hw.dma.descriptor import DmaDescriptor, DmaLevel

U16, S8 = Int(16, False), Int(8, True)


def scheduled(program: Program, depth: int | None = None) -> Schedule:
    return schedule_program(stage_streams(program, choose_tile_depth(program, 1 << 15) if depth is None else depth))


def walked(engine: DmaDescriptor, memory: bytes, tile: int) -> np.ndarray:
    """The words that the DMA engine packs for one tile."""
    rows = [memory[address: address + engine.row_bytes] for address in engine.row_addresses(tile)]
    return np.frombuffer(b"".join(rows), dtype="<u2")


def require_transfers(program: Program, schedule: Schedule) -> None:
    """Each bank access moves the element that its statement instance touches, in the instance's cycle."""
    staged = schedule.staged
    inputs = random_inputs(program, 5)
    layout = lay_out((*program.inputs, *program.outputs), 192)
    number = {a.name: np.arange(np.prod(a.shape)).reshape(a.shape) for a in (*program.inputs, *program.outputs)}
    for footprint in (*staged.inputs, *staged.outputs):
        array = program.array(footprint.array)
        address = layout.addresses[array.name]
        engine = descriptor(footprint, array, address, staged.tile_starts, staged.tile_counts)
        data = inputs.get(array.name, number[array.name])
        memory = bytes(address) + element_bytes(data)
        bank = bank_config(footprint, schedule.statements[footprint.statement], 17, "input")
        assert (bank.words, bank.first) == (footprint.words, schedule.statements[footprint.statement].offset + 17)
        assert bank.nest.count == engine.tile_bytes // 2 == footprint.words
        for tile, where in enumerate(product(*map(range, staged.tile_counts))):
            begin = [t + start for t, start in zip(where, staged.tile_starts, strict=True)]
            packed = walked(engine, memory, tile)
            assert len(packed) == footprint.words
            times, elements = _instances(schedule, footprint, begin)
            assert [time for time, _ in bank.nest.events()] == [time + 17 for time in times]
            got = [int(packed[words[0]]) for _, words in bank.nest.events()]
            assert got == [int(data[e]) & 0xFFFF for e in elements]


def _instances(schedule: Schedule, footprint: Footprint, tile: list[int]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Cycle and main-memory element of every instance of the moving statement in one tile."""
    statement, entry = schedule.staged.program.statement(footprint.statement), schedule.statements[footprint.statement]
    access = next(a for a in (*statement.reads, statement.write) if a.array == footprint.array)
    domain = statement.domain
    for k, value in enumerate(tile):
        domain = domain.fix_val(isl.dim_type.set, k, value)
    count, columns = enumerate_points(domain)
    image = evaluate_map(access.map, domain, columns, count)
    times = np.full(count, entry.offset)
    for column, stride, low in zip(columns[len(tile):], entry.strides.values(), entry.low.values(), strict=True):
        times = times + (column - low) * stride
    return times.tolist(), list(zip(*(c.tolist() for c in image), strict=True))


@pytest.mark.parametrize(("name", "parameters", "depth"), [
    ("gaussian", {"width": 9, "height": 7}, 0), ("gaussian", {"width": 9, "height": 7}, 1),
    ("brighten_blur", {"tiles": 3, "size": 6}, 1), ("upsample", {"width": 5, "height": 4}, 0),
    ("gaussian_tiled", {"width": 14, "height": 8, "tile": 3}, 2), ("cascade", {"width": 9, "height": 8}, 0),
])
def test_every_word_of_the_applications(name: str, parameters: dict[str, int], depth: int) -> None:
    program = load(name, **parameters)
    require_transfers(program, scheduled(program, depth))


@settings(max_examples=25, deadline=None)
@given(programs(largest=8))
def test_every_word_of_random_programs(program: Program) -> None:
    require_transfers(program, scheduled(program))


def copy(shape: tuple[int, ...], loops: list[tuple[str, int, int]], *addresses: str) -> Program:
    """A program that copies an array through `addresses` (fastest first) in loops (name, first value, trips)."""
    prg = prog("copy")
    prg.add_input("a", shape=shape)
    prg.add_output("b")
    scope = prg
    for name, start, count in loops:
        scope = scope.add_loop(name, start, count)
    op = scope.add_op("Copy")
    op.add_load("a", *addresses)
    op.add_store("b", *addresses)
    return prg.build()


@pytest.mark.parametrize(("shape", "loops", "addresses", "depth"), [
    ((12,), [("t", 1, 4), ("x", -1, 3)], ("3*t + x - 2",), 1),
    ((4, 6), [("t", 0, 2), ("y", 0, 2), ("x", 0, 6)], ("5 - x", "3 - 2*t - y"), 1),
    ((3, 4, 5), [("z", 0, 3), ("y", 0, 4), ("x", 0, 5)], ("x", "y", "z"), 0),
    ((3, 4, 5), [("z", 0, 3), ("y", 0, 4), ("x", 0, 5)], ("x", "y", "z"), 1),
    ((5, 4, 3), [("x", 0, 3), ("y", 0, 4), ("z", 0, 5)], ("x", "y", "z"), 2),
    ((2, 3, 4, 5), [("w", 0, 2), ("z", 0, 3), ("y", 0, 4), ("x", 0, 5)], ("x", "y", "z", "w"), 0),
    ((1, 1), [("y", 0, 1), ("x", 0, 1)], ("x", "y"), 0),
])
def test_boxes_of_any_order(shape: tuple[int, ...], loops: list[tuple[str, int, int]], addresses: tuple[str, ...],
                            depth: int) -> None:
    program = copy(shape, loops, *addresses)
    require_transfers(program, scheduled(program, depth))


def engine_of(program: Program, depth: int, output: bool = False) -> DmaDescriptor:
    staged = stage_streams(program, depth)
    footprint = staged.outputs[0] if output else staged.inputs[0]
    return descriptor(footprint, program.array(footprint.array), 0x1000, staged.tile_starts, staged.tile_counts)


def test_contiguous_boxes_are_one_row() -> None:
    assert engine_of(load("upsample"), 0) == DmaDescriptor(0x1000, 64 * 64 * 2)
    assert engine_of(load("upsample"), 0, output=True) == DmaDescriptor(0x1000, 128 * 128 * 2)
    assert engine_of(load("brighten_blur"), 1) == DmaDescriptor(
        0x1000, 64 * 64 * 2, tiles=(DmaLevel(16, 64 * 64 * 2), DmaLevel()))


def test_boxes_of_more_bytes_than_a_row_may_have_are_rows() -> None:
    """Rows that follow each other without a gap are one only as far as the engine counts."""
    large = copy((3000, 3000), [("y", 0, 3000), ("x", 0, 3000)], "x", "y")
    assert engine_of(large, 0) == DmaDescriptor(0x1000, 6000, DmaLevel(3000, 6000))
    deep = copy((3000, 300, 10), [("z", 0, 3000), ("y", 0, 300), ("x", 0, 10)], "x", "y", "z")
    assert engine_of(deep, 0) == DmaDescriptor(0x1000, 6000, DmaLevel(3000, 6000))


def test_tiles_of_an_image_are_rows_and_two_levels() -> None:
    assert engine_of(load("gaussian_tiled"), 2) == DmaDescriptor(
        0x1000, 129 * 2, DmaLevel(129, 512), tiles=(DmaLevel(2, 254), DmaLevel(2, 127 * 512)))


def test_what_the_engine_cannot_walk_is_named() -> None:
    with pytest.raises(StreamError) as error:
        engine_of(load("gaussian_tiled", width=14, height=14, tile=3), 3)
    assert str(error.value) == ("array input: a tile is a box of 2 dimensions in 3 tile loops; the DMA engine walks up "
                                "to 3 and 2")
    inner = copy((4, 4, 4, 4), [(n, 0, 3) for n in "wzyx"], "x", "y", "z", "w")
    with pytest.raises(StreamError) as error:
        engine_of(inner, 0)
    assert str(error.value) == ("array a: a tile is a box of 4 dimensions in 0 tile loops; the DMA engine walks up "
                                "to 3 and 2")
    with pytest.raises(StreamError) as error:
        engine_of(copy((70000, 2), [("y", 0, 70000), ("x", 0, 1)], "x", "y"), 0)
    assert str(error.value) == "array a: a count of 70000 is outside 1..65535"


@pytest.mark.parametrize("type_", [U16, S8, Int(16, True), Int(1, False)], ids=str)
def test_elements_in_memory_and_back(type_: Int) -> None:
    array = Array("a", (3, 5), type_, "input")
    data = np.random.default_rng(0).integers(type_.minimum, type_.maximum + 1, array.shape)
    raw = element_bytes(data)
    assert len(raw) == array_bytes(array) == 30
    assert raw[:2] == (int(data[0, 0]) & 0xFFFF).to_bytes(2, "little")
    np.testing.assert_array_equal(array_from_bytes(array, raw), data)


def test_arrays_do_not_overlap() -> None:
    arrays = [Array("a", (3, 5), U16, "input"), Array("b", (64,), U16, "input"), Array("c", (1,), U16, "output")]
    layout = lay_out(arrays, 128)
    assert layout.addresses == {"a": 128, "b": 192, "c": 320}
    assert layout.end == 384

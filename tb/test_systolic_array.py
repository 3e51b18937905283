"""Systolic arrays, described by hand, on emitted Verilog: every kind of wiring, under stalls on every AXI channel."""

from __future__ import annotations

import numpy as np
import pytest
from systolic_arrays import MAC, execute, matmul, random_run, sources

from compiler.bind.systolic.latency import predict
from hw.dataflow.spec import Operator, Word
from hw.dma.registers import RegisterMap
from hw.main_memory import DEFAULT_MEMORY
from hw.sim.simulate import Job, StallProfile, run_job
from hw.systolic.feeder import feeder_latency
from hw.systolic.registers import RunError, run_writes, systolic_registers
from hw.systolic.spec import (
    EAST,
    INTERIOR,
    SOUTH,
    Address,
    ArraySpec,
    Direction,
    GuardSpec,
    OperandSpec,
    ResultSpec,
    TileLoop,
    TimeLoop,
)
from hw.systolic.system import SYSTEM_MODULE

INT8, INT16, INT32 = Word(8, True), Word(16, True), Word(32, True)
STALLS = StallProfile.uniform(0.3)
ERROR_FIELD = 8

LANES = matmul(2, 3, steps=16, block=(2, 4), lanes=2, pack=4, result_pack=4, row_pack=2)
"""A 2x3 array with two lanes: a tile is 128 steps. Two results of a PE go along the row together."""

NOT_NEUTRAL = (*MAC, Operator("const", (), INT32, value=3), Operator("add", (4, 5), INT32))
"""``a * b + 3``: words of zeros would count."""


def operand(name: str, word: Word, direction: Direction, words: int, coefficients: tuple[int, ...],
            loops: tuple[int, ...], *, vector: bool = False, copied: bool = False, pack: int = 1,
            initial: bool = False) -> OperandSpec:
    return OperandSpec(name, word, direction, words, Address(coefficients), loops, vector, copied, pack,
                       initial=initial)


def along_columns() -> ArraySpec:
    """Space loops i and k: A in every PE, sums go east, initial values enter at the west edge; 3 is added to every
    product, and the last tile of k is not full."""
    operands = (
        operand("a", INT8, INTERIOR, 2, (0, 1), (0, 2)), operand("b", INT8, SOUTH, 4, (1, 0), (1, 2), pack=2),
        operand("c", INT32, EAST, 8, (1, 4), (0, 1), initial=True),
    )
    return ArraySpec(
        "columns", 2, 3, (TileLoop("i"), TileLoop("j"), TileLoop("k", True)), (TimeLoop("j", 4), TimeLoop("i", 2)),
        operands, NOT_NEUTRAL, ResultSpec(INT32, 8, Address((1, 4)), space="columns", pack=4),
        guards=(GuardSpec("k", 2, 3, (0, 0), columns=1),), bus_bits=32)


def both_axes() -> ArraySpec:
    """A reduction over both axes and in time, each of which its bound cuts off."""
    operands = (operand("a", INT8, INTERIOR, 6, (2, 1), (0, 1), pack=2), operand("b", INT8, INTERIOR, 2, (0, 1), (1,)))
    return ArraySpec(
        "both", 3, 2, (TileLoop("i"), TileLoop("k", True)), (TimeLoop("i", 3), TimeLoop("k", 2, True)), operands,
        NOT_NEUTRAL, ResultSpec(INT32, 3, Address((1, 0)), space="both", pack=2),
        guards=(GuardSpec("k", 1, 12, (0, 1), rows=4, columns=2),), bus_bits=128)


def one_row() -> ArraySpec:
    """A row of three PEs over k; entries of the accumulator are not in order of their addresses."""
    operands = (operand("a", INT8, INTERIOR, 6, (2, 0, 1), (0, 1)), operand("b", INT8, SOUTH, 4, (0, 2, 1), (1,)))
    return ArraySpec(
        "row", 1, 3, (TileLoop("i"), TileLoop("k", True)),
        (TimeLoop("i", 3), TimeLoop("j", 2), TimeLoop("k", 2, True)), operands, MAC,
        ResultSpec(INT32, 6, Address((1, 3, 0)), space="columns"))


def minimum() -> ArraySpec:
    """``min(a + b)`` over k, which neither tiles nor lanes divide."""
    body = (*(Operator("read", (), INT8, value=k) for k in range(2)), Operator("cast", (0,), INT16),
            Operator("cast", (1,), INT16), Operator("add", (2, 3), INT16))
    operands = (operand("a", INT8, EAST, 6, (2, 1), (0, 2), vector=True),
                operand("b", INT8, SOUTH, 3, (1, 0), (1, 2), vector=True))
    return ArraySpec(
        "minimum", 2, 3, (TileLoop("i"), TileLoop("j"), TileLoop("k", True)),
        (TimeLoop("k", 3, True), TimeLoop("i", 2)), operands, body,
        ResultSpec(INT16, 2, Address((0, 1)), combine="min"), lanes=2, guards=(GuardSpec("k", 2, 6, (2, 0), lanes=1),))


def vectors() -> ArraySpec:
    """Three lanes with results of their own, that start from values in every PE."""
    operands = (operand("a", INT8, EAST, 3, (1, 0), (0, 2)), operand("b", INT8, SOUTH, 6, (2, 1), (1, 2), vector=True),
                operand("c", INT16, INTERIOR, 2, (0, 1), (0, 1), vector=True, initial=True))
    return ArraySpec(
        "vectors", 2, 2, (TileLoop("i"), TileLoop("j"), TileLoop("k", True)),
        (TimeLoop("k", 3, True), TimeLoop("j", 2)), operands, MAC,
        ResultSpec(INT16, 2, Address((0, 1)), vector=True, pack=2), lanes=3, bus_bits=512)


def assignment() -> ArraySpec:
    """No reduction; one operand is the same for all tiles and rows."""
    operands = (operand("a", INT8, INTERIOR, 3, (1,), (0,)), operand("b", INT8, EAST, 3, (1,), (), copied=True))
    return ArraySpec("assignment", 2, 2, (TileLoop("i"),), (TimeLoop("i", 3),), operands, MAC,
                     ResultSpec(INT32, 3, Address((1,)), combine=None))


def large_memories() -> ArraySpec:
    """Feeders in PEs, of the edge's initial values, and accumulators at the edge in block RAM, beside small ones."""
    operands = (
        operand("a", INT8, INTERIOR, 40, (0, 1), (0, 2)), operand("b", INT8, INTERIOR, 4, (1, 0), (1, 2), pack=2),
        operand("c", INT32, EAST, 160, (1, 4), (0, 1), initial=True),
    )
    return ArraySpec(
        "large", 2, 2, (TileLoop("i"), TileLoop("j"), TileLoop("k", True)), (TimeLoop("j", 4), TimeLoop("i", 40)),
        operands, MAC, ResultSpec(INT32, 160, Address((1, 4)), space="columns", pack=4))


def check(spec: ArraySpec, extents: tuple[int, ...], simulator: str, bounds: tuple[int, ...] = (),
          memories: tuple[tuple[StallProfile, int], ...] = ((StallProfile(), 2), (STALLS, 30))) -> None:
    """Results with every stall profile and latency of memory; every step is taken once."""
    run = random_run(spec, extents, bounds)
    for stall, latency in memories:
        found, counters, _ = execute(spec, run, simulator, seed=latency, stall=stall, latency=latency)
        assert np.array_equal(found, run.expected)
        assert counters["STEPS"] == spec.steps * np.prod(extents)
        assert counters["COMPUTE_CYCLES"] <= counters["ARRAY_CYCLES"] < counters["WALL_CYCLES"]


def test_rows_and_columns_of_a_product(simulator: str) -> None:
    """Words go east and south, one build serves several sizes."""
    for extents in ((1, 1, 1), (2, 3, 2)):
        check(LANES, extents, simulator)


def test_sums_along_columns(simulator: str) -> None:
    check(along_columns(), (2, 1, 2), simulator, bounds=(5,))


@pytest.mark.parametrize(("spec", "extents", "bounds"), [
    (both_axes(), (1, 2), (17,)), (one_row(), (2, 3), ()), (minimum(), (2, 1, 2), (9,)), (vectors(), (1, 2, 2), ()),
    (assignment(), (3,), ()),
    (matmul(2, 2, steps=2, block=(1, 2), double=False), (2, 2, 2), ()), (matmul(1, 1, steps=1), (2, 1, 3), ()),
    (large_memories(), (1, 1, 2), ()),
], ids=["both axes", "row", "minimum", "vectors", "assignment", "single buffers", "one PE", "block RAM"])
def test_other_arrays(spec: ArraySpec, extents: tuple[int, ...], bounds: tuple[int, ...]) -> None:
    check(spec, extents, "icarus", bounds, ((STALLS, 30),))


def test_loads_and_drains_are_hidden() -> None:
    """At full tiles a step in every cycle: at least 98 % of all cycles from start to interrupt."""
    run = random_run(LANES, (2, 2, 40))
    found, counters, result = execute(LANES, run, "verilator", latency=20)
    assert np.array_equal(found, run.expected)
    assert counters["STEPS"] >= 0.98 * counters["WALL_CYCLES"]
    assert counters["WALL_CYCLES"] <= result.cycles


def test_a_step_per_cycle_if_only_one_edge_is_slow() -> None:
    """Feeders of A are block RAM, those of B are not. After the last step those results are left that the model says;
    they pass rows and columns."""
    spec = matmul(2, 2, steps=16, block=(8, 1), pack=8, result_pack=2)
    assert [feeder_latency(spec, operand) for operand in spec.operands] == [2, 1]
    run = random_run(spec, (1, 2, 2))
    found, counters, _ = execute(spec, run, "icarus", latency=DEFAULT_MEMORY.latency)
    assert np.array_equal(found, run.expected)
    assert counters["COMPUTE_CYCLES"] <= counters["STEPS"] + 8
    model = predict(spec, (1, 2, 2))
    assert counters["ARRAY_CYCLES"] - counters["COMPUTE_CYCLES"] <= model.left + spec.rows + spec.columns
    assert counters["WALL_CYCLES"] == pytest.approx(model.total, rel=0.03)


def test_results_leave_as_fast_as_memory_takes_them() -> None:
    """Tiles of 8 steps have 32 results, 16 beats of memory: all four rows send at the same time, and tile after tile
    takes 16 cycles, as the model says."""
    spec, extents = matmul(4, 2, steps=2, block=(2, 2), pack=4, result_pack=2), (4, 6, 1)
    assert (spec.steps, spec.result_bytes // spec.bus_bytes, predict(spec, extents).leave) == (8, 16, 16)
    run = random_run(spec, extents)
    found, counters, _ = execute(spec, run, "icarus", latency=DEFAULT_MEMORY.latency)
    assert np.array_equal(found, run.expected)
    assert counters["WALL_CYCLES"] == pytest.approx(predict(spec, extents).total, rel=0.03)
    assert counters["ARRAY_CYCLES"] <= 24 * 16 + 32


def test_a_product_of_8x8_in_64_pes_takes_at_most_29_cycles() -> None:
    """From the first words taken to the last result; 3N - 2 = 22 is the least for words that go one PE per cycle."""
    spec = matmul(8, 8, steps=8, pack=8, result_pack=8)
    run = random_run(spec, (1, 1, 1))
    found, counters, _ = execute(spec, run, "icarus")
    assert np.array_equal(found, run.expected)
    assert 22 <= counters["COMPUTE_CYCLES"] <= 29
    assert counters["COMPUTE_CYCLES"] == 26


@pytest.mark.parametrize("error", [RunError.READ, RunError.WRITE])
def test_memory_errors_end_the_run_with_a_code(error: RunError) -> None:
    spec = along_columns()
    run = random_run(spec, (2, 1, 2), (5,))
    registers = systolic_registers(spec)
    address = run.settings.operands[1][0] if error is RunError.READ else run.result
    result = run_job(Job(
        sources(spec), SYSTEM_MODULE, run.memory, run.loads, run_writes(spec, run.settings),
        reads=[registers.address("STATUS")], seed=1, errors=(address, address + 3), simulator="icarus",
        cycle_limit=5000))
    status = registers.decode("STATUS", result.registers[registers.address("STATUS")])
    assert status["done"] and not status["busy"] and status["error"] is error
    assert not status["loading"]


def test_a_run_after_an_aborted_one() -> None:
    """``clear`` while busy, then a start: the results are those of the second run."""
    spec = along_columns()
    run = random_run(spec, (2, 1, 2), (5,))
    registers = systolic_registers(spec)
    writes = run_writes(spec, run.settings)
    clear = (registers.address("CONTROL"), registers.encode("CONTROL", clear=1))
    idle = [(registers.address("BOUND0"), 5)] * 20  # what is outstanding has to come back first
    found = _dump(spec, run.loads, [*writes, *idle[:3], clear, *idle, writes[-1]], registers, run.memory, run.result)
    assert found == _dump(spec, run.loads, writes, registers, run.memory, run.result)


def _dump(spec: ArraySpec, loads: tuple[tuple[int, bytes], ...], writes: list[tuple[int, int]], registers: RegisterMap,
          memory: int, result: int) -> bytes:
    done = run_job(Job(sources(spec), SYSTEM_MODULE, memory, loads, writes, dumps=[(result, 2 * spec.result_bytes)],
                       reads=[registers.address("STATUS")], seed=3, stall=STALLS, simulator="icarus", cycle_limit=5000))
    assert registers.decode("STATUS", done.registers[registers.address("STATUS")])["error"] is RunError.NONE
    return done.dumps[0]

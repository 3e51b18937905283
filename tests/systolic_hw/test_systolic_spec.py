"""Descriptions of systolic arrays: what fits together, how it lies in memory, what the host writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from systolic_arrays import MAC, matmul, random_run, sources
from systolic_emulator import body as evaluate

from hw.dataflow.spec import Operator, Word
from hw.systolic.compute import Compute
from hw.systolic.formats import FORMATS, find_format
from hw.systolic.layout import operand_shape, pack_results, pack_tile, result_shape, unpack_tile
from hw.systolic.registers import RunSettings, run_writes, systolic_registers
from hw.systolic.spec import (
    EAST,
    INTERIOR,
    Address,
    ArraySpec,
    ExtraSpec,
    GuardSpec,
    OperandSpec,
    ResultSpec,
    SystolicError,
    TileLoop,
    TimeLoop,
)

INT8, INT32, UINT8 = Word(8, True), Word(32, True), Word(8, False)
SPEC = matmul(2, 3, steps=4, block=(2, 2), lanes=3, pack=2)
A, B = SPEC.operands


def initial(**changes: Any) -> OperandSpec:
    return replace(OperandSpec("c", INT32, INTERIOR, 4, Address((0, 2, 1)), (0, 1), initial=True), **changes)


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"rows": 0}, "array matmul has rows 0, not at least 1"),
    ({"bus_bits": 48}, "the memory bus has 32, 64, 128, 256, 512 or 1024 bits, not 48"),
    ({"time_loops": ()}, "array matmul needs a tile loop and a time loop"),
    ({"tile_loops": (TileLoop("k", True), TileLoop("i"), TileLoop("j"))}, "reduction loops must be the innermost"),
    ({"operands": (replace(A, words=7), B)}, "operand a: addresses 0 to 7 are outside 0 to 6"),
    ({"operands": (replace(A, direction=(1, 1)), B)}, r"operand a cannot go in direction \(1, 1\)"),
    ({"operands": (replace(A, tile_loops=(3,)), B)}, "operand a: there is no such tile loop"),
    ({"operands": (replace(A, pack=3), B)}, "operand a: 3 words per beat are not a power of two"),
    ({"operands": (replace(A, pack=1024), B)}, "operand a: a beat of the chain has 32768 bits, more than 2048"),
    ({"operands": (replace(A, address=Address((1,))), B)}, "operand a has 1 coefficients for 3 time loops"),
    ({"operands": (A, B, initial(vector=True))}, "operand c: initial values must have as many lanes as results"),
    ({"operands": (A, B, initial()), "result": replace(SPEC.result, space="columns")}, "initial values go east"),
    ({"operands": (A, B, initial(), initial())}, "there can be one operand of initial values"),
    ({"body": ()}, "array matmul has no body"),
    ({"body": (Operator("index", (), INT8),)}, "the body cannot use 'index'"),
    ({"body": (Operator("cast", (0,), INT8),)}, "operator 0 comes before its operands"),
    ({"body": (Operator("read", (), INT8, value=2),)}, "operator 0 reads operand 2, which the body does not have"),
    ({"result": replace(SPEC.result, combine="sub")}, "results cannot be combined with 'sub', only with add, mul"),
    ({"result": replace(SPEC.result, words=5)}, "a tile computes 4 results per PE, but has room for 5"),
    ({"result": replace(SPEC.result, address=Address((1, 1, 1)), words=6)}, "address depends on reduction loop k"),
    ({"result": replace(SPEC.result, combine=None)}, r"an assignment cannot have reduction loops \(k, k\)"),
    ({"result": replace(SPEC.result, row_pack=2)},
     "2 results per beat along rows: not a power of two that divides the 1 of a beat down the edge and the 4 of a PE"),
    ({"result": replace(SPEC.result, space="columns", pack=2, row_pack=2)}, "no results go along rows"),
    ({"extras": (ExtraSpec("bias", INT8),)}, "extra bias has no conversion of results that would read it"),
    ({"guards": (GuardSpec("k", 2, 11, (3, 0, 0), lanes=1),)}, "guard k: the index goes to 11, beyond the tile of 11"),
    ({"guards": (GuardSpec("k", 2, 12, (-3, 0, 0), lanes=1),)}, "guard k has a negative coefficient"),
    ({"guards": (GuardSpec("k", 5, 12, (3, 0, 0), lanes=1),)}, "guard k: there is no tile loop 5"),
]


@pytest.mark.parametrize(("changes", "message"), PROBLEMS, ids=[message[:40] for _, message in PROBLEMS])
def test_parts_that_do_not_fit_together(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SystolicError, match=message):
        replace(SPEC, **changes)


def test_an_unknown_number_format() -> None:
    with pytest.raises(SystolicError, match="there is no number format 'posit', only integer"):
        find_format("posit")


def test_sizes() -> None:
    """Three int8 lanes take four bytes; two words make a beat, eight words of three columns a tile of whole beats."""
    assert (SPEC.macs, SPEC.steps, SPEC.result_loops) == (18, 16, (0, 1))
    assert (SPEC.word_bits(A), SPEC.word_bytes(A), SPEC.feeder_beats(A)) == (24, 4, 4)
    assert (SPEC.operand_bytes(A), SPEC.operand_bytes(B)) == (2 * 8 * 4, 3 * 8 * 4)
    assert (SPEC.exits, SPEC.exit_words, SPEC.result_bytes) == (2, 12, 2 * 12 * 4)
    assert (SPEC.innermost(A), SPEC.innermost(replace(A, tile_loops=()))) == (2, -1)


def test_an_operand_tile_in_memory() -> None:
    """A beat of each feeder, that of the last one first; words filled up to powers of two, tiles to whole beats."""
    odd = replace(SPEC, operands=(replace(A, words=8, pack=2), replace(B, words=8, copied=True)))
    tile = np.arange(2 * 8 * 3).reshape(operand_shape(odd, odd.operands[0]))
    beats = np.frombuffer(pack_tile(odd, odd.operands[0], tile), np.int8).reshape(4, 2, 2, 4)
    content = beats.swapaxes(0, 1).reshape(2, 8, 4)
    assert np.array_equal(content[::-1, :, :3], tile) and not content[:, :, 3].any()
    assert operand_shape(odd, odd.operands[1])[0] == 1
    with pytest.raises(SystolicError, match=r"a tile of operand a has shape \(2, 8, 3\), not \(2, 8\)"):
        pack_tile(odd, odd.operands[0], tile[:, :, 0])


@pytest.mark.parametrize(("coefficients", "words", "pack", "streamed"), [
    ((4, 0, 1), 8, 2, True), ((2, 1, 0), 4, 2, True), ((0, 0, 1), 4, 1, True),
    ((4, 0, 1), 8, 8, False), ((1, 0, 2), 8, 2, False), ((1, 0, 1), 5, 2, False),
])
def test_operands_whose_steps_begin_early(coefficients: tuple[int, ...], words: int, pack: int, streamed: bool) -> None:
    """Words are first taken in the order of their numbers, and come in several beats."""
    times = (TimeLoop("i", 2), TimeLoop("j", 2), TimeLoop("k", 4, reduction=True))
    first = replace(A, words=words, pack=pack, address=Address(coefficients))
    second = replace(B, words=8, address=Address((0, 4, 1)))
    spec = replace(SPEC, time_loops=times, result=replace(SPEC.result, words=4, address=Address((2, 1, 0))),
                   operands=(first, second))
    assert spec.is_streamed(spec.operands[0]) == streamed


def test_a_result_tile_in_memory() -> None:
    """Beats of the chain, of all exits in turns; an exit's results are filled up to whole ones."""
    spec = replace(SPEC, result=replace(SPEC.result, pack=8))
    content = np.array([[*range(8)], [*range(12, 20)], [*range(8, 12), *4 * [0]], [*range(20, 24), *4 * [0]]], "<i4")
    tile = np.arange(24).reshape(result_shape(spec))
    assert np.array_equal(unpack_tile(spec, content.tobytes()), tile)
    assert pack_results(spec, tile) == content.tobytes()


def test_registers_of_a_run() -> None:
    run = random_run(SPEC, (2, 3, 4))
    registers = systolic_registers(SPEC)
    writes = dict(run_writes(SPEC, run.settings))
    assert writes[registers.address("EXTENT1")] == 3
    assert writes[registers.address("OPERAND1_STRIDE2")] == SPEC.operand_bytes(B)
    assert writes[registers.address("OPERAND1_STRIDE1")] == 4 * SPEC.operand_bytes(B)
    assert list(writes)[-1] == registers.address("CONTROL")
    with pytest.raises(SystolicError, match="tile loop j has extent 0, not 1 to 16777215"):
        run_writes(SPEC, replace(run.settings, extents=(1, 0, 1)))
    with pytest.raises(SystolicError, match="RESULT_BASE is 4, not a multiple of the 8 bytes of a beat"):
        run_writes(SPEC, replace(run.settings, result=(4, (0, 0, 0))))
    with pytest.raises(SystolicError, match="OPERAND0_STRIDE1 is 8, but tiles do not change along that loop"):
        run_writes(SPEC, RunSettings((1, 1, 1), ((0, (0, 8, 0)), (0, (0, 0, 0))), (0, (0, 0, 0))))


def test_products_stay_narrow() -> None:
    """C's int products of int8 have 16 bits, sums of four lanes 18; shifts keep the width that C gives them."""
    body = FORMATS["integer"].schedule(MAC)
    assert [o.word.width for o in body] == [8, 8, 8, 8, 16] and body[-1].done == 3
    assert Compute(replace(SPEC, lanes=4)).latency == 1 + 3 + 2
    shifted = (*MAC[:4], Operator("shl", (2, 3), INT32))
    assert [o.word.width for o in FORMATS["integer"].schedule(shifted)] == [8, 8, 32, 32, 32]
    wide = (Operator("read", (), INT32, value=0), Operator("mul", (0, 0), INT32))
    assert FORMATS["integer"].schedule(wide)[-1].latency == 3


@pytest.mark.parametrize("op", ["add", "sub", "mul", "min", "max"])
def test_narrow_words_hold_every_value(op: str) -> None:
    """Of signed with unsigned operands, and of both alike."""
    values = {INT8: np.array([-128, -1, 0, 127]), UINT8: np.array([0, 1, 128, 255])}
    for left in (INT8, UINT8):
        for right in (INT8, UINT8):
            body = (Operator("read", (), left, value=0), Operator("read", (), right, value=1),
                    Operator("cast", (0,), INT32), Operator("cast", (1,), INT32), Operator(op, (2, 3), INT32))
            word = FORMATS["integer"].schedule(body)[-1].word
            low = -(1 << (word.width - 1)) if word.signed else 0
            results = evaluate(body, [values[left][:, None], values[right][None]])
            assert results.min() >= low and results.max() < low + (1 << word.width)


@pytest.mark.parametrize("op", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_neutral_values_change_nothing(op: str) -> None:
    for word in (INT8, UINT8):
        low = -128 if word.signed else 0
        neutral = FORMATS["integer"].neutral(op, word)
        assert low <= neutral < low + 256
        body = (Operator("read", (), word, value=0), Operator("const", (), word, value=neutral),
                Operator(op, (0, 1), word))
        values = np.arange(low, low + 256)
        assert np.array_equal(evaluate(body, [values]), values)


def test_every_part_is_emitted_once() -> None:
    """A larger array has the same PEs and edges."""
    small, large = (sources(matmul(n, n, steps=2)) for n in (1, 3))
    assert set(small) == {f"systolic_{name}.v" for name in ("system", "pe", "west_edge", "north_edge", "exit")}
    assert small["systolic_pe.v"] == large["systolic_pe.v"]
    assert large["systolic_system.v"].count("systolic_pe \\instance") == 9


def test_an_array_needs_no_operands() -> None:
    spec = ArraySpec("ones", 2, 2, (TileLoop("i"),), (TimeLoop("i", 2),), (), (Operator("const", (), INT8, value=1),),
                     ResultSpec(INT8, 2, Address((1,)), combine=None))
    assert "systolic_system.v" in sources(spec)
    assert EAST == (0, 1)

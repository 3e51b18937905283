"""Parallel reads of a buffer that never meet in a word: a bank for each, and no word in two of them."""

from __future__ import annotations

import pytest

import compiler
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program
from compiler.ir.types import INT16

SIZE = 16


def squares() -> Prog:
    """The beginning of a program: an image whose squares are to be read in another order."""
    prg = prog("turned", INT16)
    prg.add_input("image", shape=(SIZE, SIZE))
    prg.add_output("sums")
    op = prg.add_loop("y", 0, SIZE).add_loop("x", 0, SIZE).add_op("Square")
    op.add_function(lambda value: value * value)
    op.add_load("image", "x", "y")
    op.add_store("squares", "x", "y")
    return prg


def turned(lanes: int, apart: int) -> Program:
    """A transposed image, of whose columns `lanes` words `apart` rows apart are read at once."""
    prg = squares()
    trips = SIZE // lanes
    op = prg.add_loop("v", 0, SIZE).add_loop("u", 0, trips).add_op("Sum")
    op.add_function({1: lambda a: a, 2: lambda a, b: a + b, 4: lambda a, b, c, d: a + b + c + d}[lanes])
    step = lanes if apart == 1 else 1
    for k in range(lanes):
        op.add_load("squares", "v", f"{step} * u + {apart * k}")
    op.add_store("sums", "u", "v")
    return prg.build()


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("blocks", [False, True])
def test_banks_hold_every_word_once(blocks: bool, lanes: int, memory: str) -> None:
    """Cyclic banks, and with `blocks` those of whole blocks of rows; validation proves the words that they deliver."""
    design = compiler.compile(turned(lanes, SIZE // lanes if blocks else 1), memory=memory, array="8x4")
    (storage,) = design.storage
    assert len(storage.units) == design.resources["memory tiles"] == lanes
    assert storage.allocated_words == SIZE * SIZE
    assert storage.live_words <= SIZE * SIZE // lanes


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_reads_that_meet_have_copies(memory: str) -> None:
    """Words one row apart, of which each is wanted twice; a tile has two outputs."""
    prg = squares()
    op = prg.add_loop("v", 0, SIZE).add_loop("u", 0, SIZE).add_op("Both")
    op.add_function(lambda a, b: a - b)
    op.add_load("squares", "v", "u")
    op.add_load("squares", "u", "v")
    op.add_store("sums", "u", "v")
    design = compiler.compile(prg.build(), memory=memory, array="8x4")
    assert design.resources["memory tiles"] <= 2

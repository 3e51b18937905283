"""Pipelines whose operators have other latencies, operands or formats than the program needs are rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import compiler
from compiler.bind.fpga.validate import validate
from compiler.frontend.c_scop import parse_scop
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import BufferCell, LineCell, OperatorCell, PipelineError, Tap, Word

TEXT = """
#include <stdint.h>
static const int16_t table[4] = {-3, 100, 4, 1};
void f(const int16_t a[6], const uint16_t b[6], int32_t y[6], int64_t z[6]) {
#pragma scop
  for (int i = 0; i < 6; i++)
    y[i] = a[i] * b[i] + table[i & 3];
  for (int i = 0; i < 6; i++)
    z[i] = (int64_t)y[i] * (a[5 - i] - 3) + (b[i] >> 2);
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def design():
    return compiler.compile(parse_scop(TEXT), target="fpga", multiplier_latency=3)


def operators(design) -> list[int]:
    return [k for k, cell in enumerate(design.system.pipeline.cells) if isinstance(cell, OperatorCell)]


def rejected(design, number: int, change: Callable[[OperatorCell], OperatorCell]) -> None:
    cells = list(design.system.pipeline.cells)
    with pytest.raises((ValidationError, PipelineError)):
        cells[number] = change(cells[number])
        pipeline = replace(design.system.pipeline, cells=tuple(cells))
        validate(design.parts.program, design.built, replace(design.system, pipeline=pipeline))


def test_one_register_more(design):
    for number in operators(design):
        rejected(design, number, lambda cell: replace(cell, latency=cell.latency + 1))


def test_one_register_fewer(design):
    registered = [k for k in operators(design) if design.system.pipeline.cells[k].latency]
    assert len(registered) >= 4
    for number in registered:
        rejected(design, number, lambda cell: replace(cell, latency=cell.latency - 1))


def test_operands_of_another_cycle(design):
    for number in operators(design):
        for place, tap in enumerate(design.system.pipeline.cells[number].operands):
            if type(design.system.pipeline.cells[tap.cell]).__name__ != "ConstantCell":
                rejected(design, number, lambda cell, k=place, tap=tap: replace(
                    cell, operands=(*cell.operands[:k], Tap(tap.cell, tap.cycles + 1), *cell.operands[k + 1 :])))


def test_results_of_one_bit(design):
    for number in operators(design):
        rejected(design, number, lambda cell: replace(cell, word=Word(1, signed=False)))


def test_products_of_the_other_sign(design):
    products = [k for k in operators(design) if design.system.pipeline.cells[k].op == "mul"]
    assert products
    for number in products:
        first = design.system.pipeline.cells[number].words[0]
        other = Word(first.width, not first.signed)
        rejected(design, number, lambda cell, other=other: replace(cell, words=(other, *cell.words[1:])))


def test_words_are_not_cut_on_the_way(design):
    cells = design.system.pipeline.cells
    passing = [k for k, cell in enumerate(cells) if isinstance(cell, LineCell | BufferCell)]
    assert passing
    for number in passing:
        have = cells[number].word
        for word in (Word(have.width - 1, have.signed), Word(have.width, not have.signed)):
            wrong = [*cells[:number], replace(cells[number], word=word), *cells[number + 1 :]]
            pipeline = replace(design.system.pipeline, cells=tuple(wrong))
            with pytest.raises(ValidationError, match=r"cell \d+ passes u?int\d+ on as u?int\d+"):
                validate(design.parts.program, design.built, replace(design.system, pipeline=pipeline))

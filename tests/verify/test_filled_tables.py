"""Tables that an input or a loop fills before data index them, in memory tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results
from random_data import function_data
from verify_mappings import Mapping, mapping_of
from verify_mutations import memories

import compiler
from compiler.bind.cgra.filled_tables import FilledTableError
from compiler.bind.cgra.validate import ValidationError
from compiler.frontend.c_scop import parse_scop
from hw.memtile import AffineNest, PubInput

TABLES = """void f(const unsigned char x[20], const short s[14], const short t[2][32], short y[20]) {
    short u[16];
#pragma scop
    for (int i = 0; i < 16; i++)
        u[i] = 3 * t[1][i] - t[0][15 - i];
    for (int i = 0; i < 20; i++)
        y[i] = s[x[i] % 8] + t[x[i] >> 7][x[19 - i] & 31] - u[x[i] & 15];
#pragma endscop
}"""
"""Of an input whose number of words fills no block, of one with two dimensions, and of values that are computed."""

WIDE = """void f(const int x[12], const unsigned s[16], int y[12]) {
    int t[16];
#pragma scop
    for (int i = 0; i < 16; i++)
        t[i] = 3 * s[i] - 5;
    for (int i = 0; i < 12; i++)
        y[i] = s[x[i] & 15] + t[(s[x[11 - i] & 7] >> 3) & 15];
#pragma endscop
}"""
"""Words and indices of 32 bits, at places that another table gives."""


GAMMA = """void f(const unsigned char x[12], const short t[16], short y[12]) {
#pragma scop
    for (int i = 0; i < 12; i++)
        y[i] = t[x[i] & 15];
#pragma endscop
}"""


@pytest.mark.parametrize("text", [TABLES, WIDE], ids=["three tables", "words of 32 bits"])
@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_results_are_those_of_gcc(text: str, memory: str) -> None:
    require_gcc_results(text, "f", function_data(text, "f", 3), MODELS["cgra"], {"memory": memory})


@pytest.mark.parametrize(("memory", "what"), [("dual-port-pe", "memory tiles of kind 'dual-port-pe' have no port for"),
                                              ("buffet", "buffets have no second input for")])
def test_memories_with_one_input_have_no_port_for_a_table(memory: str, what: str) -> None:
    with pytest.raises(FilledTableError, match=rf"statement 't_filled' \(f.c:1\) fills a table that data index, which "
                                               rf"{what}; use --memory pub or --memory dual-port"):
        MODELS["cgra"](parse_scop(GAMMA, "f.c"), {}, {"memory": memory})


def test_the_lower_bound_counts_the_words_that_fill_a_table() -> None:
    """Sixteen words at one per cycle, and then twelve that are looked up."""
    design = compiler.compile(parse_scop(GAMMA, "f.c"), target="cgra")
    assert design.bounds.operations == 16 + 12 <= design.predicted_cycles


def _changed(nest: AffineNest, later: int = 0, place: int = 0, events: int = 0) -> AffineNest:
    addresses = (*nest.addresses[:-1], replace(nest.addresses[-1], offset=nest.addresses[-1].offset + place))
    return replace(nest, time_offset=nest.time_offset + later, addresses=addresses,
                   ranges=(nest.ranges[0] - events, *nest.ranges[1:]))


DAMAGE = {"later": {"later": 1}, "much later": {"later": 40}, "elsewhere": {"place": 1}, "fewer": {"events": 1}}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_a_table_that_is_filled_wrongly_is_caught(memory: str, damage: str) -> None:
    good = _mapping(memory)
    good.validate()
    (place, core), = ((place, core) for place, core in memories(good) if core.rom)
    assert core.inputs[1] is not None
    roles = ("write", "store") if isinstance(core.inputs[1], PubInput) else ("write",)
    for role in roles:
        if role == "store" and damage == "later":
            continue  # a store has some cycles until its block is written again
        port = replace(core.inputs[1], **{role: _changed(getattr(core.inputs[1], role), **DAMAGE[damage])})
        with pytest.raises(ValidationError, match="'t'"):
            good.with_tile(place, core=replace(core, inputs=(None, port))).validate()


def _mapping(memory: str) -> Mapping:
    return mapping_of(parse_scop(GAMMA, "f.c"), memory)


def test_predictions_are_those_of_the_fill() -> None:
    """A word of the table in a cycle, then a word of the result."""
    design = _mapping("pub")
    assert design.plan.run_cycles >= 16 + 12
    assert np.all([tile.rom for _, tile in memories(design)])

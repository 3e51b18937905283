"""Mappings to buffets on the ready-valid array: programs of buffets, the token game, and what validation refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.elastic.design import ElasticDesign
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.elastic.token_simulation import play
from compiler.bind.cgra.elastic.validate import require_same
from compiler.frontend import kernel
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.fabric.config import ArrayConfig, TileConfig
from hw.memtile import Affine, AffineNest, BuffetConfig
from hw.memtile.spec import ConfigurationError
from hw.pe.config import PeConfig


def mapped(program: Program, **options: Any) -> ElasticDesign:
    design = compiler.compile(program, memory="buffet", array="8x4", **options)
    assert isinstance(design, ElasticDesign)
    return design


@cache
def gaussian() -> ElasticDesign:
    return mapped(load("gaussian", width=32, height=8))


def buffets(design: ElasticDesign) -> list[BuffetConfig]:
    return [tile.core for tile in design.config.tiles.values() if isinstance(tile.core, BuffetConfig)]


def test_delay_lines_give_every_word_up_when_it_is_read() -> None:
    design = gaussian()
    assert all(b.shrink is not None and b.read is not None and b.shrink.count == b.read.count for b in buffets(design))
    assert design.predicted_cycles <= design.static_plan.run_cycles + 32
    assert all(0 < words <= 64 for words in design.outcome.occupancy.values())
    assert all(s.allocated_words == 2048 * len(s.units) and s.live_words <= 96 for s in design.storage)


def test_rows_that_are_read_twice_are_given_up_after_the_second_time() -> None:
    design = mapped(load("upsample", width=16, height=12))
    (buffet,) = buffets(design)
    assert buffet.read is not None and buffet.shrink is not None
    assert (buffet.read.count, buffet.shrink.count) == (32 * 24, 12)
    assert max(design.outcome.occupancy.values()) <= 2 * 16


def test_accumulators_wait_for_their_sums() -> None:
    """A loop of a merge, an addition and a buffet, in which the sums of one step are words of the next."""
    design = mapped(load("gemm", size=6, unroll=1))
    assert design.predicted_cycles <= design.static_plan.run_cycles + 16


def sums_outside() -> Program:
    """A sum over the outermost and a middle loop: in the first step of either, the sums of no step before are read."""
    prg = prog("sums")
    prg.add_input("a")
    prg.add_input("b")
    prg.add_output("c")
    start = prg.add_loop("v", 0, 2).add_loop("w", 0, 5).add_op("Start")
    start.add_function(lambda: 3)
    start.add_store("c", "w", "v")
    op = prg.add_loop("u", 0, 3).add_loop("y", 0, 2).add_loop("z", 0, 2).add_loop("x", 0, 5).add_op("Update")
    op.add_function(lambda c, a, b: c + a * b)
    op.add_load("c", "x", "y")
    op.add_load("a", "u + x", "y", "z")
    op.add_load("b", "z", "u")
    op.add_store("c", "x", "y")
    return prg.build()


def test_reads_before_the_first_word_find_some_that_are_there() -> None:
    """The reads that see sums are no loop nest, all reads are one, of which the first ones are before the first sum."""
    design = mapped(sums_outside(), loops="asked")
    (early,) = [buffet for buffet in buffets(design) if buffet.present]
    assert early.read is not None and early.read.addresses[0].offset == 0
    assert early.read.count == 3 * 2 * 2 * 5


def test_a_constant_may_go_straight_to_memory() -> None:
    """Half of a word that 16 bits hold is zero: a unit without inputs, whose tokens are all alike."""
    prg = prog("widen", Int(32, True))
    prg.add_input("a", shape=(3, 6), type=Int(8, False))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 3).add_loop("x", 0, 6).add_op("Widen")
    op.add_function(lambda word: kernel.cast(Int(32, True), word))
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y")
    design = mapped(prg.build())
    tiles = design.config.tiles.values()
    assert any(isinstance(tile.core, PeConfig) and not tile.connections for tile in tiles)
    design.validate()


def test_addresses_may_go_down() -> None:
    """Coefficients from the last to the first: steps of -1, which configurations hold modulo 2^16."""
    program = parse_scop("""#include <stdint.h>
void horner(const int16_t c[5], const int16_t x[12], int16_t y[12]) {
#pragma scop
  for (int i = 0; i < 12; i++) {
    y[i] = 1;
    for (int k = 4; k >= 0; k--)
      y[i] = y[i] * x[i] + c[k];
  }
#pragma endscop
}
""", "horner.c")
    design = mapped(program)
    assert design.predicted_cycles <= 12 * 5 + 40


def test_a_start_with_other_words_is_refused() -> None:
    design = mapped(sums_outside(), loops="asked")

    def fewer(tile: TileConfig) -> TileConfig | None:
        core = tile.core
        if not isinstance(core, BuffetConfig) or not core.present:
            return None
        return replace(tile, core=replace(core, present=core.present - 1))

    with pytest.raises(ElasticError, match=r"the buffet at .* reads other words than the static memory"):
        require_same(design.static, changed(design.config, fewer), design.static_spec, design.spec)
    with pytest.raises(ConfigurationError, match="a buffet of 2048 words cannot have 4000 at the start"):
        BuffetConfig(present=4000).words(design.spec.mem)


def test_tiles_follow_each_other_without_a_gap() -> None:
    program = load("brighten_blur", tiles=3, size=24)
    one, three = (mapped(load("brighten_blur", tiles=1, size=24)), mapped(program, tile_depth=1))
    assert three.predicted_cycles - one.predicted_cycles <= 2 * three.schedule.period + 2


def changed(config: ArrayConfig, change: Callable[[TileConfig], TileConfig | None]) -> ArrayConfig:
    """The configuration with the first tile changed for which `change` gives another one."""
    for place, tile in config.tiles.items():
        other = change(tile)
        if other is not None:
            return replace(config, tiles={**config.tiles, place: other})
    raise AssertionError("nothing to change")


def more_tokens(tile: TileConfig) -> TileConfig | None:
    port = next(iter(tile.connections), None)
    if port is None or isinstance(tile.core, BuffetConfig):
        return None
    return replace(tile, delays={**tile.delays, port: tile.delays.get(port, 0) + 1})


def in_buffet(role: str, change: Callable[[AffineNest], AffineNest]) -> Callable[[TileConfig], TileConfig | None]:
    def apply(tile: TileConfig) -> TileConfig | None:
        if not isinstance(tile.core, BuffetConfig):
            return None
        return replace(tile, core=replace(tile.core, **{role: change(getattr(tile.core, role))}))

    return apply


def later(nest: AffineNest) -> AffineNest:
    return replace(nest, time_offset=nest.time_offset + 1)


def further(nest: AffineNest) -> AffineNest:
    return replace(nest, addresses=(Affine(nest.addresses[0].strides, nest.addresses[0].offset + 1),))


@pytest.mark.parametrize(("change", "message"), [
    (more_tokens, r"input \w+ of tile \(\d+, \d+\) has -?\d+ tokens too few at the start"),
    (in_buffet("fill", later), r"the buffet at .* is not filled by the words that the static memory writes"),
    (in_buffet("read", further), r"the buffet at .* reads other words than the static memory"),
    (in_buffet("shrink", further), r"the buffet at .* gives words up that are still to be read"),
    (lambda tile: replace(tile, switches=dict([*tile.switches.items()][1:])) if tile.switches else None,
     "the routes of tile .* are not those of the static configuration"),
])
def test_a_mapping_that_differs_is_refused(change: Callable[[TileConfig], TileConfig | None], message: str) -> None:
    design = gaussian()
    require_same(design.static, design.config, design.static_spec, design.spec)
    with pytest.raises(ElasticError, match=message):
        require_same(design.static, changed(design.config, change), design.static_spec, design.spec)


def test_a_bank_that_counts_wrongly_is_refused() -> None:
    design = gaussian()
    column, bank = next((c, b) for c, b in design.config.banks.items() if b.direction == "output")
    late = replace(bank, lead=bank.lead + 1, nest=later(bank.nest))
    wrong = replace(design.config, banks={**design.config.banks, column: late})
    with pytest.raises(ElasticError, match=f"the bank of column {column} does not take the words of the static one"):
        require_same(design.static, wrong, design.static_spec, design.spec)


def test_tokens_that_stop_are_found() -> None:
    """Without shrinking, a buffet of few words is full before its first row is read."""
    design = gaussian()
    keep = changed(design.config, in_buffet("shrink", lambda nest: replace(nest, ranges=(1,), time=(0,), addresses=(
        Affine((0,), 1),))))
    small = replace(design.spec, mem=replace(design.spec.mem, depth=16))
    with pytest.raises(ElasticError, match=r"tokens stop: after 900 cycles the bank of column \d has \d+ of 180 words"):
        play(keep, design.static_plan, small, 900)


def test_reads_that_nobody_uses_may_wait_for_ever() -> None:
    program = parse_scop("""void f(const short a[5][5], short y[5][5]) {
#pragma scop
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            y[i][j] = 0;
    for (int i = 0; i < 5; i++)
        for (int j = i + 1; j < 5; j++) {
            y[i][j] = a[i][j] + 1;
            if ((i + j) / 3 == 1) y[j][i] = y[i][j] * a[i][j];
        }
    for (int i = 0; i < 5; i++)
        for (int j = 4 - i; j < 5; j++)
            if (i > 1 && j <= i) y[j][i] = 6;
#pragma endscop
}""", "f.c")
    with pytest.raises(ElasticError, match=r"^buffer \w+\.S\d \(written by statement 'S\d' \(f.c:\d+\)\) is "
                                           r"read where nobody uses the word.*: tokens stop.*; use --memory dual-port"):
        compiler.compile(program, memory="buffet", array="16x16")


def test_a_buffer_that_one_buffet_cannot_hold() -> None:
    """An array and its transpose: the last row needs the first column, so nearly everything has to be there."""
    prg = prog("both")
    prg.add_input("image")
    prg.add_output("sums")
    first = prg.add_loop("v", 0, 64).add_loop("u", 0, 64).add_op("Double")
    first.add_function(lambda a: a * 2)
    first.add_load("image", "u", "v")
    first.add_store("doubled", "u", "v")
    second = prg.add_loop("y", 0, 64).add_loop("x", 0, 64).add_op("Sum")
    second.add_function(lambda a, b: a + b)
    second.add_load("doubled", "x", "y")
    second.add_load("doubled", "y", "x")
    second.add_store("sums", "x", "y")
    message = (r"buffer doubled\.Double \(written by statement 'Double' \(.*test_elastic.py:\d+\)\) needs more than "
               "the 2048 words of one buffet")
    with pytest.raises(ElasticError, match=message):
        mapped(prg.build())


def test_the_token_game_counts_words() -> None:
    """A buffet never holds fewer words than are live, nor more than were filled."""
    design = gaussian()
    live = {unit: s.live_words for s in design.storage for unit in s.units}
    sites = {(site.row, site.column): name for name, site in design.physical.placement.sites.items()}
    for place, most in design.outcome.occupancy.items():
        assert most <= 32 * 8
        assert np.sign(live[sites[place]]) == np.sign(most)

"""Bands of a tile: what they promise, against all accesses one by one; and which programs pass the global buffer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler.bind.cgra.bands import LEAST_LINES, WHOLE, Box, bands_of_blocks, choose_bands, in_blocks
from compiler.bind.cgra.design import CgraDesign
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.sched.verify import ValidationError
from hw.fabric.spec import GlobalBufferSpec
from hw.memtile import Affine, AffineNest


@st.composite
def walks(draw: st.DrawFn) -> tuple[AffineNest, Box]:
    """A walk over a box, in an order of its dimensions, with pauses, of which dimensions may be walked backwards."""
    sizes = draw(st.lists(st.integers(2, 9), min_size=1, max_size=3))
    words = 1
    loops = []
    for size in sizes:
        loops.append((size, words * draw(st.sampled_from([1, 1, 1, -1]))))
        words *= size
    loops = draw(st.permutations(loops)) if draw(st.booleans()) else loops
    if draw(st.booleans()):
        loops.insert(draw(st.integers(0, len(loops))), (draw(st.integers(2, 3)), 0))
    times, span = [], 0
    for count, _ in loops:
        times.append(span + draw(st.integers(1, 4)))
        span += (count - 1) * times[-1]
    offset = sum(-stride * (count - 1) for count, stride in loops if stride < 0)
    address = Affine(tuple(stride for _, stride in loops), offset)
    nest = AffineNest(tuple(count for count, _ in loops), tuple(times), draw(st.integers(0, 5)), (address,))
    steps = draw(st.sampled_from([words * 2, sizes[-1]]))
    return nest, Box(steps, words * 2 // steps)


@settings(max_examples=300, deadline=None)
@given(walks(), st.sampled_from([8, 16, 64, 1024]), st.sampled_from([1, 2, 4, *LEAST_LINES]), st.integers(1, 2))
def test_each_access_is_to_a_band_that_the_array_has(walk, half_words: int, least: int, tiles: int) -> None:
    nest, box = walk
    glb = GlobalBufferSpec(half_words=half_words)
    bands = choose_bands(nest, box, glb, tiles, least)
    if bands is None or bands == WHOLE:
        assert (bands is None) <= (box.words > half_words)
        assert (bands is None) or box.words <= half_words
        return
    words = bands.steps * box.step_bytes // 2
    assert bands.steps * box.step_bytes % 8 == 0
    assert bands.count == -(-box.words // words) and 1 <= bands.lag <= bands.count and bands.lag < bands.room
    assert bands.room * words <= 2 * half_words if box.words > half_words else bands.room == 2 * bands.count
    for time, (address,) in nest.events():
        turn, band = (time - nest.time_offset) // bands.cycles, address // words
        assert turn >= band, "not there yet"
        assert turn < band + bands.lag or band + bands.lag >= bands.count, "given back"
    assert (bands.count - 1) * bands.cycles <= nest.last_time - nest.time_offset


@pytest.mark.parametrize(("rows", "columns", "block"), [(16, 16, 8), (6, 24, 4), (9, 32, 16)])
def test_a_walk_by_columns_finds_its_words_in_blocks(rows: int, columns: int, block: int) -> None:
    nest = AffineNest((rows, columns), (1, rows + 2), 3, (Affine((columns, 1), 0),))
    blocks = in_blocks(nest, block)
    assert blocks is not None
    bands = bands_of_blocks(blocks, GlobalBufferSpec())
    assert bands is not None and (bands.steps, bands.count, bands.lag) == (1, columns // block, 1)
    for (time, (address,)), (new_time, (packed,)) in zip(nest.events(), blocks.events(), strict=True):
        row, column = divmod(address, columns)
        assert new_time == time
        assert packed == (column // block) * rows * block + row * block + column % block
        assert (time - nest.time_offset) // bands.cycles == column // block


def test_what_is_moved_in_no_blocks() -> None:
    by_rows = AffineNest((16, 16), (1, 16), 0, (Affine((1, 16), 0),))
    by_columns = AffineNest((16, 16), (1, 16), 0, (Affine((16, 1), 0),))
    assert in_blocks(by_rows, 8) is None
    assert in_blocks(by_columns, 6) is None and in_blocks(by_columns, 16) is None


def test_a_picture_larger_than_the_global_buffer_passes_it_as_one_tile() -> None:
    design = compiler.compile(load("gaussian", width=40, height=40), array="8x4", half_words=512)
    assert design.schedule.staged.tiles == 1
    assert design.predicted_start_to_done <= 1.05 * design.lower_bound + 250
    assert compiler.compile(load("gaussian", width=20, height=20), array="8x4", half_words=512).bands["input"].count > 1


def test_a_channel_at_a_time_needs_no_more_steps_and_stays() -> None:
    text = """void f(const short a[3][16][16], short y[3][16][16]) {
    for (int c = 0; c < 3; c++) for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) y[c][i][j] = a[c][i][j] + 1;
}"""
    assert compiler.compile(parse_scop(text, "f.c"), array="4x4", half_words=256).schedule.staged.tiles == 3


@pytest.mark.parametrize(("change", "reason"), [
    ({"bands": 3}, "a tile is transferred in 9 bands, not 3"),
    ({"band_cycles": 80}, "a band is accessed before its time"),
    ({"band_cycles": 20}, "a band is accessed after its time"),
    ({"room": 1}, "with a lag of 1 it cannot have room for 1 bands"),
    ({"room": 19}, "it has no room for 19 bands of 64 words"),
])
def test_wrong_bands_are_no_mapping(change: dict[str, int], reason: str) -> None:
    text = "void f(const short a[576], short y[576]) { for (int i = 0; i < 576; i++) y[i] = a[i] + 1; }"
    design = compiler.compile(parse_scop(text, "f.c"), array="2x4")
    assert isinstance(design, CgraDesign)
    number, bank = next((n, b) for n, b in design.config.banks.items() if b.direction == "input")
    assert (bank.bands, bank.band_cycles, bank.lag, bank.room) == (9, 64, 1, 18)
    banks = {**design.config.banks, number: replace(bank, **change)}
    with pytest.raises(ValidationError) as error:
        replace(design, config=replace(design.config, banks=banks)).validate()
    assert reason in str(error.value)

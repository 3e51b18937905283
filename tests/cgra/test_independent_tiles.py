"""Matrix products in tiles of their results: what is chosen, and that the proof for a few tiles sees what is wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.independent_tiles import best_sizes, independent_loops
from compiler.bind.cgra.validate import validate
from compiler.bind.cgra.validate.claims import Claims
from compiler.bind.cgra.validate.nests import PrefixNest
from compiler.bind.cgra.validate.proof import Proof
from compiler.bind.cgra.validate.tile_window import find_window
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from compiler.sched.verify import ValidationError
from hw.dma.descriptor import DmaLevel
from hw.errors import SluiceError
from hw.fabric.config import ArrayConfig, decode_array
from hw.memtile import Affine, AffineNest, PubConfig

KERNELS = Path(__file__).parents[2] / "apps" / "polybench"


def product(*sizes: int) -> Program:
    return load_c(KERNELS / "gemm.c", **dict(zip(("NI", "NJ", "NK"), sizes, strict=True)))


@pytest.fixture(scope="module")
def tiled() -> CgraDesign:
    design = compiler.compile(product(32, 32, 96), target="cgra", half_words=1024, array="4x8",
                              transform="distribute(S1, 1); tile(i=4, j=8); reorder(k, i_i, j_i, on=[S1]); "
                                        "fuse(S0, S1, 2)", tile_depth=2)
    assert isinstance(design, CgraDesign)
    return design


def test_a_product_of_any_size() -> None:
    """No longer to compile than a small one, and as many cycles as there are products, but for the first tile."""
    start = time.process_time()
    design = compiler.compile(product(1024, 1024, 1024), target="cgra", array="16x32")
    assert time.process_time() - start < 10
    assert design.schedule.staged.tiles == 128 ** 2
    assert 1024 ** 3 <= design.predicted_start_to_done <= 1.0001 * 1024 ** 3


def test_more_cycles_than_a_run_counts() -> None:
    """What the message says to take instead is taken."""
    with pytest.raises(SluiceError) as caught:
        compiler.compile(product(4096, 4096, 4096), target="cgra", array="16x32")
    assert str(caught.value) == (
        "statement 'S1' (apps/polybench/gemm.c:22): it has 68719476736 instances, of which its unit computes one in a "
        "cycle; a run counts up to 4294967295 cycles; take at most 255 values of 'i' in a run")
    part = compiler.compile(product(255, 4096, 4096), target="cgra", array="16x32")
    assert part.predicted_start_to_done <= 1.0001 * 255 * 4096 ** 2


def test_sizes_of_tiles() -> None:
    """Long enough for a sum to come back, small enough that the first tile is soon there and fits."""
    loops = independent_loops(product(64, 64, 64))
    assert loops is not None and (loops.iterators, loops.extents) == (("i", "j"), (64, 64))
    assert best_sizes(product(64, 64, 64), loops, 1 << 15)[0] == (8, 8)
    assert best_sizes(product(64, 64, 64), loops, 256)[0] == (4, 4)
    assert not best_sizes(product(64, 64, 64), loops, 32)


def test_the_first_tiles_stand_for_all(tiled: CgraDesign) -> None:
    """A few of them, with controllers that end with them; what is proven so is also proven of all of them."""
    config = decode_array(tiled.words, tiled.spec)
    claims = Claims(tiled.parts.program, tiled.application, tiled.physical, tiled.spec, tiled.plan.period)
    window = find_window(tiled.parts.program, claims, config, tiled.plan, tiled.spec)
    assert window is not None and tiled.plan.tiles == 32 and window.plan.tiles == 3
    assert validate(tiled.parts.program, tiled.application, tiled.physical, tiled.words, tiled.plan,
                    tiled.layout.addresses, tiled.spec).tiles == 3
    whole = Proof.of(tiled.parts.program, tiled.application, tiled.physical, config, tiled.plan,
                     tiled.layout.addresses, tiled.spec).run()
    assert whole.elements == 32 ** 2


def test_a_descriptor_that_leaves_the_way_in_a_later_tile(tiled: CgraDesign) -> None:
    """The first tiles are right; the stride of the outer tile loop is not."""
    bank = tiled.physical.placement[tiled.application.streams_in["A"]].bank(tiled.spec)
    descriptor = tiled.plan.banks[bank]
    inner, outer = descriptor.tiles
    wrong = replace(descriptor, tiles=(inner, DmaLevel(outer.count, outer.stride + 2)))
    plan = replace(tiled.plan, banks=tiled.plan.banks | {bank: wrong})
    with pytest.raises(ValidationError, match="reads A"):
        validate(tiled.parts.program, tiled.application, tiled.physical, tiled.words, plan, tiled.layout.addresses,
                 tiled.spec)


def with_other_fetch(design: CgraDesign, once_per_tile: bool) -> ArrayConfig:
    """The configuration with a memory that fetches one word further in every iteration of its outermost loop, which is
    that over tiles or over steps of the sum."""
    config = decode_array(design.words, design.spec)
    tiles = dict(config.tiles)
    place, core = next((place, tile.core) for place, tile in tiles.items() if isinstance(tile.core, PubConfig)
                       and any(tile.core.inputs) and tile.core.outputs[0] is not None
                       and (tile.core.outputs[0].fetch.ranges == (design.plan.tiles,)) == once_per_tile)
    output = core.outputs[0]
    first, *others = output.fetch.addresses
    moved = Affine((*first.strides[:-1], first.strides[-1] + 1), first.offset)
    fetch = replace(output.fetch, addresses=(moved, *others))
    tiles[place] = replace(tiles[place], core=replace(core, outputs=(replace(output, fetch=fetch), *core.outputs[1:])))
    return replace(config, tiles=tiles)


def test_a_memory_that_does_not_do_the_same_in_every_tile(tiled: CgraDesign) -> None:
    claims = Claims(tiled.parts.program, tiled.application, tiled.physical, tiled.spec, tiled.plan.period)
    config = with_other_fetch(tiled, once_per_tile=True)
    assert find_window(tiled.parts.program, claims, config, tiled.plan, tiled.spec) is None


def test_a_memory_that_is_wrong_in_every_tile(tiled: CgraDesign) -> None:
    config = with_other_fetch(tiled, once_per_tile=False)
    with pytest.raises(ValidationError):
        validate(tiled.parts.program, tiled.application, tiled.physical, config.words(tiled.spec), tiled.plan,
                 tiled.layout.addresses, tiled.spec)


def test_the_first_events_of_a_nest() -> None:
    nest = AffineNest((3, 4), (2, 10), 5, (Affine((1, 7)),))
    for kept in range(1, 13):
        prefix = PrefixNest(nest.ranges, nest.time, nest.time_offset, nest.addresses, kept)
        assert prefix.count == kept and prefix.last_time == nest.times()[kept - 1]
        assert list(prefix.times()) == list(nest.times()[:kept])


def test_a_product_of_sizes_that_nothing_divides() -> None:
    """Tiles of one row, which would end soonest, find no port in the memories: tiles of several rows are tried, too."""
    design = compiler.compile(product(251, 251, 251), target="cgra", array="16x32")
    assert design.predicted_start_to_done < 1.03 * 251 ** 3


def test_a_time_loop_that_does_not_fit_is_run_in_fewer_steps() -> None:
    """The message names what works: it does."""
    with pytest.raises(SluiceError, match=r"does not fit the global buffer's 32768 words per half; run it for fewer "
                                          r"values of 't' at a time$"):
        compiler.compile(load_c(KERNELS / "jacobi_2d.c", N=1024), target="cgra", array="16x32")
    design = compiler.compile(load_c(KERNELS / "jacobi_2d.c", N=1024, TSTEPS=1), target="cgra", array="16x32")
    assert design.predicted_start_to_done < 1.01 * 1024 ** 2

"""Configurations of memory tiles: words, their inverse, and the errors of both directions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_configurations import nests

from hw.memtile import (
    Affine,
    AffineNest,
    ConfigurationError,
    DualPortConfig,
    DualPortInput,
    DualPortOutput,
    MemTileSpec,
    PubConfig,
    PubInput,
    PubOutput,
    decode_config,
)

PUB = MemTileSpec()
DUAL = MemTileSpec(kind="dual-port")


def nest(*addresses: int, start: int = 0) -> AffineNest:
    return AffineNest((4,), (1,), start, tuple(Affine((stride,)) for stride in addresses))


SINK = PubInput(nest(1), nest(1, 1))
SOURCE = PubOutput(nest(1, 1), nest(1))
REGION = st.sampled_from([{}, {"base": 0x30, "mask": 0x0F}, {"base": 0x8000, "mask": 0x7FFF}])


@st.composite
def pub_configs(draw: st.DrawFn) -> PubConfig:
    def get(name: str) -> AffineNest:
        return draw(nests(PUB.controllers[name], most=16))

    sinks = tuple(
        draw(st.sampled_from([None, PubInput(get(f"write{i}"), get(f"store{i}"), **draw(REGION))])) for i in (0, 1)
    )
    chain = draw(st.sampled_from([None, 0, 127]))
    sources = tuple(
        PubOutput(get(f"fetch{o}"), get(f"read{o}"), **draw(REGION), chained=chain is not None and bool(o),
                  passing=not o)
        for o in range(draw(st.integers(0, 2)))
    )
    contents = tuple(draw(st.lists(st.integers(0, 65535), max_size=9)))
    return PubConfig(sinks, sources, chain, contents)


@st.composite
def dual_port_configs(draw: st.DrawFn) -> DualPortConfig:
    def get(name: str, start: int = 0) -> AffineNest:
        drawn = draw(nests(DUAL.controllers[name], most=16))
        return replace(drawn, time_offset=drawn.time_offset + start)

    sinks = tuple(DualPortInput(get(f"write{i}"), **draw(REGION)) for i in range(draw(st.integers(0, 2))))
    sources = (None, DualPortOutput(get("read1", 1), **draw(REGION)))  # pyright: ignore[reportArgumentType]
    contents = tuple(draw(st.lists(st.integers(0, 65535), max_size=5)))
    return DualPortConfig(sinks, sources, draw(st.sampled_from([None, 0, 31])), contents)


@settings(max_examples=40, deadline=None)
@given(pub_configs())
def test_pub_decode_is_the_inverse_of_words(config: PubConfig) -> None:
    words = config.words(PUB)
    assert decode_config(words, PUB) == config.canonical(PUB)
    assert PubConfig.decode(words, PUB).words(PUB) == words


@settings(max_examples=40, deadline=None)
@given(dual_port_configs())
def test_dual_port_decode_is_the_inverse_of_words(config: DualPortConfig) -> None:
    words = config.words(DUAL)
    assert decode_config(words, DUAL) == config.canonical(DUAL)
    assert DualPortConfig.decode(words, DUAL).words(DUAL) == words


def test_rom_words() -> None:
    words = PubConfig(contents=(1, 2, 3), rom=True).words(PUB)
    assert words == {(0x80, 0): 1, (0x80, 1): 0, (0xC0, 0): 0x00020001, (0xC0, 1): 3}
    assert DualPortConfig(contents=tuple(range(300)), rom=True).words(DUAL)[0xC1, 43] == 299


def test_no_words_are_an_unused_tile() -> None:
    assert decode_config({}, PUB) == PubConfig((None, None), (None, None))
    assert decode_config({}, DUAL) == DualPortConfig((None, None), (None, None))


@pytest.mark.parametrize(
    ("config", "spec", "message"),
    [
        (PubConfig(), DUAL, "a pub configuration for a dual-port memory tile"),
        (DualPortConfig(), PUB, "a dual-port configuration for a pub memory tile"),
        (PubConfig((SINK,) * 3), PUB, "3 inputs for a memory tile with 2"),
        (PubConfig((), (SOURCE,) * 3), PUB, "3 outputs for a memory tile with 2"),
        (PubConfig((SINK,), rom=True), PUB, "ROM mode takes input 0 and the outputs of the memory tile"),
        (PubConfig((), (SOURCE,), rom=True), PUB, "ROM mode takes input 0 and the outputs of the memory tile"),
        (PubConfig(chain_id=128), PUB, "chain_id 128 is not in 0..127"),
        (DualPortConfig(chain_id=32), DUAL, "chain_id 32 is not in 0..31"),
        (PubConfig((), (replace(SOURCE, chained=True),)), PUB, "a chained output needs a chain_id"),
        (PubConfig((None, replace(SINK, base=65536))), PUB, "input 1: base 65536 is not in 0..65535"),
        (PubConfig((), (replace(SOURCE, mask=-1),)), PUB, "output 0: mask -1 is not in 0..65535"),
        (
            PubConfig((replace(SINK, base=0x18, mask=0x0F),)),
            PUB,
            "input 0: base 0x18 and mask 0xf overlap",
        ),
        (PubConfig((SINK, replace(SINK, store=nest(1)))), PUB, "input 1 store: 1 addresses for 2 generators"),
        (
            DualPortConfig((), (DualPortOutput(nest(1)),)),
            DUAL,
            "output 0 read: first event is in cycle 0, at least 1 is needed",
        ),
        (PubConfig(contents=(1, 65536)), PUB, "contents word 1 is 65536, not a number of 16 bits"),
        (PubConfig(contents=(0,) * 2049), PUB, "2049 words of contents, 2048 fit"),
    ],
)
def test_configurations_that_do_not_fit(
    config: PubConfig | DualPortConfig, spec: MemTileSpec, message: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        config.words(spec)
    assert str(error.value) == message


GOOD = PubConfig((SINK,), (SOURCE,), contents=(1,)).words(PUB)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({(0x10, 0): 1}, "memory tile has no feature 0x10"),
        ({(0x89, 0): 1}, "memory tile has no feature 0x89"),
        ({(0x80, 0x12): 1}, "memory tile has no register 0x12"),
        ({(0x80, 0): 4}, "memory tile: mode 0x4 has bits that mean nothing"),
        ({(0x80, 0): 0x800002}, "memory tile: mode 0x800002 has bits that mean nothing"),
        ({(0x80, 1): 1}, "a chained output needs a chain_id"),
        ({(0x80, 1): 4}, "memory tile: chained outputs 0x4 for 2 outputs"),
        ({(0x80, 0x10): 0x0003_0001}, "input 0: base 0x1 and mask 0x3 overlap"),
        ({(0x81, 0x77): 0}, "memory tile write0: controller has no register 0x77"),
        ({(0x83, 0): 0}, "memory tile: port 0 has no store controller"),
        ({(0xC4, 0): 0}, "contents register 1024 is not in 0..1023"),
        ({(0xC0, 5): 1 << 32}, "contents register 5: 0x100000000 has too many bits"),
    ],
)
def test_words_that_mean_nothing(change: dict[tuple[int, int], int], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        PubConfig.decode(GOOD | change, PUB)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"kind": "fifo"}, "kind 'fifo' is none of pub, dual-port, dual-port-pe, buffet"),
        ({"word_width": 33}, "word_width 33 is not in 1..32"),
        ({"depth": 500}, "depth 500 is not a power of two above 1"),
        ({"tb_words": 4}, "tb_words 4 is less than two fetches"),
        ({"inputs": 0}, "inputs 0 is not in 1..15"),
        ({"sram_ports": 2}, "sram_ports 2 is neither 1 nor, of kind 'dual-port', the 2 inputs"),
        ({"kind": "dual-port", "sram_ports": 3}, "sram_ports 3 is neither 1 nor, of kind 'dual-port', the 2 inputs"),
        ({"kind": "dual-port", "sram_ports": 2, "outputs": 3},
         "sram_ports 2 is neither 1 nor, of kind 'dual-port', the 3 outputs"),
        ({"dims": 16}, "dims 16 is not in 1..15"),
        ({"depth": 1 << 16}, "65536 SRAM addresses exceed 2^15"),
        ({"depth": 1 << 14}, "capacity exceeds 16384 configuration registers"),
    ],
)
def test_impossible_sizes(sizes: dict, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        MemTileSpec(**sizes)
    assert str(error.value) == f"memory tile: {message}"

"""Encoding of the array's configuration."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from array_patterns import random_array, random_tile
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.errors import SluiceError
from hw.fabric.bank_config import BANK_FEATURE, BANK_NEST_FEATURE, BankConfig
from hw.fabric.config import CLEAR_ADDRESS, TILE_FEATURE, ArrayConfig, IoConfig, TileConfig, decode_array
from hw.fabric.routing import CoreSource, Network, Side, TrackSource
from hw.fabric.spec import FabricSpec, GlobalBufferSpec, TileKind
from hw.lib.configuration import ConfigurationError
from hw.memtile import Affine, AffineNest, PubConfig, PubInput
from hw.pe import PeConfig

SPEC = FabricSpec.parse("4x4")
WORD, BIT = Network.WORD, Network.BIT
NEST = AffineNest((4, 3), (1, 8), 5, (Affine((1, 4), 2),))
BANK = BankConfig("input", NEST, words=12, first=5)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(TileKind), st.sampled_from([3, 5, 8]), st.floats(0, 1))
def test_tile_words_decode_to_the_configuration(seed: int, kind: TileKind, tracks: int, share: float) -> None:
    spec = replace(SPEC, tracks=tracks)
    config = random_tile(random.Random(seed), spec, kind, share)
    assert TileConfig.decode(config.words(spec, kind), spec, kind) == config


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_an_image_decodes_to_the_array(seed: int) -> None:
    config = replace(random_array(random.Random(seed), SPEC), banks={0: BANK, 3: replace(BANK, direction="output")})
    image = config.words(SPEC)
    assert image[0] == (CLEAR_ADDRESS, 0)
    assert len({address for address, _ in image}) == len(image)
    decoded = decode_array(image, SPEC)
    assert decoded.ios == config.ios
    assert decoded.banks == config.banks
    assert decoded.tiles == {place: tile for place, tile in config.tiles.items() if tile != TileConfig()}


def test_two_banks_in_a_column_are_two_units() -> None:
    spec = replace(SPEC, glb=GlobalBufferSpec(paired=True))
    config = ArrayConfig(banks={1: BANK, 5: replace(BANK, direction="output")})
    image = config.words(spec)
    assert {address >> 16 for address, _ in image[1:]} == {0x8001, 0x8101}
    assert decode_array(image, spec) == config
    with pytest.raises(ConfigurationError) as error:
        ArrayConfig(banks={1: replace(BANK, direction="output")}).words(spec)
    assert str(error.value) == ("bank 1 cannot be an output bank: of the two in a column of the 4x4 array the first is "
                                "for inputs, the second for outputs")
    with pytest.raises(ConfigurationError, match="the 4x4 array has no column 8"):
        ArrayConfig(banks={8: BANK}).words(spec)
    with pytest.raises(ConfigurationError, match="the 4x4 array has no tile at row 129, column 1"):
        decode_array(image, SPEC)


def test_a_memory_is_part_of_the_image() -> None:
    store = AffineNest((4,), (4,), 4, (Affine((1,)), Affine((1,))))
    write = AffineNest((16,), (1,), 0, (Affine((1,)),))
    core = PubConfig((PubInput(write, store),)).canonical(SPEC.mem)
    config = ArrayConfig({(2, 3): TileConfig(connections={"in0": TrackSource(Side.W, 1)}, core=core)})
    assert decode_array(config.words(SPEC), SPEC) == config


def test_addresses_are_row_column_feature_register() -> None:
    config = ArrayConfig({(2, 1): TileConfig(core=PeConfig("add"))}, {3: IoConfig(4)})
    addresses = [address for address, _ in config.words(SPEC)]
    assert addresses == [CLEAR_ADDRESS, 0x0201_0000, 0x0201_0100, 0x8003_0100]


def tile(**fields: object) -> TileConfig:
    return TileConfig(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        (tile(switches={(WORD, Side.N, 5): CoreSource("word0")}), "pe", "pe tile: there is no word track 5"),
        (tile(switches={(WORD, Side.N, 0): CoreSource("bit0")}), "pe",
         "pe tile: word track 0 to N cannot take core output bit0"),
        (tile(switches={(WORD, Side.N, 0): TrackSource(Side.N, 0)}), "pe",
         "pe tile: word track 0 to N cannot take track 0 from N"),
        (tile(switches={(BIT, Side.N, 1): CoreSource("out0")}), "mem",
         "mem tile: bit track 1 to N cannot take core output out0"),
        (tile(connections={"in0": TrackSource(Side.N, 0)}), "pe", "pe tile: there is no input in0"),
        (tile(connections={"chain1": TrackSource(Side.W, 7)}), "mem",
         "mem tile: input chain1 cannot take track 7 from W"),
        (tile(delays={"word1": 1}), "pe", "pe tile: input word1 has a delay but no track"),
        (tile(connections={"word1": TrackSource(Side.N, 0)}, delays={"word1": 16}), "pe",
         "pe tile: the delay of input word1 cannot be 16"),
        (tile(core=PeConfig("add")), "mem", "mem tile: it cannot be configured as a processing element"),
        (tile(core=PubConfig()), "pe", "pe tile: it cannot be configured as a memory"),
    ],
)  # fmt: skip
def test_what_a_tile_cannot_do_is_an_error(config: TileConfig, kind: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.words(SPEC, TileKind(kind))
    assert str(caught.value) == message


CLEAR = (CLEAR_ADDRESS, 0)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ([], "the configuration does not begin with the word that clears the array"),
        ([(0x0000_0100, 1)], "the configuration does not begin with the word that clears the array"),
        ([CLEAR, (0x0000_0100, 1), (0x0000_0100, 1)], "the configuration writes address 0x00000100 twice"),
        ([CLEAR, (0x0400_0100, 1)], "the 4x4 array has no tile at row 4, column 0"),
        ([CLEAR, (0x0004_0100, 1)], "the 4x4 array has no tile at row 0, column 4"),
        ([CLEAR, (0x8004_0100, 1)], "the 4x4 array has no column 4"),
        ([CLEAR, (0x0000_0120, 1)], "pe tile: there is no register 32 in feature 1"),
        ([CLEAR, (0x0000_0105, 1 << 30)], "pe tile: register 5 cannot hold 0x40000000"),
        ([CLEAR, (0x0000_0100, 1)], "pe tile: a switch, track or delay is set that is not in use"),
        ([CLEAR, (0x8000_0100, 2)], "edge stage: a track is set that is not in use"),
        ([CLEAR, (0x8000_0100, 0b1011)], "edge stage has no source number 5"),
        ([CLEAR, (0x8000_2000, 1)], "bank: there is no feature 0x20"),
        ([CLEAR, (0x8000_0000 | BANK_FEATURE << 8, 1)], "bank: it is on but has no accesses"),
        ([CLEAR, (0x8000_0000 | BANK_FEATURE << 8, 2)], "bank: a register is set of a bank that is off"),
        ([CLEAR, (0x8000_0000 | BANK_NEST_FEATURE << 8, 1 << 31)], "enabled controller lacks register 0x10"),
    ],
)
def test_damaged_images_are_errors(image: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        decode_array(image, SPEC)
    assert str(caught.value) == message


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_a_damaged_image_is_an_error_or_another_configuration(seed: int, damage: int) -> None:
    rng = random.Random(damage)
    config = replace(random_array(random.Random(seed % 8), SPEC), banks={0: BANK})
    image = config.words(SPEC)
    place = rng.randrange(1, len(image))
    address, data = image[place]
    image[place] = (address, data ^ 1 << rng.randrange(32))
    try:
        decoded = decode_array(image, SPEC)
    except SluiceError as error:
        assert "\n" not in str(error)
    else:
        assert decoded != config
        assert decode_array(decoded.words(SPEC), SPEC) == decoded


@pytest.mark.parametrize(
    ("bank", "message"),
    [
        (replace(BANK, direction="sideways"), "bank: direction 'sideways' is neither 'input' nor 'output'"),
        (replace(BANK, words=1 << 24), "bank: words = 16777216 does not fit in 24 bits"),
        (replace(BANK, nest=replace(NEST, time_offset=1 << 24)),
         "first event is in cycle 16777216, at most 16777215 fits"),
    ],
)  # fmt: skip
def test_what_a_bank_cannot_do_is_an_error(bank: BankConfig, message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        ArrayConfig(banks={0: bank}).words(SPEC)
    assert str(caught.value) == message


@pytest.mark.parametrize("part", ["ios", "banks"])
def test_a_column_outside_is_an_error(part: str) -> None:
    config = ArrayConfig(**{part: {4: IoConfig(0) if part == "ios" else BANK}})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError) as caught:
        config.words(SPEC)
    assert str(caught.value) == "the 4x4 array has no column 4"


def test_an_edge_stage_has_the_tracks_of_the_array() -> None:
    with pytest.raises(ConfigurationError) as caught:
        IoConfig(5).words(SPEC)
    assert str(caught.value) == "edge stage: there is no word track 5"


def test_a_damaged_tile_word_names_the_source_that_is_missing() -> None:
    kind = TileKind.MEM
    words = TileConfig({(WORD, Side.N, 0): CoreSource("out1")}).words(SPEC, kind)
    select = next(key for key in words if key[0] == TILE_FEATURE and key[1] == 0)
    words[select] |= 0b111 << 22
    with pytest.raises(ConfigurationError) as caught:
        TileConfig.decode(words, SPEC, kind)
    assert str(caught.value) == "mem tile: word track 0 to N has no source number 7"

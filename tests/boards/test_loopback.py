"""The loopback design is legal for any array with two banks. That it runs is checked on the RTL simulators."""

import dataclasses

import pytest

from hw.designs.directory import DesignError, read_design, write_design
from hw.designs.loopback import loopback_image
from hw.designs.parameters import fabric_parameters, fabric_spec
from hw.fabric.config import decode_array
from hw.fabric.image import parse_image
from hw.fabric.spec import FabricSpec, GlobalBufferSpec
from hw.memtile import MemTileSpec


@pytest.mark.parametrize(
    "spec",
    [
        FabricSpec(1, 2),
        FabricSpec(4, 4, glb=GlobalBufferSpec(half_words=16)),
        FabricSpec(2, 9, tracks=3, glb=GlobalBufferSpec(banks=3)),
        FabricSpec(16, 32, mem=MemTileSpec(kind="dual-port")),
    ],
    ids=str,
)
def test_legal_for_any_array(spec, tmp_path):
    image = loopback_image(spec)
    write_design(tmp_path, image)
    assert read_design(tmp_path) == image
    assert fabric_spec(image) == spec
    config = decode_array(image.configuration, spec)
    assert set(config.banks) == {spec.bank_columns[0], spec.bank_columns[-1]}
    assert set(config.tiles) == {(0, c) for c in range(spec.bank_columns[0], spec.bank_columns[-1] + 1)}
    assert tuple(parse_image(dict(image.memory)[0])) == image.configuration
    assert [region.crc32 is None for region in image.outputs] == [False]


def test_one_bank_is_not_enough():
    with pytest.raises(DesignError) as error:
        loopback_image(FabricSpec(2, 4, glb=GlobalBufferSpec(banks=1)))
    assert str(error.value) == "a 2x4 array with one bank cannot send words from one bank to another"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 3}, "parameters: there is no parameter 'size'"),
        ({"tracks": "5"}, "parameters.tracks: '5' is not possible"),
        ({"tracks": True}, "parameters.tracks: True is not possible"),
        ({"mem": {"kind": "magic"}}, "parameters.mem.kind: 'magic' is not possible"),
        ({"mem": 7}, "parameters.mem: must be an object"),
        ({"tracks": 1}, "parameters: an array has 2 to 16 tracks per side, not 1"),
    ],
)
def test_impossible_parameters(parameters, message):
    image = dataclasses.replace(loopback_image(FabricSpec(1, 2)), parameters=parameters)
    with pytest.raises(DesignError) as error:
        fabric_spec(image)
    assert str(error.value) == message


def test_parameters_round_trip_through_defaults():
    spec = FabricSpec(3, 5)
    image = dataclasses.replace(loopback_image(spec), parameters={})
    assert fabric_spec(image) == spec
    assert "rows" not in fabric_parameters(spec)

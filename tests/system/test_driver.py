"""What a host computes: images, register writes, and words for what the status registers say."""

import struct

import pytest

from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunFailure, RunPlan, RunPlanError, check_status, describe_wait
from hw.fabric.image import ImageError, checksum, configuration_image, image_length, parse_image
from hw.fabric.spec import FabricError, FabricSpec, GlobalBufferSpec
from hw.fabric.status import Phase, RunError, Waiting
from hw.fabric.system import emit_system
from hw.memtile import MemTileSpec
from hw.pe.config import PeSpec

REGISTERS = control_registers(FabricSpec(4, 4))
PAIRS = [(0x00010203, 0xDEADBEEF), (0x80000001, 0), (5, 0xFFFFFFFF)]


def test_images_round_trip():
    image = configuration_image(PAIRS)
    assert len(image) == 4 * image_length(3)
    assert struct.unpack_from("<2I", image) == (0x534C4331, 3)
    assert parse_image(image) == PAIRS
    assert parse_image(configuration_image([])) == []


def test_checksum_depends_on_every_bit_and_on_the_order():
    words = [0x12345678, 0, 0xFFFFFFFF, 7]
    flipped = {checksum([*words[:k], words[k] ^ 1 << bit, *words[k + 1 :]]) for k in range(4) for bit in range(32)}
    assert checksum(words) not in flipped
    assert checksum(words) != checksum([words[1], words[0], *words[2:]])


def changed(position, value):
    image = bytearray(configuration_image(PAIRS))
    struct.pack_into("<I", image, position, value)
    return bytes(image)


@pytest.mark.parametrize("image, message", [
    (configuration_image(PAIRS)[:-1], "a configuration image of 35 bytes is cut off"),
    (b"", "a configuration image of 0 bytes is cut off"),
    (changed(0, 1), "configuration image starts with 0x00000001 instead of 0x534c4331"),
    (changed(4, 2), "configuration image has 9 words, but its count says 7"),
    (changed(32, 9), "checksum of the configuration image is 0x911dc8c4, it says 0x00000009"),
])
def test_damaged_images(image, message):
    with pytest.raises(ImageError) as caught:
        parse_image(image)
    assert str(caught.value) == message


def test_writes_of_a_run():
    plan = RunPlan(0x100, 9, 64, 3, 300, {2: DmaDescriptor(0x8000, 20, DmaLevel(4, -20))})
    writes = plan.writes(REGISTERS)
    names = {address: name for name, address in REGISTERS.addresses.items()}
    assert [(names[address], value) for address, value in writes] == [
        ("CONFIG_ADDRESS", 0x100), ("CONFIG_WORDS", 9), ("PERIOD", 64), ("TILES", 3), ("RUN_CYCLES", 300),
        ("BANK[2].BASE", 0x8000), ("BANK[2].ROW_BYTES", 20), ("BANK[2].ROWS", 4), ("BANK[2].ROW_STRIDE", 0xFFFFFFEC),
        ("BANK[2].PLANES", 1), ("BANK[2].PLANE_STRIDE", 0), ("BANK[2].TILES0", 1), ("BANK[2].TILE0_STRIDE", 0),
        ("BANK[2].TILES1", 1), ("BANK[2].TILE1_STRIDE", 0), ("BANK[2].BAND", 4), ("BANK[2].BAND_STRIDE", 0xFFFFFFB0),
        ("BANK[2].BAND_LINES", 10), ("CONTROL", 1),
    ]


@pytest.mark.parametrize("change, message", [
    ({"period": 0}, "period of a run is 0, outside 1..16777215"),
    ({"tiles": 1 << 16}, "tiles of a run is 65536, outside 1..65535"),
    ({"config_words": -1}, "config_words of a run is -1, outside 0..4294967295"),
])
def test_impossible_runs(change, message):
    with pytest.raises(RunPlanError) as caught:
        RunPlan(**{"config_address": 0, "config_words": 0, "period": 1, "tiles": 1, "run_cycles": 1, **change})
    assert str(caught.value) == message


def test_bank_that_is_not_there():
    with pytest.raises(RunPlanError, match=r"^there is no bank in column 4$"):
        RunPlan(0, 0, 1, 1, 1, {4: DmaDescriptor(0, 1)}).writes(REGISTERS)


def status(**fields):
    return REGISTERS.encode("STATUS", **fields)


def detail(phase, waiting, bank=0x3FF):
    return REGISTERS.encode("DETAIL", phase=phase, waiting=waiting, bank=bank)


@pytest.mark.parametrize("words, message", [
    ((status(busy=1), detail(Phase.RUN, Waiting.OUTPUT_BANK, 3)),
     "the run has not ended: phase RUN, the output bank in column 3 has no free band"),
    ((status(done=1, error=RunError.BANK_OVERFLOW), detail(Phase.RUN, 0, 1)),
     "the run ended with error BANK_OVERFLOW (column 1)"),
    ((status(done=1, error=RunError.PARAMETER), detail(Phase.IDLE, 0)), "the run ended with error PARAMETER"),
    ((status(done=1, error=99), detail(Phase.IDLE, 0)), "the run ended with error number 99"),
])
def test_failures_in_words(words, message):
    with pytest.raises(RunFailure) as caught:
        check_status(REGISTERS, *words)
    assert str(caught.value) == message


def test_success_is_silent():
    check_status(REGISTERS, status(done=1), detail(Phase.IDLE, 0))


@pytest.mark.parametrize("waiting", Waiting)
def test_every_wait_has_words(waiting):
    assert describe_wait(REGISTERS, detail(Phase.DRAIN, waiting, 2)).startswith("phase DRAIN, ")


def test_every_code_is_documented_for_the_host():
    header = REGISTERS.c_header()
    for error in RunError:
        assert f"#define SLUICE_STATUS_ERROR_{error.name} {error.value}\n" in header


@pytest.mark.parametrize("glb, message", [
    (GlobalBufferSpec(half_words=1000), "half a bank cannot have 1000 words; it needs a power of two from 8 on"),
    (GlobalBufferSpec(half_words=4), "half a bank cannot have 4 words; it needs a power of two from 8 on"),
    (GlobalBufferSpec(bus_width=128), "the memory bus has to be 64 bits wide, not 128"),
])
def test_global_buffers_that_cannot_be_built(glb, message):
    with pytest.raises(FabricError) as caught:
        emit_system(FabricSpec(4, 4, glb=glb))
    assert str(caught.value) == message


def test_words_that_do_not_fill_the_bus():
    spec = FabricSpec(4, 4, pe=PeSpec(24), mem=MemTileSpec(word_width=24))
    with pytest.raises(FabricError) as caught:
        emit_system(spec)
    assert str(caught.value) == "a bus of 64 bits does not hold 2, 4, 8... words of 24 bits"

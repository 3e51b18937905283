"""A small design for benches of the boards: words pass through two tiles, without any compiler."""

from __future__ import annotations

from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.designs.parameters import fabric_parameters
from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig, IoConfig, TileConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan
from hw.fabric.image import configuration_image, image_length
from hw.fabric.routing import Network, Side, TrackSource, switch_sources
from hw.fabric.spec import GLB_INPUT_LATENCY, IO_OUTPUT_LATENCY, FabricSpec, GlobalBufferSpec, TileKind
from hw.memtile import Affine, AffineNest

__all__ = ["SPEC", "pass_through"]

SPEC = FabricSpec(1, 2, glb=GlobalBufferSpec(half_words=64))
WORDS = 24
TILES = 2
START = 3
HOPS = 2
PERIOD = 40
SOURCE, TARGET = 0x401, 0x804
"""Byte addresses of the data in memory, on purpose not multiples of 8."""


def pass_through() -> DesignImage:
    """Two tiles of 24 words from column 0's bank eastward and out through column 1's bank."""
    configuration = _configuration().words(SPEC)
    plan = RunPlan(
        config_address=0,
        config_words=image_length(len(configuration)),
        period=PERIOD,
        tiles=TILES,
        run_cycles=PERIOD * TILES,
        banks={0: _descriptor(SOURCE), 1: _descriptor(TARGET)},
    )
    data = bytes((37 * index + 11) & 0xFF for index in range(2 * WORDS * TILES))
    return DesignImage(
        name="pass_through",
        array=str(SPEC),
        configuration=tuple(configuration),
        plan=tuple(plan.writes(control_registers(SPEC))),
        memory=((0, configuration_image(configuration)), (SOURCE, data), (TARGET, bytes(len(data)))),
        outputs=(OutputRegion("output", TARGET, len(data), crc32(data)),),
        memory_bytes=4096,
        parameters=fabric_parameters(SPEC),
    )


def _descriptor(base: int) -> DmaDescriptor:
    return DmaDescriptor(base, 2 * WORDS, tiles=(DmaLevel(TILES, 2 * WORDS), DmaLevel()))


def _configuration() -> ArrayConfig:
    east = _track(Side.E, TrackSource(Side.N, 0))
    north = _track(Side.N, TrackSource(Side.W, east))
    return ArrayConfig(
        tiles={
            (0, 0): TileConfig({(Network.WORD, Side.E, east): TrackSource(Side.N, 0)}),
            (0, 1): TileConfig({(Network.WORD, Side.N, north): TrackSource(Side.W, east)}),
        },
        ios={1: IoConfig(north)},
        banks={
            0: BankConfig("input", _nest(START), WORDS, START),
            1: BankConfig("output", _nest(START + LATENCY), WORDS, START + LATENCY),
        },
    )


LATENCY = GLB_INPUT_LATENCY + HOPS + IO_OUTPUT_LATENCY
"""Cycles from the read in one bank to the write in the other."""


def _track(side: Side, source: TrackSource) -> int:
    """A track of `side` that the switch box can connect to `source`."""
    return next(
        track
        for track in range(SPEC.tracks)
        if source in switch_sources(SPEC, TileKind.PE, Network.WORD, side, track)
    )


def _nest(offset: int) -> AffineNest:
    return AffineNest((WORDS,), (1,), offset, (Affine((1,)),))

"""A design that needs no compiler: words go into the array at one bank, along its north edge, and out at another."""

from __future__ import annotations

from collections.abc import Iterator

from hw.designs.directory import DesignError, DesignImage, OutputRegion, crc32
from hw.designs.parameters import fabric_parameters
from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig, IoConfig, TileConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan
from hw.fabric.image import configuration_image, image_length
from hw.fabric.routing import Network, Side, TrackSource, switch_sources
from hw.fabric.spec import GLB_INPUT_LATENCY, IO_OUTPUT_LATENCY, FabricSpec
from hw.memtile import Affine, AffineNest

__all__ = ["loopback_image"]

_TILES = 2
_WORDS = 64
_START = 3
_MARGIN = 4
_WORD_BYTES = 2


def loopback_image(spec: FabricSpec) -> DesignImage:
    """Tiles of up to 64 words from the first bank's column to the last one's, and back to memory unchanged.

    The data in memory are not aligned on purpose. Raises `DesignError` for an array with a single bank.
    """
    if len(spec.bank_columns) < 2:
        raise DesignError(f"a {spec} array with one bank cannot send words from one bank to another")
    words = min(_WORDS, spec.glb.half_words)
    latency = GLB_INPUT_LATENCY + spec.bank_columns[-1] - spec.bank_columns[0] + 1 + IO_OUTPUT_LATENCY
    configuration = _configuration(spec, words, latency).words(spec)
    image = configuration_image(configuration)
    data = bytes((37 * index + 11) & 0xFF for index in range(_WORD_BYTES * words * _TILES))
    source = len(image) + 1
    target = source + len(data) + 3
    period = _START + latency + words + _MARGIN
    plan = RunPlan(
        config_address=0,
        config_words=image_length(len(configuration)),
        period=period,
        tiles=_TILES,
        run_cycles=period * _TILES,
        banks={
            spec.bank_columns[0]: _descriptor(source, words),
            spec.bank_columns[-1]: _descriptor(target, words),
        },
    )
    return DesignImage(
        name="cgra",
        array=str(spec),
        configuration=tuple(configuration),
        plan=tuple(plan.writes(control_registers(spec))),
        memory=((0, image), (source, data)),
        outputs=(OutputRegion("loopback", target, len(data), crc32(data)),),
        memory_bytes=target + len(data),
        parameters=fabric_parameters(spec),
        metadata={"run_cycles": period * _TILES},
    )


def _descriptor(base: int, words: int) -> DmaDescriptor:
    row = _WORD_BYTES * words
    return DmaDescriptor(base, row, tiles=(DmaLevel(_TILES, row), DmaLevel()))


def _configuration(spec: FabricSpec, words: int, latency: int) -> ArrayConfig:
    first, last = spec.bank_columns[0], spec.bank_columns[-1]
    hops = dict(_route(spec, first, last))
    tiles = {
        (0, column): TileConfig({(Network.WORD, side, track): source})
        for column, (side, track, source) in hops.items()
    }
    return ArrayConfig(
        tiles=tiles,
        ios={last: IoConfig(hops[last][1])},
        banks={
            first: BankConfig("input", _nest(words, _START), words, _START),
            last: BankConfig("output", _nest(words, _START + latency), words, _START + latency),
        },
    )


def _nest(words: int, offset: int) -> AffineNest:
    return AffineNest((words,), (1,), offset, (Affine((1,)),))


def _route(spec: FabricSpec, first: int, last: int) -> Iterator[tuple[int, tuple[Side, int, TrackSource]]]:
    """For each column of the way along row 0: the switch-box output that is used, and its source."""
    source = TrackSource(Side.N, 0)
    for column in range(first, last + 1):
        side = Side.N if column == last else Side.E
        track = _reachable(spec, column, side, source)
        yield column, (side, track, source)
        source = TrackSource(Side.W, track)


def _reachable(spec: FabricSpec, column: int, side: Side, source: TrackSource) -> int:
    """A track of `side` that can take `source`."""
    kind = spec.tile_kind(0, column)
    for track in range(spec.tracks):
        if source in switch_sources(spec, kind, Network.WORD, side, track):
            return track
    raise DesignError(f"no track leads to {side.name} in row 0, column {column}")

"""How many words each buffer takes, beside the fewest that any implementation must keep alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.bind.buffers.circular import live_words
from compiler.bind.buffers.sequences import BufferTraffic, WriteTraffic
from compiler.bind.cgra.memories import MemoryTile, TileBuffer
from compiler.bind.design import BufferStorage
from hw.fabric.config import ArrayConfig
from hw.memtile import AddressedConfig, AddressedInput, AffineNest, DualPortConfig, MemTileSpec, PubConfig, PubInput

__all__ = ["buffer_storage"]


def buffer_storage(memories: Sequence[MemoryTile], sites: Mapping[str, tuple[int, int]], config: ArrayConfig,
                   spec: MemTileSpec) -> list[BufferStorage]:
    """Storage of all buffers: `sites` are the tiles' places, `config` says how much of each is allocated."""
    placed: dict[str, list[tuple[MemoryTile, TileBuffer]]] = {}
    for tile in memories:
        for buffer in tile.buffers:
            placed.setdefault(buffer.traffic.name, []).append((tile, buffer))
    found = []
    for name, parts in placed.items():
        words = sum(_allocated(tile, buffer, config.tiles[sites[tile.name]].core, spec) for tile, buffer in parts)
        units = tuple(dict.fromkeys(tile.name for tile, _ in parts))
        found.append(BufferStorage(name, units, _live([buffer for _, buffer in parts]), words))
    return found


def _allocated(tile: MemoryTile, buffer: TileBuffer, core: object, spec: MemTileSpec) -> int:
    """Words that `buffer` takes in `tile`: its region, or of a chain's region the part in this tile."""
    assert isinstance(core, PubConfig | DualPortConfig | AddressedConfig)
    port = core.inputs[buffer.input]
    assert port is not None
    region = port.mask + 1
    if not isinstance(port, AddressedInput):
        nest, number = (port.store, 1) if isinstance(port, PubInput) else (port.write, 0)
        region = min(region, _reach(nest, number))
    words = region * (spec.fetch_width if spec.kind == "pub" else 1)
    return words // tile.chain[1] if tile.chain else words


def _reach(nest: AffineNest, number: int) -> int:
    """Places that an address passes if it never goes back."""
    strides = nest.addresses[number].strides
    return 1 + sum((trips - 1) * stride for trips, stride in zip(nest.ranges, strides, strict=True))


def _live(parts: Sequence[TileBuffer]) -> int:
    """Words of one buffer that are live at once: delay lines follow each other; other memories are copies, and those
    that hold the same words are counted once."""
    total = sum(live_words(part.traffic) for part in parts if part.traffic.homogeneous)
    copies = [part.traffic for part in parts if not part.traffic.homogeneous]
    alike: dict[WriteTraffic, list[BufferTraffic]] = {}
    for traffic in copies:
        alike.setdefault(traffic.write, []).append(traffic)
    return total + max((live_words(replace(group[0], reads=tuple(read for one in group for read in one.reads)))
                        for group in alike.values()), default=0)

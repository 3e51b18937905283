"""How many words each buffer takes, beside the fewest that any implementation must keep alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.bind.buffers.circular import live_words
from compiler.bind.cgra.memories import MemoryTile, TileBuffer
from compiler.bind.design import BufferStorage
from hw.fabric.config import ArrayConfig
from hw.memtile import AddressedConfig, DualPortConfig, MemTileSpec, PubConfig

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
    region = (port.mask + 1) * (spec.fetch_width if spec.kind == "pub" else 1)
    return region // tile.chain[1] if tile.chain else region


def _live(parts: Sequence[TileBuffer]) -> int:
    """Words of one buffer that are live at once: delay lines follow each other, other memories are copies."""
    total = sum(live_words(part.traffic) for part in parts if part.traffic.homogeneous)
    copies = [part.traffic for part in parts if not part.traffic.homogeneous]
    if copies:
        total += live_words(replace(copies[0], reads=tuple(read for traffic in copies for read in traffic.reads)))
    return total

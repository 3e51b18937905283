"""How many words each buffer takes, beside the fewest that any implementation must keep alive."""

from __future__ import annotations

from compiler.bind.buffers.circular import block_lifetimes
from compiler.bind.cgra.memories import MemoryTile, TileBuffer
from compiler.bind.design import BufferStorage
from hw.fabric.config import ArrayConfig
from hw.memtile import DualPortConfig, PubConfig

__all__ = ["buffer_storage"]


def buffer_storage(memories: list[MemoryTile], sites: dict[str, tuple[int, int]],
                   config: ArrayConfig, fetch: int) -> list[BufferStorage]:
    """Storage of all buffers: `sites` are the tiles' places, `config` says how much of each is allocated."""
    found: dict[str, BufferStorage] = {}
    for tile in memories:
        core = config.tiles[sites[tile.name]].core
        assert isinstance(core, PubConfig | DualPortConfig)
        for buffer in tile.buffers:
            port = core.inputs[buffer.input]
            assert port is not None
            words = (tile_words(tile, port.mask + 1)) * fetch
            have = found.get(buffer.traffic.name)
            found[buffer.traffic.name] = BufferStorage(
                buffer.traffic.name,
                (*(have.units if have else ()), tile.name),
                max(have.live_words if have else 0, _live(buffer)),
                (have.allocated_words if have else 0) + words,
            )
    return list(found.values())


def tile_words(tile: MemoryTile, region: int) -> int:
    """Blocks of a region that lie in one tile of its chain."""
    return region // tile.chain[1] if tile.chain else region


def _live(buffer: TileBuffer) -> int:
    return max(block_lifetimes(buffer.traffic, read, 1).live_blocks() for read in buffer.reads)

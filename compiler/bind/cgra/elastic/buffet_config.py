"""What buffets do, from what dual-port memories of the static mapping do: fills, reads, and when words are given up.

Words are appended in the order of their production, and a read's address is the place of its word there, as in every
memory of this compiler. Liveness says up to which word each read is the last: from that the largest nest is taken that
gives words up regularly, after every read or after every turn of some loop (Liu 2023, section 6.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.bind.buffers.counters import counted
from compiler.bind.buffers.iteration_samples import MOST_LISTED
from compiler.bind.buffers.nest_fit import fit_nest
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.memories import MemoryTile
from hw.memtile import Affine, AffineNest, BuffetConfig, DualPortConfig, MemTileSpec
from hw.memtile.affine import deltas

__all__ = ["buffet_program", "reads_what_nobody_uses", "table_program"]


@dataclass(frozen=True)
class _Shrinking:
    """A way to give words up, and the most words that are there at once in the static mapping."""

    nest: AffineNest | None
    peak: int


def table_program(config: DualPortConfig, start: int) -> BuffetConfig:
    """A buffet that plays or looks up a table; token 0 of its output is the word that is visible in cycle `start`."""
    if config.rom:
        return BuffetConfig(contents=config.contents, lookup=True)
    (port,) = [port for port in config.outputs if port is not None]
    return BuffetConfig(read=_shifted(port.read, 1 - start), contents=config.contents)


def buffet_program(tile: MemoryTile, config: DualPortConfig, starts: tuple[int, int],
                   spec: MemTileSpec) -> BuffetConfig:
    """The buffet for a memory of the static mapping. `starts`: cycles in which the word of token 0 is at its input, and
    visible at its output.

    Raises `ElasticError`, naming the buffer, for what one buffet cannot do.
    """
    name = tile.buffers[0].traffic.title
    outputs = [port for port in config.outputs if port is not None]
    if tile.chain is not None:
        raise ElasticError(f"buffer {name} needs more than the {spec.capacity_words} words of one buffet")
    if len(tile.buffers) != 1 or len(outputs) != 1 or outputs[0].passing:
        raise ElasticError(f"buffer {name}: a buffet has one fill and one read stream")
    port = config.inputs[0]
    assert port is not None
    write, read = port.write.trimmed(), _real_reads(tile, outputs[0].read)
    if not _appends(write):
        raise ElasticError(f"buffer {name}: its words are not written one after the other")
    first = int(read.evaluate(read.addresses[0]).min())
    present = max(0, -first)
    read = _further(read, present)
    shrinking = _choose(write, read, present, spec.capacity_words)
    if shrinking is None:
        raise ElasticError(f"buffer {name} has more than {spec.capacity_words} words that no loop gives up regularly")
    fill = AffineNest(write.ranges, write.time, write.time_offset - starts[0], ())
    given_up = shrinking.nest and counted(_shifted(shrinking.nest, 1 - starts[1]))
    return BuffetConfig(fill, None, counted(_shifted(read, 1 - starts[1])), given_up, present=present)


def _shifted(nest: AffineNest, cycles: int) -> AffineNest:
    return replace(nest, time_offset=nest.time_offset + cycles)


def _further(nest: AffineNest, words: int) -> AffineNest:
    (address,) = nest.addresses
    return replace(nest, addresses=(replace(address, offset=address.offset + words),))


def _real_reads(tile: MemoryTile, nest: AffineNest) -> AffineNest:
    """The reads whose words somebody uses: others may wait for words that are never there. If these are no loop nest,
    all reads; those before the first word, as of the sums before a first step, find words that are there at the start.
    """
    traffic = tile.buffers[0].traffic
    read = tile.buffers[0].reads[0]
    if not reads_what_nobody_uses(tile):
        return nest.trimmed()
    if read.samples is not None:
        raise ElasticError(f"memory for {traffic.title}: which of its words somebody uses would have to be listed for "
                           f"more than {MOST_LISTED} reads; use memory=dual-port, or a smaller problem")
    fit = fit_nest([read.time[read.real], read.address[read.real]], 5)
    if fit is None:
        return nest.trimmed()
    shift = nest.time_offset - int(read.time[0])
    address = Affine((*fit.strides[1], traffic.tile_words), fit.offsets[1])
    return AffineNest((*fit.ranges, traffic.tiles), (*fit.strides[0], traffic.period), fit.offsets[0] + shift,
                      (address,)).trimmed()


def reads_what_nobody_uses(tile: MemoryTile) -> bool:
    """Whether some reads of the only buffer in a memory only make its nest regular."""
    buffer = tile.buffers[0]
    return not buffer.traffic.homogeneous and not buffer.reads[0].real.all()


def _appends(write: AffineNest) -> bool:
    """Whether write number k has address k."""
    address = write.addresses[0]
    strides = tuple(prod(write.ranges[:d]) for d in range(len(write.ranges)))
    return address.offset == 0 and (address.strides == strides or write.count == 1)


def _choose(write: AffineNest, read: AffineNest, present: int, capacity: int) -> _Shrinking | None:
    """The way that needs the fewest words, of equals the one with the fewest events; None if all need too many."""
    ways = [*_ways(write, read, present)]
    best = min(ways, key=lambda way: (way.peak, way.nest.count if way.nest else 0))
    return best if best.peak <= capacity else None


def _ways(write: AffineNest, read: AffineNest, present: int) -> Iterator[_Shrinking]:
    filled = write.times()
    yield _Shrinking(None, present + write.count)
    limits = _limits(read)
    for level in range(len(read.ranges)):
        events = limits.reshape(*read.ranges[::-1])[(..., *(-1 for _ in range(level)))]
        nest = _regular(read, level, events)
        if nest is not None:
            yield _Shrinking(nest, present + _peak(filled, nest))


def _limits(read: AffineNest) -> np.ndarray:
    """Per read how many words can be given up after it: none that are read later, and none beyond those read so far."""
    address = read.evaluate(read.addresses[0])
    later = np.minimum.accumulate(address[::-1])[::-1]
    after = np.append(later[1:], address[-1] + 1)
    return np.minimum(after, np.maximum.accumulate(address) + 1)


def _regular(read: AffineNest, level: int, limits: np.ndarray) -> AffineNest | None:
    """The largest affine function below `limits` with the smallest steps that they take; None if it does not grow."""
    ranges, time = read.ranges[level:], read.time[level:]
    steps = []
    for axis in reversed(range(limits.ndim)):
        change = np.diff(limits, axis=axis)
        steps.append(int(change.min()) if change.size else 0)
    bound = np.zeros((), dtype=np.int64)
    for axis, step in enumerate(reversed(steps)):
        bound = bound[..., None] + np.arange(limits.shape[axis]) * step
    first = int((limits - bound).min())
    grows = all(step >= 0 for step, trips in zip(deltas(ranges, steps), ranges, strict=True) if trips > 1)
    if not grows or first < 0 or first + int(bound.max()) == 0:
        return None
    start = read.time_offset + sum((n - 1) * t for n, t in zip(read.ranges[:level], read.time[:level], strict=True))
    return AffineNest(ranges, time, start, (Affine(tuple(steps), first),))


def _peak(filled: np.ndarray, shrink: AffineNest) -> int:
    """Most words between what is given up and what is filled; a word takes its place a cycle before the static write,
    and one is given up when the static read fires."""
    times, heads = shrink.times(), shrink.evaluate(shrink.addresses[0])
    before = np.searchsorted(times, filled - 1, side="right")
    head = np.append(0, heads)[before]
    return int((np.arange(1, len(filled) + 1) - head).max())

"""Banks of the global buffer and their DMA descriptors: which array element passes in which cycle.

Proven for every bank: its accesses of one tile end before those of the next begin, its addresses lie in what the DMA
engine moves per tile, that fits a half or is the only tile, and the run control is told the right number of accesses
and first cycle. Each access is to a band that the array has in that cycle, and these bands together fit the bank. For
an output also: every word that is written to main memory is captured, exactly once per tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import islpy as isl

from compiler.bind.cgra.validate.nests import Again, Events, centered, increasing
from compiler.ir.program import Array
from compiler.sched.verify import ValidationError
from hw.dma.descriptor import DmaDescriptor
from hw.fabric.bank_config import BankConfig, bank_controller
from hw.fabric.driver import RunPlan
from hw.fabric.spec import FabricSpec
from hw.memtile import Affine

__all__ = ["BankProof", "require_disjoint_arrays"]

_BYTES = 2
"""Bytes of an element in main memory."""


@dataclass(frozen=True)
class BankProof:
    """The bank of `column`, which serves `array` at byte `address` of main memory."""

    column: int
    bank: BankConfig
    descriptor: DmaDescriptor
    array: Array
    address: int
    plan: RunPlan
    spec: FabricSpec

    def __post_init__(self) -> None:
        self._check_cycles()
        self._check_words()
        self._check_bands()
        if self.bank.direction == "output":
            self._check_complete()

    def _fail(self, reason: str) -> ValidationError:
        return ValidationError(f"the bank of column {self.column} ({self.bank.direction} {self.array.name}): {reason}")

    def _check_cycles(self) -> None:
        nest = self.bank.nest
        if not increasing(nest):
            raise self._fail("its time does not advance")
        span = nest.last_time - nest.time_offset + 1
        if self.plan.tiles > 1 and span > self.plan.period:
            raise self._fail(f"a tile takes {span} cycles, the next one begins after {self.plan.period}")
        if self.bank.first != nest.time_offset:
            raise self._fail(f"a tile begins in cycle {self.bank.first}, its first access is in {nest.time_offset}")
        if self.bank.words != nest.count:
            raise self._fail(f"a tile has {nest.count} accesses, not {self.bank.words}")

    def _check_words(self) -> None:
        size, half = self.tile_words, self.spec.glb.half_words
        if size > half and self.plan.tiles > 1:
            raise self._fail(f"a tile of {size} words does not fit half a bank of {half}")
        # The bounds are attained: an affine function over a box takes its extremes in corners.
        address = self._tile.unwrapped(0)
        if address.low < 0 or address.high >= size:
            word = address.low if address.low < 0 else address.high
            raise self._fail(f"word {word} of a half is accessed, a tile has {size}")

    def _check_bands(self) -> None:
        """What the run control is told of bands is true, by the addresses and cycles of all accesses of a tile."""
        bank, words = self.bank, self.descriptor.band_bytes // _BYTES
        if bank.bands != self.descriptor.bands:
            raise self._fail(f"a tile is transferred in {self.descriptor.bands} bands, not {bank.bands}")
        if not 1 <= bank.lag <= bank.bands or bank.room <= min(bank.lag, bank.bands - 1):
            raise self._fail(f"with a lag of {bank.lag} it cannot have room for {bank.room} bands")
        half = self.spec.glb.half_words
        fits = bank.room <= 2 * bank.bands if self.tile_words <= half else bank.room * words <= 2 * half
        if not fits:
            raise self._fail(f"it has no room for {bank.room} bands of {words} words")
        if bank.bands > 1:
            self._check_band_cycles(words)

    def _check_band_cycles(self, words: int) -> None:
        bank, tile = self.bank, self._tile
        band, time = f"floor(({tile.unwrapped(0).text})/{words})", f"({tile.cycle}) - {bank.first}"
        early = tile.relation("[]", f"{bank.band_cycles}*{band} > {time}")
        late = tile.relation("[]", f"{bank.band_cycles}*({band} + {bank.lag}) <= {time}",
                             f"{band} + {bank.lag} < {bank.bands}")
        if not early.is_empty():
            raise self._fail(f"a band is accessed before its time: {early.domain().sample_point()}")
        if not late.is_empty():
            raise self._fail(f"a band is accessed after its time: {late.domain().sample_point()}")
        if bank.band_cycles * (bank.bands - 1) > bank.nest.last_time - bank.first:
            raise self._fail("a band is transferred after the last access of its tile")

    def _check_complete(self) -> None:
        if not self._tile.fills(0, self.tile_words):
            raise self._fail(f"not each of the {self.tile_words} words that a tile writes to memory is captured once")

    @property
    def tile_words(self) -> int:
        """Words that the DMA engine moves per tile."""
        size = self.descriptor.tile_bytes
        if self.descriptor.row_bytes % _BYTES:
            raise self._fail(f"rows of {self.descriptor.row_bytes} bytes cut an element")
        return size // _BYTES

    @property
    def total(self) -> int:
        """Accesses of the whole run."""
        return self.plan.tiles * self.bank.nest.count

    @property
    def last_cycle(self) -> int:
        """Cycle of the last access of the last tile: time advances within a tile and from tile to tile."""
        return (self.plan.tiles - 1) * self.plan.period + self.bank.nest.last_time

    @property
    def _tile(self) -> Events:
        """The accesses of one tile."""
        return Events("access", self.bank.nest, bank_controller(self.spec.glb).address_widths)

    @property
    def word(self) -> Affine:
        """Number of an access's word in its tile; the address is this modulo the bank's size."""
        (width,) = bank_controller(self.spec.glb).address_widths
        return centered(self.bank.nest.addresses[0], width)

    @cached_property
    def accesses(self) -> Events:
        """All accesses of the run: points [round, outer tile, inner tile, ...].

        Tile levels of the descriptor start over after the last one: then comes another round.
        """
        inner, outer = self.descriptor.tiles
        tiles, period = inner.count * outer.count, self.plan.period
        rounds = -(-self.plan.tiles // tiles)
        loops = (Again("n", rounds, tiles * period), Again("k", outer.count, inner.count * period),
                 Again("j", inner.count, period))
        in_run = f"{tiles}*n + {inner.count}*k + j < {self.plan.tiles}"
        widths = bank_controller(self.spec.glb).address_widths
        return Events(f"bank{self.column}", self.bank.nest, widths, loops, (in_run,))

    @cached_property
    def elements(self) -> isl.Map:
        """{access -> array element}, by way of the half's address and the DMA descriptor."""
        domain = self.accesses.times.domain()
        return self.elements_of(isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain))

    def elements_of(self, accesses: isl.Map) -> isl.Map:
        """From {point -> access} to {point -> array element}.

        In steps, each of which isl solves by its equalities: word address, position in the box, array element.
        """
        for step in self._steps:
            accesses = accesses.apply_range(step)
        return accesses

    @cached_property
    def _steps(self) -> tuple[isl.Map, isl.Map, isl.Map]:
        access, (row_words, rows, planes) = self.accesses, self._run
        address = access.relation(f"[k, j, {access.unwrapped(0).text}]")
        box = isl.Map(f"{{ [k, j, a] -> [k, j, p, r, q] : 0 <= q < {row_words} and 0 <= r < {rows} and "
                      f"0 <= p < {planes} and a = {rows * row_words}*p + {row_words}*r + q }}")
        return address, box, self._elements_of_box

    @property
    def _run(self) -> tuple[int, int, int]:
        """Words of a row, rows and planes of a tile's box, where rows or planes that follow each other without a gap
        are one row: quotients by the length of a row say nothing then, and are dear to isl."""
        d = self.descriptor
        size, rows, planes = d.row_bytes, d.rows.count, d.planes.count
        if rows > 1 and d.rows.stride == size:
            size, rows = size * rows, 1
        if planes > 1 and rows == 1 and d.planes.stride == size:
            size, planes = size * planes, 1
        return size // _BYTES, rows, planes

    @property
    def _elements_of_box(self) -> isl.Map:
        """{position in a tile's box -> array element} by byte addresses."""
        d, shape = self.descriptor, self.array.shape
        inner, outer = d.tiles
        names = [f"e{k}" for k in range(len(shape))]
        steps = [prod(shape[k + 1:]) for k in range(len(shape))]
        linear = " + ".join(f"{step * _BYTES}*{name}" for name, step in zip(names, steps, strict=True)) or "0"
        byte = (f"{d.base - self.address} + {outer.stride}*k + {inner.stride}*j + {d.planes.stride}*p + "
                f"{d.rows.stride}*r + {_BYTES}*q")
        bounds = [f"0 <= {name} < {size}" for name, size in zip(names, shape, strict=True)]
        target = f"{self.array.name}[{', '.join(names)}]"
        return isl.Map(f"{{ [k, j, p, r, q] -> {target} : {' and '.join([f'{linear} = {byte}', *bounds])} }}")

    @cached_property
    def sent(self) -> isl.Map:
        """{access -> [cycle]} in which the bank reads or captures its word."""
        return self.accesses.times


def require_disjoint_arrays(arrays: list[Array], addresses: Mapping[str, int]) -> None:
    """Raise `ValidationError` if two arrays share bytes of main memory."""
    end, last = 0, ""
    for address, array in sorted(((addresses[a.name], a) for a in arrays), key=lambda pair: pair[0]):
        if address < end:
            raise ValidationError(f"arrays {last} and {array.name} overlap in main memory at byte {address}")
        end, last = address + prod(array.shape) * _BYTES, array.name

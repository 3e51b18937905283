"""The memory cores with affine controllers, as a chain of two, on both simulators against the software model
(`memtile_bench`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import Component, In, Out

from hw.lib.configuration import ConfigSignature, passed_on
from hw.memtile import MemTileSpec
from hw.memtile.core import MemCore
from hw.memtile.dual_port import DualPortBuffer
from hw.memtile.multi_port import MultiPortBuffer
from hw.memtile.spec import MemKind
from hw.memtile.wide_fetch import WideFetchBuffer
from hw.sim.bench import run_bench
from hw.verilog import convert

CORES: dict[tuple[MemKind, int], type[MemCore]] = {
    ("pub", 1): WideFetchBuffer, ("dual-port", 1): DualPortBuffer, ("dual-port", 2): MultiPortBuffer,
}
"""By kind and ports of the SRAM."""


class ChainedPair(Component):
    """Two tiles with the same inputs; tile 0's outputs are, one register later, tile 1's chain inputs.

    Arrays of words are packed into one port each, for the sake of the bench's speed.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self.spec = spec
        width = spec.word_width
        super().__init__(
            {
                "en": In(1),
                "flush": In(1),
                "cfg_tile": In(1),
                "cfg": In(ConfigSignature()),
                "data_in": In(width * spec.inputs),
                "chain_in": In(width * spec.outputs),
                "data_out": Out(width * spec.outputs * 2),
                "conflict": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        passed = Signal.like(self.chain_in)
        tiles = [CORES[self.spec.kind, self.spec.sram_ports](self.spec) for _ in range(2)]
        with m.If(self.en):
            m.d.sync += passed.eq(Cat(tiles[0].data_out))
        for number, (tile, chain) in enumerate(zip(tiles, (self.chain_in, passed), strict=True)):
            m.submodules[f"tile{number}"] = tile  # pyright: ignore[reportArgumentType]
            m.d.comb += [
                Cat(tile.data_in).eq(self.data_in),
                Cat(tile.chain_in).eq(chain),
                tile.en.eq(self.en),
                tile.flush.eq(self.flush),
                *passed_on(self.cfg, tile.cfg, self.cfg.valid & (self.cfg_tile == number)),
            ]
        m.d.comb += [
            self.data_out.eq(Cat(tile.data_out for tile in tiles)),
            self.conflict.eq(Cat(tile.conflict for tile in tiles)),
        ]
        return m


@pytest.mark.parametrize(("kind", "ports"), CORES)
def test_chained_pair(kind: MemKind, ports: int, simulator: str) -> None:
    spec = MemTileSpec(kind=kind, sram_ports=ports)
    text = convert(ChainedPair(spec), "chained_pair")
    bench = Path(__file__).parent / "memtile_bench.py"
    sources = {"chained_pair.v": text}
    result = run_bench(sources, "chained_pair", bench, simulator=simulator, data=asdict(spec), seed=7)
    assert len(result.passed) == 11

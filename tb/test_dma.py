"""Burst engines and register file as Verilog on both simulators, against the AXI models of cocotbext-axi."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value

from hw.dma.axi import Axi4Signature, connect_flat
from hw.dma.reader import BurstReader
from hw.dma.register_file import RegisterFile
from hw.dma.registers import Register, RegisterMap, Window
from hw.dma.spec import TILE_JOB, DmaSpec
from hw.dma.writer import BurstWriter
from hw.sim.bench import run_bench
from hw.verilog import convert

pytest.importorskip("cocotbext.axi", reason="the second opinion on AXI comes from cocotbext-axi")

COPY_REGISTERS = RegisterMap(
    "bench",
    (Register("ID", 0, "constant", "identification", reset=0x5107_0001), Register("SCRATCH", 4, "write", "a word")),
    (Window("WORDS", 0x1000, 0x40, 2, "a memory", (Register("FIRST", 0, "write", "a word"),
                                                   Register("LAST", 0x3C, "write", "a word"))),),
)


def copier(spec: DmaSpec) -> str:
    """Verilog of a reader whose words go straight to a writer, and of a register file beside them."""
    m = Module()
    m.submodules.reader = reader = BurstReader(spec)
    m.submodules.writer = writer = BurstWriter(spec)
    m.submodules.registers = registers = RegisterFile(COPY_REGISTERS)
    m.d.comb += [
        writer.word.payload.eq(reader.word.p.data),
        writer.word.valid.eq(reader.word.valid),
        reader.word.ready.eq(writer.word.ready),
    ]
    bus = Axi4Signature(data_width=spec.data_width).create()
    for engine, channels in ((reader, ("ar", "r")), (writer, ("aw", "w", "b"))):
        for channel in channels:
            m.d.comb += _joined(getattr(engine, channel), getattr(bus, channel), manager=channel not in "rb")
    ports = connect_flat(m, bus, "m_axi", manager=True)
    ports += connect_flat(m, registers.bus, "s_axil", manager=False)
    for name, engine in (("read", reader), ("write", writer)):
        for field in TILE_JOB.members:
            ports.append(port := Signal.like(Value.cast(engine.job.p[field]), name=f"{name}_{field}"))
            m.d.comb += engine.job.p[field].eq(port)
        for field, source in (("busy", engine.busy), ("error", engine.error)):
            ports.append(port := Signal(name=f"{name}_{field}"))
            m.d.comb += port.eq(source)
        ports.append(port := Signal(name=f"{name}_valid"))
        m.d.comb += engine.job.valid.eq(port)
    return convert(m, "copier", ports=ports)


def _joined(engine, bus, *, manager: bool):
    source, sink = (engine, bus) if manager else (bus, engine)
    return [sink.payload.eq(source.payload), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


def tile(rng: random.Random, base: int, row_bytes: int, rows: int, planes: int) -> dict:
    """A tile of that shape whose rows do not overlap, from about `base` on."""
    pitch = row_bytes + rng.randrange(40)
    return {"base": base + rng.randrange(300), "row_bytes": row_bytes, "rows": [rows, pitch],
            "planes": [planes, rows * pitch + rng.randrange(9)]}


def cases(seed: int) -> list[dict]:
    """Copies between tiles of the same number of bytes but different shapes, across 4 KiB boundaries."""
    rng = random.Random(seed)
    result = []
    for number in range(12):
        unit, rows, planes = rng.choice([1, 3, 8, 29, 130]), rng.randint(1, 4), rng.randint(1, 3)
        wide = {"row_bytes": unit * rows, "rows": 1, "planes": planes}
        narrow = {"row_bytes": unit, "rows": rows, "planes": planes}
        source, target = (wide, narrow) if number % 2 else (narrow, wide)
        result.append({"source": tile(rng, 0x0F00, **source), "target": tile(rng, 0x8E80, **target),
                       "stall": rng.choice([0.0, 0.3, 0.7])})
    return result


@pytest.mark.parametrize("spec", [DmaSpec(), DmaSpec(data_width=32, max_beats=4, outstanding=4)], ids=["64", "32"])
def test_copies(spec: DmaSpec, simulator: str) -> None:
    result = run_bench({"copier.v": copier(spec)}, "copier", Path(__file__).with_name("dma_bench.py"),
                       simulator=simulator, data=cases(spec.data_width), seed=1)
    assert len(result.passed) == 2

"""Systems with other ports: Wishbone for registers and memory, a reset that is low, 64-bit addresses; every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.design import Design
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.ports.adapt import adapt_system
from hw.ports.spec import SystemPorts
from hw.ports.wishbone import AxiToWishbone
from hw.sim.simulate import StallProfile
from tb.verilog_lint import lint

PROGRAM = parse_scop("""void sums(const unsigned char x[5][17], short y[3][17]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 17; j++)
            y[i][j] = x[i][j] - x[i + 1][j] + x[i + 2][j];
}
""")
INPUTS = {"x": np.random.default_rng(1).integers(0, 256, (5, 17))}
EXPECTED = interpret(PROGRAM, INPUTS)["y"]
WISHBONE = {"control": "wishbone", "memory": "wishbone", "reset": "low", "address_bits": 64}


def check(design: Design, simulator: str, ports: dict[str, Any], **settings: Any) -> int:
    run = design.with_ports(**ports).simulate(INPUTS, simulator, **settings)
    assert np.array_equal(run.outputs["y"], EXPECTED)
    return run.wall_cycles


@pytest.mark.parametrize("target", ["fpga", "dataflow", "systolic", "vector", "cgra"])
def test_every_target(target: str) -> None:
    """All at once, with stalls of memory on its other side; pipelined and classic cycles."""
    options = {"array": "4x4"} if target == "cgra" else {}
    design = compiler.compile(PROGRAM, target=target, **options)
    settings = {} if target == "vector" else {"seed": 3, "stall": StallProfile.uniform(0.2)}
    check(design, "icarus", WISHBONE, pipelined=True, **settings)


@pytest.mark.parametrize("bus_bits, simulator", [(32, "verilator"), (512, "icarus")])
def test_widths(bus_bits: int, simulator: str) -> None:
    """The narrowest bus and the widest."""
    check(compiler.compile(PROGRAM, target="fpga", bus_bits=bus_bits), simulator, WISHBONE)


def test_cycles_with_axi() -> None:
    """What adds the base address to those of memory takes few of a run."""
    design = compiler.compile(PROGRAM, target="fpga")
    plain = design.simulate(INPUTS, "icarus").wall_cycles
    assert check(design, "icarus", {"address_bits": 64}) <= plain + 4


@pytest.mark.parametrize("fault, message", [("read x 3", "reading a stream"), ("write y 2", "writing a stream")])
def test_errors_come_through(fault: str, message: str) -> None:
    design = compiler.compile(PROGRAM, target="dataflow").with_ports(**WISHBONE)
    with pytest.raises(DataflowError, match=f"the run ended with a memory error while {message}"):
        design.simulate(INPUTS, "icarus", inject=fault)


def test_a_beat_per_cycle() -> None:
    """Of a memory that acknowledges in the cycle of the request: 16 beats take 16 cycles and a few."""
    bridge = AxiToWishbone(32, 64)
    beats, addresses = [], []

    async def drive(ctx):
        axi, bus = bridge.axi, bridge.wishbone
        ctx.set(axi.ar.payload, {"id": 1, "addr": 0x100, "len": 15, "size": 3, "burst": 1, "cache": 0, "prot": 0})
        ctx.set(axi.ar.valid, 1)
        ctx.set(axi.r.ready, 1)
        for _ in range(20):
            ctx.set(bus.ack, ctx.get(bus.cyc) & ctx.get(bus.stb))
            ctx.set(bus.dat_r, 3 * ctx.get(bus.adr))
            if ctx.get(bus.ack):
                addresses.append((ctx.get(bus.adr), ctx.get(bus.cti)))
            if ctx.get(axi.r.valid):
                beats.append((ctx.get(axi.r.payload.data), ctx.get(axi.r.payload.last), ctx.get(axi.r.payload.id)))
            taken = ctx.get(axi.ar.ready)
            await ctx.tick()
            if taken:
                ctx.set(axi.ar.valid, 0)

    simulator = Simulator(bridge)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    assert addresses == [(0x20 + k, 7 if k == 15 else 2) for k in range(16)]
    assert beats == [(3 * (0x20 + k), k == 15, 1) for k in range(16)]


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_no_warnings(simulator: str, tmp_path: Path) -> None:
    design = compiler.compile(PROGRAM, target="fpga")
    system = adapt_system("pipeline_system", design.executable.sources, SystemPorts(**WISHBONE))
    assert lint(system.sources, system.module, simulator, tmp_path) == ""

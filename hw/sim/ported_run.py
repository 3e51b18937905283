"""Simulation of a system with other ports (`hw.ports`), as the jobs of the system itself: at its Wishbone ports are
managers and memories that speak to the AXI buses of the test bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from hw.ports.adapt import AdaptedSystem, adapt_system
from hw.ports.spec import SystemPorts
from hw.sim.ports import Port, module_ports
from hw.sim.simulate import Job, JobResult, simulate_job

__all__ = ["run_ported"]

_TOP = "sluice_ported"
_BASE = 0x7F_1234_5000
"""Where memory is for a system with addresses of 64 bits."""
_MEMORY_BEAT = ("awvalid", "awready", "wvalid", "wready", "bvalid", "bresp", "arvalid", "arready", "rvalid", "rdata",
                "rresp")
_CONTROL_LITE = ("awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "wstrb", "bvalid", "bready", "bresp",
                 "arvalid", "arready", "araddr", "rvalid", "rready", "rdata", "rresp")


def run_ported(job: Job, ports: SystemPorts, *, pipelined: bool = False) -> JobResult:
    """`job` of an emitted system, which gets `ports` instead of its own. Memory of a system with 64-bit addresses
    lies beyond 4 GiB, and nothing is below. `pipelined`: pipelined cycles of Wishbone at the registers, else classic.
    Raises as `hw.sim.simulate.run_job` does."""
    system = adapt_system(job.top, job.sources, ports)
    ends = Path(__file__).with_name("wishbone_ends.v").read_text()
    sources = {**system.sources, "wishbone_ends.v": ends, f"{_TOP}.v": _bench(system, pipelined)}
    writes = list(job.writes)
    if system.base is not None:
        writes = [(system.base, _BASE & 0xFFFFFFFF), (system.base + 4, _BASE >> 32), *writes]
    return simulate_job(replace(job, sources=sources, top=_TOP, writes=writes))


def _bench(system: AdaptedSystem, pipelined: bool) -> str:
    """A module with the ports that a test bench drives, and the system inside."""
    found = module_ports(system.sources.values(), system.module)
    assert found is not None
    ports = {port.name: port for port in found}
    wide = system.ports.address_bits == 64
    memory = _wishbone_memory(ports) if system.ports.memory == "wishbone" else _axi_memory(ports)
    control = _wishbone_control(ports, pipelined) if system.ports.control == "wishbone" else _axi_control(ports)
    serial = [name for name in ("uart_tx", "uart_rx") if name in ports]
    outer = ["input wire clk", "input wire rst", "output wire irq", *memory.ports, *control.ports,
             *(f"{'output' if name == 'uart_tx' else 'input'} wire {name}" for name in serial)]
    pins = [*memory.pins, *control.pins, ".clk(clk)", ".irq(irq)", *(f".{name}({name})" for name in serial),
            ".rst(rst)" if "rst" in ports else ".rst_n(!rst)"]
    moved = f"64'd{_BASE}" if wide else "64'd0"
    inside = [*_shift(moved), *memory.lines, *control.lines]
    lines = [f"module {_TOP} (", ",\n".join(f"  {port}" for port in outer), ");", *inside, f"  {system.module} dut (",
             ",\n".join(f"    {pin}" for pin in pins), "  );", "endmodule", ""]
    return "\n".join(lines)


def _shift(base: str) -> list[str]:
    """Addresses outside of the 4 GiB from `base` on go where no memory is."""
    return ["  function [31:0] placed(input [63:0] address);", "    reg [63:0] offset;", "    begin",
            f"      offset = address - {base};", "      placed = offset[63:32] == 0 ? offset[31:0] : 32'hFFFFFF00;",
            "    end", "  endfunction"]


def _placed(address: str, width: int) -> str:
    return f"placed({address})" if width == 64 else f"placed({{{64 - width}'d0, {address}}})"


class _Side:
    """Ports of the bench, lines, and pins of the system."""

    def __init__(self) -> None:
        self.ports: list[str] = []
        self.lines: list[str] = []
        self.pins: list[str] = []

    def port(self, direction: str, name: str, width: int) -> None:
        self.ports.append(f"{direction} wire [{width - 1}:0] {name}")

    def through(self, port: Port, width: int) -> None:
        """A port of the system becomes one of the bench."""
        self.port(port.direction, port.name, width)
        self.pins.append(f".{port.name}({port.name})")

    def wire(self, name: str, width: int) -> None:
        self.lines.append(f"  wire [{width - 1}:0] {name};")


def _named(ports: Mapping[str, Port], prefix: str) -> Iterator[tuple[str, Port, int]]:
    for name, port in ports.items():
        if name.startswith(prefix):
            yield name.removeprefix(prefix), port, port.width or 1


def _axi_memory(ports: Mapping[str, Port]) -> _Side:
    side = _Side()
    for short, port, width in _named(ports, "m_axi_"):
        if short in ("awaddr", "araddr"):
            side.port("output", port.name, 32)
            side.wire(f"dut_{short}", width)
            side.lines.append(f"  assign {port.name} = {_placed(f'dut_{short}', width)};")
            side.pins.append(f".{port.name}(dut_{short})")
        else:
            side.through(port, width)
    return side


def _axi_control(ports: Mapping[str, Port]) -> _Side:
    side = _Side()
    for _, port, width in _named(ports, "s_axil_"):
        side.through(port, width)
    return side


def _pins(wires: Mapping[str, str]) -> str:
    return ",\n".join(f"    .{pin}({wire})" for pin, wire in wires.items())


def _wishbone_wires(side: _Side, ports: Mapping[str, Port], prefix: str) -> dict[str, str]:
    """Wires at the system's Wishbone ports, by their names there."""
    wires = {}
    for short, port, width in _named(ports, f"{prefix}_"):
        side.wire(port.name, width)
        side.pins.append(f".{port.name}({port.name})")
        wires[short] = port.name
    return wires


def _wishbone_memory(ports: Mapping[str, Port]) -> _Side:
    side = _Side()
    data, words = ports["m_wb_dat_w"].width or 1, ports["m_wb_adr"].width or 1
    shift = (data // 8).bit_length() - 1
    for name, width in (("awvalid", 1), ("wvalid", 1), ("arvalid", 1), ("awaddr", 32), ("araddr", 32), ("wdata", data),
                        ("wstrb", data // 8), ("bready", 1), ("rready", 1), ("wlast", 1), ("awlen", 8), ("arlen", 8)):
        side.port("output", f"m_axi_{name}", width)
    for name, width in (("awready", 1), ("wready", 1), ("arready", 1), ("bvalid", 1), ("bresp", 2), ("rvalid", 1),
                        ("rresp", 2), ("rdata", data)):
        side.port("input", f"m_axi_{name}", width)
    cycle = _wishbone_wires(side, ports, "m_wb")
    full = words + shift
    side.wire("address", full)
    side.wire("broken", 1)
    side.lines += [
        f"  assign m_axi_awaddr = {_placed('address', full)};", "  assign m_axi_araddr = m_axi_awaddr;",
        "  assign m_axi_wdata = m_wb_dat_w;", "  assign m_axi_wstrb = m_wb_sel;", "  assign m_axi_wlast = 1'b1;",
        "  assign {m_axi_awlen, m_axi_arlen} = 16'd0;", "  assign {m_axi_bready, m_axi_rready} = 2'b11;",
        f"  sluice_wishbone_memory #(.ADDRESS_BITS({words}), .DATA_BITS({data}), .SHIFT({shift})) memory (",
        "    .clk(clk), .rst(rst), .addr(address), .broken(broken),",
        _pins(cycle | {name: f"m_axi_{name}" for name in _MEMORY_BEAT}),
        "  );",
        "  always @(posedge clk) if (broken && !rst) begin", '    $display("a Wishbone burst is not one");',
        "    $finish;", "  end"]
    return side


def _wishbone_control(ports: Mapping[str, Port], pipelined: bool) -> _Side:
    side = _Side()
    width = (ports["s_wb_adr"].width or 1) + 2
    for name, bits in (("awvalid", 1), ("awaddr", width), ("wvalid", 1), ("wdata", 32), ("wstrb", 4), ("bready", 1),
                       ("arvalid", 1), ("araddr", width), ("rready", 1)):
        side.port("input", f"s_axil_{name}", bits)
    for name, bits in (("awready", 1), ("wready", 1), ("bvalid", 1), ("bresp", 2), ("arready", 1), ("rvalid", 1),
                       ("rdata", 32), ("rresp", 2)):
        side.port("output", f"s_axil_{name}", bits)
    cycle = _wishbone_wires(side, ports, "s_wb")
    side.lines += [
        f"  sluice_wishbone_control #(.ADDRESS_BITS({width}), .PIPELINED({int(pipelined)})) control (",
        "    .clk(clk), .rst(rst),",
        _pins({name: f"s_axil_{name}" for name in _CONTROL_LITE} | cycle),
        "  );"]
    return side

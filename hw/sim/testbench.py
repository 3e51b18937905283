"""The Verilog around a design: which of its ports go where, and the text of the top module `sluice_tb`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hw.sim.faults import JobError
from hw.sim.ports import Port, module_ports

__all__ = ["TESTBENCH_TOP", "JobError", "Testbench", "make_testbench"]

TESTBENCH_TOP = "sluice_tb"
_HERE = Path(__file__).parent

# Signals of the harness that the cocotb side writes, and those that it reads.
_WRITTEN = ("request", "is_write", "access_address", "access_data", "watching", "dump")
_READ = (
    "clk", "rst", "cycle", "served", "answer_data", "answer_status", "written", "finished", "expired", "ended",
    "violation", "struck", "read_beats", "write_beats", "dumped", "channels", "outstanding",
)  # fmt: skip

# What the manager drives: signal -> (width, value where a design leaves the port out).
_MANAGER = {
    "awvalid": ("1", "1'b0"),
    "awaddr": ("ADDRESS", "0"),
    "awlen": ("8", "8'd0"),
    "awsize": ("3", "BEAT_SIZE"),
    "awburst": ("2", "2'd1"),
    "awid": ("ID", "0"),
    "wvalid": ("1", "1'b0"),
    "wdata": ("DATA", "0"),
    "wstrb": ("STROBES", "~0"),
    "wlast": ("1", "1'b1"),
    "bready": ("1", "1'b1"),
    "arvalid": ("1", "1'b0"),
    "araddr": ("ADDRESS", "0"),
    "arlen": ("8", "8'd0"),
    "arsize": ("3", "BEAT_SIZE"),
    "arburst": ("2", "2'd1"),
    "arid": ("ID", "0"),
    "rready": ("1", "1'b1"),
}
_MEMORY = {
    "awready": "1", "wready": "1", "bvalid": "1", "bresp": "2", "bid": "ID", "arready": "1", "rvalid": "1",
    "rdata": "DATA", "rresp": "2", "rlast": "1", "rid": "ID",
}  # fmt: skip
_CONTROL_IN = {
    "awvalid": "1", "awaddr": "CONTROL", "wvalid": "1", "wdata": "32", "wstrb": "4", "bready": "1", "arvalid": "1",
    "araddr": "CONTROL", "rready": "1",
}  # fmt: skip
_CONTROL_OUT = {
    "awready": "1", "wready": "1", "bvalid": "1", "bresp": "2", "arready": "1", "rvalid": "1", "rdata": "32",
    "rresp": "2",
}  # fmt: skip
_CONTROL_DATA = ("s_axil_wdata", "s_axil_rdata")
_MEMORY_DATA = ("m_axi_wdata", "m_axi_rdata")
_MEMORY_WIDTHS = (16, 32, 64, 128, 256, 512, 1024)


_SERIAL = ("uart_tx", "uart_rx")
"""A serial line hears itself."""


@dataclass(frozen=True)
class Testbench:
    """Verilog `sources` (harness, memory model, top module) to add to a design's, and the signals that the cocotb side
    writes (`public`) or reads (`visible`)."""

    __test__ = False  # the name looks like a test class to pytest

    sources: Mapping[str, str]
    public: tuple[str, ...]
    visible: tuple[str, ...]


def make_testbench(sources: Mapping[str, str], top: str, words: int) -> Testbench:
    """The testbench for the design `top` found in `sources`, with a main memory of `words` 64-bit words.

    The design has ports ``clk``, ``rst``, ``irq``, an AXI4 manager ``m_axi_*`` (16 to 1024 bits of data, a power of
    two, which the memory follows; identifiers, sizes and burst types may be left out; no manager at all is fine
    too) and an AXI4-Lite subordinate ``s_axil_*`` (32-bit data). Raises `JobError` naming the port that is missing or
    does not fit.
    """
    ports = module_ports(sources.values(), top)
    if ports is None:
        raise JobError(f"no module '{top}' in the sources ({', '.join(sorted(sources)) or 'none'})")
    table = {port.name: port for port in ports}
    _check(top, table)
    files = {name: (_HERE / name).read_text() for name in ("harness.v", "memory.v")}
    files[f"{TESTBENCH_TOP}.v"] = _top(top, table, words)
    public, visible = (tuple(f"sluice_harness.{name}" for name in names) for names in (_WRITTEN, _READ))
    return Testbench(files, public, visible)


def _check(top: str, ports: Mapping[str, Port]) -> None:
    needed = ["clk", "rst", "irq", *(f"s_axil_{name}" for name in (*_CONTROL_IN, *_CONTROL_OUT))]
    optional = {"s_axil_wstrb", "s_axil_bresp", "s_axil_rresp"}
    missing = [name for name in needed if name not in ports and name not in optional]
    if missing:
        raise JobError(f"module '{top}' has no port {', '.join(missing)}")
    for name in _CONTROL_DATA:
        if name in ports and ports[name].width != 32:
            raise JobError(f"port {name} of '{top}' is {ports[name].width} bits wide, not 32")
    _check_memory_data(top, ports)
    known = {"clk", "rst", *(f"m_axi_{name}" for name in _MEMORY), *(f"s_axil_{name}" for name in _CONTROL_IN)}
    for port in ports.values():
        if port.direction != "output" and port.name not in known | {"s_axil_awprot", "s_axil_arprot", _SERIAL[1]}:
            raise JobError(f"nothing drives port {port.name} of '{top}'")


def _check_memory_data(top: str, ports: Mapping[str, Port]) -> None:
    for name in _MEMORY_DATA:
        if name in ports and ports[name].width not in _MEMORY_WIDTHS:
            raise JobError(f"port {name} of '{top}' is {ports[name].width} bits wide, not a power of two in 16 to 1024")
    written, read = (_width(ports, name, _data_width(ports)) for name in _MEMORY_DATA)
    if written != read:
        raise JobError(f"ports m_axi_wdata and m_axi_rdata of '{top}' differ: {written} and {read} bits wide")
    strobes = _width(ports, "m_axi_wstrb", written // 8)
    if strobes != written // 8:
        raise JobError(f"port m_axi_wstrb of '{top}' is {strobes} bits wide, not {written // 8}")


def _data_width(ports: Mapping[str, Port]) -> int:
    """Bits of a beat of the design's memory bus."""
    return next((_width(ports, name, 64) for name in _MEMORY_DATA if name in ports), 64)


def _top(top: str, ports: Mapping[str, Port], words: int) -> str:
    data = _data_width(ports)
    widths = {
        "DATA": data,
        "STROBES": data // 8,
        "ADDRESS": max(_width(ports, "m_axi_awaddr", 32), _width(ports, "m_axi_araddr", 32)),
        "ID": max(_width(ports, "m_axi_awid", 1), _width(ports, "m_axi_arid", 1)),
        "CONTROL": _width(ports, "s_axil_awaddr", 32),
    }
    parameters = (
        f".WORDS({words}), .ADDRESS_BITS({widths['ADDRESS']}), .ID_BITS({widths['ID']}), "
        f".DATA_BITS({data}), .CONTROL_ADDRESS_BITS({widths['CONTROL']})"
    )
    wires = _wires(widths)
    lines = [
        f"module {TESTBENCH_TOP};",
        f"  localparam [2:0] BEAT_SIZE = {(data // 8).bit_length() - 1};",
        *(f"  wire [{bits}-1:0] {name};" for name, bits in wires.items()),
        *(["  wire serial;"] if set(_SERIAL) & set(ports) else []),
        *_defaults(ports),
        f"  sluice_harness #({parameters}) harness (",
        ",\n".join(f"    .{name}({name})" for name in wires),
        "  );",
        f"  {top} dut (",
        ",\n".join(f"    .{port.name}({_net(port, wires)})" for port in ports.values()),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _width(ports: Mapping[str, Port], name: str, default: int) -> int:
    port = ports.get(name)
    return port.width if port is not None and port.width is not None else default


def _wires(widths: Mapping[str, int]) -> dict[str, str]:
    wires = {"clk": "1", "rst": "1", "irq": "1"}
    wires |= {f"m_{name}": bits for name, (bits, _) in _MANAGER.items()}
    wires |= {f"m_{name}": bits for name, bits in _MEMORY.items()}
    wires |= {f"s_{name}": bits for name, bits in (_CONTROL_IN | _CONTROL_OUT).items()}
    return {name: str(widths.get(bits, bits)) for name, bits in wires.items()}


def _defaults(ports: Mapping[str, Port]) -> list[str]:
    lines = [f"  assign m_{name} = {value};" for name, (_, value) in _MANAGER.items() if f"m_axi_{name}" not in ports]
    lines += [f"  assign s_{name} = 0;" for name in ("bresp", "rresp") if f"s_axil_{name}" not in ports]
    return lines


def _net(port: Port, wires: Mapping[str, str]) -> str:
    """The wire for a port: nothing for an output that nobody reads, zero for a protection type."""
    name = port.name.replace("m_axi_", "m_").replace("s_axil_", "s_")
    if name in wires:
        return name
    if name in _SERIAL:
        return "serial"
    return "" if port.direction == "output" else f"{port.width or 1}'d0"

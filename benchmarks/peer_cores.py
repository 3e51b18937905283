"""Circuits of other open generators, in the same testbench and flow as ours: Verilog, where arrays lie in memory, and
which registers start a run.

Needs the extra ``peers``. nngen makes an accelerator for a graph of operators, with an AXI4 master and AXI4-Lite
registers of its own names; a wrapper gives them the names of `hw.sim.testbench`. `benchmarks.veriloggen_cores` has
veriloggen's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from hw.errors import SluiceError
from hw.main_memory import MainMemory
from hw.sim.simulate import Job, JobResult, run_job

__all__ = ["PEER_MODULE", "PeerCore", "PeerError", "Tensor", "nngen_convolution", "nngen_filter", "nngen_product",
           "peer_versions", "wrapper"]

PEER_MODULE = "peer_system"
"""Top module of a peer's sources."""

_PEERS = ("nngen", "veriloggen")

_TEMPORARY = 0x8000
"""Where a peer may put what it needs for itself."""

_NNGEN_START = ((132, _TEMPORARY), (40, 1), (16, 1))
"""nngen's registers: where its memory is, interrupts on, start."""


_MEMORY_STYLE = "(* no_rw_check *)"
"""nngen's option for attributes of its memories; a comment in its source names one vendor's. This one says for
yosys that a read in the cycle of a write may find either word: without it memories become registers, 107 000 LUTs of
them in a product."""


class PeerError(SluiceError):
    """A peer that is not installed, or whose results are wrong."""


@dataclass(frozen=True)
class Tensor:
    """An array in memory: byte `address`, `shape`, the shape that its last dimension is `padded` to, numpy's type."""

    name: str
    address: int
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    dtype: str

    def pack(self, values: np.ndarray) -> bytes:
        """The bytes of `values`, 0 where rows are padded."""
        found = np.zeros(self.padded, self.dtype)
        found[tuple(slice(0, extent) for extent in self.shape)] = values.reshape(self.shape)
        return found.tobytes()

    def unpack(self, rows: Sequence[bytes]) -> np.ndarray:
        """The values in the bytes of `rows`."""
        return np.frombuffer(b"".join(rows), self.dtype).reshape(self.shape)

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Byte address and bytes of each row that has values, without what it is padded with: that may be undefined."""
        size = np.dtype(self.dtype).itemsize
        strides = np.cumprod([size, *self.padded[:0:-1]])[::-1]
        return [(self.address + int(np.dot(index, strides[:-1])), self.shape[-1] * size)
                for index in np.ndindex(*self.shape[:-1])]

    @property
    def bytes(self) -> int:
        """In memory."""
        return int(np.prod(self.padded)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class PeerCore:
    """A circuit: Verilog by file name, `inputs` by name, its `output`, what is written to which register to start it
    (byte address, value), and the `seconds` that making it took."""

    sources: Mapping[str, str]
    inputs: tuple[Tensor, ...]
    output: Tensor
    start: tuple[tuple[int, int], ...]
    seconds: float

    def run(self, values: Mapping[str, np.ndarray], memory: MainMemory, simulator: str) -> tuple[JobResult, np.ndarray]:
        """A run, and the output. Raises `JobError`, `SimulationTimeout`."""
        job = run_job(Job(
            sources=self.sources, top=PEER_MODULE, memory_bytes=1 << 17, seed=1,
            loads=[(tensor.address, tensor.pack(values[tensor.name])) for tensor in self.inputs],
            writes=self.start, dumps=self.output.rows, latency=memory.latency,
            bursts=memory.bursts, simulator=simulator, cycle_limit=1_000_000))
        return job, self.output.unpack(job.dumps)


def peer_versions() -> str:
    """Those of the peers that are installed."""
    found = []
    for name in _PEERS:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found) or "none"


def nngen_product(size: int, parallel: tuple[int, int, int], *, transposed: bool, bus_bits: int) -> PeerCore:
    """A product of square int8 matrices with int32 sums; `parallel` products along columns of the left one, its rows,
    and columns of the result. `transposed`: the right matrix lies in memory by columns. Raises `PeerError`."""
    ng = _nngen()

    def graph() -> tuple[list[Any], Any]:
        a, b = (ng.placeholder(ng.int8, shape=(size, size), name=name) for name in ("A", "B"))
        column, row, out = parallel
        return [a, b], ng.matmul(a, b, transposed_b=transposed, dtype=ng.int32, mul_dtype=ng.int32, sum_dtype=ng.int32,
                                 par_left_col=column, par_left_row=row, par_out_col=out)

    return _core(ng, graph, bus_bits)


def nngen_convolution(size: int, taps: int, parallel: tuple[int, int], *, bus_bits: int) -> PeerCore:
    """A convolution of a `size` x `size` int8 image with `taps` x `taps` weights, int32 sums, without borders;
    `parallel` results along columns and rows. Raises `PeerError`."""
    return _nngen_window((size, size), (taps, taps), "int8", parallel, bus_bits)


def nngen_filter(length: int, taps: int, parallel: int, *, bus_bits: int) -> PeerCore:
    """An int16 FIR filter with `length` int32 results, as a convolution of an image of one row; `parallel` results at a
    time. Raises `PeerError`."""
    return _nngen_window((1, length + taps - 1), (1, taps), "int16", (parallel, 1), bus_bits)


def _nngen_window(image: tuple[int, int], window: tuple[int, int], dtype: str, parallel: tuple[int, int],
                  bus_bits: int) -> PeerCore:
    ng = _nngen()

    def graph() -> tuple[list[Any], Any]:
        x = ng.placeholder(getattr(ng, dtype), shape=(1, *image, 1), name="X")
        w = ng.placeholder(getattr(ng, dtype), shape=(1, *window, 1), name="W")
        return [x, w], ng.conv2d(x, w, strides=(1, 1, 1, 1), padding=0, dtype=ng.int32, mul_dtype=ng.int32,
                                 sum_dtype=ng.int32, par_col=parallel[0], par_row=parallel[1])

    return _core(ng, graph, bus_bits)


def _nngen() -> Any:
    try:
        import nngen  # type: ignore[import-not-found]
    except ImportError as error:
        raise PeerError(f"nngen is missing ({error}); install the extra: pip install '.[peers]'") from None
    return nngen


def _core(ng: Any, graph: Callable[[], tuple[list[Any], Any]], bus_bits: int) -> PeerCore:
    start = time.perf_counter()
    inputs, output = graph()
    text = ng.to_verilog([output], "peer_core", silent=True,
                         config={"maxi_datawidth": bus_bits, "onchip_ram_style": _MEMORY_STYLE})
    seconds = time.perf_counter() - start
    *placed, result = (_tensor(operator) for operator in (*inputs, output))
    return PeerCore({"peer_core.v": text, "peer_system.v": wrapper(bus_bits)}, tuple(placed), result,
                    _NNGEN_START, seconds)


def _tensor(operator: Any) -> Tensor:
    return Tensor(operator.name, operator.addr, tuple(operator.shape), tuple(operator.aligned_shape),
                  f"int{operator.dtype.width}")


_MASTER = {"awaddr": 32, "awlen": 8, "awsize": 3, "awburst": 2, "awvalid": 1, "wdata": None, "wstrb": None, "wlast": 1,
           "wvalid": 1, "bready": 1, "araddr": 32, "arlen": 8, "arsize": 3, "arburst": 2, "arvalid": 1, "rready": 1}
_MASTER_IN = {"awready": 1, "wready": 1, "bresp": 2, "bvalid": 1, "arready": 1, "rdata": None, "rresp": 2, "rlast": 1,
              "rvalid": 1}
_LITE_IN = {"awaddr": 32, "awvalid": 1, "wdata": 32, "wstrb": 4, "wvalid": 1, "bready": 1, "araddr": 32, "arvalid": 1,
            "rready": 1}
_LITE = {"awready": 1, "wready": 1, "bresp": 2, "bvalid": 1, "arready": 1, "rdata": 32, "rresp": 2, "rvalid": 1}


def wrapper(bus_bits: int) -> str:
    """Verilog of `PEER_MODULE`: nngen's ports under other names."""
    wide = {"wdata": bus_bits, "rdata": bus_bits, "wstrb": bus_bits // 8}
    groups: Sequence[tuple[str, str, str, Mapping[str, int | None]]] = (
        ("output", "m_axi", "maxi", _MASTER), ("input", "m_axi", "maxi", _MASTER_IN),
        ("input", "s_axil", "saxi", _LITE_IN), ("output", "s_axil", "saxi", _LITE))
    ports = [("input", "clk", 1, ""), ("input", "rst", 1, ""), ("output", "irq", 1, "irq")]
    for direction, prefix, own, names in groups:
        ports += [(direction, f"{prefix}_{name}", width or wide[name], f"{own}_{name}")
                  for name, width in names.items()]
    declared = "".join(f"  {direction} [{width - 1}:0] {name};\n" if width > 1 else f"  {direction} {name};\n"
                       for direction, name, width, _ in ports)
    wired = ", ".join(f".{own}({name})" for _, name, _, own in ports if own)
    return (f"module {PEER_MODULE}({', '.join(name for _, name, _, _ in ports)});\n{declared}"
            f"  peer_core core(.CLK(clk), .RESETN(~rst), {wired},\n    .saxi_awcache(4'd3), .saxi_awprot(3'd0), "
            ".saxi_arcache(4'd3), .saxi_arprot(3'd0));\nendmodule\n")

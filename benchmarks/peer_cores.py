"""Circuits of other open generators, in the same testbench and flow as ours: Verilog, where arrays lie in memory, and
which registers start a run.

Needs the extra ``peers``. nngen makes an accelerator for a graph of operators, with an AXI4 master and AXI4-Lite
registers of its own names; a wrapper gives them the names of `hw.sim.testbench`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.errors import SluiceError
from hw.main_memory import MainMemory
from hw.sim.simulate import Job, JobResult, run_job

__all__ = ["PEER_MODULE", "PeerCore", "PeerError", "Tensor", "nngen_convolution", "nngen_product",
           "wrapper"]

PEER_MODULE = "peer_system"
"""Top module of a peer's sources."""

_TEMPORARY = 0x8000
"""Where a peer may put what it needs for itself."""

_INTERRUPT_ENABLE, _START, _GLOBAL_ADDRESS = 40, 16, 132
"""Byte addresses of nngen's registers."""


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

    def unpack(self, content: bytes) -> np.ndarray:
        """The values in bytes."""
        found = np.frombuffer(content, self.dtype).reshape(self.padded)
        return found[tuple(slice(0, extent) for extent in self.shape)]

    @property
    def bytes(self) -> int:
        """In memory."""
        return int(np.prod(self.padded)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class PeerCore:
    """A circuit: Verilog by file name, `inputs` by name, its `output`, and the `seconds` that making it took."""

    sources: Mapping[str, str]
    inputs: tuple[Tensor, ...]
    output: Tensor
    seconds: float

    def run(self, values: Mapping[str, np.ndarray], memory: MainMemory, simulator: str) -> tuple[JobResult, np.ndarray]:
        """A run, and the output. Raises `JobError`, `SimulationTimeout`."""
        job = run_job(Job(
            sources=self.sources, top=PEER_MODULE, memory_bytes=1 << 17, seed=1,
            loads=[(tensor.address, tensor.pack(values[tensor.name])) for tensor in self.inputs],
            writes=[(_GLOBAL_ADDRESS, _TEMPORARY), (_INTERRUPT_ENABLE, 1), (_START, 1)],
            dumps=[(self.output.address, self.output.bytes)], latency=memory.latency, bursts=memory.bursts,
            simulator=simulator, cycle_limit=1_000_000))
        return job, self.output.unpack(job.dumps[0])


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
    ng = _nngen()

    def graph() -> tuple[list[Any], Any]:
        x = ng.placeholder(ng.int8, shape=(1, size, size, 1), name="X")
        w = ng.placeholder(ng.int8, shape=(1, taps, taps, 1), name="W")
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
    text = ng.to_verilog([output], "peer_core", silent=True, config={"maxi_datawidth": bus_bits})
    seconds = time.perf_counter() - start
    *placed, result = (_tensor(operator) for operator in (*inputs, output))
    return PeerCore({"peer_core.v": text, "peer_system.v": wrapper(bus_bits)}, tuple(placed), result, seconds)


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

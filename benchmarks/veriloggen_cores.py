"""Circuits of veriloggen's streams and threads: arrays come by DMA into memories of banks that take a beat at a time, a
stream takes its operands from there once a cycle, and results leave by DMA while the next part is computed.

Needs the extra ``peers``. Written as veriloggen's examples are: a module with an AXI4 master, AXI4-Lite registers, a
stream, and a thread that a register starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.peer_cores import PeerCore, PeerError, Tensor, wrapper

__all__ = ["veriloggen_filter", "veriloggen_product"]

_START, _DONE = 0, 1
"""Registers: word addresses."""

_WORD = 64
_MEMORY_PORT = 1
"""The port of a memory that DMA uses; the stream has the other one."""


def veriloggen_product(size: int, parts: int) -> PeerCore:
    """A product of square int8 matrices with int32 sums, one multiplication per cycle; results leave after each of
    `parts` parts of the rows. Raises `PeerError`."""
    words = size * size
    shape = (size, size)
    inputs = Tensor("A", 0, shape, shape, "int8"), Tensor("B", words, shape, shape, "int8")
    output = Tensor("C", 2 * words, shape, shape, "int32")
    rows, share = size // parts, words // parts

    kit = _Kit()
    a, b, c = (kit.memory(tensor) for tensor in (*inputs, output))
    stream = _multiply_accumulate(kit, 8)
    maxi, saxi = kit.maxi, kit.saxi

    def run() -> None:
        while True:
            saxi.wait_flag(_START, value=1, resetvalue=0)
            maxi.dma_read_packed(a, 0, 0, words, port=_MEMORY_PORT)
            maxi.dma_read_packed(b, 0, words, words, port=_MEMORY_PORT)
            for part in range(parts):
                stream.set_source_pattern("x", a, part * share, ((size, 1), (size, 0), (rows, size)))
                stream.set_source_pattern("y", b, 0, ((size, size), (size, 1), (rows, 0)))
                stream.set_parameter("terms", size)
                stream.set_sink("total", c, part * share, share)
                stream.run()
                stream.join()
                maxi.dma_write_packed_async(c, part * share, 2 * words + 4 * part * share, share,
                                            port=_MEMORY_PORT)
            maxi.dma_wait()
            saxi.write(_DONE, 1)

    kit.control(run).start()
    return kit.core(inputs, output)


def veriloggen_filter(length: int, taps: int, parts: int) -> PeerCore:
    """An int16 FIR filter with `length` int32 results and coefficients from memory, one multiplication per cycle;
    results leave after each of `parts` parts. Raises `PeerError`."""
    lanes = _WORD // 16
    padded = -(-(length + taps - 1) // lanes) * lanes
    inputs = (Tensor("h", 0, (taps,), (taps,), "int16"),
              Tensor("x", 2 * taps, (length + taps - 1,), (padded,), "int16"))
    output = Tensor("y", 2 * (taps + padded), (length,), (length,), "int32")
    start, share = 2 * (taps + padded), length // parts

    kit = _Kit()
    h, x, y = (kit.memory(tensor) for tensor in (*inputs, output))
    stream = _multiply_accumulate(kit, 16)
    maxi, saxi = kit.maxi, kit.saxi

    def run() -> None:
        while True:
            saxi.wait_flag(_START, value=1, resetvalue=0)
            maxi.dma_read_packed(h, 0, 0, taps, port=_MEMORY_PORT)
            maxi.dma_read_packed(x, 0, 2 * taps, padded, port=_MEMORY_PORT)
            for part in range(parts):
                stream.set_source_pattern("x", x, part * share, ((taps, 1), (share, 1)))
                stream.set_source_pattern("y", h, 0, ((taps, 1), (share, 0)))
                stream.set_parameter("terms", taps)
                stream.set_sink("total", y, part * share, share)
                stream.run()
                stream.join()
                maxi.dma_write_packed_async(y, part * share, start + 4 * part * share, share, port=_MEMORY_PORT)
            maxi.dma_wait()
            saxi.write(_DONE, 1)

    kit.control(run).start()
    return kit.core(inputs, output)


class _Kit:
    """A veriloggen module with the ports that `wrapper` wants. Raises `PeerError` without veriloggen."""

    def __init__(self) -> None:
        try:
            import veriloggen as vg  # type: ignore[import-not-found]
            import veriloggen.thread as thread  # type: ignore[import-not-found]
        except ImportError as error:
            raise PeerError(f"veriloggen is missing ({error}); install the extra: pip install '.[peers]'") from None
        self.begun, self.thread = time.perf_counter(), thread
        self.module = vg.Module("peer_core")
        self.clock, inverse = self.module.Input("CLK"), self.module.Input("RESETN")
        self.reset = self.module.Wire("RST")
        self.reset.assign(vg.Not(inverse))
        interrupt = self.module.OutputReg("irq", initval=0)
        common = self.clock, self.reset
        self.maxi = thread.AXIM(self.module, "maxi", *common, _WORD)
        self.saxi = thread.AXISLiteRegister(self.module, "saxi", *common, 32, length=4)
        vg.Seq(self.module, "interrupt", *common)(interrupt(self.saxi.register[_DONE][0]))

    def memory(self, tensor: Tensor) -> Any:
        """A memory for an array, in as many banks as a beat has elements."""
        width = int(tensor.dtype.removeprefix("int"))
        banks, elements = _WORD // width, tensor.bytes * 8 // width
        depth = max(1, (-(-elements // banks) - 1).bit_length())
        return self.thread.MultibankRAM(self.module, f"memory_{tensor.name}", self.clock, self.reset, width, depth,
                                        numports=2, numbanks=banks)

    def control(self, run: Callable[[], None]) -> Any:
        """The thread that carries `run` out, not started: names in `run` are those where `start` is called."""
        return self.thread.Thread(self.module, "control", self.clock, self.reset, run)

    def core(self, inputs: tuple[Tensor, ...], output: Tensor) -> PeerCore:
        """The finished circuit."""
        sources = {"peer_core.v": self.module.to_verilog(), "peer_system.v": wrapper(_WORD)}
        return PeerCore(sources, inputs, output, ((4 * _START, 1),), time.perf_counter() - self.begun)


def _multiply_accumulate(kit: _Kit, width: int) -> Any:
    """A stream: sums of so many ``terms`` products of ``x`` and ``y``, of `width` bits, into ``total``."""
    stream = kit.thread.Stream(kit.module, "multiply_accumulate", kit.clock, kit.reset)
    x, y = (stream.Cast(stream.source(name, datawidth=width, signed=True), 2 * width) for name in ("x", "y"))
    total, valid = stream.ReduceAddValid(x * y, stream.parameter("terms"), width=32, signed=True)
    stream.sink(total, "total", when=valid, when_name="valid")
    return stream

"""The C driver of a design, compiled, with the simulated design behind its registers.

The driver's register accesses call `DriverBench`; the write that starts a run has the whole run simulated on what the
driver has written to memory, by `hw.sim.simulate.run_job`, with the design's memory at `bus_address` of its bus.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from driver_files import write_drivers

from compiler.bind.design import Design
from hw.drivers.interface import HostArray
from hw.sim.simulate import Job, run_job

__all__ = ["DriverBench", "compile_driver"]

FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-parameter", "-shared",
         "-fPIC", "-ffreestanding")
_HARNESS = """#include <stdint.h>
uint32_t (*on_read)(uint32_t offset);
void (*on_write)(uint32_t offset, uint32_t value);
#define SLUICE_READ32(registers, offset) ((void)(registers), on_read(offset))
#define SLUICE_WRITE32(registers, offset, value) on_write(offset, value)
#include "@NAME@.c"
"""
_READ, _WRITE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32), ctypes.CFUNCTYPE(None, ctypes.c_uint32,
                                                                                     ctypes.c_uint32)
_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_LIMIT = 200_000


class _Device(ctypes.Structure):
    _fields_ = [
        ("registers", ctypes.c_void_p), ("memory", ctypes.c_void_p), ("bus_address", ctypes.c_uint64),
        ("polls", ctypes.c_uint32), ("context", ctypes.c_void_p), ("clean", _HOOK), ("invalidate", _HOOK),
        ("barrier", ctypes.c_void_p), ("wait", ctypes.c_void_p),
    ]


def compile_driver(folder: Path, design: Design) -> ctypes.CDLL:
    """The driver of `design`, compiled in `folder`, whose registers are functions."""
    name = design.host_interface.name
    write_drivers(design, folder)
    compiler = shutil.which("gcc")
    assert compiler is not None
    (folder / "harness.c").write_text(_HARNESS.replace("@NAME@", name))
    library = folder / "harness.so"
    done = subprocess.run([compiler, *FLAGS, "-o", library, folder / "harness.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


class DriverBench:
    """The driver of `design`, compiled in `folder`. `bus_address`: where its memory is. `runs`, `cleaned`,
    `invalidated`: how often. With `dead`, the design never ends."""

    def __init__(self, design: Design, folder: Path, sources: Mapping[str, str] | None = None, top: str = "",
                 simulator: str = "", *, bus_address: int = 0, dead: bool = False):
        self.interface = design.host_interface
        self._job = Job(sources=sources or {}, top=top, memory_bytes=bus_address + self.interface.memory_bytes,
                        simulator=simulator, cycle_limit=_LIMIT, seed=1, expected_cycles=1000,
                        latency=design.main_memory.latency, bursts=design.main_memory.bursts)
        self._library = compile_driver(folder, design)
        self._registers: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.runs = self.cleaned = self.invalidated = 0
        self._dead = dead
        self._hold = (_READ(self._read), _WRITE(self._write), _HOOK(self._clean), _HOOK(self._invalidate))
        for symbol, function in zip(("on_read", "on_write"), self._hold, strict=False):
            ctypes.c_void_p.in_dll(self._library, symbol).value = ctypes.cast(function, ctypes.c_void_p).value
        self.memory = np.full(self.interface.memory_bytes, 0xA5, np.uint8)
        self.device = _Device(None, self.memory.ctypes.data, bus_address, 5, None, *self._hold[2:], None, None)

    def load(self) -> int:
        """What the function of that name returns."""
        return self.function("load")(ctypes.byref(self.device))

    def packed(self, inputs: Mapping[str, np.ndarray]) -> None:
        """Only writes the inputs to memory."""
        assert self.load() == 0
        assert self._call("write_inputs", self._arrays(inputs), self.interface.inputs) == 0

    def unpacked(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Only reads the outputs from memory."""
        arrays = self._arrays(inputs)
        wanted = self.interface.arrays if self.interface.kept else self.interface.outputs
        assert self._call("read_outputs", arrays, wanted) == 0
        return {name: array for (role, name), array in arrays.items() if role == "output"}

    def run(self, inputs: Mapping[str, np.ndarray]) -> tuple[int, dict[str, np.ndarray]]:
        """What the driver returns, and the outputs."""
        arrays = self._arrays(inputs)
        code = self._call("run", arrays, self.interface.arrays)
        return code, {name: array for (role, name), array in arrays.items() if role == "output"}

    def _arrays(self, inputs: Mapping[str, np.ndarray]) -> dict[tuple[str, str], np.ndarray]:
        """The inputs as the driver takes them, and outputs full of what no run leaves."""
        return {(a.role, a.name): np.ascontiguousarray(inputs[a.name], a.dtype) if a.role == "input" else
                np.full(a.shape, 77, a.dtype) for a in self.interface.arrays}

    def _call(self, name: str, arrays: Mapping[tuple[str, str], np.ndarray], wanted: Sequence[HostArray]) -> int:
        pointers = [ctypes.c_void_p(arrays[array.role, array.name].ctypes.data) for array in wanted]
        return self.function(name)(ctypes.byref(self.device), *pointers)

    def function(self, name: str):
        """A function of the driver."""
        return getattr(self._library, f"{self.interface.name}_{name}")

    def error(self, code: int) -> str:
        """What the driver says of a code."""
        function = self.function("error")
        function.restype = ctypes.c_char_p
        return function(code).decode()

    def set_status(self, **fields: int) -> None:
        """What the status register says."""
        registers = self.interface.registers
        self._registers[registers.address("STATUS")] = registers.encode("STATUS", **fields)

    @property
    def cycles(self) -> int:
        """Clock cycles of the last run, by the driver."""
        function = self.function("cycles")
        function.restype = ctypes.c_uint64
        return function(ctypes.byref(self.device))

    def _read(self, offset: int) -> int:
        register = self.interface.registers.by_offset[offset]
        return register.reset if register.access == "constant" else self._registers.get(offset, 0)

    def _write(self, offset: int, value: int) -> None:
        self.writes.append((offset, value))
        registers = self.interface.registers
        if offset == registers.address("CONTROL") and registers.decode("CONTROL", value)["start"] and not self._dead:
            self._simulate()

    def _simulate(self) -> None:
        """The bus model: what the driver wrote, on the design's Verilog."""
        self.runs += 1
        registers = self.interface.registers
        base, size = self.device.bus_address, self.interface.memory_bytes
        reads = [r.offset for r in registers.registers if r.access == "read"]
        result = run_job(Job(**{**vars(self._job), "loads": [(base, self._seen)], "writes": self.writes,
                                "reads": reads, "dumps": [(base, size)]}))
        self._registers, self._left = dict(result.registers), result.dumps[0]
        self.writes = []

    def _clean(self, *_: object) -> None:
        """The design sees what memory holds from now on."""
        self.cleaned += 1
        self._seen = self.memory.tobytes()

    def _invalidate(self, *_: object) -> None:
        """The host sees what the design has left."""
        self.invalidated += 1
        self.memory[:] = np.frombuffer(self._left, np.uint8)

"""Programs of the processor system in RTL simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hw.dma.registers import RegisterMap
from hw.main_memory import MOST_BURSTS
from hw.sim.faults import Trial
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job
from hw.soc.entries import run_entries
from hw.soc.errors import FirmwareError, ProgramError
from hw.soc.program import DEFAULT_MEMORY_BYTES, Firmware, Sources, build_program
from hw.soc.registers import host_registers
from hw.soc.results import COUNTER_REGISTERS, DRAM_LATENCY, Counters, Trap, counters_of, describe_wait, status_names
from hw.soc.status import RunError
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Counters", "ProgramResult", "Trap", "run_entries", "run_firmware", "run_program", "system_sources"]

DEFAULT_CYCLE_LIMIT = 20_000_000

_CONSOLE = ("console_length", "console_text")


@dataclass(frozen=True)
class ProgramResult:
    """What a program left.

    `exit_code`: main's return value as an unsigned word; after a trap `hw.soc.program.TRAP_EXIT_CODE` plus its cause.
    `error`: how the run ended. `text`: standard output. `cycles`: clock cycles from the start to the program's end.
    `kernel_cycles`: the sum of those between kernel_begin and kernel_end. `vector_status`: names of the status bits
    that the vector unit has set. `dumps`: arrays by name. `firmware`, `job`: the program and the simulation.
    """

    exit_code: int
    error: RunError
    trap: Trap | None
    text: str
    cycles: int
    kernel_cycles: int
    counters: Counters
    vector_status: tuple[str, ...]
    dumps: Mapping[str, bytes]
    firmware: Firmware
    job: JobResult

    def array(self, name: str, dtype: Any, shape: Sequence[int] | int | None = None) -> np.ndarray:
        """The dumped array `name` as numbers of `dtype`. Raises `ProgramError` if it was not dumped."""
        if name not in self.dumps:
            raise ProgramError(f"array '{name}' was not dumped, only {', '.join(self.dumps) or 'none'}")
        numbers = np.frombuffer(self.dumps[name], dtype=np.dtype(dtype).newbyteorder("<"))
        return numbers if shape is None else numbers.reshape(shape)

    def check(self) -> None:
        """Raise `ProgramError` unless the program returned 0 and neither core nor vector unit met an error."""
        if self.trap is not None:
            raise ProgramError(f"the program took a trap: {self.trap}")
        if self.error is RunError.EXIT_CODE:
            raise ProgramError(f"the program ended with exit code {self.exit_code}")
        if self.error is not RunError.NONE:
            raise ProgramError(f"the run ended with error {self.error.name}")
        if self.vector_status:
            raise ProgramError(f"the vector unit reported {', '.join(self.vector_status)}")


def run_program(
    sources: Sources,
    spec: VectorSpec | None = None,
    *,
    loads: Mapping[str, Any] | None = None,
    dumps: Sequence[str] = (),
    defines: Mapping[str, int | str] | None = None,
    options: Sequence[str] = ("-O2",),
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    **settings: Any,
) -> ProgramResult:
    """Compile a program (see `hw.soc.program.build_program`) and run it (`run_firmware` takes the `settings`)."""
    spec = spec or VectorSpec()
    firmware = build_program(sources, spec, defines=defines, options=options, memory_bytes=memory_bytes)
    return run_firmware(firmware, spec, loads=loads, dumps=dumps, **settings)


def run_firmware(
    firmware: Firmware,
    spec: VectorSpec,
    *,
    loads: Mapping[str, Any] | None = None,
    dumps: Sequence[str] = (),
    simulator: str = "verilator",
    seed: int | None = None,
    stall: StallProfile = NO_STALLS,
    latency: int = DRAM_LATENCY,
    bursts: int = MOST_BURSTS,
    bandwidth: str = "shared",
    errors: tuple[int, int] | None = None,
    inject: str | None = None,
    watchdog: int | None = None,
    cycle_limit: int = DEFAULT_CYCLE_LIMIT,
    uart_divisor: int = 0,
    fast: bool = False,
    expected_cycles: int | None = None,
    waves: bool = False,
    folder: Path | None = None,
    check: bool = True,
) -> ProgramResult:
    """Run a linked program in RTL simulation.

    `loads`: contents of global arrays by name, numpy arrays (little-endian in memory) or bytes, at most as long as the
    array. `dumps`: names of arrays to read back. `uart_divisor`: clock cycles per bit of the serial line, which hears
    itself; 0 sends nothing there (`ProgramResult.text` has the output in any case). `inject`: a fault of memory such as
    ``"read a 3"``, at a global array, or ``"stuck ar"`` (`hw.sim.faults`); `watchdog`: clock cycles without progress
    that end a run (without: 10000 if there is a fault, else no limit). The others are those of
    `hw.sim.simulate.Job`; memory is like DRAM: `DRAM_LATENCY` cycles of latency, and reads and writes share its
    bandwidth.

    Raises `FirmwareError` for names and sizes that do not fit, `ProgramError` after a run that `ProgramResult.check`
    rejects (if `check`), and what `hw.sim.simulate.run_job` raises.
    """
    registers = host_registers(spec)
    areas = [firmware.symbol(name) for name in (*dumps, *_console(firmware))]
    contents = [(0, firmware.image), *_loads(firmware, loads or {})]
    trial = Trial(inject, watchdog)
    places = {name: (area.address, area.size) for name, area in firmware.symbols.items()}
    job = Job(
        system_sources(spec), SYSTEM_MODULE, firmware.memory_bytes, loads=contents,
        writes=[
            (registers.address("PROGRAM"), 0),
            (registers.address("UART_DIVISOR"), uart_divisor),
            *trial.writes(registers),
            (registers.address("CONTROL"), registers.encode("CONTROL", start=1)),
        ],
        reads=[registers.address(name) for name in _READ],
        dumps=[(area.address, area.size) for area in areas],
        status={name: registers.address(name) for name in ("DETAIL", "FETCH")},
        explain=lambda values: describe_wait(registers, values),
        seed=seed, stall=stall, latency=latency, bursts=bursts, bandwidth=bandwidth, errors=errors,
        cycle_limit=cycle_limit, fault=trial.fault(places),
        simulator=simulator, fast=fast, expected_cycles=expected_cycles, waves=waves, folder=folder,
    )  # fmt: skip
    result = _result(registers, run_job(job), firmware, dumps)
    if check:
        result.check()
    return result


_READ = (
    "STATUS", "EXIT_CODE", "TRAP_CAUSE", "TRAP_PC", "TRAP_VALUE", "CYCLES", "CYCLES_HIGH", "KERNEL_CYCLES",
    "KERNEL_CYCLES_HIGH", "VECTOR_STATUS", *COUNTER_REGISTERS,
)  # fmt: skip


@lru_cache(maxsize=16)
def system_sources(spec: VectorSpec) -> dict[str, str]:
    """The system's Verilog, made once per process."""
    return emit_vector_system(spec)


def _console(firmware: Firmware) -> tuple[str, ...]:
    """The arrays that hold standard output; a program that writes nothing has none."""
    return _CONSOLE if set(_CONSOLE) <= set(firmware.symbols) else ()


def _loads(firmware: Firmware, loads: Mapping[str, Any]) -> list[tuple[int, bytes]]:
    areas = []
    for name, content in loads.items():
        area = firmware.symbol(name)
        data = memory_bytes_of(content)
        if len(data) > area.size:
            raise FirmwareError(f"{len(data)} bytes do not fit into array '{name}' of {area.size} bytes")
        areas.append((area.address, data))
    return areas


def memory_bytes_of(content: Any) -> bytes:
    """A numpy array or a bytes-like object as it lies in memory (row by row, little-endian)."""
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    array = np.asarray(content)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _result(registers: RegisterMap, job: JobResult, firmware: Firmware, names: Sequence[str]) -> ProgramResult:
    value = {name: job.registers[registers.address(name)] for name in _READ}
    error = RunError(registers.decode("STATUS", value["STATUS"])["error"])
    trap = None
    if error is RunError.TRAP:
        trap = Trap(value["TRAP_CAUSE"], value["TRAP_PC"], value["TRAP_VALUE"])
    dumps = dict(zip((*names, *_console(firmware)), job.dumps, strict=True))
    length = int.from_bytes(dumps.pop("console_length", b""), "little")
    text = dumps.pop("console_text", b"")[:length].decode("utf-8", "replace")
    return ProgramResult(
        exit_code=value["EXIT_CODE"], error=error, trap=trap, text=text,
        cycles=value["CYCLES"] | value["CYCLES_HIGH"] << 32,
        kernel_cycles=value["KERNEL_CYCLES"] | value["KERNEL_CYCLES_HIGH"] << 32,
        counters=counters_of(value), vector_status=status_names(registers, value["VECTOR_STATUS"]),
        dumps=dumps, firmware=firmware, job=job,
    )  # fmt: skip

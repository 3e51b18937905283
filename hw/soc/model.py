"""Programs of the processor system on the reference simulator instead of RTL: bit-exact results, no clock cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.soc.errors import ProgramError
from hw.soc.program import DEFAULT_MEMORY_BYTES, Firmware, Sources, build_program
from hw.soc.registers import PERIPHERAL_BASE, PERIPHERALS
from hw.soc.run import memory_bytes_of
from hw.vector_lanes.isa import Entry
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.program import ProgramModel
from hw.vector_lanes.spec import VectorSpec

__all__ = ["ModelResult", "model_firmware", "model_program"]


@dataclass(frozen=True)
class ModelResult:
    """What a program left on the model.

    `exit_code`: main's return value. `instructions`: of the scalar core. `entries`: what the vector unit was given.
    `machine`: its final state, with `ideal_cycles`, `operations` and `dma_bytes` of the whole run; `kernel` has the
    same counts (and `instructions`) between kernel_begin and kernel_end only.
    """

    exit_code: int
    instructions: int
    entries: list[Entry]
    machine: VectorMachine
    kernel: Mapping[str, int]
    firmware: Firmware
    text: str

    def array(self, name: str, dtype: Any, shape: Sequence[int] | int | None = None) -> np.ndarray[Any, Any]:
        """The global array `name` as numbers of `dtype`."""
        area, memory = self.firmware.symbol(name), self.machine.memory
        if memory is None:
            raise ProgramError("the model has no main memory")
        numbers = memory[area.address:area.address + area.size].view(np.dtype(dtype).newbyteorder("<"))
        return numbers if shape is None else numbers.reshape(shape)

    def check(self) -> None:
        """Raise `ProgramError` unless the program returned 0 and no status bit is set."""
        if self.exit_code:
            raise ProgramError(f"the program ended with exit code {self.exit_code}")
        if self.machine.status:
            raise ProgramError(f"the vector unit reported {self.machine.status.name}")


def model_program(sources: Sources, spec: VectorSpec, *, loads: Mapping[str, Any] | None = None,
                  defines: Mapping[str, int | str] | None = None, options: Sequence[str] = ("-O2",),
                  memory_bytes: int = DEFAULT_MEMORY_BYTES, check: bool = True) -> ModelResult:
    """Compile a program and run it on the model; arguments as in `hw.soc.run.run_program`."""
    firmware = build_program(sources, spec, defines=defines, options=options, memory_bytes=memory_bytes)
    return model_firmware(firmware, spec, loads=loads, check=check)


def model_firmware(firmware: Firmware, spec: VectorSpec, *, loads: Mapping[str, Any] | None = None,
                   limit: int = 10_000_000, check: bool = True) -> ModelResult:
    """Run a linked program on the model. Raises `ProgramError` and `hw.vector_lanes.program.ProgramModelError`."""
    memory = np.zeros(firmware.memory_bytes, np.uint8)
    memory[: len(firmware.image)] = np.frombuffer(firmware.image, np.uint8)
    for name, content in (loads or {}).items():
        data = memory_bytes_of(content)
        area = firmware.symbol(name)
        if len(data) > area.size:
            raise ProgramError(f"{len(data)} bytes do not fit into array '{name}' of {area.size} bytes")
        memory[area.address:area.address + len(data)] = np.frombuffer(data, np.uint8)
    run = _Run(VectorMachine(spec, memory))
    run.core.run(limit)
    result = ModelResult(run.exit_code, run.core.instructions, run.core.entries or [], run.core.machine, run.kernel,
                         firmware, bytes(run.text).decode("utf-8", "replace"))
    if check:
        result.check()
    return result


class _Run:
    """The peripherals around the core: end of the run, marks, serial line."""

    def __init__(self, machine: VectorMachine) -> None:
        self.core = ProgramModel(machine, self.load, self.store, keep_entries=True)
        self.exit_code, self.text = 0, bytearray()
        self.kernel = dict.fromkeys(self.counts(), 0)
        self.places = {PERIPHERAL_BASE + PERIPHERALS.address(name): name
                       for name in ("FINISH", "MARK", "UART", "TRAP")}

    def counts(self) -> dict[str, int]:
        machine = self.core.machine
        return {"instructions": self.core.instructions, "vector_instructions": machine.instructions,
                "ideal_cycles": machine.ideal_cycles, "operations": machine.operations,
                "operation_bytes": machine.operation_bytes, "dma_bytes": machine.dma_bytes}

    def load(self, address: int) -> int:
        """Counters of cycles count instructions; everything else reads zero."""
        return self.core.instructions & 0xFFFFFFFF

    def store(self, address: int, value: int) -> None:
        name = self.places.get(address)
        if name in ("FINISH", "TRAP"):
            self.exit_code = value
            self.core.stop()
        elif name == "MARK":
            sign = -1 if value else 1
            for key, count in self.counts().items():
                self.kernel[key] += sign * count
        elif name == "UART":
            self.text.append(value & 255)

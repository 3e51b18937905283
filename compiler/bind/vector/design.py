"""A program of parallel arrays compiled for the vector processor: predictions, execution, simulation, C code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.bind.design import Run
from compiler.bind.vector.c_code import c_program
from compiler.bind.vector.cost import Timeline
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.ir import Instruction, Setting, Transfer, VectorProgram, entries, unrolled
from compiler.bind.vector.options import Options
from compiler.frontend.parallel_array.program import ArrayProgram
from hw.files import write_atomic
from hw.vector_lanes.isa import Entry, Status
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec

if TYPE_CHECKING:
    from compiler.bind.vector.choose import Choice

__all__ = ["Figures", "VectorDesign"]

ALIGNMENT = 64


@dataclass(frozen=True)
class Figures:
    """What a program does, counted.

    operations: elements computed, one per element and instruction, in useful width: an operation on a byte counts a
    quarter, on a halfword a half. wavefronts: cycles in which the lanes compute. memory_bytes: bytes moved.
    instructions: vector instructions executed. bound: the larger of operations / lanes and bytes / bandwidth.
    """

    operations: float
    wavefronts: int
    memory_bytes: int
    instructions: int
    bound: float


@dataclass
class VectorDesign:
    """`code` is the vector program; `phases` the plans chosen; `constants` are arrays that belong to the program."""

    program: ArrayProgram
    options: Options
    spec: VectorSpec
    code: VectorProgram
    phases: tuple[Choice, ...]
    constants: dict[str, np.ndarray]
    compile_seconds: float

    # Answers before any run.

    @cached_property
    def predicted_cycles(self) -> int:
        """Clock cycles by the cost model."""
        timeline = Timeline(self.spec)
        timeline.feed(unrolled(self.code.body))
        return round(timeline.now)

    @property
    def ideal_cycles(self) -> int:
        """Cycles that the lanes compute: no run is shorter."""
        return self.figures.wavefronts

    @property
    def lower_bound(self) -> int:
        """Cycles by the operations really used and by the bytes really moved, whichever takes longer."""
        return int(-(-self.figures.bound // 1))

    @cached_property
    def figures(self) -> Figures:
        """Operations, wavefronts and bytes."""
        operations, waves, moved, count = 0.0, 0, 0, 0
        state: dict[str, tuple[int, ...]] = {"length": (0,)}
        for statement in unrolled(self.code.body):
            match statement:
                case Setting(kind, values):
                    state[kind] = tuple(v for v in values if isinstance(v, int))
                case Instruction(mode):
                    elements, rows, size = state["length"][0], 1, 1 << mode.exec_size
                    for kind in ("rows", "matrices")[:mode.dimensions]:
                        rows *= state[kind][0]
                    count += 1
                    operations += elements * rows * size / 4
                    waves += rows * -(-elements * size // self.spec.row_bytes)
                case Transfer(bytes=int(size), rows=int(rows)):
                    moved += size * rows
        bound = max(operations / self.spec.lanes, moved / self.spec.memory_bytes)
        return Figures(operations, waves, moved, count, bound)

    @property
    def registers(self) -> int:
        """The most virtual vector registers in use at once, over all phases."""
        return max(choice.plan.allocation.registers for choice in self.phases)

    @property
    def choices(self) -> dict[str, str]:
        """Options the user set and choices the compiler took."""
        taken = {f"segment {i}": "x".join(map(str, c.plan.layout.tile)) or "1" for i, c in enumerate(self.phases)}
        return {k: str(v) for k, v in asdict(self.options).items() if v is not None} | taken

    @cached_property
    def c_code(self) -> str:
        """The program in C."""
        return c_program(self.code, self.constants)

    # Running.

    def layout(self) -> tuple[dict[str, int], int]:
        """Addresses of the arrays in a memory of their own, and its size."""
        addresses, top = {}, 0
        for array in self.code.arrays:
            addresses[array.name] = top
            top += -(-array.bytes // ALIGNMENT) * ALIGNMENT
        return addresses, top

    def entries(self, addresses: Mapping[str, int] | None = None) -> list[Entry]:
        """Every entry of the instruction queue, for the ideal dispatcher or the reference machine."""
        return list(entries(self.code, dict(addresses or self.layout()[0])))

    def execute(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs, by the instruction-level reference machine."""
        data = self.program.check_inputs(inputs) | self.constants
        addresses, size = self.layout()
        memory = np.zeros(max(size, 1), np.uint8)
        for name, values in data.items():
            raw = np.frombuffer(values.tobytes(), np.uint8)
            memory[addresses[name]:addresses[name] + len(raw)] = raw
        machine = VectorMachine(self.spec, memory)
        machine.execute(self.entries(addresses))
        if machine.status != Status(0):
            raise VectorTargetError(f"program {self.program.name}: the machine reports {machine.status!r}")
        found = memory if machine.memory is None else np.asarray(machine.memory, np.uint8)
        return {name: found[addresses[name]:addresses[name] + self.code.array(name).bytes].view(node.dtype)
                .reshape(node.shape).copy() for name, node in self.program.outputs.items()}

    def simulate(self, inputs: Mapping[str, Any], simulator: str = "verilator", **settings: Any) -> Run:
        """Compile the C program and run it on the processor in RTL simulation; `settings` go to
        `hw.soc.run.run_program`."""
        from hw.soc.run import run_program

        data = self.program.check_inputs(inputs)
        memory = max(1 << 21, 1 << (self.layout()[1] + (1 << 17)).bit_length())
        result = run_program({f"{self.code.name}.c": self.c_code}, self.spec, loads=data,
                             dumps=list(self.program.outputs), simulator=simulator,
                             **{"memory_bytes": memory, **settings})
        outputs = {name: result.array(name, node.dtype, node.shape).copy()
                   for name, node in self.program.outputs.items()}
        counters = {k: int(v) for k, v in vars(result.counters).items()}
        job = result.job
        return Run(outputs, result.kernel_cycles, result.kernel_cycles - counters["busy"], result.cycles, simulator,
                   job.total_cycles, job.wall_seconds - job.build_seconds, job.build_seconds, job.waves, counters)

    def emit(self, directory: str | Path) -> Path:
        """Write the C program and the text of the vector program. Returns the directory."""
        from compiler.bind.vector.text import print_program

        directory = Path(directory)
        write_atomic(directory / f"{self.code.name}.c", self.c_code)
        write_atomic(directory / f"{self.code.name}.vector", print_program(self.code))
        return directory

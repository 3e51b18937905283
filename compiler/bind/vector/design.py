"""A program of parallel arrays compiled for the vector processor: predictions, execution, simulation, C code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from compiler.bind.bounds import Bounds, Traffic
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.vector.access_ranges import wavefronts
from compiler.bind.vector.c_code import c_program
from compiler.bind.vector.c_names import c_names
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.ir import Instruction, Setting, Transfer, VectorProgram, entries, sampled
from compiler.bind.vector.options import Options
from compiler.frontend.parallel_array.element_types import BFLOAT16
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.normalize.passes import COALESCED
from hw.designs.directory import write_design
from hw.drivers.interface import HostInterface
from hw.main_memory import MainMemory
from hw.soc.program import Firmware
from hw.vector_lanes.isa import Entry, Status
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec

if TYPE_CHECKING:
    from compiler.bind.vector.tile_search import Choice

__all__ = ["Figures", "VectorDesign"]

ALIGNMENT = 64

_AROUND = 420
"""About how many cycles the scalar core runs before and after the program."""


@dataclass(frozen=True)
class Figures:
    """What a program does, counted.

    operations: elements computed, one per element and instruction, in useful width: an operation on a byte counts a
    quarter, on a halfword a half. wavefronts: cycles in which the lanes compute. memory_bytes: bytes moved.
    instructions: vector instructions executed. compute: operations / lanes, with a cycle for each element of a gather.
    bound: the larger of that and bytes / bandwidth.
    """

    operations: float
    wavefronts: int
    memory_bytes: int
    instructions: int
    compute: float
    bound: float


@dataclass(repr=False)
class VectorDesign(Design):
    """See `Design`. `program` is one of loop nests or of parallel arrays; `arrays` is the same as parallel arrays.

    `code` is the vector program; `phases` the plans chosen; `constants` are arrays that belong to the program;
    `cycles`: clock cycles by the cost model; `seconds` is the compile time; `coalesced`: whether the program's tile
    loops were.
    """

    predicts_exactly: ClassVar[bool] = False
    cycles_name: ClassVar[str] = "of these between kernel_begin and kernel_end"

    program: Program | ArrayProgram
    arrays: ArrayProgram
    options: Options
    spec: VectorSpec
    code: VectorProgram
    phases: tuple[Choice, ...]
    constants: dict[str, np.ndarray]
    cycles: int
    seconds: float
    coalesced: bool = False

    # Answers before any run.

    @property
    def predicted_cycles(self) -> int:
        """Clock cycles by the cost model."""
        return self.cycles

    @property
    def ideal_cycles(self) -> int:
        """Cycles that the lanes compute: no run is shorter."""
        return self.figures.wavefronts

    @property
    def main_memory(self) -> MainMemory:
        """The memory of the options, behind the processor's port."""
        return self.options.main_memory(8 * self.spec.memory_bytes)

    @property
    def predicted_start_to_done(self) -> int:
        """An estimate: the cost model's cycles, and those of the scalar core before and after."""
        return self.cycles + _AROUND

    @property
    def traffic(self) -> Traffic:
        """Bytes of the arrays that the program moves."""
        if isinstance(self.program, Program):
            return super().traffic
        sizes = {array.name: array.bytes for array in self.code.arrays}
        return Traffic(sum(sizes.get(name, 0) for name in self.arrays.inputs),
                       sum(sizes.get(name, 0) for name in self.arrays.outputs))

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: those really used, on all lanes. Transfers: the bytes really moved; reads and writes share the
        bandwidth of this system's memory."""
        return Bounds(ceil(self.figures.compute), ceil(self.figures.memory_bytes / self.spec.memory_bytes))

    @property
    def resources(self) -> dict[str, int]:
        """The machine, and what the program does on it."""
        figures = self.figures
        return {"lanes": self.spec.lanes, "bytes of scratchpad": max(c.plan.allocation.bytes for c in self.phases),
                "vector registers": self.registers, "vector instructions": figures.instructions,
                "operations": round(figures.operations), "bytes moved": figures.memory_bytes}

    @property
    def storage(self) -> list[BufferStorage]:
        """The scratchpad, phase by phase, in words of 32 bits."""
        found = []
        for number, choice in enumerate(self.phases):
            allocation = choice.plan.allocation
            found.append(BufferStorage(f"scratchpad, phase {number}", ("scratchpad",), -(-allocation.live // 4),
                                       -(-allocation.bytes // 4)))
        return found

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took."""
        return self.seconds

    @cached_property
    def figures(self) -> Figures:
        """Operations, wavefronts and bytes."""
        operations, gathered, waves, moved, count = 0.0, 0, 0, 0, 0
        state: dict[str, tuple[int, ...]] = {"length": (0,)}
        for statement, times in sampled(self.code.body):
            match statement:
                case Setting(kind, values):
                    state[kind] = tuple(v for v in values if isinstance(v, int))
                case Instruction(mode):
                    elements, rows, size = state["length"][0], 1, 1 << mode.exec_size
                    for kind in ("rows", "matrices")[:mode.dimensions]:
                        rows *= state[kind][0]
                    count += times
                    if mode.op.indexed:
                        gathered += times * elements * rows
                    else:
                        operations += times * elements * rows * size / 4
                    waves += times * rows * wavefronts(mode, elements, self.spec.row_bytes)
                case Transfer(bytes=int(size), rows=int(rows)):
                    moved += times * size * rows
        compute = operations / self.spec.lanes + gathered
        bound = max(compute, moved / self.spec.memory_bytes)
        return Figures(operations + gathered, waves, moved, count, compute, bound)

    @property
    def registers(self) -> int:
        """The most virtual vector registers in use at once, over all phases."""
        return max(choice.plan.allocation.registers for choice in self.phases)

    @property
    def choices(self) -> dict[str, str]:
        """Options the user set and choices the compiler took."""
        taken = {f"segment {i}": "x".join(map(str, c.plan.layout.tile)) or "1" for i, c in enumerate(self.phases)}
        taken |= COALESCED if self.coalesced else {}
        return {k: str(v) for k, v in asdict(self.options).items() if v is not None} | taken

    @cached_property
    def c_code(self) -> str:
        """The program in C."""
        return c_program(self.code, self.constants)

    @property
    def _symbols(self) -> dict[str, str]:
        return c_names(self.code.name, [array.name for array in self.code.arrays])

    # Running.

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        if isinstance(self.program, Program):
            checked = check_inputs(self.program, inputs)
            return self.arrays.check_inputs({name: checked[name] for name in self.arrays.inputs})
        return self.arrays.check_inputs(inputs)

    def _outputs(self, found: Callable[[str, np.dtype], np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs from the words of an array by name and type; bits of loop-nest programs as small integers."""
        outputs = {name: found(name, node.dtype).reshape(node.shape).copy()
                   for name, node in self.arrays.outputs.items()}
        if not isinstance(self.program, Program):
            return outputs
        return {name: data.view(np.uint8) if data.dtype == np.bool_ else data.astype(np.float32)
                if data.dtype == BFLOAT16 else data for name, data in outputs.items()}

    def layout(self) -> tuple[dict[str, int], int]:
        """Addresses of the arrays in a memory of their own, and its size."""
        addresses, top = {}, 0
        for array in self.code.arrays:
            addresses[array.name] = top
            top += -(-array.bytes // ALIGNMENT) * ALIGNMENT
        return addresses, top

    @property
    def memory_bytes(self) -> int:
        """Main memory that holds arrays and program in any case."""
        return max(1 << 21, 1 << (self.layout()[1] + (1 << 17)).bit_length())

    def entries(self, addresses: Mapping[str, int] | None = None) -> list[Entry]:
        """Every entry of the instruction queue, for the ideal dispatcher or the reference machine."""
        return list(entries(self.code, dict(addresses or self.layout()[0])))

    def execute(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs, by the instruction-level reference machine."""
        data = self._checked(inputs) | self.constants
        addresses, size = self.layout()
        memory = np.zeros(max(size, 1), np.uint8)
        for name, values in data.items():
            raw = np.frombuffer(values.tobytes(), np.uint8)
            memory[addresses[name]:addresses[name] + len(raw)] = raw
        machine = VectorMachine(self.spec, memory)
        machine.execute(self.entries(addresses))
        if machine.status != Status(0):
            raise VectorTargetError(f"program {self.code.name}: the machine reports {machine.status!r}")
        found = memory if machine.memory is None else np.asarray(machine.memory, np.uint8)
        return self._outputs(lambda name, kind: found[
            addresses[name]:addresses[name] + self.code.array(name).bytes].view(kind))

    def simulate(self, inputs: Mapping[str, Any], simulator: str = "verilator", **settings: Any) -> Run:
        """Compile the C program and run it on the processor in RTL simulation; `settings` go to
        `hw.soc.run.run_program`. Raises `InputError` or `ArrayError` for inputs that do not fit, and what that raises.
        """
        from hw.soc.run import run_program

        used = self.code.transferred  # the C compiler drops arrays that nothing moves
        symbols = self._symbols
        data = {symbols[name]: values for name, values in self._checked(inputs).items() if name in used}
        result = run_program({f"{self.code.name}_program.c": self.c_code}, self.spec, loads=data,
                             dumps=[symbols[name] for name in self.arrays.outputs], simulator=simulator,
                             **{"memory_bytes": self.memory_bytes, "latency": self.main_memory.latency,
                                "bursts": self.main_memory.bursts, "expected_cycles": self.predicted_cycles,
                                **settings})
        outputs = self._outputs(lambda name, kind: result.array(symbols[name], kind))
        counters = {k: int(v) for k, v in vars(result.counters).items()}
        job = result.job
        return Run(outputs, result.kernel_cycles, result.kernel_cycles - counters["busy"], result.cycles, simulator,
                   job.total_cycles, job.wall_seconds, job.build_seconds, job.waves, counters)

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page: predictions, when lanes and transfers are busy, both programs, and one run."""
        from compiler.bind.vector.report import html_report

        return html_report(self, run, equal)

    def emit(self, directory: str | Path, inputs: Mapping[str, Any] | None = None) -> Path:
        """Write the C program, the text of the vector program, the processor's Verilog and registers below ``rtl``, and
        the linked program as the design directory that `hw.build` takes; with `inputs` also their contents of memory
        and the outputs' checksums. Raises `FirmwareError` without a RISC-V compiler. Returns the directory."""
        from compiler.bind.vector.image import program_documents, program_image

        directory = Path(directory)
        image = program_image(self, self._reference(inputs) if inputs is not None else None)
        write_design(directory, image, program_documents(self))
        return directory

    @cached_property
    def linked(self) -> Firmware:
        """The program in main memory. Raises `FirmwareError` without a RISC-V compiler."""
        from compiler.bind.vector.image import link_program

        return link_program(self)

    @cached_property
    def host_interface(self) -> HostInterface:
        """See `Design`. Raises `FirmwareError` without a RISC-V compiler."""
        from compiler.bind.vector.image import program_interface

        return program_interface(self)

    def _reference(self, inputs: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The inputs as they lie in memory, and what the outputs are to be, by the interpreter or numpy."""
        data = self._checked(inputs)
        if isinstance(self.program, Program):
            results = interpret(self.program, check_inputs(self.program, inputs))
        else:
            results = self.arrays.reference(data)
        return data, {name: np.asarray(results[name]).astype(node.dtype) for name, node in self.arrays.outputs.items()}

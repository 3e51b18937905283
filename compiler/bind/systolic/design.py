"""A program compiled for a systolic array: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from compiler.bind.bounds import Bounds
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.systolic.groups import io_groups
from compiler.bind.systolic.host import array_interface
from compiler.bind.systolic.kernel import Kernel, recognise
from compiler.bind.systolic.layout import pack_result
from compiler.bind.systolic.multipliers import multipliers
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.page import report_page
from compiler.bind.systolic.plan import Plan, legal_spaces, make_plan
from compiler.bind.systolic.running import Executable
from compiler.bind.systolic.stated_order import stated_program
from compiler.bind.systolic.text import print_plan
from compiler.bind.systolic.timeline import start_to_done
from compiler.ir.floating import to_words
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.designs.directory import DesignImage, OutputRegion, crc32, write_design
from hw.designs.register_documents import system_documents
from hw.designs.systolic import systolic_parameters
from hw.drivers.interface import HostInterface, c_identifier
from hw.main_memory import MainMemory
from hw.sim.faults import Trial
from hw.sim.simulate import StallProfile
from hw.systolic.spec import BUSES, INTERIOR
from hw.systolic.system import SYSTEM_MODULE
from hw.technology import GENERIC, TECHNOLOGIES

__all__ = ["SystolicDesign"]


@dataclass(repr=False)
class SystolicDesign(Design):
    """See `Design`. Cycles are clock cycles from start to done, loading and storing included; `seconds`: the compile
    time."""

    predicts_exactly: ClassVar[bool] = False

    program: Program
    options: Options
    plan: Plan
    seconds: float
    stated: Program | None = None

    @cached_property
    def executable(self) -> Executable:
        """How it runs."""
        return Executable(self.plan, self.main_memory, TECHNOLOGIES[self.options.technology or GENERIC.name])

    @property
    def kernel(self) -> Kernel:
        """The program in its form ``O[f(l)] op= body``."""
        return self.plan.kernel

    @property
    def predicted_cycles(self) -> int:
        """As `predicted_start_to_done`: nothing in the array is counted in other cycles."""
        return self.predicted_start_to_done

    @property
    def main_memory(self) -> MainMemory:
        """The memory of the options, behind a port as wide as the bus."""
        return self.options.main_memory(self.options.bus_bits)

    @property
    def predicted_start_to_done(self) -> int:
        """By the times of all events of a run (`compiler.bind.systolic.timeline`)."""
        return self.executable.start_to_done

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: evaluations of the body divided by those that the array can do per cycle. Sums of integers are
        made in any order, and those of floating-point numbers interleaved, so that no chain of dependences counts."""
        return Bounds(-(-self.kernel.instances // self.plan.spec.macs), self.traffic.cycles(self.main_memory))

    @property
    def resources(self) -> dict[str, int]:
        """Processing elements, lanes, multipliers, feeders, bits of memory by use."""
        spec = self.plan.spec
        products = sum(multipliers(operator) for operator in spec.body)
        feeders = {True: 0, False: 0}
        bits = 0
        for operand in spec.operands:
            count = spec.feeders(operand)
            feeders[operand.direction == INTERIOR] += count
            bits += count * operand.words * spec.word_bits(operand) * (1 + operand.double_buffered)
        accumulators = spec.result.accumulators * spec.word_bits(spec.result)
        return {
            "rows": spec.rows, "columns": spec.columns, "lanes": spec.lanes,
            "multipliers": products * spec.macs, "feeders at the edges": feeders[False],
            "feeders of single elements": feeders[True], "feeder bits": bits,
            "accumulator bits": accumulators * spec.rows * spec.columns,
        }

    @property
    def storage(self) -> list[BufferStorage]:
        """Words of every operand's feeders and of the accumulators: those that a tile needs, and those there are."""
        spec = self.plan.spec
        found = []
        for operand in spec.operands:
            need = operand.words * spec.feeders(operand)
            found.append(BufferStorage(operand.name, ("feeder",), need, need * (1 + operand.double_buffered)))
        need = spec.result.words * spec.rows * spec.columns
        there = need * spec.result.parts
        return [*found, BufferStorage(self.kernel.output, ("accumulators",), there, there)]

    @property
    def choices(self) -> dict[str, str]:
        """Space loops, and how every loop is split."""
        choice = self.plan.choice
        spec = self.plan.spec
        found = {"space": ", ".join(choice.space), "array": f"{spec.rows}x{spec.columns}",
                 "loops": "; ".join(map(str, self.plan.splits)), "order": ", ".join(choice.order),
                 **({"cycles per step": str(spec.interval)} if self.kernel.rounds else {}),
                 **({"partial sums": str(spec.result.parts)} if spec.result.parts > 1 else {}),
                 "tiles": ", ".join(f"{loop.name}: {count}" for loop, count in
                                    zip(spec.tile_loops, self.plan.tiles, strict=True))}
        found["bound"] = self._bound
        for group in io_groups(self.plan):
            found[f"I/O of {group.name}"] = str(group)
        return found

    @property
    def _bound(self) -> str:
        """What keeps a run from being shorter; where it is memory, what a port of twice the width would give."""
        bits, bounds = 2 * self.plan.spec.bus_bits, self.bounds
        if bounds.operations >= bounds.transfers:
            return f"by operations: {bounds.operations} cycles on {self.plan.spec.macs} units"
        if bits > max(BUSES):
            return f"by memory: {bounds.transfers} cycles"
        wider = make_plan(self.kernel, replace(self.plan.choice, bus_bits=bits))
        cycles = start_to_done(wider.spec, wider.tiles, replace(self.main_memory, port_bits=bits))
        return f"by memory: {bounds.transfers} cycles; {bits} bits would give {cycles} from start to done"

    @property
    def arrays(self) -> tuple[tuple[str, ...], ...]:
        """All legal choices of space loops."""
        return legal_spaces(self.kernel)

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took."""
        return self.seconds

    def for_sizes(self, program: Program) -> SystolicDesign:
        """The same hardware for `program`, which differs from this one in its sizes only: loop bounds are registers.

        Raises `MappingError` if it differs in more."""
        kernel = recognise(program, reassociate=self.options.reassociate)
        plan = self.plan.resized(kernel)
        return SystolicDesign(program, self.options, plan, self.seconds, stated_program(plan))

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int = 0,
                 stall: StallProfile | None = None, waves: bool = False, fast: bool = False,
                 inject: str | None = None, watchdog: int | None = None) -> Run:
        """Run the emitted Verilog: one blocking call for the whole job. `seed` and `stall` randomise the memory's gaps,
        `fast` builds longer and simulates faster; `inject` is a fault of memory such as ``"read a 3"`` or ``"stuck
        ar"`` (`hw.sim.faults`), `watchdog` the clock cycles without progress that end a run (without: 10000 if there is
        a fault, else no limit).

        Raises `InputError`, `JobError`, `SimulatorMissing`, `SimulationTimeout`, and `MappingError` for an error that
        the hardware reports.
        """
        return self.executable.run(check_inputs(self.program, inputs), simulator, seed=seed, stall=stall, waves=waves,
                                   trial=Trial(inject, watchdog), fast=fast)

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page: the array, its I/O groups, predictions and, if given, one run."""
        rows = self.summary(run, equal)
        if run is not None:
            rows |= {**run.counters, "share of the array's peak": f"{self.bounds.operations / run.cycles:.3f}"}
        return report_page(self.plan, rows)

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write the design directory that `hw.build` takes: ``rtl/*.v``, control registers, the plan
        (``plan.json``), drivers; with `inputs` also main memory before a run, and the checksum of
        the results if they fill their tiles. Returns the directory."""
        directory = Path(directory)
        documents = system_documents(SYSTEM_MODULE, self.executable.sources, self.executable.registers,
                                     "systolic array")
        write_design(directory, self.design_image(inputs),
                     documents | {"plan.json": print_plan(self.plan)} | self.drivers)
        return directory

    @cached_property
    def host_interface(self) -> HostInterface:
        """See `Design`."""
        return array_interface(self.executable)

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected checksum."""
        executable, spec = self.executable, self.plan.spec
        blocks: list[tuple[int, bytes]] = []
        checksum = None
        if inputs is not None:
            data = check_inputs(self.program, inputs)
            blocks = executable.loads(data)
            output = self.program.array(self.kernel.output)
            expected = pack_result(self.plan, to_words(output.type, interpret(self.reference, data)[output.name]))
            checksum = None if expected is None else crc32(expected)
        result = executable.places[-1]
        return DesignImage(
            name=c_identifier(self.program.name), array=f"{spec.rows}x{spec.columns}", configuration=(),
            plan=tuple(executable.writes()), memory=tuple(blocks),
            outputs=(OutputRegion(result.name, result.address, result.bytes, checksum),),
            memory_bytes=executable.memory_bytes,
            parameters=systolic_parameters(executable.registers, spec.bus_bits, executable.sources),
            metadata={"target": "systolic", "choices": self.choices,
                      "predicted_start_to_done": self.predicted_start_to_done,
                      "predicted_cycles": self.predicted_cycles,
                      "lower_bound": self.lower_bound, "resources": self.resources, **self.array_metadata},
        )

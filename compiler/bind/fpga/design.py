"""A program compiled for an FPGA without an array: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from compiler.bind.bounds import Bounds, Traffic, array_bytes, dependence_steps, program_traffic, traffic_text
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.candidates import moved_beats
from compiler.bind.fpga.early_exit import EarlyExit
from compiler.bind.fpga.memory import bytes_of
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.running import Executable
from compiler.bind.fpga.start_to_done import start_to_done
from compiler.bind.fpga.word_streams import PipelineArrays
from compiler.bind.host_interface import c_type, host_arrays, register_writes
from compiler.bind.jumps import Jumps
from compiler.bind.page import html_page, html_table, html_text
from compiler.bind.partition_areas import MemoryFormat, kept_lines, partition_areas
from compiler.ir.evaluate import word_type
from compiler.ir.interpret import interpret, statement_values
from compiler.ir.program import Program
from compiler.passes.arrays.partition import Partition
from compiler.passes.normalize.passes import COALESCED
from compiler.sched.static.schedule import Schedule
from hw.designs.directory import DesignImage, OutputRegion, crc32, write_design
from hw.designs.pipeline import pipeline_parameters
from hw.designs.register_documents import system_documents
from hw.drivers.interface import HostInterface, c_identifier
from hw.main_memory import MainMemory
from hw.ops import MULTIPLICATIONS
from hw.pipeline.spec import BufferCell, LineCell, OperatorCell
from hw.pipeline.system import SYSTEM_MODULE, SystemSpec, emit_pipeline
from hw.sim.faults import Trial
from hw.sim.simulate import StallProfile

__all__ = ["FpgaDesign"]


@dataclass(repr=False)
class FpgaDesign(Design):
    """See `Design`. `parts` holds the program that was mapped, `built` its pipeline, `system` what is emitted.
    `transform`: the schedule directives that put loops in another order; `expanded`: the statements of conditions for
    both of whose values what depends on them is computed; `coalesced`: whether the program's tile loops were. `lanes`:
    elements of a row that come and go at a time. `early`: the loop that data can end early, or why one that they could
    end makes all its iterations."""

    program: Program
    parts: Partition
    options: Options
    built: BuiltPipeline
    system: SystemSpec
    seconds: float
    transform: str = ""
    coalesced: bool = False
    lanes: int = 1
    early: EarlyExit | str = ""
    stated: Program | None = None
    expanded: tuple[str, ...] = ()

    @property
    def schedule(self) -> Schedule:
        """The cycle-accurate schedule, in logical cycles."""
        return self.built.schedule

    @cached_property
    def executable(self) -> Executable:
        """How it runs."""
        return Executable(self.parts.program, self.system, self.main_memory)

    @property
    def predicted_cycles(self) -> int:
        """Unstalled cycles until the last word has left the pipeline, at most."""
        return self.system.pipeline.cycles

    @property
    def least_cycles(self) -> int:
        """Unstalled cycles of a run that ends as early as it can."""
        return self.system.pipeline.least_cycles

    def cycles_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Unstalled cycles of a run on `inputs`. Raises `InputError`, and `ProgramError` for what they may not be."""
        jumps = self._jumps(inputs)
        return self.predicted_cycles - (jumps.saved if jumps else 0)

    def start_to_done_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Clock cycles of a run on `inputs`; see `predicted_start_to_done`. Raises as `cycles_for` does."""
        return start_to_done(self.system, self.main_memory, self._jumps(inputs))

    def _jumps(self, inputs: Mapping[str, np.ndarray]) -> Jumps | None:
        """What a run on `inputs` leaves out."""
        if isinstance(self.early, str):
            return None
        data = self.parts.split(check_inputs(self.program, inputs))
        staged = self.schedule.staged.program
        return self.early.jumps(statement_values(staged, data, self.early.statement.name))

    @property
    def main_memory(self) -> MainMemory:
        """The memory of the options, behind a port as wide as the bus."""
        return self.options.main_memory(self.options.bus_bits)

    @cached_property
    def predicted_start_to_done(self) -> int:
        """Streams and memory played chunk by chunk (`compiler.bind.fpga.start_to_done`): within 2 % of a run."""
        return start_to_done(self.system, self.main_memory)

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: the most instances of one statement that are needed, as there is one unit per statement."""
        return Bounds(self.schedule.least_cycles(self.parts.instances), self.traffic.cycles(self.main_memory),
                      dependence_steps(self.program))

    @property
    def traffic(self) -> Traffic:
        """See `Design`; elements of a few bits that come several at a time are packed."""
        return program_traffic(self.program, self.parts.packed.factors if self.parts.packed else None)

    @property
    def array_traffic(self) -> dict[str, str]:
        """Of every stream: bytes moved over bytes of the array, beats over full beats."""
        found = {}
        for stream in (*self.system.inputs, *self.system.outputs):
            array = self.parts.program.array(stream.name)
            beats = moved_beats(stream, self.system.bus_bits)
            found[stream.name] = traffic_text(array, stream.row_bytes * stream.rows, beats, self.system.bus_bits)
        return found

    @property
    def pixels_per_cycle(self) -> float:
        """Words that leave the pipeline per cycle, over the whole run."""
        words = sum(cell.walk.count for cell in self.system.pipeline.outputs)
        return words / self.predicted_cycles

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took, with the proof."""
        return self.seconds

    @property
    def resources(self) -> dict[str, int]:
        """Operators with registers, delay lines and buffers in memory and their size, streams."""
        cells = self.system.pipeline.cells
        operators = [cell.op for cell in cells if isinstance(cell, OperatorCell) and cell.latency]
        multipliers = sum(op in MULTIPLICATIONS for op in operators)
        lines = [cell for cell in cells if isinstance(cell, LineCell)]
        buffers = [cell for cell in cells if isinstance(cell, BufferCell)]
        bits = sum(cell.depth * cell.word.width for cell in (*lines, *buffers))
        return {
            "multipliers": multipliers, "other operators": len(operators) - multipliers, "delay lines": len(lines),
            "buffers": len(buffers), "memory bits": bits, "input streams": len(self.system.inputs),
            "output streams": len(self.system.outputs),
        }

    @cached_property
    def storage(self) -> list[BufferStorage]:
        """Every buffer that takes memory; the registers of its chains count as allocated. Constants take none."""
        found = []
        for buffer in self.built.buffers:
            held = self.built.storage.get(buffer.writer.statement)
            if held is not None and held.memories:
                kinds = tuple(f"{memory.kind} {memory.cell}" for memory in held.memories)
                live = self.built.events.live_words(buffer.writer.statement)
                found.append(BufferStorage(buffer.name, kinds, live, held.words))
        return found

    @property
    def choices(self) -> dict[str, str]:
        """Options that were set and choices that were made."""
        staged = self.schedule.staged
        taken = {"tile loops": f"{staged.tile_depth} ({staged.tiles} tiles)",
                 "period": f"{self.schedule.period} cycles",
                 "initiation interval": str(self.schedule.pace), "loops moved": self.transform or "none",
                 "conditions expanded": ", ".join(self.expanded) or "none",
                 "arrays in parts": ", ".join(part.name for part in self.parts.parts) or "none"}
        taken |= COALESCED if self.coalesced else {}
        taken |= {"lanes": str(self.lanes)}
        taken |= {"early exit": str(self.early)} if self.early else {}
        return {k: str(v) for k, v in asdict(self.options).items() if v is not None} | taken

    # Running.

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int | None = None,
                 stall: StallProfile | None = None, waves: bool = False, cycle_limit: int | None = None,
                 inject: str | None = None, watchdog: int | None = None) -> Run:
        """Run the emitted Verilog. `seed` and `stall` randomise the memory's gaps and back-pressure; `inject` is a
        fault of memory such as ``"read a 3"`` or ``"stuck ar"`` (`hw.sim.faults`), `watchdog` the clock cycles without
        progress that end a run (without: 10000 if there is a fault, else no limit).

        Raises `InputError`, `JobError`, `SimulatorMissing`, `SimulationTimeout` naming the streams that wait, and
        `FpgaError` for an error that the hardware reports.
        """
        given = check_inputs(self.program, inputs)
        run = self.executable.run(self.parts.split(given), simulator, seed=seed or 0, stall=stall, waves=waves,
                                  cycle_limit=cycle_limit, trial=Trial(inject, watchdog))
        return replace(run, outputs=self.parts.join(run.outputs, given))

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write ``rtl/*.v`` (the system, and the pipeline alone for systems of your own), the register map and the
        design directory that `hw.build` takes. Returns the directory."""
        directory = Path(directory)
        documents = system_documents(SYSTEM_MODULE, self.executable.sources, self.executable.registers, "pipeline")
        pipeline = {f"rtl/{name}": text for name, text in emit_pipeline(self.system.pipeline).items()}
        write_design(directory, self.design_image(inputs), documents | pipeline | self.drivers)
        return directory

    @cached_property
    def array_streams(self) -> PipelineArrays:
        """See `Design`."""
        return PipelineArrays(self)

    @cached_property
    def host_interface(self) -> HostInterface:
        """See `Design`."""
        registers, layout = self.executable.registers, self.executable.layout
        form = MemoryFormat(layout.addresses, lambda array: word_type(array.type).dtype.itemsize,
                            lambda array: c_type(array.type), bytes_of)
        found = partition_areas(self.program, self.parts, form)
        writes = [(registers.address(name), value) for name, value in self.executable.writes()]
        return HostInterface(c_identifier(self.program.name), registers, host_arrays(self.program), found.areas,
                             register_writes(registers, writes), layout.end, found.image, kept=kept_lines(self.parts))

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected outputs' checksums."""
        mapped, layout = self.parts.program, self.executable.layout
        blocks: list[tuple[int, bytes]] = []
        sums: dict[str, int] = {}
        if inputs is not None:
            data = self.parts.split(check_inputs(self.program, inputs))
            blocks = self.executable.loads(data)
            results = interpret(mapped, data)
            sums = {array.name: crc32(bytes_of(array, results[array.name])) for array in mapped.outputs}
        regions = tuple(OutputRegion(a.name, layout.addresses[a.name], array_bytes(a), sums.get(a.name))
                        for a in mapped.outputs)
        return DesignImage(
            name=c_identifier(self.program.name), array="1x1", configuration=(), plan=tuple(self.executable.writes()),
            memory=tuple(blocks), outputs=regions, memory_bytes=layout.end,
            parameters=pipeline_parameters(self.system), metadata=self._metadata(),
        )

    def _metadata(self) -> dict[str, Any]:
        return {
            "choices": self.choices, "predicted_start_to_done": self.predicted_start_to_done,
            "predicted_cycles": self.predicted_cycles, "least_cycles": self.least_cycles,
            "lower_bound": self.lower_bound,
            "resources": self.resources, **self.array_metadata,
            "shapes": {a.name: list(a.shape) for a in (*self.parts.program.inputs, *self.parts.program.outputs)},
            "parts": {p.name: {"of": p.parent, "first": list(p.low)} for p in self.parts.parts},
        }

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page about this design and, if given, one run of it."""
        words = {f"words of {s.name}": f"{s.live_words} live, {s.allocated_words} allocated" for s in self.storage}
        cells = "\n".join(f"{number}: {cell}" for number, cell in enumerate(self.system.pipeline.cells))
        sections = [("Result", html_table((self.summary(run, equal) | words).items(), numbers=False)),
                    ("Schedule", html_text(str(self.schedule))), ("Cells", html_text(cells))]
        return html_page(f"{self.program.name} as a pipeline", sections)

"""A program compiled for the array: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from compiler.bind.bounds import Bounds, dependence_steps
from compiler.bind.cgra.bands import WHOLE, Bands
from compiler.bind.cgra.filled_tables import cycles_with_fills
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.netlist import MemNode, PeNode
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.run_model import start_to_done
from compiler.bind.cgra.simulation import Executable, simulate
from compiler.bind.cgra.storage import buffer_storage
from compiler.bind.cgra.transfers import ELEMENT_BYTES, MemoryLayout, array_bytes, descriptor, element_bytes, lay_out
from compiler.bind.cgra.validate import ValidationReport, validate
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.host_interface import host_arrays, register_writes
from compiler.bind.partition_areas import MemoryFormat, kept_lines, partition_areas
from compiler.ir.evaluate import word_type
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.arrays.partition import Partition
from compiler.passes.normalize.passes import COALESCED
from compiler.passes.recurrence.passes import DISTRIBUTED
from compiler.sched.static.schedule import Schedule
from compiler.sched.streams.streams import require_room
from compiler.sched.streams.window_unfolding import repeated_inputs
from compiler.sched.verify import check_parts
from hw.designs.directory import DesignImage, OutputRegion, crc32, write_design
from hw.designs.parameters import fabric_parameters
from hw.designs.register_documents import system_documents
from hw.dma.descriptor import DmaDescriptor
from hw.drivers.interface import HostInterface, c_identifier
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import MOST_PERIOD, RunPlan, check_status
from hw.fabric.image import configuration_image
from hw.fabric.spec import FabricSpec
from hw.fabric.system import SYSTEM_MODULE, emit_system
from hw.main_memory import MainMemory
from hw.sim.faults import Trial
from hw.sim.simulate import StallProfile

__all__ = ["CgraDesign"]


@dataclass(repr=False)
class CgraDesign(Design):
    """See `Design`. `parts` holds the program that was mapped; `bands`: of every array that is transferred in such;
    `seconds` are the compile times of the stages; `coalesced`: whether the program's tile loops were;
    `distributed`: whether recurrences within an iteration were."""

    start_to_done_is_exact: ClassVar[bool] = True

    program: Program
    parts: Partition
    options: Options
    spec: FabricSpec
    application: Application
    physical: Physical
    config: ArrayConfig
    bands: dict[str, Bands] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    coalesced: bool = False
    distributed: bool = False

    @property
    def schedule(self) -> Schedule:
        """The cycle-accurate schedule, in logical cycles."""
        return self.application.schedule

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """Configuration-bus words: (address, data)."""
        return self.config.words(self.spec)

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took, all stages together."""
        return sum(self.seconds.values())

    # Predictions.

    @property
    def path_latency(self) -> int:
        """Cycles by which latencies of units and routes delay the last output against the logical schedule."""
        return self.predicted_cycles - 1 - self._logical_last

    @property
    def _logical_last(self) -> int:
        schedule = self.schedule
        ends = [schedule.statements[f.statement].last for f in schedule.staged.outputs]
        return (schedule.staged.tiles - 1) * schedule.period + max(ends)

    @cached_property
    def predicted_cycles(self) -> int:
        """Unstalled cycles until the last word of the last tile is in its bank."""
        tail = max(bank.nest.last_time for bank in self.config.banks.values() if bank.direction == "output")
        return (self.schedule.staged.tiles - 1) * self.schedule.period + tail + 1

    @property
    def run_cycles(self) -> int:
        """Unstalled cycles until every bank has moved all its words: some inputs have words at their end, as of a
        border, that nothing waits for."""
        last = max(bank.nest.last_time for bank in self.config.banks.values())
        return (self.schedule.staged.tiles - 1) * self.schedule.period + last + 1

    @property
    def main_memory(self) -> MainMemory:
        """The memory of the options; the port has 64 bits."""
        return self.options.main_memory()

    @cached_property
    def predicted_start_to_done(self) -> int:
        """By a model of the transfers (`compiler.bind.cgra.run_model`); the configuration is counted apart, as it stays
        from run to run."""
        return start_to_done(self.config.banks, self.plan, self.spec, self.main_memory)

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: the most instances of one statement that are needed, as there is one unit per statement; those of
        one that looks words up in a table follow those that fill it."""
        needed = self.schedule.needed(self.parts.instances)
        operations = max(*needed.values(), cycles_with_fills(self.schedule.staged.program, needed))
        return Bounds(operations, self.traffic.cycles(self.main_memory),
                      dependence_steps(self.program))

    @property
    def resources(self) -> dict[str, int]:
        """Tiles used; `delay PEs` only balance paths, `registers` are words of shift registers between taps. `address
        PEs` are there where memories have no address generators."""
        mapped, addresses = self.application.netlist.count(PeNode), len(self.application.addresses.nodes)
        return {
            "PEs": mapped - addresses,
            **({"address PEs": addresses} if self.spec.mem.kind == "dual-port-pe" else {}),
            "delay PEs": self.physical.netlist.count(PeNode) - mapped,
            "memory tiles": self.application.netlist.count(MemNode),
            "registers": self.application.registers,
            "input-stage delay words": self.physical.retiming.words,
            "routed wires": self.physical.routes.wires,
        }

    @cached_property
    def storage(self) -> list[BufferStorage]:
        sites = {t.name: self.physical.placement[t.name] for t in self.application.memories}
        places = {name: (site.row, site.column) for name, site in sites.items()}
        return buffer_storage(self.application.memories, places, self.config, self.spec.mem)

    @property
    def occupancy(self) -> float:
        """Part of the cycles of all processing elements that compute statements in which they do so (Liu 2023, figure
        7.6): from the first cycle to `predicted_cycles`, without those that only select, test or pass."""
        schedule, units = self.schedule, self.application.units
        shared = {name: use.members[0] for use in self.application.shared for name in use.members}
        busy = sum(units[name] * prod(schedule.statements[name].trips.values()) for name in units)
        total = sum(count for name, count in units.items() if shared.get(name, name) == name)
        return busy * schedule.staged.tiles / (total * self.predicted_cycles) if total else 0.0

    @property
    def choices(self) -> dict[str, str]:
        staged = self.schedule.staged
        taken = {"tile loops": f"{staged.tile_depth} ({staged.tiles} tiles)",
                 "period": f"{self.schedule.period} cycles",
                 "initiation interval": str(self.schedule.pace),
                 "alignment of loop lengths": str(self.schedule.alignment),
                 "shared units": "; ".join(map(str, self.application.shared)) or "none",
                 "starts": self.schedule.method,
                 "loaded in the order of a window": ", ".join(repeated_inputs(self.schedule)) or "none",
                 "arrays in parts": ", ".join(part.name for part in self.parts.parts) or "none"}
        taken |= COALESCED if self.coalesced else {}
        taken |= DISTRIBUTED if self.distributed else {}
        return {k: str(v) for k, v in asdict(self.options).items() if v is not None} | taken

    def in_whole_tiles(self) -> CgraDesign:
        """The same with tiles that are one band each. Raises `StreamError` if one does not fit half a bank."""
        require_room(self.schedule.staged, self.spec.glb.half_words)
        banks = {number: BankConfig(bank.direction, bank.nest, bank.words, bank.first)
                 for number, bank in self.config.banks.items()}
        return replace(self, config=replace(self.config, banks=banks), bands={})

    # Main memory.

    @cached_property
    def image(self) -> bytes:
        """The configuration as it lies in main memory, at address 0."""
        return configuration_image(self.words)

    @cached_property
    def layout(self) -> MemoryLayout:
        """Where the input and output arrays lie, after the configuration."""
        mapped = self.parts.program
        return lay_out((*mapped.inputs, *mapped.outputs), -(-len(self.image) // 64) * 64)

    @cached_property
    def descriptors(self) -> dict[int, DmaDescriptor]:
        """DMA descriptor of every bank in use, by number."""
        staged, placement = self.schedule.staged, self.physical.placement
        streams = {**self.application.streams_in, **self.application.streams_out}
        found = {}
        for footprint in (f for f in (*staged.inputs, *staged.outputs) if f.array in streams):
            array = self.parts.program.array(footprint.array)
            bank = placement[streams[array.name]].bank(self.spec)
            found[bank] = descriptor(footprint, array, self.layout.addresses[array.name],
                                     staged.tile_starts, staged.tile_counts, self.bands.get(array.name, WHOLE))
        return found

    @cached_property
    def plan(self) -> RunPlan:
        """What a host writes to run this design."""
        tiles, period = self.schedule.staged.tiles, self.schedule.period
        if tiles == 1:
            period = min(period, MOST_PERIOD)  # after which nothing begins
        return RunPlan(0, len(self.image) // 4, period, tiles, self.run_cycles, self.descriptors)

    def validate(self) -> ValidationReport:
        """Translation validation of the finished configuration. Raises `ValidationError` with a witness."""
        check_parts(self.parts)
        return validate(self.parts.program, self.application, self.physical, self.words, self.plan,
                        self.layout.addresses, self.spec)

    # Running.

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int | None = None,
                 stall: StallProfile | None = None, waves: bool = False, cycle_limit: int | None = None,
                 inject: str | None = None, watchdog: int | None = None) -> Run:
        """Run the emitted Verilog. `seed` and `stall` randomise the memory's gaps and back-pressure; `inject` is a
        fault of memory such as ``"read a 3"`` or ``"stuck ar"`` (`hw.sim.faults`), `watchdog` the clock cycles without
        progress that end a run (without: 10000 if there is a fault, else no limit).

        Raises `InputError`, `JobError`, `SimulatorMissing`, `SimulationTimeout` naming what the hardware waits for, and
        `RunFailure` for an error that the hardware reports.
        """
        mapped = self.parts.program
        executable = Executable(mapped, self.spec, self.image, self.layout, self.plan, self.predicted_cycles,
                                self.main_memory)
        given = check_inputs(self.program, inputs)
        data = self.parts.split(given)
        run = simulate(executable, data, simulator, seed=seed, stall=stall, waves=waves, cycle_limit=cycle_limit,
                       trial=Trial(inject, watchdog))
        return replace(run, outputs=self.parts.join(run.outputs, given))

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write ``rtl/*.v``, the register map and the design directory that `hw.build` takes. Returns the directory."""
        directory = Path(directory)
        system = system_documents(SYSTEM_MODULE, emit_system(self.spec), control_registers(self.spec),
                                  f"{self.spec} array")
        write_design(directory, self.design_image(inputs), system | self.drivers)
        return directory

    @cached_property
    def host_interface(self) -> HostInterface:
        """See `Design`."""
        registers = control_registers(self.spec)
        form = MemoryFormat(self.layout.addresses, lambda _: ELEMENT_BYTES,
                            lambda array: f"{'' if word_type(array.type).signed else 'u'}int{8 * ELEMENT_BYTES}_t",
                            lambda _, data: element_bytes(data))
        found = partition_areas(self.program, self.parts, form)
        return HostInterface(
            c_identifier(self.program.name), registers, host_arrays(self.program), found.areas,
            register_writes(registers, self.plan.writes(registers)), self.layout.end,
            image=((0, self.image), *found.image), kept=kept_lines(self.parts))

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected outputs' checksums."""
        mapped = self.parts.program
        data = self.parts.split(check_inputs(self.program, inputs)) if inputs is not None else None
        blocks = [(0, self.image)]
        sums: dict[str, int] = {}
        if data is not None:
            blocks += [(self.layout.addresses[n], element_bytes(a)) for n, a in data.items()]
            sums = {n: crc32(element_bytes(a)) for n, a in interpret(mapped, data).items()}
        regions = tuple(OutputRegion(a.name, self.layout.addresses[a.name], array_bytes(a), sums.get(a.name))
                        for a in mapped.outputs)
        registers = control_registers(self.spec)
        return DesignImage(
            name=c_identifier(self.program.name), array=str(self.spec), configuration=tuple(self.words),
            plan=tuple(self.plan.writes(registers)), memory=tuple(blocks), outputs=regions,
            memory_bytes=self.layout.end, parameters=fabric_parameters(self.spec), metadata=self._metadata(),
        )

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page about this design and, if given, one run of it."""
        from compiler.bind.cgra.report import html_report

        return html_report(self, run, equal)

    def _metadata(self) -> dict[str, Any]:
        return {
            "choices": self.choices, "predicted_start_to_done": self.predicted_start_to_done,
            "predicted_cycles": self.predicted_cycles, "lower_bound": self.lower_bound,
            "path_latency": self.path_latency, "resources": self.resources, **self.array_metadata,
            "shapes": {a.name: list(a.shape) for a in (*self.parts.program.inputs, *self.parts.program.outputs)},
            "parts": {p.name: {"of": p.parent, "first": list(p.low), "step": list(p.step)} for p in self.parts.parts},
        }

    def check(self, registers: Mapping[str, int]) -> None:
        """Raise `RunFailure` if the status registers report a failed run."""
        check_status(control_registers(self.spec), registers["STATUS"], registers["DETAIL"])

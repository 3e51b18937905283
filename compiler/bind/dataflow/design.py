"""A program compiled for the dataflow target: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from compiler.bind.dataflow.bounds import TickBound, tick_bound
from compiler.bind.dataflow.host import host_header, host_source
from compiler.bind.dataflow.image import stream_image
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.running import Executable
from compiler.bind.dataflow.timing import high_water
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.page import html_page, html_table, html_text
from compiler.ir.program import Program
from compiler.sched.liveness import remove_dead_statements
from compiler.sched.process_network import derive, draw_network, print_network
from hw.designs.directory import DesignImage, write_design
from hw.sim.simulate import StallProfile

__all__ = ["DataflowDesign"]


@dataclass
class DataflowDesign(Design):
    """See `Design`. Cycles are ticks of the kernel; `seconds`: the compile time. `sizes`: the values that the kernel's
    run-time sizes have in `program`."""

    program: Program
    options: Options
    plan: Plan
    seconds: float
    sizes: tuple[int, ...] = ()

    @cached_property
    def executable(self) -> Executable:
        """How it runs."""
        return Executable(self.program, self.plan, self.sizes)

    @property
    def predicted_cycles(self) -> int:
        """Ticks of a run, from the first vector of the counters until the last word has left."""
        return self.plan.total_ticks(self.sizes)

    @cached_property
    def bound(self) -> TickBound:
        """Ticks that no schedule can do without."""
        network = derive(remove_dead_statements(self.program)) if self.sizes else self.plan.network
        return tick_bound(network, self.plan.pipelines)

    @property
    def lower_bound(self) -> int:
        """Firings of the busiest node with the ticks before and after them, or the longest chain of operators."""
        return self.bound.ticks

    @property
    def resources(self) -> dict[str, int]:
        """Operators by kind (multiplications apart from the others), channels by kind, words that they hold,
        streams."""
        kernel = self.plan.kernel
        operators = [o.op for node in kernel.nodes for o in node.operators]
        passive = ("read", "const", "index", "cast", "table", "pass")
        multipliers = sum(op in ("mul", "mul_mid", "mul_high", "mad") for op in operators)
        kinds = {f"{kind} channels": sum(c.kind == kind and c.depth > 0 for c in kernel.channels)
                 for kind in ("delay", "register", "fifo", "reorder")}
        return {
            "multipliers": multipliers, "other operators": sum(op not in passive for op in operators) - multipliers,
            **kinds, "input streams": len(kernel.inputs), "output streams": len(kernel.outputs),
        }

    @cached_property
    def storage(self) -> list[BufferStorage]:
        """Every channel that holds words; delays of one value share a line, and the words before a tap count there."""
        found = []
        reached: dict[tuple[int, int | None], int] = {}
        entries = zip(self.plan.kernel.channels, self.plan.carried, strict=True)
        for channel, item in sorted(entries, key=lambda entry: entry[0].depth):
            depth = channel.depth
            if channel.kind == "delay":
                key = channel.source, channel.operand
                depth, reached[key] = depth - reached.get(key, 0), depth
            if depth:
                live = high_water(item.written + channel.written, item.read + channel.read)
                found.append(BufferStorage(channel.name, (channel.kind,), live, depth))
        return found

    @property
    def choices(self) -> dict[str, str]:
        """Options that were set and choices that were made."""
        options = self.options
        given = {"lanes": options.lanes, "interleave": options.interleave, "latency": options.latency,
                 "reorder": options.reorder, "transform": options.transform or None}
        return {k: str(v) for k, v in given.items() if v is not None} | self.plan.choices

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took."""
        return self.seconds

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int = 0,
                 stall: StallProfile | None = None, waves: bool = False) -> Run:
        """Run the emitted Verilog: one blocking call for the whole job. `seed` and `stall` randomise the memory's gaps.

        Raises `InputError`, `SimulatorMissing`, `SimulationTimeout`, and `DataflowError` for an error that the hardware
        reports.
        """
        return self.executable.run(check_inputs(self.program, inputs), simulator, seed=seed, stall=stall, waves=waves)

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page: the network's picture, predictions and, if given, one run."""
        sections = [("Network", draw_network(self.plan.network)),
                    ("Result", html_table(self.summary(run, equal).items(), numbers=False)),
                    ("Processes and channels", html_text(str(self.plan.network)))]
        return html_page(f"{self.program.name} as a dataflow kernel", sections)

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write the design directory that `hw.build` takes: ``rtl/dataflow_system.v``, control registers, the network
        (JSON and SVG), a C header and host function; with `inputs` also main memory as it is before a run, and the
        checksums of the results. Returns the directory."""
        directory = Path(directory)
        documents = {f"rtl/{name}": text for name, text in self.executable.sources.items()}
        documents |= {
            "network.json": print_network(self.plan.network), "network.svg": draw_network(self.plan.network),
            "host/dataflow.h": host_header(self.executable), "host/dataflow.c": host_source(self.executable),
        }
        write_design(directory, self.design_image(inputs), documents)
        return directory

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected results' checksums."""
        return stream_image(self.executable, f"1x{self.options.lanes}", self._metadata(), inputs)

    def _metadata(self) -> dict[str, Any]:
        return {"target": "dataflow", "choices": self.choices, "predicted_cycles": self.predicted_cycles,
                "lower_bound": self.lower_bound, "resources": self.resources}

"""A recurrence compiled for an array of cells: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import islpy as isl
import numpy as np

from compiler.bind.dataflow.host import host_header, stream_host_source
from compiler.bind.dataflow.image import stream_image
from compiler.bind.design import BufferStorage, Design, Run, check_inputs
from compiler.bind.page import html_page, html_table
from compiler.bind.systolic.recurrence.depths import SizedArray
from compiler.bind.systolic.recurrence.mapping import space_choices
from compiler.bind.systolic.recurrence.picture import draw_cells
from compiler.bind.systolic.recurrence.running import RecurrenceExecutable
from compiler.ir.program import Program
from hw.designs.directory import DesignImage, write_design
from hw.ops import DIVISIONS
from hw.sim.simulate import StallProfile

__all__ = ["RecurrenceDesign"]

_MULTIPLICATIONS = ("mul", "mul_mid", "mul_high", "mad")


@dataclass
class RecurrenceDesign(Design):
    """See `Design`. Cycles are from the first word that enters the array to the last one that leaves it; those of the
    prediction are a model in which memory is never late. `seconds`: the compile time."""

    predicts_exactly: ClassVar[bool] = False

    program: Program
    array: SizedArray
    seconds: float

    @cached_property
    def executable(self) -> RecurrenceExecutable:
        """How it runs."""
        return RecurrenceExecutable(self.program, self.array)

    @property
    def predicted_cycles(self) -> int:
        """Cycles by the model of communicating processes."""
        return self.array.network.cycles

    @cached_property
    def lower_bound(self) -> int:
        """The longest chain of operations that wait for each other, or the words of the longest stream."""
        spec = self.array.mapping.spec
        latency = {node.name: node.latency for kind in spec.kinds for node in kind.nodes}
        done: dict[object, int] = {}
        for name, step, operands in self.array.network.fired:
            done["node", name, step] = max((done.get(token, 0) for token in operands), default=0) + latency[name]
        return max(*done.values(), *(stream.words for stream in (*spec.inputs, *spec.outputs)))

    @property
    def resources(self) -> dict[str, int]:
        """Cells, their kinds, multipliers, dividers and other operators, words of queues, wires between cells."""
        spec = self.array.mapping.spec
        operators = [o.op for cell in spec.cells for node in spec.kinds[cell.kind].nodes for o in node.operators]
        passive = ("read", "const", "index", "cast", "table", "pass")
        multipliers = sum(op in _MULTIPLICATIONS for op in operators)
        dividers = sum(op in DIVISIONS for op in operators)
        words = sum(queue.depth for cell in spec.cells for queue in spec.kinds[cell.kind].queues)
        return {
            "cells": len(spec.cells), "kinds of cells": len(spec.kinds), "multipliers": multipliers,
            "dividers": dividers,
            "other operators": sum(op not in passive for op in operators) - multipliers - dividers,
            "words of queues": words, "wires": len(spec.wires), "input streams": len(spec.inputs),
            "output streams": len(spec.outputs),
        }

    @property
    def storage(self) -> list[BufferStorage]:
        """Queues by name, all cells together: the words that they hold at most in the model's run, and their depths."""
        live: dict[str, int] = {}
        there: dict[str, int] = {}
        for channel in self.array.network.channels:
            if channel.owner is not None:
                name = channel.owner[1]
                live[name] = live.get(name, 0) + channel.peak()
                there[name] = there.get(name, 0) + channel.depth
        return [BufferStorage(name, ("queue",), live[name], there[name]) for name in live]

    @property
    def choices(self) -> dict[str, str]:
        """Space loops and places of statements."""
        recurrence = self.array.mapping.recurrence
        found = {"space": ", ".join(self.array.mapping.space)}
        for name, place in recurrence.places.items():
            found[f"place of {name}"] = str(isl.PwMultiAff.from_map(place).gist(place.domain()))
        for group in recurrence.groups:
            uses = ", ".join(f"{statement}.{read}" for statement, read in group.uses)
            links = "; ".join(f"{'passed on' if link.passes else 'from its statement'} {link.distance}"
                              for link in group.links)
            entry = "" if group.entries.is_empty() else "; enters the array"
            found[f"'{group.array}' of {group.maker or 'memory'} to {uses}"] = f"{links}{entry}".removeprefix("; ")
        return found

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of the box around the cells."""
        places = [cell.place for cell in self.array.mapping.spec.cells]
        sides = [max(values) - min(values) + 1 for values in zip(*places, strict=True)]
        return (sides[0], sides[1]) if len(sides) > 1 else (1, sides[0])

    @property
    def arrays(self) -> tuple[tuple[str, ...], ...]:
        """All legal choices of space loops."""
        return tuple(space_choices(self.array.mapping.recurrence))

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
        """A self-contained HTML page: the array's picture, predictions and, if given, one run."""
        sections = [("Cells", draw_cells(self.array.mapping)),
                    ("Result", html_table(self.summary(run, equal).items(), numbers=False))]
        return html_page(f"{self.program.name} as a systolic array", sections)

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write the design directory that `hw.build` takes: Verilog, control registers, ``array.svg``, a C header and
        host function; with `inputs` also main memory as it is before a run, and the checksums of the results. Returns
        the directory."""
        directory = Path(directory)
        documents = {f"rtl/{name}": text for name, text in self.executable.sources.items()}
        documents |= {
            "array.svg": draw_cells(self.array.mapping), "host/dataflow.h": host_header(self.executable),
            "host/dataflow.c": stream_host_source(self.executable, self.executable.host_order),
        }
        write_design(directory, self.design_image(inputs), documents)
        return directory

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected results' checksums."""
        metadata = {"target": "systolic", "choices": self.choices, "predicted_cycles": self.predicted_cycles,
                    "lower_bound": self.lower_bound, "resources": self.resources}
        return stream_image(self.executable, "x".join(map(str, self.extents)), metadata, inputs)

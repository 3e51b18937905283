"""A recurrence compiled for an array of cells: predictions, simulation and emission."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import islpy as isl

from compiler.bind.bounds import Bounds, overlapped_cycles
from compiler.bind.dataflow.host import stream_interface
from compiler.bind.dataflow.stream_design import StreamDesign
from compiler.bind.design import BufferStorage, Run
from compiler.bind.page import html_page, html_table
from compiler.bind.systolic.multipliers import multipliers
from compiler.bind.systolic.recurrence.depths import SizedArray
from compiler.bind.systolic.recurrence.mapping import space_choices
from compiler.bind.systolic.recurrence.picture import draw_cells
from compiler.bind.systolic.recurrence.running import RecurrenceExecutable
from compiler.ir.program import Program
from hw.drivers.interface import HostInterface
from hw.main_memory import DEFAULT_MEMORY, MainMemory
from hw.ops import DIVISIONS, MULTIPLICATIONS

__all__ = ["RecurrenceDesign"]


@dataclass(repr=False)
class RecurrenceDesign(StreamDesign):
    """See `StreamDesign`. Cycles are from the first word that enters the array to the last one that leaves it; those of
    the prediction are a model in which memory is never late."""

    predicts_exactly: ClassVar[bool] = False
    target: ClassVar[str] = "systolic"

    program: Program
    array: SizedArray
    seconds: float
    memory: MainMemory = DEFAULT_MEMORY

    @cached_property
    def executable(self) -> RecurrenceExecutable:
        """How it runs."""
        return RecurrenceExecutable(self.program, self.array, self.memory)

    @property
    def predicted_cycles(self) -> int:
        """Cycles by the model of communicating processes."""
        return self.array.network.cycles

    @property
    def main_memory(self) -> MainMemory:
        """The memory that was asked for; the port has 64 bits."""
        return self.memory

    @property
    def predicted_start_to_done(self) -> int:
        """An estimate: the model's cycles or transfers, whichever take longer, between the latency of the first and of
        the last burst."""
        return overlapped_cycles(self.predicted_cycles, self.traffic, self.main_memory)

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: the words of the longest stream. Dependences: the longest chain of operations that wait for each
        other."""
        spec = self.array.mapping.spec
        latency = {node.name: node.latency for kind in spec.kinds for node in kind.nodes}
        done: dict[object, int] = {}
        for name, step, operands in self.array.network.fired:
            done["node", name, step] = max((done.get(token, 0) for token in operands), default=0) + latency[name]
        return Bounds(max(stream.words for stream in (*spec.inputs, *spec.outputs)),
                      self.traffic.cycles(self.main_memory), max(done.values()))

    @property
    def resources(self) -> dict[str, int]:
        """Cells, their kinds, multipliers, dividers and other operators, words of queues, wires between cells."""
        spec = self.array.mapping.spec
        operators = [o for cell in spec.cells for node in spec.kinds[cell.kind].nodes for o in node.operators]
        passive = ("read", "const", "index", "cast", "table", "pass", *MULTIPLICATIONS, *DIVISIONS)
        words = sum(queue.depth for cell in spec.cells for queue in spec.kinds[cell.kind].queues)
        return {
            "cells": len(spec.cells), "kinds of cells": len(spec.kinds),
            "multipliers": sum(multipliers(operator) for operator in operators),
            "dividers": sum(operator.op in DIVISIONS for operator in operators),
            "other operators": sum(operator.op not in passive for operator in operators),
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

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page: the array's picture, predictions and, if given, one run."""
        sections = [("Cells", draw_cells(self.array.mapping)),
                    ("Result", html_table(self.summary(run, equal).items(), numbers=False))]
        return html_page(f"{self.program.name} as a systolic array", sections)

    @property
    def array_size(self) -> str:
        """Rows and columns of the box around the cells."""
        return "x".join(map(str, self.extents))

    @property
    def host_interface(self) -> HostInterface:
        """See `Design`."""
        return stream_interface(self.executable, self.executable.host_order)

    def drawings(self) -> dict[str, str]:
        """The cells."""
        return {"array.svg": draw_cells(self.array.mapping)}

"""SA-C applications on hardware: their loops on one target, each group of loops a design, and the rest on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from compiler.bind.design import Design, Run
from compiler.bind.registry import check_options, compile_program
from compiler.frontend.sac.dfg import LoopFate, Obstacle
from compiler.frontend.sac.program import SacProgram
from compiler.frontend.sac.programs import Application, Execute, Group, group_loops, run_application, trace_application
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["HARDWARE_PASSES", "Placed", "PlacedGroup", "RunDesign", "in_rtl", "place_application"]

RunDesign = Callable[[Design, Mapping[str, np.ndarray]], Run]
"""Runs a design on inputs by name."""

HARDWARE_PASSES = ("inline", "tables", "inline", "cycle_inner", "predicate", "compact", "cycle_inner", "divisions",
                   "lift")
"""Passes before loops become programs: those of the thesis' order but `block` and `stripmine`, whose larger windows
save reads of memory that targets with line buffers do not have."""


@dataclass(frozen=True)
class PlacedGroup:
    """Loops that run as one design."""

    group: Group
    design: Design


@dataclass
class Placed:
    """An application for given inputs: designs in an order in which they can run, and why other loops are on the host.

    `expected`: what the interpreter of the graphs gives for the inputs; `runs`: simulations, by name of the program.
    """

    application: Application
    inputs: Sequence[np.ndarray]
    expected: list[np.ndarray]
    groups: list[PlacedGroup]
    host: list[tuple[LoopFate, Obstacle]]
    runs: dict[str, Run] = field(default_factory=dict)

    def fates(self, placed: PlacedGroup) -> list[LoopFate]:
        """The loops of a group, in their order."""
        return [self.application.fate(number) for number in placed.group.numbers]

    def simulate(self, simulator: str = "verilator", **settings: Any) -> list[np.ndarray]:
        """The outputs of the main graph with every group in RTL; each group runs when what it takes is there."""
        return self.run(in_rtl(simulator, **settings))

    def run(self, run_design: RunDesign) -> list[np.ndarray]:
        """The same where `run_design` runs the designs, which may be on a board."""
        return run_application(self.application, [placed.group for placed in self.groups], self.inputs,
                               self.execution(run_design))

    def execution(self, run_design: RunDesign) -> Execute:
        """What runs the program of a group on inputs by name; `runs` has what it found."""
        designs = {placed.group.program: placed.design for placed in self.groups}

        def execute(program: Program, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
            run = run_design(designs[program], given)
            self.runs[program.name] = run
            return run.outputs

        return execute


def in_rtl(simulator: str = "verilator", **settings: Any) -> RunDesign:
    """What runs a design in RTL, with these settings of its `simulate`."""
    def run(design: Design, given: Mapping[str, np.ndarray]) -> Run:
        found: Run = cast(Any, design).simulate(given, simulator, **settings)
        return found

    return run


def place_application(program: SacProgram, inputs: Sequence[np.ndarray], target: str, **options: Any) -> Placed:
    """`program` with its loops on `target`, for arrays with the extents of `inputs` (integers that hold numbers, as
    `SacProgram.held` gives them). Loops that hand arrays to each other are one design if the target takes them
    together. Raises what a run on the host raises, and what the target raises for `options`."""
    check_options(target, **options)
    application, expected = trace_application(program, inputs)
    able, host = application.candidates()
    refused: dict[int, str] = {}
    groups = _placed(application, able, target, options, refused)
    host += [(application.fate(number), _refusal(application.fate(number), target, text))
             for number, text in refused.items()]
    return Placed(application, inputs, expected, groups, host)


def _placed(application: Application, able: Sequence[int], target: str, options: Mapping[str, Any],
            refused: dict[int, str]) -> list[PlacedGroup]:
    """Designs of groups; a group that the target does not take comes apart, and loops that it does not take by
    themselves go to `refused`, after which others have to be grouped anew."""
    designs: dict[tuple[int, ...], PlacedGroup | str] = {}

    def placed(numbers: Sequence[int]) -> PlacedGroup | str:
        key = tuple(numbers)
        if key not in designs:
            group = application.group(numbers)
            try:
                designs[key] = PlacedGroup(group, compile_program(group.program, target, **options))
            except SluiceError as error:
                designs[key] = str(error)
        return designs[key]

    while True:
        chosen = [number for number in able if number not in refused]
        found: list[PlacedGroup] = []
        for numbers in group_loops(application.graph, chosen):
            whole = placed(numbers)
            parts = [whole] if isinstance(whole, PlacedGroup) else [placed([number]) for number in numbers]
            for number, part in zip(numbers, parts, strict=False):
                if isinstance(part, PlacedGroup):
                    found.append(part)
                else:
                    refused[number] = part
        if not any(number in refused for number in chosen):
            return found


def _refusal(fate: LoopFate, target: str, text: str) -> Obstacle:
    return Obstacle(fate.loop.kind, fate.loop.place, f"target {target} does not take it: {text}",
                    "take another target, or other options of it")

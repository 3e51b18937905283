"""SA-C applications on window machines: a machine for each loop that can be one, the rest on the host, which starts a
loop as often as its program does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.bind.window.board_time import Start
from compiler.bind.window.errors import WindowError
from compiler.bind.window.loop import WindowLoop, WindowRun, compile_loop
from compiler.frontend.sac.dfg import LoopFate, Obstacle, convert_loops, run_on_dfgs
from compiler.frontend.sac.program import SacProgram

__all__ = ["WindowApplication", "place_on_windows"]


@dataclass
class WindowApplication:
    """Machines by name of the loop, and why other loops are on the host. `runs`: of the latest `simulate`, in order."""

    program: SacProgram
    loops: dict[str, WindowLoop]
    host: list[tuple[LoopFate, Obstacle]]
    runs: list[tuple[str, WindowRun]] = field(default_factory=list)

    def simulate(self, inputs: Sequence[np.ndarray], simulator: str = "verilator", **settings: Any
                 ) -> list[np.ndarray]:
        """The outputs of the main graph for `inputs` (integers that hold numbers) with the loops in RTL. Raises what a
        run on the host raises, and what `WindowLoop.run` raises."""
        self.runs = []

        def execute(fate: LoopFate, operands: Sequence[np.ndarray], extents: Sequence[int]
                    ) -> list[np.ndarray] | None:
            loop = self.loops.get(fate.dfg.name) if fate.dfg else None
            if loop is None:
                return None
            run = loop.run(operands, extents, simulator, **settings)
            self.runs.append((loop.name, run))
            return run.outputs

        return run_on_dfgs(self.program.module, self.program.main.name, inputs, execute)

    def starts(self, mhz: float) -> list[Start]:
        """The latest `simulate` as a host sees it, with machines clocked at `mhz`: for `Board.elapsed`."""
        return [Start(name, run.bytes_down, run.bytes_up, run.cycles / (1000 * mhz)) for name, run in self.runs]


def place_on_windows(program: SacProgram, memories: int = 1) -> WindowApplication:
    """A machine for each loop of `program` that can be one, with one memory (the thesis' One-PE system) or a second one
    for results (Two-PE)."""
    loops: dict[str, WindowLoop] = {}
    host: list[tuple[LoopFate, Obstacle]] = []
    for fate in convert_loops(program.module):
        if fate.obstacles:
            host.append((fate, fate.obstacles[0]))
            continue
        try:
            loop = compile_loop(fate, memories)
        except WindowError as error:
            host.append((fate, Obstacle(fate.loop.kind, fate.loop.place, str(error), "take another target")))
        else:
            loops[loop.name] = loop
    return WindowApplication(program, loops, host)

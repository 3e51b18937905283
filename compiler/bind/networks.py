"""Models of layers on hardware: a chain of designs, each of which runs when the one before is done."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from compiler.bind.design import Design, Run
from compiler.bind.registry import check_options, compile_program, target
from compiler.frontend.onnx import Network, Step, run_steps
from compiler.ir.program import Program
from hw.files import write_atomic

__all__ = ["PlacedNetwork", "place_network", "takes_one_layer"]


@dataclass
class PlacedNetwork:
    """A model as designs, in their order; `runs`: simulations, by name of the program."""

    network: Network
    steps: Sequence[Step]
    designs: Sequence[Design]
    runs: dict[str, Run] = field(default_factory=dict)

    @property
    def predicted_start_to_done(self) -> int:
        """Clock cycles of all designs, one after the other."""
        return sum(design.predicted_start_to_done for design in self.designs)

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator",
                 **settings: Any) -> dict[str, np.ndarray]:
        """The outputs of the model, by its names, with every design in RTL; `inputs` likewise."""
        designs = dict(zip((step.program.name for step in self.steps), self.designs, strict=True))

        def execute(program: Program, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
            design: Any = designs[program.name]
            self.runs[program.name] = run = design.simulate(given, simulator, **settings)
            return run.outputs

        return run_steps(self.network, self.steps, inputs, execute)

    def emit(self, folder: Path) -> list[Path]:
        """A design directory for each design, with its weights in ``constants.npz``. Returns their places."""
        return [_emit(folder / step.program.name, step, design)
                for step, design in zip(self.steps, self.designs, strict=True)]


def _emit(folder: Path, step: Step, design: Design) -> Path:
    place = design.emit(folder)
    if step.constants:
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **step.constants)
        write_atomic(place / "constants.npz", buffer.getvalue())
    return place


def takes_one_layer(target_name: str) -> bool:
    """Whether a design of the target is one kernel."""
    return getattr(target(target_name), "ONE_KERNEL", False)


def place_network(network: Network, target_name: str, apart: bool | None = None, **options: Any) -> PlacedNetwork:
    """`network` on a target: one design or, `apart`, one for each layer; None leaves that to the target. Raises what
    the target raises."""
    check_options(target_name, **options)
    layered = takes_one_layer(target_name) if apart is None else apart
    steps = network.steps() if layered else (Step(network.program, {}, {}),)
    return PlacedNetwork(network, steps, [compile_program(step.program, target_name, **options) for step in steps])

"""What all designs share whose hardware is streams behind the manager of `hw.dataflow.system`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from compiler.bind.dataflow.image import stream_image
from compiler.bind.dataflow.running import StreamExecutable
from compiler.bind.design import Design, Run, check_inputs
from hw.dataflow.system import SYSTEM_MODULE
from hw.designs.directory import DesignImage, write_design
from hw.designs.register_documents import system_documents
from hw.sim.faults import Trial
from hw.sim.simulate import StallProfile

__all__ = ["StreamDesign"]


class StreamDesign(Design):
    """See `Design`. `seconds`: the compile time."""

    target: ClassVar[str]
    """Name of the target, for the design directory."""

    seconds: float

    @property
    @abstractmethod
    def executable(self) -> StreamExecutable:
        """How it runs."""

    @property
    @abstractmethod
    def array_size(self) -> str:
        """Rows and columns of the hardware, such as ``4x4``."""

    @abstractmethod
    def drawings(self) -> dict[str, str]:
        """Texts of the design directory that show the hardware, by file name."""

    @property
    def compile_seconds(self) -> float:
        """Time that compiling took."""
        return self.seconds

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int = 0,
                 stall: StallProfile | None = None, waves: bool = False, inject: str | None = None,
                 watchdog: int | None = None) -> Run:
        """Run the emitted Verilog: one blocking call for the whole job. `seed` and `stall` randomise the memory's gaps;
        `inject` is a fault of memory such as ``"read a 3"`` or ``"stuck ar"`` (`hw.sim.faults`), `watchdog` the clock
        cycles without progress that end a run (without: 10000 if there is a fault, else no limit).

        Raises `InputError`, `JobError`, `SimulatorMissing`, `SimulationTimeout`, and `DataflowError` for an error that
        the hardware reports.
        """
        return self.executable.run(check_inputs(self.program, inputs), simulator, seed=seed, stall=stall, waves=waves,
                                   trial=Trial(inject, watchdog))

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write the design directory that `hw.build` takes: Verilog, control registers, `drawings`, drivers;
        with `inputs` also main memory as it is before a run, and the checksums of the results. Returns
        the directory."""
        directory = Path(directory)
        documents = system_documents(SYSTEM_MODULE, self.executable.sources, self.executable.registers, "kernel")
        write_design(directory, self.design_image(inputs), documents | self.drawings() | self.drivers)
        return directory

    def design_image(self, inputs: Mapping[str, np.ndarray] | None = None) -> DesignImage:
        """The design as plain data; with `inputs`, their memory contents and the expected results' checksums."""
        metadata = {"target": self.target, "choices": self.choices,
                    "predicted_start_to_done": self.predicted_start_to_done, "predicted_cycles": self.predicted_cycles,
                    "lower_bound": self.lower_bound, "resources": self.resources, **self.array_metadata}
        return stream_image(self.executable, self.array_size, metadata, inputs)

"""A design whose system has other ports: Wishbone, a reset that is low, addresses of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from compiler.bind.host_interface import driver_files
from compiler.bind.run import Run
from hw.designs.port_documents import add_ports
from hw.drivers.interface import HostInterface
from hw.ports.adapt import adapted_registers
from hw.ports.spec import SystemPorts
from hw.sim.ported_run import run_ported
from hw.sim.simulate import jobs_run_by

__all__ = ["PortedDesign"]


@dataclass(frozen=True)
class PortedDesign:
    """`design` with `ports` around its system. All else of it is as it was."""

    design: Any
    ports: SystemPorts

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, pipelined: bool = False,
                 **settings: Any) -> Run:
        """As the design's own, through the new ports. `pipelined`: of cycles of Wishbone at the registers."""
        with jobs_run_by(lambda job: run_ported(job, self.ports, pipelined=pipelined)):
            return self.design.simulate(inputs, simulator, **settings)

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """The design directory, and the system with its ports (`hw.designs.port_documents`); drivers are for these."""
        folder = self.design.emit(directory, inputs)
        add_ports(folder, self.ports, self.drivers)
        return folder

    @property
    def drivers(self) -> dict[str, str]:
        """Drivers by path in the design directory; none where the design has none."""
        return driver_files(self)

    @property
    def host_interface(self) -> HostInterface:
        """That of the design, with the registers of these ports. Raises `NoDriver`."""
        interface = self.design.host_interface
        registers = adapted_registers(interface.registers, self.ports)
        base = registers.address("MEMORY_BASE_LOW") if self.ports.address_bits == 64 else None
        return replace(interface, registers=registers, base=base)

"""Running a compiled design: its emitted Verilog under a simulator, arrays in and out through main memory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.bind.cgra.transfers import MemoryLayout, array_bytes, array_from_bytes, element_bytes
from compiler.bind.design import Run
from compiler.ir.program import Program
from hw.dma.registers import RegisterMap
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan, check_status, describe_wait
from hw.fabric.spec import FabricSpec
from hw.fabric.system import SYSTEM_MODULE, emit_system
from hw.main_memory import MainMemory
from hw.sim.faults import NO_TRIAL, Trial
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job

__all__ = ["Executable", "simulate"]

_COUNTERS = ("LAST_OUTPUT", "STALLS", "WALL_CYCLES", "LOAD_CYCLES")
_MEMORY_BYTES = 1 << 20
"""Least size of the simulated main memory: one size for most designs, so that they share a simulator build."""

_PATIENCE = 50
"""A run that takes this many times its predicted cycles, and some for start and end, hangs."""


@dataclass(frozen=True)
class Executable:
    """What a simulation needs to know of a design; the attributes are those of `CgraDesign`."""

    program: Program
    spec: FabricSpec
    image: bytes
    layout: MemoryLayout
    plan: RunPlan
    predicted_cycles: int
    main_memory: MainMemory


def simulate(design: Executable, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int | None = None,
             stall: StallProfile | None = None, waves: bool = False, cycle_limit: int | None = None,
             trial: Trial = NO_TRIAL) -> Run:
    """Run `design` once; see `CgraDesign.simulate`."""
    registers = control_registers(design.spec)
    job = _job(design, inputs, simulator, registers, seed, stall, waves, cycle_limit, trial)
    result = run_job(job)
    status = {name: result.registers[registers.address(name)] for name in ("STATUS", "DETAIL", *_COUNTERS)}
    check_status(registers, status["STATUS"], status["DETAIL"])
    return _run(design, result, status, simulator)


def _job(design: Executable, inputs: Mapping[str, np.ndarray], simulator: str, registers: RegisterMap,
         seed: int | None, stall: StallProfile | None, waves: bool, cycle_limit: int | None, trial: Trial) -> Job:
    addresses = design.layout.addresses
    loads = [(0, design.image), *((addresses[n], element_bytes(data)) for n, data in inputs.items())]
    limit = cycle_limit or _PATIENCE * (design.predicted_cycles + len(design.image)) + 100_000 + 2 * trial.cycles
    *settings, start = design.plan.writes(registers)
    areas = {a.name: (addresses[a.name], array_bytes(a)) for a in (*design.program.inputs, *design.program.outputs)}
    return Job(
        sources=emit_system(design.spec), top=SYSTEM_MODULE, memory_bytes=max(design.layout.end, _MEMORY_BYTES),
        loads=loads, writes=[*settings, *trial.writes(registers), start], fault=trial.fault(areas),
        reads=[registers.address(name) for name in ("STATUS", "DETAIL", *_COUNTERS)],
        dumps=[areas[a.name] for a in design.program.outputs],
        seed=0 if seed is None else seed, stall=stall or NO_STALLS, cycle_limit=limit, simulator=simulator,
        latency=design.main_memory.latency, bursts=design.main_memory.bursts,
        expected_cycles=design.predicted_cycles + len(design.image) // 8,
        waves=waves, folder=Path(tempfile.mkdtemp(prefix="sluice-waves-")) if waves else None,
        status={"DETAIL": registers.address("DETAIL")},
        explain=lambda values: describe_wait(registers, values["DETAIL"]),
    )


def _run(design: Executable, result: JobResult, status: Mapping[str, int], simulator: str) -> Run:
    outputs = {array.name: array_from_bytes(array, data)
               for array, data in zip(design.program.outputs, result.dumps, strict=True)}
    return Run(
        outputs=outputs, cycles=status["LAST_OUTPUT"] + 1, stall_cycles=status["STALLS"],
        wall_cycles=status["WALL_CYCLES"], simulator=simulator, clock_cycles=result.cycles,
        seconds=result.cycles / result.cycles_per_second, build_seconds=result.build_seconds, waveform=result.waves,
        counters={"configuration cycles": status["LOAD_CYCLES"], "memory read beats": result.read_beats,
                  "memory write beats": result.write_beats},
    )

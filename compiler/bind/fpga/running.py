"""Running a compiled pipeline: arrays in main memory, one job on the emitted Verilog, arrays back."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from compiler.bind.bounds import array_bytes
from compiler.bind.design import Run
from compiler.bind.fpga.errors import FpgaError
from compiler.bind.fpga.memory import MemoryLayout, array_from_bytes, bytes_of, lay_out
from compiler.ir.program import Program
from hw.dma.registers import RegisterMap
from hw.main_memory import MainMemory
from hw.pipeline.registers import RunError, pipeline_registers
from hw.pipeline.spec import LoadCell, StoreCell
from hw.pipeline.system import SYSTEM_MODULE, SystemSpec, emit_system
from hw.sim.faults import NO_TRIAL, Trial
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job

__all__ = ["Executable"]

_MEMORY_BYTES = 1 << 16
"""Least size of the simulated main memory."""

_COUNTERS = ("CYCLES", "STALLS", "WALL_CYCLES")
_PATIENCE = 50
"""A run that takes this many times its predicted cycles and bytes, and some for start and end, hangs."""


@dataclass(frozen=True)
class Executable:
    """What a run needs: the program whose arrays the streams walk, the system, and the
    memory beside it."""

    program: Program
    system: SystemSpec
    main_memory: MainMemory

    @cached_property
    def registers(self) -> RegisterMap:
        """The register map of the system."""
        return pipeline_registers([s.name for s in self.system.inputs], [s.name for s in self.system.outputs],
                                  self.system.pipeline.traps)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog of the system."""
        return emit_system(self.system)

    @cached_property
    def layout(self) -> MemoryLayout:
        """Where the arrays are."""
        return lay_out((*self.program.inputs, *self.program.outputs))

    def loads(self, inputs: Mapping[str, np.ndarray]) -> list[tuple[int, bytes]]:
        """(address, bytes) of every input array."""
        return [(self.layout.addresses[a.name], bytes_of(a, inputs[a.name])) for a in self.program.inputs]

    def writes(self) -> list[tuple[str, int]]:
        """Register writes of a run, by name; the last one starts it."""
        pairs = []
        for name, side in (("IN", self.system.inputs), ("OUT", self.system.outputs)):
            pairs += [(f"{name}{k}_ADDRESS", self.layout.addresses[stream.name]) for k, stream in enumerate(side)]
        return [*pairs, ("CONTROL", self.registers.encode("CONTROL", start=1))]

    def check(self, status: int, waiting: int, trap: Sequence[int] = ()) -> None:
        """Raise `FpgaError` if registers STATUS and WAITING say that the run failed or has not ended; `trap`: registers
        TRAP_CELL and TRAP_INDEX if there are any."""
        state = self.registers.decode("STATUS", status)
        if not state["done"]:
            raise FpgaError("the run has not ended")
        if state["error"] == RunError.WATCHDOG:
            raise FpgaError(f"the run ended with error WATCHDOG: nothing moved; {self._explain({'WAITING': waiting})}")
        if state["error"] == RunError.INDEX:
            raise FpgaError(f"the run ended with error INDEX: {self._outside(*trap)}")
        if state["error"]:
            raise FpgaError(f"the run ended with error {RunError(state['error']).name}")

    def _outside(self, number: int, index: int) -> str:
        """Which access was outside of its array."""
        spec = self.system.pipeline
        cell, label = spec.cells[number], spec.label(number)
        assert isinstance(cell, LoadCell | StoreCell)
        memory, at = self.program.memories[cell.memory], index - (1 << 32 if index >> 31 else 0)
        verb, place = "reads" if isinstance(cell, LoadCell) else "writes", f" ({label.source})" if label.source else ""
        return f"statement '{label.name}'{place}{memory.outside(verb, at)}"

    def run(self, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int, stall: StallProfile | None,
            waves: bool, cycle_limit: int | None, trial: Trial = NO_TRIAL) -> Run:
        """One run on the emitted Verilog."""
        job = self.job(inputs, simulator, seed=seed, stall=stall, waves=waves, cycle_limit=cycle_limit, trial=trial)
        return self.result(run_job(job), simulator)

    def job(self, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int, stall: StallProfile | None,
            waves: bool = False, cycle_limit: int | None = None, trial: Trial = NO_TRIAL) -> Job:
        """What a simulator is to do."""
        address = self.registers.address
        *settings, start = [(address(name), value) for name, value in self.writes()]
        arrays = {a.name: (self.layout.addresses[a.name], array_bytes(a))
                  for a in (*self.program.inputs, *self.program.outputs)}
        predicted = _PATIENCE * (self.system.pipeline.cycles + self.layout.end) + 20_000
        return Job(
            sources=self.sources, top=SYSTEM_MODULE, memory_bytes=max(self.layout.end, _MEMORY_BYTES),
            loads=self.loads(inputs), writes=[*settings, *trial.writes(self.registers), start],
            reads=[address(name) for name in ("STATUS", "WAITING", *_COUNTERS, *self._traps)],
            dumps=[arrays[a.name] for a in self.program.outputs], fault=trial.fault(arrays),
            latency=self.main_memory.latency, bursts=self.main_memory.bursts,
            seed=seed, stall=stall or NO_STALLS, simulator=simulator, waves=waves,
            cycle_limit=cycle_limit or predicted + 2 * trial.cycles, expected_cycles=self.system.pipeline.cycles,
            folder=Path(tempfile.mkdtemp(prefix="sluice-waves-")) if waves else None,
            status={"WAITING": address("WAITING")}, explain=self._explain,
        )

    def result(self, result: JobResult, simulator: str) -> Run:
        """What `job` gave. Raises `FpgaError` for an error that the hardware reports."""
        status, waiting, *counts = result.registers.values()
        self.check(status, waiting, counts[len(_COUNTERS):])
        return self._result(result, dict(zip(_COUNTERS, counts[:len(_COUNTERS)], strict=True)), simulator)

    @property
    def _traps(self) -> tuple[str, ...]:
        return ("TRAP_CELL", "TRAP_INDEX") if self.system.pipeline.traps else ()

    def _explain(self, values: Mapping[str, int]) -> str:
        waiting = self.registers.decode("WAITING", values["WAITING"])
        names = [stream.name for side, bits in ((self.system.inputs, waiting["inputs"]),
                                                (self.system.outputs, waiting["outputs"]))
                 for k, stream in enumerate(side) if bits >> k & 1]
        return f"streams {', '.join(names)} have words left to move" if names else "all streams are complete"

    def _result(self, result: JobResult, counters: dict[str, int], simulator: str) -> Run:
        outputs = {array.name: array_from_bytes(array, data)
                   for array, data in zip(self.program.outputs, result.dumps, strict=True)}
        return Run(
            outputs=outputs, cycles=counters["CYCLES"], stall_cycles=counters["STALLS"],
            wall_cycles=counters["WALL_CYCLES"], simulator=simulator, clock_cycles=result.cycles,
            seconds=result.cycles / result.cycles_per_second, build_seconds=result.build_seconds, waveform=result.waves,
            counters={"memory read beats": result.read_beats, "memory write beats": result.write_beats},
        )

"""Running an array: tiles packed into memory, one job on the emitted Verilog, results unpacked."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

import numpy as np

from compiler.bind.design import Run
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.layout import operand_images, pack_operand, unpack_result
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.timeline import start_to_done
from compiler.ir.evaluate import storage, word_type
from compiler.ir.floating import from_words, to_words
from compiler.ir.interpret import interpret
from hw.dma.registers import RegisterMap
from hw.main_memory import DEFAULT_MEMORY, MainMemory
from hw.sim.faults import NO_TRIAL, Trial
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job
from hw.systolic.registers import RunError, RunSettings, run_writes, systolic_registers
from hw.systolic.system import SYSTEM_MODULE, emit_system
from hw.technology import GENERIC, Technology

__all__ = ["Executable", "Place"]

_ALIGNMENT = 64
_MEMORY_BYTES = 1 << 16
_PATIENCE = 50
_COUNTERS = ("STEPS", "WALL_CYCLES", "COMPUTE_CYCLES", "ARRAY_CYCLES", "ENTRY_CYCLE")


@dataclass(frozen=True)
class Place:
    """All tiles of an operand or of the results in main memory: `address` and length in `bytes`, and `strides` in bytes
    per tile loop of the array (0 where there is none)."""

    name: str
    address: int
    bytes: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Executable:
    """What a run needs of a plan."""

    plan: Plan
    main_memory: MainMemory = DEFAULT_MEMORY
    technology: Technology = GENERIC

    @cached_property
    def registers(self) -> RegisterMap:
        """The register map of the system."""
        return systolic_registers(self.plan.spec)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog of the system."""
        return emit_system(self.plan.spec, self.technology)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Operands and extras in their order, then results, one after the other in memory."""
        spec, found, address = self.plan.spec, [], 0
        for number, operand in enumerate(spec.streams):
            found.append(self._place(operand.name, address, spec.operand_bytes(operand), operand.tile_loops,
                                     operand_images(self.plan, number)))
            address = _aligned(address + found[-1].bytes)
        extents = tuple(self.plan.tiles[k] for k in spec.result_loops)
        found.append(self._place(self.plan.kernel.output, address, spec.result_bytes, spec.result_loops, extents))
        return tuple(found)

    def _place(self, name: str, address: int, size: int, loops: tuple[int, ...], extents: tuple[int, ...]) -> Place:
        strides = [0] * len(self.plan.tiles)
        for position, loop in enumerate(loops):
            strides[loop] = size * prod(extents[position + 1:])
        return Place(name, address, size * prod(extents), tuple(strides))

    @property
    def memory_bytes(self) -> int:
        """Bytes of main memory that operands and results take."""
        return self.places[-1].address + self.places[-1].bytes

    @property
    def settings(self) -> RunSettings:
        """What the registers hold in a run."""
        plan = self.plan
        *operands, result = [(place.address, place.strides) for place in self.places]
        bounds = tuple(plan.kernel.extent(plan.spec.tile_loops[guard.tile_loop].name) for guard in plan.spec.guards)
        return RunSettings(plan.tiles, tuple(operands), result, bounds)

    def writes(self) -> list[tuple[int, int]]:
        """Register writes of a run; the last one starts it."""
        return run_writes(self.plan.spec, self.settings)

    def loads(self, inputs: Mapping[str, np.ndarray]) -> list[tuple[int, bytes]]:
        """(address, bytes) of every operand and extra: the layout transformation."""
        arrays = [source.reference.array for source in self.plan.sources]
        return [(place.address, pack_operand(self.plan, number, None if array is None else self._words(array, inputs)))
                for number, (array, place) in enumerate(zip(arrays, self.places, strict=False))]

    def _words(self, array: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The elements of an input as words."""
        return to_words(self.plan.kernel.program.array(array).type, inputs[array])

    def outputs(self, content: bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Output arrays from the bytes of the results; elements that the kernel does not compute are what the rest of
        the program says."""
        program = self.plan.kernel.program
        array = program.array(self.plan.kernel.output)
        out = self._rest(inputs)
        unpack_result(self.plan, content, out)
        return {array.name: from_words(array.type, out)}

    def _rest(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The words of the output as statements that only copy inputs or store constants leave it."""
        kernel = self.plan.kernel
        array = kernel.program.array(kernel.output)
        held = storage(word_type(array.type))
        if kernel.rest is None:
            return np.zeros(array.shape, held)
        return to_words(array.type, interpret(kernel.rest, inputs)[array.name]).astype(held)

    def check(self, status: int, waiting: int) -> None:
        """Raise `MappingError` if registers STATUS and WAITING say that the run failed or has not ended."""
        state = self.registers.decode("STATUS", status)
        if not state["done"]:
            raise MappingError("the run has not ended")
        if state["error"] in (RunError.READ, RunError.WRITE):
            kind = "reading operands" if state["error"] == RunError.READ else "writing results"
            raise MappingError(f"the run ended with a memory error while {kind}")
        if state["error"] == RunError.WATCHDOG:
            raise MappingError(f"the run ended with error WATCHDOG: nothing moved; {self._incomplete(waiting)}")
        if state["error"] != RunError.NONE:
            raise MappingError(f"the run ended with error {RunError(state['error']).name}")

    def run(self, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int, stall: StallProfile | None,
            waves: bool, trial: Trial = NO_TRIAL, fast: bool = False) -> Run:
        """One run on the emitted Verilog."""
        address = self.registers.address
        reads = [address(name) for name in ("STATUS", "WAITING", *_COUNTERS)]
        result = self.places[-1]
        limit = _PATIENCE * (self.plan.steps + self.memory_bytes) + 20_000 + 2 * trial.cycles
        *settings, start = self.writes()
        job = run_job(Job(
            sources=self.sources | dict(self.technology.models), top=SYSTEM_MODULE,
            memory_bytes=max(self.memory_bytes, _MEMORY_BYTES),
            loads=self.loads(inputs), writes=[*settings, *trial.writes(self.registers), start], reads=reads,
            dumps=[(result.address, result.bytes)], fault=trial.fault(self._areas),
            seed=seed, stall=stall or NO_STALLS, cycle_limit=limit, simulator=simulator, waves=waves,
            fast=fast, expected_cycles=self.plan.steps,
            latency=self.main_memory.latency, bursts=self.main_memory.bursts,
            folder=Path(tempfile.mkdtemp(prefix="sluice-waves-")) if waves else None,
            status={name: address(name) for name in ("WAITING", "STEPS")}, explain=self._explain,
        ))
        self.check(job.registers[reads[0]], job.registers[reads[1]])
        return self._result(job, dict(zip(_COUNTERS, (job.registers[r] for r in reads[2:]), strict=True)), simulator,
                            inputs)

    @property
    def _areas(self) -> dict[str, tuple[int, int]]:
        """(byte address, bytes) of every array; of one in several operands the first."""
        arrays = [source.reference.array for source in self.plan.sources]
        *operands, result = self.places
        named = [(array, place) for array, place in zip(arrays, operands, strict=True) if array is not None]
        return {name: (place.address, place.bytes) for name, place in [(result.name, result), *reversed(named)]}

    def _incomplete(self, waiting: int) -> str:
        state = self.registers.decode("WAITING", waiting)
        names = [place.name for k, place in enumerate(self.places[:-1]) if state["inputs"] >> k & 1]
        names += [self.places[-1].name] * state["outputs"]
        return f"streams {', '.join(names)} have words left to move" if names else "all streams are complete"

    def _explain(self, values: Mapping[str, int]) -> str:
        return f"{values['STEPS']} of {self.plan.steps} steps were given; {self._incomplete(values['WAITING'])}"

    def _result(self, job: JobResult, counters: dict[str, int], simulator: str, inputs: Mapping[str, np.ndarray]
                ) -> Run:
        wall = counters["WALL_CYCLES"]
        return Run(
            outputs=self.outputs(job.dumps[0], inputs), cycles=wall, stall_cycles=0, wall_cycles=wall,
            simulator=simulator, clock_cycles=job.cycles, seconds=job.cycles / job.cycles_per_second,
            build_seconds=job.build_seconds, waveform=job.waves,
            counters={"steps": counters["STEPS"], "compute cycles": counters["COMPUTE_CYCLES"],
                      "array cycles": counters["ARRAY_CYCLES"], "entry cycle": counters["ENTRY_CYCLE"],
                      "memory read beats": job.read_beats, "memory write beats": job.write_beats},
        )

    @property
    def start_to_done(self) -> int:
        """Cycles of a run from start to done, by the times of its events."""
        return start_to_done(self.plan.spec, self.plan.tiles, self.main_memory)


def _aligned(address: int) -> int:
    return -(-address // _ALIGNMENT) * _ALIGNMENT

"""Running a compiled kernel: arrays packed into streams, one job on the emitted Verilog, streams unpacked."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.expressions import word
from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.reorder import memory_array, stream_elements, stream_lengths
from compiler.bind.design import Run
from compiler.ir.floating import from_words, to_words
from compiler.ir.program import Array, Program
from compiler.sched.process_network import Node, NodeKind
from hw.dataflow.registers import RunError, dataflow_registers, element_bytes
from hw.dataflow.spec import KernelPorts
from hw.dataflow.system import SYSTEM_MODULE, emit_system
from hw.dma.registers import RegisterMap
from hw.main_memory import MainMemory
from hw.sim.faults import NO_TRIAL, Trial
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job

__all__ = ["Executable", "StreamExecutable", "StreamPlace", "in_memory"]

_ALIGNMENT = 64
_MEMORY_BYTES = 1 << 16
_COUNTERS = ("TICKS", "STALLS", "WALL_CYCLES")
_TRAP = ("TRAP_ACCESS", "TRAP_INDEX")
_PATIENCE = 50


@dataclass(frozen=True)
class StreamPlace:
    """A stream of `words` in main memory: `address` (bytes), the array whose elements it carries, and what makes the
    list of these."""

    node: str
    array: Array
    address: int
    words: int
    make_elements: Callable[[], np.ndarray]

    @cached_property
    def elements(self) -> np.ndarray:
        """Row-major numbers of the elements, in order: int64 of shape [words]."""
        return self.make_elements()

    @property
    def dtype(self) -> np.dtype:
        """Elements as they lie in memory, little-endian."""
        kind = word(self.array.type, f"array '{self.array.name}'")
        return np.dtype(f"<{'i' if kind.signed else 'u'}{element_bytes(kind.width)}")

    @property
    def bytes(self) -> int:
        """Length in memory."""
        return self.words * self.dtype.itemsize

    def packed(self, values: np.ndarray) -> bytes:
        """The stream's words when the array holds `values`."""
        return to_words(self.array.type, values.ravel()[self.elements]).astype(self.dtype).tobytes()


class StreamExecutable(ABC):
    """What a run needs of a design whose hardware is streams behind the manager of `hw.dataflow.system`. `sizes`: the
    values of run-time sizes, for which `program` is. `main_memory`: what is simulated beside it."""

    program: Program
    main_memory: MainMemory
    sizes: tuple[int, ...] = ()

    @property
    @abstractmethod
    def ports(self) -> KernelPorts:
        """Sizes and streams of the hardware."""

    @property
    @abstractmethod
    def sources(self) -> dict[str, str]:
        """The Verilog of the system."""

    @property
    @abstractmethod
    def places(self) -> tuple[tuple[StreamPlace, ...], tuple[StreamPlace, ...]]:
        """Input and output streams, in the order of the hardware's, at different addresses."""

    @property
    @abstractmethod
    def cycles(self) -> int:
        """About how long a run takes, to know when one hangs."""

    @cached_property
    def registers(self) -> RegisterMap:
        """The register map of the system."""
        return dataflow_registers(self.ports)

    @property
    def memory_bytes(self) -> int:
        """Bytes of main memory that the streams take."""
        return max(place.address + place.bytes for side in self.places for place in side)

    def loads(self, inputs: Mapping[str, np.ndarray]) -> list[tuple[int, bytes]]:
        """(address, bytes) of every input stream: the host's reordering (Bok 2018, section 7.1)."""
        return [(p.address, p.packed(inputs[p.array.name])) for p in self.places[0]]

    def outputs(self, dumps: tuple[bytes, ...]) -> dict[str, np.ndarray]:
        """Output arrays from the bytes of every output stream."""
        found = {a.name: np.zeros(a.shape, np.int64) for a in self.program.outputs}
        for place, content in zip(self.places[1], dumps, strict=True):
            found[place.array.name].ravel()[place.elements] = np.frombuffer(content, place.dtype)
        return {a.name: from_words(a.type, found[a.name]) for a in self.program.outputs}

    def writes(self) -> list[tuple[int, int]]:
        """Register writes of a run; the last one starts it."""
        pairs = []
        for name, side in zip(("IN", "OUT"), self.places, strict=True):
            pairs += [(self.registers.address(f"{name}{k}_ADDRESS"), p.address) for k, p in enumerate(side)]
            if self.sizes:
                pairs += [(self.registers.address(f"{name}{k}_WORDS"), p.words) for k, p in enumerate(side)]
        pairs += [(self.registers.address(f"SIZE{k}"), value) for k, value in enumerate(self.sizes)]
        start = self.registers.encode("CONTROL", start=1)
        return [*pairs, (self.registers.address("CONTROL"), start)]

    def outside(self, access: int, index: int) -> str:
        """Which access was outside of its array; of hardware with traps."""
        return f"access {access} at {index}"

    def check(self, status: int, waiting: int, trap: Sequence[int] = ()) -> None:
        """Raise `DataflowError` if registers STATUS and WAITING say that the run failed or has not ended; `trap`:
        registers TRAP_ACCESS and TRAP_INDEX if there are any."""
        state = self.registers.decode("STATUS", status)
        if not state["done"]:
            raise DataflowError("the run has not ended")
        if state["error"] == RunError.SIZE:
            sizes = ", ".join(f"{s.name}={v}" for s, v in zip(self.ports.sizes, self.sizes, strict=True))
            raise DataflowError(f"the kernel is not made for {sizes}")
        if state["error"] in (RunError.READ, RunError.WRITE):
            kind = "reading" if state["error"] == RunError.READ else "writing"
            raise DataflowError(f"the run ended with a memory error while {kind} a stream")
        if state["error"] == RunError.WATCHDOG:
            stuck = self._explain({"WAITING": waiting})
            raise DataflowError(f"the run ended with error WATCHDOG: nothing moved; {stuck}")
        if state["error"] == RunError.INDEX:
            access, index = trap
            index -= 1 << 32 if index >> 31 else 0
            raise DataflowError(f"the run ended with error INDEX: {self.outside(access, index)}")
        if state["error"] != RunError.NONE:
            raise DataflowError(f"the run ended with error {RunError(state['error']).name}")

    def run(self, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int, stall: StallProfile | None,
            waves: bool, trial: Trial = NO_TRIAL) -> Run:
        """One run on the emitted Verilog."""
        job = self.job(inputs, simulator, seed=seed, stall=stall, waves=waves, trial=trial)
        return self.result(run_job(job), simulator)

    def job(self, inputs: Mapping[str, np.ndarray], simulator: str, *, seed: int, stall: StallProfile | None,
            waves: bool = False, trial: Trial = NO_TRIAL) -> Job:
        """What a simulator is to do. A fault at an array is one at its first stream."""
        address = self.registers.address
        limit = _PATIENCE * (self.cycles + self.memory_bytes) + 20_000 + 2 * trial.cycles
        *settings, start = self.writes()
        areas = {p.array.name: (p.address, p.bytes) for side in self.places for p in reversed(side)}
        return Job(
            sources=self.sources, top=SYSTEM_MODULE, memory_bytes=max(self.memory_bytes, _MEMORY_BYTES),
            loads=self.loads(inputs), writes=[*settings, *trial.writes(self.registers), start],
            reads=[address(name) for name in ("STATUS", "WAITING", *_COUNTERS, *(_TRAP if self.ports.traps else ()))],
            dumps=[(p.address, p.bytes) for p in self.places[1]], seed=seed, stall=stall or NO_STALLS,
            latency=self.main_memory.latency, bursts=self.main_memory.bursts,
            cycle_limit=limit, expected_cycles=self.cycles, simulator=simulator, waves=waves,
            fault=trial.fault(areas), folder=Path(tempfile.mkdtemp(prefix="sluice-waves-")) if waves else None,
            status={"WAITING": address("WAITING")}, explain=self._explain,
        )

    def _explain(self, values: Mapping[str, int]) -> str:
        waiting = self.registers.decode("WAITING", values["WAITING"])
        names = [p.node for side, bits in zip(self.places, (waiting["inputs"], waiting["outputs"]), strict=True)
                 for k, p in enumerate(side) if bits >> k & 1]
        return f"streams {', '.join(names)} have words left to move" if names else "all streams are complete"

    def result(self, result: JobResult, simulator: str) -> Run:
        """What `job` gave. Raises `DataflowError` for an error that the hardware reports."""
        status, waiting, *counts = result.registers.values()
        self.check(status, waiting, counts[len(_COUNTERS):])
        counters = dict(zip(_COUNTERS, counts[:len(_COUNTERS)], strict=True))
        return Run(
            outputs=self.outputs(result.dumps), cycles=counters["TICKS"], stall_cycles=counters["STALLS"],
            wall_cycles=counters["WALL_CYCLES"], simulator=simulator, clock_cycles=result.cycles,
            seconds=result.cycles / result.cycles_per_second, build_seconds=result.build_seconds, waveform=result.waves,
            counters={"memory read beats": result.read_beats, "memory write beats": result.write_beats},
        )


@dataclass(frozen=True)
class Executable(StreamExecutable):
    """A kernel, as a run needs it."""

    program: Program
    plan: Plan
    main_memory: MainMemory
    sizes: tuple[int, ...] = ()

    @property
    def ports(self) -> KernelPorts:
        """Those of the kernel."""
        return self.plan.kernel.ports

    def outside(self, access: int, index: int) -> str:
        """The statement, its line, the array and the index."""
        kernel = self.plan.kernel
        number, place = kernel.accesses[access]
        node, operator = kernel.nodes[number], kernel.nodes[number].operators[place]
        memory = self.plan.network.program.memories[operator.value]
        verb, line = "reads" if operator.op == "load" else "writes", f" ({node.source})" if node.source else ""
        return f"statement '{node.name}'{line}{memory.outside(verb, index)}"

    @property
    def cycles(self) -> int:
        """Ticks."""
        return self.plan.kernel.total_ticks

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog of the system."""
        return emit_system(self.plan.kernel, bus_bits=self.main_memory.port_bits)

    @cached_property
    def places(self) -> tuple[tuple[StreamPlace, ...], tuple[StreamPlace, ...]]:
        """Input and output streams, in the kernel's order, one after the other in memory."""
        sides = [[node for node in self.plan.network.nodes if node.kind is kind]
                 for kind in (NodeKind.INPUT, NodeKind.OUTPUT)]
        return in_memory([[self._place(node) for node in side] for side in sides])

    def _place(self, node: Node) -> StreamPlace:
        network = self.plan.network
        name = memory_array(network, node)
        array = next(a for a in self.program.arrays if a.name == name)
        words = stream_lengths(network, node).get(self.sizes, 0)
        return StreamPlace(node.name, array, 0, words, lambda: stream_elements(network, node, self.sizes, array.shape))


def in_memory(sides: Sequence[Sequence[StreamPlace]]) -> tuple[tuple[StreamPlace, ...], tuple[StreamPlace, ...]]:
    """Input and output streams at addresses one after the other."""
    address = 0
    placed: list[tuple[StreamPlace, ...]] = []
    for side in sides:
        found = []
        for place in side:
            found.append(replace(place, address=address))
            address = -(-(address + place.bytes) // _ALIGNMENT) * _ALIGNMENT
        placed.append(tuple(found))
    return placed[0], placed[1]

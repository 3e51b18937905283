"""A design whose arrays come and go as AXI4-Streams, in place of memory, registers and a host."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from compiler.bind.run import Run
from compiler.bind.stream_arrays import StreamArray, with_beats
from compiler.ir.floating import from_words
from hw.axi_stream.spec import StreamError, StreamPort
from hw.axi_stream.system import STREAM_MODULE, StreamSystemSpec, emit_streams
from hw.dataflow.spec import KernelSpec
from hw.designs.directory import DesignImage, write_design
from hw.designs.stream_documents import STREAMS, stream_documents, stream_words
from hw.pipeline.spec import PipelineSpec
from hw.sim.simulate import NO_STALLS, StallProfile
from hw.sim.stream_run import StreamJob, StreamResult, run_streams

__all__ = ["ArrayStreams", "StreamRun", "StreamedDesign"]

_PATIENCE = 50


class ArrayStreams(ABC):
    """What a target gives for its design to stand between streams."""

    name: str
    inputs: Sequence[StreamArray]
    outputs: Sequence[StreamArray]

    @property
    @abstractmethod
    def hardware(self) -> PipelineSpec | KernelSpec:
        """What is between the streams."""

    @abstractmethod
    def split(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Checked arrays of the host as those of the streams. Raises `InputError`."""

    @abstractmethod
    def join(self, outputs: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Arrays of the streams as those of the host."""

    @property
    @abstractmethod
    def fill(self) -> int:
        """Clock cycles from the end of one run to that of the next in which the core does not move, if no stream makes
        it wait."""

    def core(self) -> dict[str, str]:
        """Verilog of the core alone, by file name, for systems of your own."""
        return {}


@dataclass(frozen=True)
class StreamRun:
    """Result of a simulation of several runs: the outputs of each. `cycles`: those in which the core moved;
    `first_cycles`: clock cycles from reset to the end of the first run, `wall_cycles`: to the end of the last."""

    outputs: tuple[dict[str, np.ndarray], ...]
    cycles: int
    first_cycles: int
    wall_cycles: int
    seconds: float
    build_seconds: float
    waveform: Path | None = None


@dataclass(frozen=True)
class StreamedDesign:
    """`design`, compiled, between AXI4-Streams: one slave for every input array (or part of one), one master for every
    output. `beat_bits`: of TDATA; 0 for beats of one element."""

    design: Any
    streams: ArrayStreams
    beat_bits: int = 0

    @cached_property
    def inputs(self) -> tuple[StreamArray, ...]:
        """Streams into the design."""
        return tuple(with_beats(stream, self.beat_bits) for stream in self.streams.inputs)

    @cached_property
    def outputs(self) -> tuple[StreamArray, ...]:
        """Streams out of it."""
        return tuple(with_beats(stream, self.beat_bits) for stream in self.streams.outputs)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog, by file name; the top module is `stream_system`."""
        return emit_streams(StreamSystemSpec(self.streams.hardware, *self._ports))

    @property
    def _ports(self) -> tuple[tuple[StreamPort, ...], tuple[StreamPort, ...]]:
        return tuple(stream.port for stream in self.inputs), tuple(stream.port for stream in self.outputs)

    def predicted_cycles(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Clock cycles of a run on `inputs`, from the end of the one before, if no stream makes it wait. What a beat
        has to bring or take a word costs is not in it."""
        return self.design.cycles_for(inputs) + self.streams.fill

    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator", *, seed: int = 0,
                 stall: StallProfile | None = None, waves: bool = False) -> Run:
        """One run on `inputs`, as `Design.simulate`: `stall` has sources and sinks wait as its channels r and w say."""
        profile = stall or NO_STALLS
        found = self.simulate_runs([inputs], simulator, stall=max(profile.r, profile.w), seed=seed, waves=waves)
        return Run(found.outputs[0], found.cycles, found.wall_cycles - self.predicted_cycles(inputs), found.wall_cycles,
                   simulator, found.wall_cycles, found.seconds, found.build_seconds, found.waveform)

    def simulate_runs(self, runs: Sequence[Mapping[str, np.ndarray]], simulator: str = "verilator", *,
                      stall: float = 0.0, seed: int = 0, waves: bool = False) -> StreamRun:
        """Run the emitted Verilog on each of `runs`, arrays by name, one after the other without a pause. `stall`: the
        share of cycles, 0 to 1, in which a source has no beat or a sink takes none, drawn from `seed`.

        Raises `InputError`, `StreamError`, `SimulatorMissing`, `SimulationTimeout`.
        """
        if not runs:
            raise StreamError("there is no run: give the input arrays of at least one")
        given = [self.streams.split(run) for run in runs]
        words = [[word for run in given for word in stream.pack(run[stream.array.name])] for stream in self.inputs]
        expected = sum(self.predicted_cycles(run) for run in runs)
        limit = _PATIENCE * (expected + sum(s.port.words for s in (*self.inputs, *self.outputs)) * len(runs)) + 10_000
        job = StreamJob(self.sources, *self._ports, words, len(runs),
                        expected_cycles=expected, simulator=simulator, stall=stall, seed=seed, cycle_limit=limit,
                        waves=waves, folder=Path(tempfile.mkdtemp(prefix="sluice-waves-")) if waves else None)
        return self._result(run_streams(job), runs, waves)

    def _result(self, found: StreamResult, runs: Sequence[Mapping[str, np.ndarray]], waves: bool) -> StreamRun:
        outputs = tuple(self._arrays(found, number, run) for number, run in enumerate(runs))
        waveform = next(iter(found.folder.glob("dump.*")), None) if waves else None
        return StreamRun(outputs, found.moves, found.first, found.cycles, found.seconds, found.build_seconds, waveform)

    def _arrays(self, found: StreamResult, run: int, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        arrays = {stream.array.name: stream.array for stream in self.outputs}
        words = {name: np.zeros(array.shape, np.int64) for name, array in arrays.items()}
        for stream, all_words in zip(self.outputs, found.words, strict=True):
            count = stream.port.words
            stream.unpack(all_words[run * count : (run + 1) * count], words[stream.array.name])
        return self.streams.join({name: from_words(arrays[name].type, some) for name, some in words.items()}, inputs)

    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write ``rtl/stream_system.v``, the core alone, descriptions for Vivado and FuseSoC, and a manifest whose
        ``streams`` say which element every word is; with `inputs`, too, ``streams/NAME.hex``: their words. Returns the
        directory."""
        documents = stream_documents(self.sources, *self._ports, core=self.streams.core())
        if inputs is not None:
            given = self.streams.split(inputs)
            documents |= {f"streams/{s.port.name}.hex": stream_words(s.port, s.pack(given[s.array.name]))
                          for s in self.inputs}
        streams = [stream.describe() for stream in (*self.inputs, *self.outputs)]
        image = DesignImage(name=self.streams.name, array="1x1", configuration=(), plan=(), memory=(), outputs=(),
                            memory_bytes=1, parameters={"system": STREAMS},
                            metadata={"streams": streams, "choices": self.design.choices, "module": STREAM_MODULE})
        write_design(Path(directory), image, documents)
        return Path(directory)

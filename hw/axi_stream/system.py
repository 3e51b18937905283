"""Cores between AXI4-Streams, and their Verilog.

A run begins by itself when the one before has ended, takes every input array once and gives every output array once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from hw.axi_stream.edges import BeatJoiner, BeatSplitter
from hw.axi_stream.spec import StreamError, StreamPort, check_ports, connect_streams, stream_members
from hw.dataflow.edges import EdgeQueue
from hw.dataflow.kernel import Kernel
from hw.dataflow.spec import KernelSpec, Word
from hw.pipeline.pipeline import Pipeline
from hw.pipeline.spec import PipelineSpec
from hw.verilog import convert

__all__ = ["STREAM_MODULE", "KernelStreams", "PipelineStreams", "StreamSystem",
           "StreamSystemSpec", "emit_streams", "kernel_fill", "pipeline_fill"]

STREAM_MODULE = "stream_system"
"""The top module."""

_WORDS = 4


class _State(Enum):
    FLUSH = 0
    BEGIN = 1
    RUN = 2
    FAILED = 3


@dataclass(frozen=True)
class StreamSystemSpec:
    """A core and the streams it stands between, in the order of its own. Raises `StreamError` for others than these,
    for two of one name, and for a kernel whose sizes are chosen when it runs."""

    core: PipelineSpec | KernelSpec
    inputs: tuple[StreamPort, ...]
    outputs: tuple[StreamPort, ...]

    def __post_init__(self) -> None:
        check_ports(self.inputs, self.outputs)
        if isinstance(self.core, KernelSpec) and self.core.sizes:
            raise StreamError(f"kernel with size {self.core.sizes[0].name}, which is chosen when it runs: streams have "
                              "no register for it")
        for side in ("inputs", "outputs"):
            if [(port.word, port.words) for port in getattr(self, side)] != _streams_of(self.core, side):
                raise StreamError(f"the core has other {side} than its system")


def _streams_of(core: PipelineSpec | KernelSpec, side: str) -> list[tuple[Word, int]]:
    """(word, words) of the core's own streams."""
    if isinstance(core, PipelineSpec):
        return [(cell.word, cell.walk.count) for cell in getattr(core, side)]
    return [(stream.word, stream.words) for stream in getattr(core, side)]


class StreamSystem(wiring.Component):
    """Ports: ``s_NAME`` and ``m_NAME``, streams of beats (`beat_layout`), which become AXI4-Streams ``s_axis_NAME`` and
    ``m_axis_NAME``. `moves`: the core makes a step in this cycle. `ends`: in this cycle a run ends; the next one begins
    with the next. `early`: in this run an input had TLAST before the last word of its array, bit k for input k.
    `failed`: an access was outside of its array; nothing moves until reset.
    """

    def __init__(self, spec: StreamSystemSpec):
        self.spec = spec
        self.inputs, self.outputs = spec.inputs, spec.outputs
        super().__init__({**stream_members(self.inputs, self.outputs), "moves": Out(1), "ends": Out(1),
                          "early": Out(max(1, len(self.inputs))), "failed": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._state = Signal(_State)
        self._flush, self._begin, self._run = Signal(), Signal(), Signal()
        m.d.comb += [self._flush.eq(self._state == _State.FLUSH), self._begin.eq(self._state == _State.BEGIN),
                     self._run.eq(self._state == _State.RUN), self.failed.eq(self._state == _State.FAILED)]
        self._splitters, self._joiners = list(map(BeatSplitter, self.inputs)), list(map(BeatJoiner, self.outputs))
        self._edges(m)
        busy, trap = self._core(m)
        m.d.comb += [self.early.eq(Cat(edge.early for edge in self._splitters)),
                     self.ends.eq(self._run & ~busy & ~Cat(edge.left for edge in self._joiners).any())]
        with m.Switch(self._state):
            with m.Case(_State.FLUSH):
                m.d.sync += self._state.eq(_State.BEGIN)
            with m.Case(_State.BEGIN):
                m.d.sync += self._state.eq(_State.RUN)
            with m.Case(_State.RUN):
                with m.If(trap):
                    m.d.sync += self._state.eq(_State.FAILED)
                with m.Elif(self.ends):
                    m.d.sync += self._state.eq(_State.FLUSH)
        return m

    def _edges(self, m: Module) -> None:
        for letter, edges in (("s", self._splitters), ("m", self._joiners)):
            for edge in edges:
                name = f"{letter}_{edge.port.name}"
                m.submodules[name] = edge
                m.d.comb += edge.load.eq(self._begin)
                connect(m, edge.beat, flipped(getattr(self, name)))

    @abstractmethod
    def _core(self, m: Module) -> tuple[Value, Value]:
        """Put the core between the edges; the result is whether it is busy, and whether an access was outside."""


class PipelineStreams(StreamSystem):
    """A pipeline between streams. Whether it moves is decided a cycle before, as in `hw.pipeline.system`."""

    def _core(self, m: Module) -> tuple[Value, Value]:
        core = self.spec.core
        assert isinstance(core, PipelineSpec)
        m.submodules.pipeline = pipeline = Pipeline(core)
        go = Signal()
        able = [*(self._input(m, pipeline, k) for k in range(len(self.inputs))),
                *(self._output(m, pipeline, k) for k in range(len(self.outputs)))]
        m.d.comb += [pipeline.start.eq(self._begin), pipeline.en.eq(go & pipeline.left), self.moves.eq(pipeline.en)]
        m.d.sync += go.eq(self._run & Cat(able).all())
        return pipeline.left, pipeline.trap if core.traps else Value.cast(0)

    def _input(self, m: Module, pipeline: Pipeline, k: int) -> Value:
        """Whether, whatever is taken in this cycle, there is a word in the next, or the array has ended."""
        port, edge = self.inputs[k], self._splitters[k]
        m.submodules[f"words_{port.name}"] = words = ResetInserter(self._flush)(EdgeQueue(port.word.width, _WORDS))
        level, put, take = Signal(range(_WORDS + 1), name=f"level_{port.name}"), Signal(), Signal()
        m.d.comb += [
            words.word.eq(edge.word.payload), put.eq(edge.word.valid & words.room), words.put.eq(put),
            edge.word.ready.eq(words.room), take.eq(pipeline.en & pipeline.take[k]), words.take.eq(take),
            getattr(pipeline, f"i_{k}").eq(words.data),
        ]
        m.d.sync += level.eq(level + put - take)
        with m.If(self._flush):
            m.d.sync += level.eq(0)
        return (level > 1) | (~edge.open & ~edge.word.valid)

    def _output(self, m: Module, pipeline: Pipeline, k: int) -> Value:
        """Whether, whatever is given in this cycle, there is room for a word in the next."""
        port, edge = self.outputs[k], self._joiners[k]
        queue = EdgeQueue(port.word.width, _WORDS)
        m.submodules[f"words_{port.name}"] = words = ResetInserter(self._flush)(queue)
        level, put, take = Signal(range(_WORDS + 1), name=f"level_{port.name}"), Signal(), Signal()
        m.d.comb += [
            words.word.eq(getattr(pipeline, f"o_{k}")), put.eq(pipeline.en & pipeline.give[k]), words.put.eq(put),
            edge.word.payload.eq(words.data), edge.word.valid.eq(words.valid), take.eq(words.valid & edge.word.ready),
            words.take.eq(edge.word.ready),
        ]
        m.d.sync += level.eq(level + put - take)
        with m.If(self._flush):
            m.d.sync += level.eq(0)
        return level < _WORDS - 1


class KernelStreams(StreamSystem):
    """A dataflow kernel between streams."""

    def _core(self, m: Module) -> tuple[Value, Value]:
        core = self.spec.core
        assert isinstance(core, KernelSpec)
        m.submodules.kernel = kernel = ResetInserter(self._flush)(Kernel(core))
        for edge, given in zip(self._splitters, core.inputs, strict=True):
            port = getattr(kernel, f"i_{given.name}")
            m.d.comb += [port.payload.eq(edge.word.payload), port.valid.eq(edge.word.valid),
                         edge.word.ready.eq(port.ready)]
        for edge, given in zip(self._joiners, core.outputs, strict=True):
            port = getattr(kernel, f"o_{given.name}")
            m.d.comb += [edge.word.payload.eq(port.payload), edge.word.valid.eq(port.valid),
                         port.ready.eq(edge.word.ready)]
        m.d.comb += [kernel.start.eq(self._begin), self.moves.eq(kernel.moved)]
        return kernel.busy, kernel.trap if core.traps else Value.cast(0)


def pipeline_fill(inputs: Sequence[StreamPort]) -> int:
    """Clock cycles of a run of a pipeline beside those in which it moves, where no stream makes it wait: the first two
    words come in, the last one goes out."""
    return 6 + (2 if inputs else 0) + any(port.words > 1 for port in inputs)


def kernel_fill(first: Sequence[int]) -> int:
    """The same of a kernel whose inputs take their first words in these ticks."""
    return 6 + max(0, 2 - min(first, default=2))


def emit_streams(spec: StreamSystemSpec) -> dict[str, str]:
    """Verilog files, by name, of the system of `spec` as module `stream_system`: ``clk``, ``rst`` (synchronous, high),
    ``s_axis_NAME_tdata`` and so on, ``moves``, ``ends``, ``early``, ``failed``."""
    m = Module()
    system = PipelineStreams(spec) if isinstance(spec.core, PipelineSpec) else KernelStreams(spec)
    m.submodules.system = system
    ports = [*connect_streams(m, system, system.inputs, system.outputs), system.moves, system.ends, system.early,
             system.failed]
    return {f"{STREAM_MODULE}.v": convert(m, STREAM_MODULE, ports=ports)}

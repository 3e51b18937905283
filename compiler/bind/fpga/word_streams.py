"""A pipeline between AXI4-Streams: its streams in the order in which it takes and gives words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.bind.design import check_inputs
from compiler.bind.host_interface import NoDriver
from compiler.bind.stream_arrays import StreamArray, check_each_once
from compiler.bind.streamed_design import ArrayStreams
from hw.axi_stream.spec import StreamError, StreamPort
from hw.axi_stream.system import pipeline_fill
from hw.drivers.interface import c_identifier
from hw.pipeline.spec import PipelineSpec
from hw.pipeline.streams import ArrayStream
from hw.pipeline.system import emit_pipeline

if TYPE_CHECKING:
    from compiler.bind.fpga.design import FpgaDesign

__all__ = ["PipelineArrays"]

_REWRITE = ("set the option tile_depth to 0, so that no tile is fetched anew, or take --target dataflow with "
            "--option reorder=chip")


class PipelineArrays(ArrayStreams):
    """Streams of `design`. Raises `StreamError` for an array of which the pipeline fetches elements several times."""

    def __init__(self, design: FpgaDesign):
        self._design = design
        self._areas = _host_areas(design)
        for name in design.parts.constants:
            raise StreamError(f"array '{name}' has the values of iterators and comes from memory: leave the pass "
                              "materialize-iterator-values out of the option passes")
        self.name = c_identifier(design.program.name)
        self.inputs = tuple(self._streams(design.system.inputs, "input"))
        self.outputs = tuple(self._streams(design.system.outputs, "output"))
        check_each_once((*self.inputs, *self.outputs), _REWRITE)

    def _streams(self, streams: Sequence[ArrayStream], role: str) -> Iterator[StreamArray]:
        for stream in streams:
            array = self._design.parts.program.array(stream.name)
            first = np.array(stream.addresses, np.int64)[:, None] // stream.element_bytes
            numbers = (first + np.arange(stream.row)).ravel()
            port = StreamPort(c_identifier(stream.name), stream.word, len(numbers))
            yield StreamArray(port, array, role, numbers, self._areas.get(stream.name, {}))

    @property
    def hardware(self) -> PipelineSpec:
        """See `ArrayStreams`."""
        return self._design.system.pipeline

    def split(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """See `ArrayStreams`."""
        return self._design.parts.split(check_inputs(self._design.program, inputs))

    def join(self, outputs: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """See `ArrayStreams`."""
        return self._design.parts.join(outputs, check_inputs(self._design.program, inputs))

    @property
    def fill(self) -> int:
        """See `ArrayStreams`."""
        return pipeline_fill([stream.port for stream in self.inputs])

    def core(self) -> dict[str, str]:
        """See `ArrayStreams`."""
        return emit_pipeline(self._design.system.pipeline)


def _host_areas(design: FpgaDesign) -> dict[str, dict[str, Any]]:
    """What the host's array is of each array of the streams, and where in it; none where no boxes say that."""
    try:
        areas = design.host_interface.areas
    except NoDriver:
        return {}
    return {area.name: {"array": area.array, "blocks": area.describe().get("blocks", [])} for area in areas}

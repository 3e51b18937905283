"""A dataflow kernel between AXI4-Streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from compiler.bind.dataflow.running import StreamPlace
from compiler.bind.dataflow.start_to_done import firing_steps
from compiler.bind.design import check_inputs
from compiler.bind.stream_arrays import StreamArray, check_each_once
from compiler.bind.streamed_design import ArrayStreams
from hw.axi_stream.spec import StreamError, StreamPort
from hw.axi_stream.system import kernel_fill
from hw.dataflow.spec import KernelSpec, StreamSpec
from hw.drivers.interface import c_identifier

if TYPE_CHECKING:
    from compiler.bind.dataflow.design import DataflowDesign

__all__ = ["KernelArrays"]

_REWRITE = "set the option reorder to chip, so that the design keeps what it needs again"


class KernelArrays(ArrayStreams):
    """Streams of `design`. Raises `StreamError` for an array that comes several times, or in a stream for each lane,
    and for run-time sizes."""

    def __init__(self, design: DataflowDesign):
        kernel = design.plan.kernel
        if kernel.sizes:
            name = kernel.sizes[0].name
            raise StreamError(f"size {name} is chosen when the design runs, and streams have no register for it: leave "
                              f"--sizes out and give it a value with --set {name}=VALUE")
        self._design = design
        self.name = c_identifier(design.program.name)
        places = design.executable.places
        self._names = _port_names(places)
        self.inputs = tuple(self._streams(places[0], kernel.inputs, "input"))
        self.outputs = tuple(self._streams(places[1], kernel.outputs, "output"))
        check_each_once((*self.inputs, *self.outputs), _REWRITE)

    def _streams(self, places: Sequence[StreamPlace], specs: Sequence[StreamSpec], role: str) -> Iterator[StreamArray]:
        for place, spec in zip(places, specs, strict=True):
            yield StreamArray(StreamPort(self._names[place.node], spec.word, place.words), place.array, role,
                              place.elements)

    @property
    def hardware(self) -> KernelSpec:
        """See `ArrayStreams`."""
        return self._design.plan.kernel

    def split(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """See `ArrayStreams`."""
        return check_inputs(self._design.program, inputs)

    def join(self, outputs: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """See `ArrayStreams`."""
        return dict(outputs)

    @cached_property
    def fill(self) -> int:
        """See `ArrayStreams`."""
        plan = self._design.plan
        return kernel_fill([int(firing_steps(plan, place.node, ())[0]) for place in self._design.executable.places[0]])


def _port_names(places: tuple[Sequence[StreamPlace], Sequence[StreamPlace]]) -> dict[str, str]:
    """Names of streams by their nodes: the array's where it has one stream on its side, else the node's."""
    found = {}
    for side in places:
        names = [place.array.name for place in side]
        for place in side:
            alone = names.count(place.array.name) == 1
            found[place.node] = c_identifier(place.array.name if alone else place.node)
    both = [name for name in found.values() if list(found.values()).count(name) > 1]
    return {place.node: c_identifier(place.node) if found[place.node] in both else found[place.node]
            for place in chain(*places)}

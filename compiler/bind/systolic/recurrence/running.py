"""Running an array of a recurrence: streams in the order in which its chains want them, one job on the Verilog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import islpy as isl
import numpy as np

from compiler.bind.dataflow.running import StreamExecutable, StreamPlace, in_memory
from compiler.bind.systolic.recurrence.depths import SizedArray
from compiler.bind.systolic.recurrence.mapping import Stream
from compiler.ir.program import Program
from hw.dataflow.spec import KernelPorts
from hw.main_memory import MainMemory
from hw.systolic.recurrence.array import emit_recurrence

__all__ = ["RecurrenceExecutable"]


@dataclass(frozen=True)
class RecurrenceExecutable(StreamExecutable):
    """What a run needs of an array."""

    program: Program
    array: SizedArray
    main_memory: MainMemory
    sizes: tuple[int, ...] = ()

    @property
    def ports(self) -> KernelPorts:
        """Streams of the array."""
        return self.array.mapping.spec.ports

    @property
    def cycles(self) -> int:
        """By the model."""
        return self.array.network.cycles

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog of the system."""
        return emit_recurrence(self.array.mapping.spec)

    @cached_property
    def places(self) -> tuple[tuple[StreamPlace, ...], tuple[StreamPlace, ...]]:
        """Streams one after the other in memory."""
        mapping = self.array.mapping
        return in_memory([self._places(mapping.inputs), self._places(mapping.outputs)])

    def _places(self, streams: Sequence[Stream]) -> list[StreamPlace]:
        return [StreamPlace(s.name, self.program.array(s.array), 0, len(s.elements), partial(np.asarray, s.elements))
                for s in streams]

    def host_order(self, place: StreamPlace, pack: bool) -> isl.Map:
        """{ELEMENT[subscripts, point] -> point} of a stream."""
        streams = self.array.mapping.inputs if pack else self.array.mapping.outputs
        words = next(stream.words for stream in streams if stream.name == place.node).reset_tuple_id(isl.dim_type.out)
        subscripts = words.dim(isl.dim_type.out)
        domain = words.reverse().wrap().flatten().set_tuple_name("ELEMENT")
        order = isl.Map.identity(domain.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
        return order.project_out(isl.dim_type.out, 0, subscripts).intersect_domain(domain)

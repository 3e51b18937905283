"""Options of the vector target."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.memory_options import MemoryOptions
from compiler.bind.vector.errors import VectorTargetError
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Options"]


@dataclass(frozen=True)
class Options(MemoryOptions):
    """What a user can choose.

    lanes: 32-bit lanes of the machine, 1 to 64. scratchpad: its bytes (default: that of `VectorSpec`).
    float32, bfloat16: whether the lanes compute with floating-point numbers of 32 bits, with pairs of bfloat16;
    fma: whether these also have fused multiply-add, a product and a sum that are rounded once (`fmaf` in C);
    float_latency: cycles of their operators.
    segment: elements of a tile per dimension of the result, None to let the cost model choose; it holds for programs
    of one phase. search: whether the fastest plan is searched for; without it each phase takes the first one that fits
    the scratchpad, which is found in a fraction of the time.
    """

    lanes: int = 4
    scratchpad: int | None = None
    float32: bool = False
    bfloat16: bool = False
    fma: bool = False
    float_latency: int = VectorSpec.float_latency
    segment: tuple[int, ...] | None = None
    search: bool = True

    def spec(self) -> VectorSpec:
        """The machine. Raises `VectorSpecError`, or `VectorTargetError` for a segment that is none."""
        if self.segment is not None and any(n < 1 for n in self.segment):
            raise VectorTargetError(f"a segment of {self.segment} elements is empty")
        return VectorSpec(self.lanes, self.scratchpad, float32=self.float32, bfloat16=self.bfloat16,
                          fma=self.fma, float_latency=self.float_latency)

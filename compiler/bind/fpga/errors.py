"""What the fpga target refuses."""

from __future__ import annotations

from compiler.sched.static.schedule import InitiationIntervals
from hw.errors import SluiceError

__all__ = ["FpgaError", "ManySources", "SlowRecurrence", "UnevenWalk"]

_TAKEN_BY = "; take target dataflow, whose words wait in memories"


class FpgaError(SluiceError):
    """A program, or an option, that this target cannot build a pipeline for; the message says where and why."""


class ManySources(FpgaError):
    """A read of statement `name` sees values of several statements in an order that no counter follows; reads of each
    and a select help (`compiler.passes.normalize.source_selection`), or the initiation interval of these statements."""

    def __init__(self, message: str, name: str):
        super().__init__(message + _TAKEN_BY)
        self.name = name


class SlowRecurrence(FpgaError):
    """The recurrence latency of the statement `name`, which messages call `label`, exceeds the distance of its
    loop-carried dependence; a larger initiation interval helps. So does `idling`, the initiation intervals with cycles
    at the end of every iteration of an outer loop, if there is one.

    `nodes`: the recurrence in the net, each node before the one that it waits for; `excess`: cycles that are
    missing. `latency`: those that its operators take, 0 if registers between chained ones are among what is missing.
    """

    def __init__(self, name: str, label: str = "", idling: InitiationIntervals | None = None,
                 nodes: tuple[int, ...] = (), excess: int = 0, latency: int = 0):
        super().__init__(f"{label or name}: its recurrence latency exceeds the distance of its loop-carried "
                         "dependence, at the largest initiation interval, too; take target dataflow, whose operators "
                         "wait for their operands")
        self.name, self.idling, self.nodes = name, idling, nodes
        self.excess, self.latency = excess, latency

    def least_interval(self, interval: int) -> int:
        """The initiation interval, now `interval`, below which it is too slow unless an outer loop can idle:
        distances grow no faster, and operators take no less time where there is more of it."""
        distance = self.latency - self.excess
        return interval if self.idling or distance <= 0 else -(-interval * self.latency // distance)


class UnevenWalk(FpgaError):
    """A read, by statement and number, walks the words that it sees in an order that no counter follows; counters may
    follow those of the pieces of its dependences."""

    def __init__(self, message: str, read: tuple[str, int]):
        super().__init__(message + _TAKEN_BY)
        self.read = read

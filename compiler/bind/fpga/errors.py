"""What the fpga target refuses."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["FpgaError", "SlowRecurrence"]


class FpgaError(SluiceError):
    """A program, or an option, that this target cannot build a pipeline for; the message says where and why."""


class SlowRecurrence(FpgaError):
    """The recurrence latency of the statement `name`, which messages call `label`, exceeds the distance of its
    loop-carried dependence; a larger initiation interval helps."""

    def __init__(self, name: str, label: str = ""):
        super().__init__(f"{label or name}: its recurrence latency exceeds the distance of its loop-carried "
                         "dependence, at the largest initiation interval, too")
        self.name = name

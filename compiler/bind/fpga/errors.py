"""What the fpga target refuses."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["FpgaError", "SlowRecurrence"]


class FpgaError(SluiceError):
    """A program, or an option, that this target cannot build a pipeline for; the message says where and why."""


class SlowRecurrence(FpgaError):
    """Values come back to the statement `name`, which messages call `label`, in fewer cycles than its operators take; a
    larger initiation interval helps."""

    def __init__(self, name: str, label: str = ""):
        super().__init__(f"{label or name}: values come back to it in fewer cycles than its operators take, at the "
                         "largest initiation interval, too")
        self.name = name

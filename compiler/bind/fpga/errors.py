"""What the fpga target refuses."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["FpgaError", "SlowRecurrence"]


class FpgaError(SluiceError):
    """A program, or an option, that this target cannot build a pipeline for; the message says where and why."""


class SlowRecurrence(FpgaError):
    """Values of `statement` come back to it in fewer cycles than its operators take; a larger initiation interval
    helps."""

    def __init__(self, statement: object):
        super().__init__(f"{statement}: values come back to it in fewer cycles than its operators take, at the largest "
                         "initiation interval, too")
        self.statement = statement

"""What can go wrong in building and running programs of the processor system."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["CoreMissing", "FirmwareError", "ProgramError", "SocError"]


class SocError(SluiceError):
    """A processor system that cannot be built."""


class CoreMissing(SocError):
    """The scalar core's Verilog is not installed, or not the one that this project knows."""


class FirmwareError(SluiceError):
    """A program that cannot be compiled, linked or loaded."""


class ProgramError(SluiceError):
    """A program that ran and ended badly."""

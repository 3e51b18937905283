"""The error of the Halide front end."""

from __future__ import annotations

from compiler.ir.types import ProgramError

__all__ = ["PipelineError"]


class PipelineError(ProgramError):
    """A pipeline that cannot be read or has no meaning here: one line that names the Func, its stage and the reason."""

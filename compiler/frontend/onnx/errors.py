"""The error of the ONNX front end."""

from __future__ import annotations

from compiler.ir.types import ProgramError

__all__ = ["ModelError"]


class ModelError(ProgramError):
    """A model that cannot be read or has no meaning here: one line that names the node, its operator, the reason and a
    rewrite."""

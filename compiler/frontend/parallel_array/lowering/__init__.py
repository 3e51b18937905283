"""Parallel arrays as loop nests, for the targets that take those."""

from compiler.frontend.parallel_array.lowering.program import loop_nests

__all__ = ["loop_nests"]

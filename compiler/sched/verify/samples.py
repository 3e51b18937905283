"""Words that memories hold where expressions are compared on examples."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from compiler.ir.evaluate import TableIndexError
from compiler.ir.expr import Load, Store
from compiler.ir.program import Memory, Program
from compiler.ir.types import Int

__all__ = ["SampleWords"]


class SampleWords:
    """Random words in all memories of a program; see `compiler.ir.evaluate.Memories`."""

    def __init__(self, program: Program) -> None:
        self.words = {memory.name: _random(memory) for memory in program.memories if isinstance(memory.type, Int)}

    def load(self, node: Load, index: np.ndarray, after: Sequence[np.ndarray]) -> np.ndarray:
        """The words at `index`. Raises `TableIndexError` for what is outside."""
        words = self.words[node.memory]
        outside = np.flatnonzero((index < 0) | (index >= len(words)))
        if outside.size:
            raise TableIndexError(f"a word outside '{node.memory}'", outside)
        return words[index.astype(np.int64)]

    def store(self, node: Store, index: np.ndarray, value: np.ndarray, enable: np.ndarray,
              after: Sequence[np.ndarray]) -> np.ndarray:
        """Stores nothing: samples are of single instances."""
        return enable


def _random(memory: Memory) -> np.ndarray:
    assert isinstance(memory.type, Int)
    words = np.random.default_rng(crc32(memory.name.encode())).integers(0, 1 << 31, memory.words)
    return np.asarray(memory.type.wrap(words))

"""What the memories of a program hold while it is interpreted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.evaluate import TableIndexError, constant_words, storage
from compiler.ir.expr import Load, Store
from compiler.ir.program import Memory, Program

__all__ = ["MemoryState"]


class MemoryState:
    """All memories of a program, with what they hold at first, or else zeros; see `compiler.ir.evaluate.Memories`."""

    def __init__(self, program: Program) -> None:
        self._memories = {memory.name: memory for memory in program.memories}
        self._words = {memory.name: _first_words(memory) for memory in program.memories}

    def load(self, node: Load, index: np.ndarray, after: Sequence[np.ndarray]) -> np.ndarray:
        """The words at `index`. Raises `TableIndexError` for what is outside."""
        self._check(node.memory, index, np.ones(1, bool))
        return self._words[node.memory][index.astype(np.int64, copy=False)]

    def store(self, node: Store, index: np.ndarray, value: np.ndarray, enable: np.ndarray,
              after: Sequence[np.ndarray]) -> np.ndarray:
        """Write where `enable` is set, in the order of the arguments. Raises `TableIndexError` for what is outside."""
        count = max(map(len, (index, value, enable, *after)))
        index, value, chosen = (np.broadcast_to(part, count) for part in (index, value, enable.astype(bool)))
        self._check(node.memory, index, chosen)
        self._words[node.memory][index[chosen].astype(np.int64, copy=False)] = value[chosen]
        return enable

    def _check(self, memory: str, index: np.ndarray, enable: np.ndarray) -> None:
        size = len(self._words[memory])
        outside = np.flatnonzero(((index < 0) | (index >= size)) & enable)
        if outside.size:
            known = self._memories[memory]
            where = f"index {index[outside[0]]} is outside '{known.label}' of {size} elements"
            raise TableIndexError(known.assertion or where, outside)


def _first_words(memory: Memory) -> np.ndarray:
    """What a memory holds before anything is stored."""
    if memory.initial is None:
        return np.zeros(memory.words, storage(memory.type))
    return np.repeat(constant_words(memory.type, (memory.initial,)), memory.words)

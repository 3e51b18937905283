"""Arrays of wide elements as two arrays of words: one of the low, one of the high halves.

For targets whose streams and memories carry words. The host takes inputs apart and puts outputs together; between them
every statement that writes a wide array is two statements. Who rewrites the values is the target's business
(`compiler.bind.cgra.legalize_arrays`), this is what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compiler.ir.program import Program
from compiler.ir.types import Int

__all__ = ["SplitArrays"]


@dataclass(frozen=True)
class SplitArrays:
    """A program as it is asked for and as it runs on words of `width` bits, unsigned ones.

    `halves`: for every wide array of `before` its low and its high words' array of `after`. `statements`: for every
    statement of `before` what computes it: one statement, or that of the low and that of the high words. `kept`: for a
    statement of high words that only copies them, the one that computed them.
    """

    before: Program
    after: Program
    halves: Mapping[str, tuple[str, str]]
    statements: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, str]
    width: int

    def split(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Inputs of `after` from those of `before`."""
        found = {name: np.asarray(data) for name, data in inputs.items() if name not in self.halves}
        for name, halves in self.halves.items():
            if name in inputs:
                value = np.asarray(inputs[name]).astype(np.int64)
                for half, words in zip(halves, (value, value >> self.width), strict=True):
                    found[half] = words & ((1 << self.width) - 1)
        return found

    def join(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs of `before` from those of `after`."""
        found: dict[str, np.ndarray] = {}
        for array in self.before.outputs:
            if array.name not in self.halves:
                found[array.name] = outputs[array.name]
                continue
            low, high = (np.asarray(outputs[half]).astype(np.int64) for half in self.halves[array.name])
            assert isinstance(array.type, Int)
            value = (high << self.width) | low
            found[array.name] = value - (value > array.type.maximum) * (1 << array.type.width)
        return found

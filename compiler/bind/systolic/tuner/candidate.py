"""A design that the search has seen, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from compiler.bind.systolic.tuner.budget import TunerError, Usage

__all__ = ["Candidate", "pareto", "read_candidate"]


@dataclass(frozen=True)
class Candidate:
    """Options of the target (`space` to `lanes`), and what the models say: cycles and resources."""

    space: tuple[str, ...]
    array: tuple[int, ...]
    time: tuple[tuple[str, int], ...]
    simd: str
    lanes: int
    cycles: int
    multipliers: int
    block_ram: int
    luts: int
    flip_flops: int

    @property
    def usage(self) -> Usage:
        """The resources."""
        return Usage(self.multipliers, self.block_ram, self.luts, self.flip_flops)

    @property
    def options(self) -> dict[str, object]:
        """Options of `compiler.compile` that give this design."""
        return {
            "space": ",".join(self.space), "array": "x".join(map(str, self.array)),
            "time": ",".join(f"{name}:{steps}" for name, steps in self.time),
            "simd": f"{self.simd}:{self.lanes}" if self.lanes > 1 else "off",
        }

    def costs(self) -> tuple[int, ...]:
        """All that should be small."""
        return self.cycles, self.multipliers, self.block_ram, self.luts

    def __str__(self) -> str:
        return " ".join(f"--option {name}={value}" for name, value in self.options.items())


def read_candidate(data: Mapping[str, object]) -> Candidate:
    """The candidate that was recorded as JSON. Raises `TunerError`."""
    names = {field.name for field in fields(Candidate)}
    if set(data) != names:
        raise TunerError("that is no candidate")
    values = dict(data)
    for name in ("space", "array", "time"):
        values[name] = tuple(tuple(v) if isinstance(v, list) else v for v in _sequence(values[name]))
    return Candidate(**values)  # type: ignore[arg-type]


def _sequence(value: object) -> Sequence[object]:
    if not isinstance(value, Sequence):
        raise TunerError("that is no candidate")
    return value


def pareto(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other one beats in everything (cycles, multipliers, block RAM, LUTs), fastest first."""
    ordered = sorted(dict.fromkeys(candidates), key=Candidate.costs)
    costs = np.array([c.costs() for c in ordered]).reshape(len(ordered), -1)
    best: list[int] = []
    for row in range(len(ordered)):
        if not (costs[best] <= costs[row]).all(axis=1).any():
            best.append(row)
    return [ordered[row] for row in best]

"""A design that the search has seen, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

from compiler.bind.systolic.tuner.budget import TunerError, Usage

__all__ = ["Candidate", "front", "pareto", "read_candidate"]


@dataclass(frozen=True)
class Candidate:
    """Options of the target (`space` to `lanes`, and for sums of floating-point numbers `order` to `latency`), and what
    the models say: cycles and resources."""

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
    order: tuple[str, ...] = ()
    partial_sums: int = 1
    reassociate: bool = False
    latency: tuple[tuple[str, int], ...] = ()

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
            "simd": f"{self.simd}:{self.lanes}" if self.lanes > 1 else "off", **self._sums,
        }

    @property
    def _sums(self) -> dict[str, object]:
        """Options for sums of floating-point numbers."""
        found: dict[str, object] = {"order": ",".join(self.order)} if self.order else {}
        if self.latency:
            found["latency"] = ",".join(f"{op}:{cycles}" for op, cycles in self.latency)
        if self.reassociate:
            found |= {"reassociate": True, "partial_sums": self.partial_sums}
        return found

    def costs(self) -> tuple[int, ...]:
        """All that should be small."""
        return self.cycles, self.multipliers, self.block_ram, self.luts

    def __str__(self) -> str:
        return " ".join(f"--option {name}={str(value).lower() if isinstance(value, bool) else value}"
                        for name, value in self.options.items())


def read_candidate(data: Mapping[str, object]) -> Candidate:
    """The candidate that was recorded as JSON. Raises `TunerError`."""
    values = {name: _tuples(value) for name, value in data.items()}
    kinds = get_type_hints(Candidate)
    try:
        if values.keys() != kinds.keys():
            raise TunerError("that is no candidate")
        for name, kind in kinds.items():
            check_type(values[name], kind, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError:
        raise TunerError("that is no candidate") from None
    return Candidate(**values)


def _tuples(value: Any) -> Any:
    """JSON's lists as the tuples that they were."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def pareto(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other one beats in everything (cycles, multipliers, block RAM, LUTs), fastest first."""
    ordered = sorted(dict.fromkeys(candidates), key=Candidate.costs)
    costs = np.array([c.costs() for c in ordered]).reshape(len(ordered), -1)
    return [ordered[row] for row in front(costs)]


def front(costs: np.ndarray) -> list[int]:
    """Rows of `costs` [rows, kinds] that no other one is as good as in every column, in ascending order of costs."""
    best: list[int] = []
    for row in np.lexsort(costs.T[::-1]):
        if not (costs[best] <= costs[row]).all(axis=1).any():
            best.append(int(row))
    return best

"""Orders of the loops of a tile, and tiles, that are worth a look where sums are rounded term by term."""

from __future__ import annotations

import numpy as np

from compiler.bind.systolic.float_sums import in_order
from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.plan import reductions_innermost

__all__ = ["time_orders", "with_sums_in_order"]


def time_orders(kernel: Kernel) -> list[tuple[str, ...]]:
    """Orders of the loops of a tile that are worth a look. Where sums wait for an adder, independent ones are made in
    turns: loops that they depend on go inside reductions, from the innermost one to all of them."""
    innermost = reductions_innermost(kernel)
    if not kernel.rounds:
        return [innermost]
    free = innermost[: len(innermost) - len(kernel.reduction_loops)]
    return [(*free[:k], *kernel.reduction_loops, *free[k:]) for k in range(len(free) + 1)]


def with_sums_in_order(kernel: Kernel, times: np.ndarray) -> np.ndarray:
    """Those of `times` [tilings, loops] that take the terms of sums in the program's order where it matters; all if
    there are none."""
    loops = kernel.reduction_loops
    places = [kernel.loops.index(name) for name in loops]
    kept = [not kernel.ordered or in_order(loops, [-(-kernel.extents[k] // int(own[k])) for k in places],
                                           [(name, int(own[k])) for name, k in zip(loops, places, strict=True)])
            for own in times]
    return times[kept] if any(kept) else times

"""Loops that may run in lanes, and what that asks of the arrays' layout (Wang 2021, section 5.4)."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.systolic.kernel import Kernel, Reference

__all__ = ["Lanes", "simd_loops"]


@dataclass(frozen=True)
class Lanes:
    """What putting a loop into lanes means: `moved`: arrays whose dimension has to become the last one; `repeated`:
    arrays whose words overlap, so that elements lie in memory several times; `reason`: why it cannot be, "" if it can.
    """

    moved: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    reason: str = ""


def simd_loops(kernel: Kernel) -> dict[str, Lanes]:
    """Every loop of the kernel. All of them are parallel or reductions, so only the strides of references decide: zero,
    or one after the layout transformation."""
    return {name: _lanes(kernel, position) for position, name in enumerate(kernel.loops)}


def _lanes(kernel: Kernel, position: int) -> Lanes:
    if kernel.ordered and kernel.loops[position] in kernel.reduction_loops:
        return Lanes(reason="it would add floating-point numbers in another order than the program; reassociate=True "
                            "lets it")
    moved, repeated = [], []
    for reference in kernel.reads:
        strides = [(dimension, subscript.coefficients[position]) for dimension, subscript
                   in enumerate(reference.subscripts) if subscript.coefficients[position]]
        name = reference.array or "constant"
        if any(abs(stride) > 1 for _, stride in strides):
            return Lanes(reason=f"'{name}' has stride {strides[0][1]} along it")
        if len(strides) > 1:
            return Lanes(reason=f"'{name}' steps in {len(strides)} dimensions along it")
        if strides:
            dimension = strides[0][0]
            if dimension != len(reference.subscripts) - 1:
                moved.append(name)
            if _shared(reference, dimension):
                repeated.append(name)
    return Lanes(tuple(dict.fromkeys(moved)), tuple(dict.fromkeys(repeated)))


def _shared(reference: Reference, dimension: int) -> bool:
    """Whether another loop moves along the same dimension."""
    return sum(map(bool, reference.subscripts[dimension].coefficients)) > 1

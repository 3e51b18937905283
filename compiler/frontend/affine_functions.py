"""Quasi-affine functions of a statement's iterators, as isl has them, and the conditions that compare them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

__all__ = ["COMPARISONS", "Space", "chosen", "constant_of", "hull", "index_map", "pieces_of", "quotient", "remainder"]

_SET = isl.dim_type.set


class Space:
    """The iterators of one statement, outermost first."""

    def __init__(self, iterators: tuple[str, ...]) -> None:
        self.universe = isl.Set(f"{{ [{', '.join(iterators)}] }}")
        self._local = isl.LocalSpace.from_space(self.universe.get_space())
        self.iterators = iterators

    def constant(self, value: int) -> isl.PwAff:
        """`value` everywhere."""
        return isl.PwAff.from_aff(isl.Aff.zero_on_domain(self._local).set_constant_val(isl.Val(value)))

    def iterator(self, name: str) -> isl.PwAff:
        """The value of an iterator."""
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(self._local, _SET, self.iterators.index(name)))

    def all(self, holds: bool) -> isl.Set:
        """Where a condition is fulfilled that always, or never, is."""
        return self.universe if holds else isl.Set.empty(self.universe.get_space())

    def box(self, bounds: dict[str, tuple[int, int]]) -> isl.Set:
        """The points whose iterators are from the first to the last value of `bounds`."""
        box = self.universe
        for position, name in enumerate(self.iterators):
            first, last = bounds[name]
            box = box.lower_bound_val(_SET, position, isl.Val(first)).upper_bound_val(_SET, position, isl.Val(last))
        return box


def constant_of(function: isl.PwAff | None) -> int | None:
    """The value of a function that has only one, None for others."""
    if function is None or not function.is_cst() or function.n_piece() != 1:
        return None
    [(_, piece)] = pieces_of(function)
    value = piece.get_constant_val()
    return value.to_python() if value.is_int() else None


def pieces_of(function: isl.PwAff) -> list[tuple[isl.Set, isl.Aff]]:
    """The affine functions that it is made of, and where."""
    found: list[tuple[isl.Set, isl.Aff]] = []
    function.coalesce().foreach_piece(lambda where, piece: found.append((where, piece)))
    return found


def index_map(space: isl.Space, indices: Sequence[isl.PwAff]) -> isl.Map:
    """From points of `space` to elements of an array, outermost index first; one that has no indices has an element 0.
    """
    mapping = isl.Map.from_domain_and_range(isl.Set.universe(space), isl.Set("{ [] }" if indices else "{ [0] }"))
    for index in indices:
        mapping = mapping.flat_range_product(isl.Map.from_pw_aff(index))
    return mapping


def quotient(function: isl.PwAff, divisor: int) -> isl.PwAff:
    """Euclidean division by a constant other than 0."""
    floor = function.scale_down_val(isl.Val(abs(divisor))).floor()
    return floor if divisor > 0 else floor.neg()


def remainder(function: isl.PwAff, divisor: int) -> isl.PwAff:
    """The remainder of that, never negative."""
    return function.mod_val(isl.Val(abs(divisor)))


def chosen(condition: isl.Set, yes: isl.PwAff, no: isl.PwAff) -> isl.PwAff:
    """`yes` where the condition holds, else `no`."""
    return yes.intersect_domain(condition).union_add(no.subtract_domain(condition)).coalesce()


COMPARISONS: dict[str, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    "eq": isl.PwAff.eq_set, "ne": isl.PwAff.ne_set, "lt": isl.PwAff.lt_set, "le": isl.PwAff.le_set,
    "gt": isl.PwAff.gt_set, "ge": isl.PwAff.ge_set,
}


def hull(points: isl.Set) -> list[tuple[int, int]] | None:
    """First and last coordinate of a bounded set in every dimension, None if it is empty."""
    if points.is_empty():
        return None
    return [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python())
            for k in range(points.dim(_SET))]

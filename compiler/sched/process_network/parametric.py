"""Channel sizes as functions of a size parameter (Bok 2018, section 2.5.2: `value_size`).

Programs have numbers for sizes, so the function is found from networks of several sizes: the polynomial of least degree
through their channel sizes. It is checked on two sizes that it was not fitted to; it is no proof for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.network import ProcessNetwork

__all__ = ["Polynomial", "size_polynomials"]

_CHECKS = 2


@dataclass(frozen=True)
class Polynomial:
    """``sum(coefficients[k] * n**k)``, the last coefficient not zero. Prints as in ``n^2 + 1/2*n``."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, n: int) -> Fraction:
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    def __str__(self) -> str:
        terms = [_term(c, k) for k, c in reversed(list(enumerate(self.coefficients))) if c]
        return " + ".join(terms) or "0"


def _term(coefficient: Fraction, power: int) -> str:
    name = "" if power == 0 else "n" if power == 1 else f"n^{power}"
    if not name:
        return str(coefficient)
    return name if coefficient == 1 else f"{coefficient}*{name}"


def size_polynomials(build: Callable[[int], ProcessNetwork], sizes: Sequence[int]) -> dict[str, Polynomial]:
    """Size of every edge, by name, as a function of the number that `build` takes.

    The first ``len(sizes) - 2`` of the different `sizes` determine it, the others check it. Raises `NetworkError` if
    there are fewer than three, networks have different edges, or some size is no such polynomial.
    """
    if len(set(sizes)) != len(sizes) or len(sizes) <= _CHECKS:
        raise NetworkError(f"a function of the size needs at least {_CHECKS + 1} different sizes, not {list(sizes)}")
    networks = [build(n) for n in sizes]
    names = [edge.name for edge in networks[0].edges]
    for n, network in zip(sizes, networks, strict=True):
        if [edge.name for edge in network.edges] != names:
            raise NetworkError(f"networks of sizes {sizes[0]} and {n} have different edges")
    values = {name: [network.edges[k].size for network in networks] for k, name in enumerate(names)}
    return {name: _fitted(name, sizes, found) for name, found in values.items()}


def _fitted(name: str, sizes: Sequence[int], values: Sequence[int]) -> Polynomial:
    count = len(sizes) - _CHECKS
    polynomial = _interpolated(sizes[:count], values[:count])
    for n, value in zip(sizes[count:], values[count:], strict=True):
        if polynomial(n) != value:
            raise NetworkError(f"edge {name}: its size is no polynomial of degree below {count}: at {n} it is {value}, "
                               f"not {polynomial(n)}")
    return polynomial


def _interpolated(points: Sequence[int], values: Sequence[int]) -> Polynomial:
    """Newton's divided differences, multiplied out."""
    table = [Fraction(value) for value in values]
    for order in range(1, len(points)):
        for k in reversed(range(order, len(points))):
            table[k] = (table[k] - table[k - 1]) / (points[k] - points[k - order])
    result = [Fraction(0)] * len(points)
    for k in reversed(range(len(points))):
        shifted = [Fraction(0), *result[:-1]]
        result = [s - points[k] * r for s, r in zip(shifted, result, strict=True)]
        result[0] += table[k]
    while len(result) > 1 and not result[-1]:
        result.pop()
    return Polynomial(tuple(result))

"""Linear models fitted to measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ortools.linear_solver import pywraplp

from hw.errors import SluiceError

__all__ = ["fit_linear"]


def fit_linear(rows: Sequence[Mapping[str, float]], wanted: Sequence[float], terms: Iterable[str],
               given: Sequence[float] | None = None) -> dict[str, float]:
    """Coefficients of `terms`, none negative, with which the sum of the mean and of the largest relative error of the
    `rows` is as small as possible; to each of these something may be `given`. Raises `SluiceError`."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    weights = {name: solver.NumVar(0, solver.infinity(), name) for name in terms}
    worst = solver.NumVar(0, solver.infinity(), "worst")
    errors = [solver.NumVar(0, solver.infinity(), f"error {number}") for number in range(len(rows))]
    for row, error, value, own in zip(rows, errors, wanted, given or [0] * len(rows), strict=True):
        guess = solver.Sum([weight * row[name] for name, weight in weights.items()]) + own
        solver.Add(guess - value <= error * value)
        solver.Add(value - guess <= error * value)
        solver.Add(error <= worst)
    solver.Minimize(worst + solver.Sum(errors) * (1 / len(rows)))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise SluiceError("the model has no best fit")
    return {name: round(weight.solution_value(), 6) for name, weight in weights.items()}

"""Runs of CP-SAT whose results are the same on every machine, and that Ctrl-C ends."""

from __future__ import annotations

import threading

from ortools.sat.python import cp_model

__all__ = ["solve_model"]


def solve_model(model: cp_model.CpModel, effort: float) -> tuple[cp_model.CpSolver, bool] | None:
    """The solver with the best values that it found for `model`, and whether they are proven optimal; None if it found
    none. `effort` is deterministic time, about seconds.

    The solver runs in a thread of its own: in the main thread it would take an interrupt for the end of its time.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    solver.parameters.catch_sigint_signal = False
    found: list[cp_model.CpSolverStatus] = []
    ended = threading.Event()

    def run() -> None:
        try:
            found.append(solver.solve(model))
        finally:
            ended.set()

    threading.Thread(target=run, name="CP-SAT", daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        solver.stop_search()
        ended.wait()
        raise
    if found[0] not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return solver, found[0] == cp_model.OPTIMAL

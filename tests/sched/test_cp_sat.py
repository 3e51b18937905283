"""The solver: deterministic, and ended by Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from ortools.sat.python import cp_model

from compiler.sched.static.cp_sat import solve_model

_ENDLESS = """
import random
import signal
import sys
from ortools.sat.python import cp_model
from compiler.sched.static.cp_sat import solve_model
from hw.command import run_command

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored

def solve():
    model, draw = cp_model.CpModel(), random.Random(1)
    chosen = [model.new_bool_var("") for _ in range(60)]
    for _ in range(20):
        weights = [draw.randrange(1000) for _ in chosen]
        model.add(sum(w * c for w, c in zip(weights, chosen)) == sum(weights) // 2)
    print("solving", flush=True)
    return 0 if solve_model(model, 1e6) else 1

sys.exit(run_command(solve))
"""
"""A market split, which no solver decides in an hour."""


def test_the_best_values_and_whether_they_are_optimal() -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(0, 9, "x")
    model.add(3 * x <= 20)
    model.maximize(x)
    solved = solve_model(model, 1)
    assert solved is not None
    assert (solved[0].value(x), solved[1]) == (6, True)


def test_no_values() -> None:
    model = cp_model.CpModel()
    model.add(2 * model.new_int_var(0, 9, "x") == 3)
    assert solve_model(model, 1) is None


def test_an_interrupt_ends_the_search() -> None:
    with subprocess.Popen([sys.executable, "-c", _ENDLESS], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "solving\n"
        time.sleep(0.3)
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, error = run.communicate(timeout=60)
    assert (run.returncode, error) == (130, "interrupted\n")
    assert time.monotonic() - begin < 20, "on a busy machine; it takes milliseconds"

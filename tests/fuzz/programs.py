"""Random C functions as jobs: a generator, a target, and whether a model or an RTL simulator gives the results."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from random import Random
from subprocess import CalledProcessError
from typing import Any

from c_targets import MODELS, require_gcc_results, simulated
from random_array_options import array_options
from random_constants import constant_data, constant_function
from random_control import control_function
from random_language import language_function

from hw.errors import SluiceError

__all__ = ["Job", "draw", "failure_of", "is_same_failure", "options_of", "text_of"]

GENERATORS = (constant_function, language_function, control_function)
"""What draws a program of the parameters a, b and y."""

_RTL = 0.02
"""Share of programs that go through RTL simulation."""

_SIMULATED = ("fpga", "dataflow", "vector")
"""Targets whose RTL builds take seconds; the array's configurations are proved on every compile."""


@dataclass(frozen=True)
class Job:
    """The program of `seed` on `target`; `simulator` is empty where a model gives the results."""

    seed: int
    target: str
    simulator: str


def draw(seed: int, targets: tuple[str, ...] = tuple(MODELS)) -> Job:
    """The job that belongs to a seed."""
    random = Random(seed)
    target = random.choice(targets)
    rtl = target in _SIMULATED and random.random() < _RTL
    return Job(seed, target, random.choice(("verilator", "icarus")) if rtl else "")


def text_of(job: Job) -> str:
    """The C function, called ``f``."""
    random = Random(job.seed)
    return random.choice(GENERATORS)(random, "f")


def options_of(job: Job) -> dict[str, Any]:
    """The target's options; random ones for the array."""
    return array_options(Random(job.seed)) if job.target == "cgra" else {}


def failure_of(job: Job) -> str:
    """What is wrong with a job's program; empty if nothing is, or if it is refused."""
    return _failure(job, text_of(job))


def is_same_failure(job: Job, failure: str, text: str) -> bool:
    """Whether `text` in place of the job's program fails, too, by an error of the same kind; not if gcc refuses it."""
    try:
        found = _failure(job, text)
    except CalledProcessError:
        return False
    return found != "" and _kind(found) == _kind(failure)


def _kind(failure: str) -> str:
    """The name of the error that a traceback ends with."""
    heads = [line.split(":")[0] for line in failure.splitlines() if line[:1].isalpha() and ":" in line]
    return next((head for head in heads if head.split(".")[-1].endswith(("Error", "Exception"))), "")


def _failure(job: Job, text: str) -> str:
    run = simulated(job.target, job.simulator) if job.simulator else MODELS[job.target]
    try:
        require_gcc_results(text, "f", constant_data(text, job.seed), run, options_of(job))
    except CalledProcessError:
        raise
    except SluiceError as error:
        return f"{type(error).__name__}: {error}" if "ValidationError" in type(error).__name__ else ""
    except Exception:
        return traceback.format_exc()
    return ""

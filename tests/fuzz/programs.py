"""Random C functions as jobs: a generator, a target, and whether a model or an RTL simulator gives the results."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from random import Random

from c_targets import MODELS, require_gcc_results, simulated
from random_constants import constant_data, constant_function
from random_language import language_function

from hw.errors import SluiceError

__all__ = ["Job", "draw", "failure_of"]

GENERATORS = (constant_function, language_function)
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


def failure_of(job: Job, text: str | None = None) -> str:
    """What is wrong with a job's program (or with `text` in its place); empty if nothing is, or if it is refused."""
    text = text_of(job) if text is None else text
    run = simulated(job.target, job.simulator) if job.simulator else MODELS[job.target]
    try:
        require_gcc_results(text, "f", constant_data(text, job.seed), run)
    except SluiceError as error:
        return str(error) if "ValidationError" in type(error).__name__ else ""
    except Exception:
        return traceback.format_exc()
    return ""

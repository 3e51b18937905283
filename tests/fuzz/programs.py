"""Random C functions as jobs: a program, a target, its options, and whether a model or RTL simulators give the
results."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from subprocess import CalledProcessError
from typing import Any, Literal

import numpy as np
from c_targets import MODELS, Data, gcc_results, inputs_of, require_same, simulated
from random_addresses import address_function
from random_c import random_function
from random_constants import constant_function
from random_control import control_function
from random_data import function_data
from random_exits import exit_function, inner_exit_function
from random_float_c import float_function, single_function
from random_float_kernels import float_kernel_function
from random_float_nests import float_nest_function
from random_kernels import kernel_function
from random_language import language_function
from random_loop_heads import loop_head_function
from random_nests import nest_function
from random_orders import order_function
from random_tables import table_function
from random_target_options import rtl_options, target_options
from random_triangles import random_triangle

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.errors import SluiceError
from tests.fuzz.limit import TooSlow, limited

__all__ = ["FRONT_END", "GENERATORS", "MODELS", "NAME", "SIMULATORS", "Case", "Job", "Outcome", "case_of", "check",
           "draw", "generator_name", "is_same_failure", "options_of", "text_of"]

NAME = "f"
FRONT_END = "interpreter"
"""The target of jobs that end with the program."""
SIMULATORS = ("icarus", "verilator")

_ALL = tuple(MODELS)
_CIRCUITS = ("vector", "fpga", "cgra", "dataflow")


@dataclass(frozen=True)
class Generator:
    """What draws a program: how often it is asked, and the targets that take such programs."""

    draw: Callable[[Random, str], str]
    weight: int
    targets: tuple[str, ...] = _CIRCUITS


GENERATORS: Mapping[str, Generator] = {
    "constants": Generator(constant_function, 8),
    "orders": Generator(order_function, 6),
    "nests": Generator(nest_function, 6),
    "kernels": Generator(kernel_function, 6, _ALL),
    "triangles": Generator(lambda random, name: random_triangle(random, random.randint(2, 6)), 3),
    "language": Generator(language_function, 2),
    "control": Generator(control_function, 2),
    "statements": Generator(lambda random, name: random_function(random, name).text, 1),
    "addresses": Generator(address_function, 3, ("fpga", "dataflow", "vector")),
    "tables": Generator(table_function, 2),
    "exits": Generator(exit_function, 3, ("fpga", "dataflow", "vector")),
    "inner exits": Generator(inner_exit_function, 3, ("fpga", "dataflow", "vector")),
    "loop heads": Generator(loop_head_function, 3, ("fpga", "dataflow", "vector")),
    "floats": Generator(float_function, 1, ("dataflow", "fpga", "systolic")),
    "float nests": Generator(float_nest_function, 2, ("dataflow", "fpga", "systolic")),
    "float kernels": Generator(float_kernel_function, 2, ("systolic", "dataflow", "fpga")),
    "single floats": Generator(single_function, 1, ("dataflow", "fpga", "vector", "systolic")),
}
"""All functions are called `NAME`, and all their parameters are arrays."""


@dataclass(frozen=True)
class Job:
    """The program of `seed` on `target`; `simulators` is empty where a model gives the results."""

    seed: int
    target: str
    simulators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of a job, why, and the processor seconds that it took."""

    kind: Literal["right", "refused", "wrong", "slow"]
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Case:
    """A text with its data, before any target: what gcc's function leaves, and the program, if it is accepted."""

    text: str
    data: Data
    wanted: Mapping[str, np.ndarray]

    @cached_property
    def program(self) -> Program:
        """Raises `ScopError` if the front end refuses the text."""
        return parse_scop(self.text, f"{NAME}.c", function=NAME)

    @cached_property
    def interpreted(self) -> Program:
        """The program, whose results in the interpreter are gcc's. Raises `AssertionError` if they are others."""
        require_same(interpret(self.program, inputs_of(self.program, self.data)), self.wanted, "interpreter", self.text)
        return self.program


def draw(seed: int, targets: tuple[str, ...] = _ALL, rtl: float = 0.0) -> list[Job]:
    """The jobs that belong to a seed: one for each target that takes the generator's programs; a share `rtl` of all
    jobs goes through both simulators."""
    random = Random(f"jobs {seed}")
    taking = _generator(seed)[1].targets
    return [Job(seed, target, SIMULATORS if random.random() < rtl else ()) for target in targets if target in taking]


def _generator(seed: int) -> tuple[str, Generator]:
    names = list(GENERATORS)
    name = Random(seed).choices(names, [GENERATORS[n].weight for n in names])[0]
    return name, GENERATORS[name]


def generator_name(seed: int) -> str:
    """Who draws the program of a seed."""
    return _generator(seed)[0]


def text_of(seed: int) -> str:
    """The C file with the function `NAME`."""
    return _generator(seed)[1].draw(Random(f"text {seed}"), NAME)


def options_of(job: Job) -> dict[str, Any]:
    """The target's options, at random."""
    if job.target == FRONT_END:
        return {}
    random = Random(f"options {job.seed} {job.target}")
    drawn = (rtl_options if job.simulators else target_options)(job.target, random)
    floats = job.target == "vector" and generator_name(job.seed) == "single floats"
    return drawn | {"float32": True, "fma": True} if floats else drawn


def case_of(text: str, seed: int) -> Case:
    """Raises `CalledProcessError` if gcc refuses the text."""
    data = function_data(text, NAME, seed % 2**32)
    return Case(text, data, gcc_results(text, NAME, data))


def check(job: Job, case: Case, seconds: float) -> Outcome:
    """Compile for the job's target, run, and compare; at most `seconds` of processor time."""
    start = time.process_time()
    try:
        with limited(seconds):
            _require(job, case)
        return Outcome("right", seconds=time.process_time() - start)
    except TooSlow:
        return Outcome("slow", f"more than {seconds:g} s of processor time", time.process_time() - start)
    except SluiceError as error:
        wrong = "ValidationError" in type(error).__name__
        reason = f"{type(error).__name__}: {error}" if wrong else str(error)
        return Outcome("wrong" if wrong else "refused", reason, time.process_time() - start)
    except Exception:
        return Outcome("wrong", traceback.format_exc(), time.process_time() - start)


def _require(job: Job, case: Case) -> None:
    program, options = case.interpreted, options_of(job)
    if job.target == FRONT_END:
        return
    inputs = inputs_of(program, case.data)
    run = simulated(job.target, *job.simulators) if job.simulators else MODELS[job.target]
    require_same(run(program, inputs, options), case.wanted, job.target, case.text)


def is_same_failure(job: Job, failure: Outcome, seconds: float, text: str) -> bool:
    """Whether `text` in place of the job's program fails, too, by an error of the same kind; not if gcc refuses it, or
    what it calls is missing."""
    try:
        found = check(job, case_of(text, job.seed), seconds)
    except (CalledProcessError, AssertionError, OSError):
        return False
    return found.kind == failure.kind and _kind(found.reason) == _kind(failure.reason)


def _kind(failure: str) -> str:
    """The name of the error that a traceback ends with."""
    heads = [line.split(":")[0] for line in failure.splitlines() if line[:1].isalpha() and ":" in line]
    return next((head for head in heads if head.split(".")[-1].endswith(("Error", "Exception"))), "")

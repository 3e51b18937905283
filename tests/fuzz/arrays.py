"""Random search over programs of parallel arrays on targets that take loop nests: numpy against the interpreter of the
loops, against models of targets, and a share against both RTL simulators; and against the vector machine.

Failures are printed with their seeds, which draw the same programs again. Exit status 1 if there was one.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
from rich.console import Console

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from c_targets import MODELS, simulated  # noqa: E402
from random_arrays import RandomProgram, random_inputs  # noqa: E402

import compiler  # noqa: E402
from compiler.frontend import parallel_array as pa  # noqa: E402
from compiler.frontend.parallel_array.lowering import loop_nests  # noqa: E402
from compiler.ir.interpret import interpret  # noqa: E402
from hw.errors import SluiceError  # noqa: E402
from tests.fuzz.limit import TooSlow, limited  # noqa: E402
from tests.fuzz.seeds import options_parser, summary  # noqa: E402

__all__ = ["TARGETS", "check_target", "program_of"]

TARGETS = ("interpreter", "fpga", "dataflow", "cgra", "systolic", "machine")
SIMULATORS = ("icarus", "verilator")


def program_of(seed: int) -> tuple[pa.ArrayProgram, dict[str, np.ndarray]]:
    """The program of a seed, and its inputs."""
    random = np.random.default_rng(seed)
    program = RandomProgram(random, functions=True).grow(int(random.integers(2, 9)))
    return program, random_inputs(program, random)


def check_target(seed: int, target: str, rtl: bool = False) -> None:
    """Compare a target's results with numpy's. Raises `AssertionError` for others, `SluiceError` if it refuses."""
    program, inputs = program_of(seed)
    if target == "machine":
        found = compiler.compile(program, target="vector", search=False).execute(inputs)
    elif target == "interpreter":
        found = interpret(loop_nests(program), inputs)
    else:
        found = (simulated(target, *SIMULATORS) if rtl else MODELS[target])(loop_nests(program), inputs, {})
    for name, wanted in program.reference(inputs).items():
        np.testing.assert_array_equal(np.reshape(found[name], wanted.shape), wanted, f"{target}: {name}")


def _outcome(seed: int, target: str, rtl: bool, seconds: float) -> tuple[str, str]:
    """What became of a program on a target, and why."""
    try:
        with limited(seconds):
            check_target(seed, target, rtl)
    except TooSlow:
        return "slow", f"more than {seconds:g} s"
    except SluiceError as error:
        refused = target not in ("interpreter", "machine") and "ValidationError" not in type(error).__name__
        return ("refused" if refused else "wrong"), str(error)
    except Exception:
        return "wrong", traceback.format_exc()
    return "right", ""


def main(arguments: list[str] | None = None) -> int:
    """Search."""
    options = options_parser("python -m tests.fuzz.arrays", __doc__, TARGETS).parse_args(arguments)
    console, counts = Console(markup=False, highlight=False, soft_wrap=True), Counter()
    for seed in range(options.seed, options.seed + options.count):
        rtl = Random(f"rtl {seed}").random() < options.rtl
        for target in options.target or TARGETS:
            in_rtl = rtl and target not in ("interpreter", "machine")
            kind, reason = _outcome(seed, target, in_rtl, 10 * options.limit if in_rtl else options.limit)
            counts[target + (" in RTL" if in_rtl else ""), kind] += 1
            if kind == "wrong":
                console.print(f"seed {seed}, {target}{' in RTL' * in_rtl}: {reason}")
    return summary(console, counts, options.count)


if __name__ == "__main__":
    sys.exit(main())

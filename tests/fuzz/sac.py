"""Random search over SA-C programs with loops on hardware: the interpreter of the graphs against the program in C by
gcc, against the programs of its loops, against models of targets, and a share against both RTL simulators. The machine
of the thesis has no model: all its runs are in RTL.

Each failure is written to a folder as a test that pytest runs. Exit status 1 if there was one.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from c_targets import MODELS, simulated  # noqa: E402
from random_dfg import LoopWriter as FlatWriter  # noqa: E402
from random_sac_counted import CountedWriter  # noqa: E402
from random_sac_loops import LoopWriter  # noqa: E402
from random_sac_nests import NestWriter  # noqa: E402

from compiler.bind.application_forms import FORMS  # noqa: E402
from compiler.bind.window import place_on_windows  # noqa: E402
from compiler.frontend.sac import SacProgram, parse_sac, random_inputs  # noqa: E402
from compiler.frontend.sac.ddcf import interpret  # noqa: E402
from compiler.frontend.sac.errors import SacRunError  # noqa: E402
from compiler.frontend.sac.host_c import compile_host, run_host  # noqa: E402
from compiler.frontend.sac.programs import (  # noqa: E402
    group_loops,
    run_application,
    run_by_interpreter,
    trace_application,
)
from compiler.ir.program import Program  # noqa: E402
from hw.errors import SluiceError  # noqa: E402
from tests.fuzz.limit import TooSlow, limited  # noqa: E402
from tests.fuzz.seeds import options_parser, summary  # noqa: E402

__all__ = ["TARGETS", "check_target", "text_of"]

TARGETS = ("interpreter", "fpga", "dataflow", "cgra", "vector", "window")
SIMULATORS = ("icarus", "verilator")
_KINDS = ("pair", "several", "siblings", "narrowed")


def text_of(seed: int) -> str:
    """The program of a seed."""
    draw = Random(f"sac {seed}")
    which = draw.randrange(12)
    if which < 5:
        return NestWriter(seed).program()
    if which > 9:
        return CountedWriter(seed).program()
    return FlatWriter(seed).program() if which < 7 else getattr(LoopWriter(seed), draw.choice(_KINDS))()


def check_target(text: str, seed: int, target: str, rtl: bool = False) -> int:
    """Compare a program whose loops run on a target with its interpreter, in one of the forms; how many groups of loops
    the target took. Raises `AssertionError` for other results."""
    program = parse_sac(text, "p.sc")
    inputs = random_inputs(program, seed, 6)
    if "table" in inputs:
        inputs["table"] = np.arange(200, 205)
    held = program.held(inputs)
    wanted = interpret(program.module, program.main.name, held)
    if target == "interpreter":
        _against_gcc(program, held, wanted)
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    passes = Random(f"form {seed}").choice(list(FORMS.values()))
    if target == "window":
        return _on_windows(sized, held, wanted, seed, rtl)
    application, _ = trace_application(sized.optimised(list(passes))[0], held)
    groups = [application.group(numbers) for numbers in group_loops(application.graph, application.candidates()[0])]
    taken = 0

    def execute(program: Program, given: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        nonlocal taken
        if target == "interpreter":
            taken += 1
            return run_by_interpreter(program, given)
        try:
            found = (simulated(target, *SIMULATORS) if rtl else MODELS[target])(program, given, {})
        except SluiceError as error:
            if "ValidationError" in type(error).__name__:
                raise
            return run_by_interpreter(program, given)
        taken += 1
        return found

    _same(run_application(application, groups, held, execute), wanted, target)
    return taken


def _on_windows(sized: SacProgram, held: list[np.ndarray], wanted: list[np.ndarray], seed: int, rtl: bool) -> int:
    """Runs of the machine of the thesis, with Icarus or with both simulators, memories that are not always ready."""
    passes = Random(f"window {seed}").choice((("all",), ("inline", "tables", "inline", "separate"), ("most",)))
    placed = place_on_windows(sized.optimised(list(passes))[0], 1 + seed % 2)
    for simulator in SIMULATORS[:1 + rtl] if placed.loops else ():
        _same(placed.simulate(held, simulator, stall=0.2 * (seed % 3 == 0), seed=seed), wanted, simulator)
        assert all(run.cycles >= run.least_cycles for _, run in placed.runs), "fewer cycles than the least"
    return len(placed.runs)


def _against_gcc(program: SacProgram, held: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    with TemporaryDirectory() as folder:
        executable = compile_host(program.host_c(), Path(folder))
        _same(run_host(executable, held, program.main.graph.inputs, program.main.result_types), wanted, "gcc")


def _same(found: list[np.ndarray], wanted: list[np.ndarray], what: str) -> None:
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert np.array_equal(one, other, equal_nan=other.dtype.kind == "f"), f"{what}: result {number} differs"


def _outcome(seed: int, target: str, rtl: bool, seconds: float) -> tuple[str, str]:
    """What became of a program on a target, and why."""
    try:
        with limited(seconds):
            return ("right" if check_target(text_of(seed), seed, target, rtl) else "refused"), ""
    except SacRunError as error:
        return "no result", str(error)
    except TooSlow:
        return "slow", f"more than {seconds:g} s"
    except Exception:
        return "wrong", traceback.format_exc()


def main(arguments: list[str] | None = None) -> int:
    """Search."""
    parser = options_parser("python -m tests.fuzz.sac", __doc__, TARGETS)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, default=Path("fuzz_found"), help="where failures go as tests")
    options = parser.parse_args(arguments)
    console, counts, end = Console(markup=False, highlight=False, soft_wrap=True), Counter(), time.time()
    programs = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.time() > end + 60 * options.minutes:
            break
        programs += 1
        rtl = Random(f"rtl {seed}").random() < options.rtl
        for target in options.target or TARGETS:
            in_rtl = rtl and target != "interpreter"
            kind, reason = _outcome(seed, target, in_rtl, options.limit)
            counts[target + (" in RTL" if in_rtl else ""), kind] += 1
            if kind == "wrong":
                options.folder.mkdir(parents=True, exist_ok=True)
                path = options.folder / f"test_sac_{target}_{seed}.py"
                path.write_text(f"from tests.fuzz.sac import check_target\n\nTEXT = \"\"\"{text_of(seed)}\"\"\"\n\n\n"
                                f"def test_results():\n    check_target(TEXT, {seed}, {target!r}, {in_rtl})\n")
                console.print(f"{path}\n{reason}")
    return summary(console, counts, programs)


if __name__ == "__main__":
    sys.exit(main())

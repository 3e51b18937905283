"""Random search over Halide pipelines: interpreted, on targets, and in RTL, against what Halide computes.

A failure is written to a folder as a test that pytest runs. What was counted is printed. Exit status 1 if there was a
failure. ``--flips`` damages bits of serialised pipelines instead, 20 times each: each of these has to decode or end in
one line.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from c_targets import require_same  # noqa: E402
from halide_check import random_inputs  # noqa: E402
from random_halide import random_pipeline  # noqa: E402

from compiler.frontend.halide import HalideProgram, PipelineError, from_bytes, load_pipeline  # noqa: E402
from compiler.ir.interpret import interpret  # noqa: E402
from compiler.ir.program import Program  # noqa: E402
from compiler.passes.scheduled import ScheduledProgram  # noqa: E402
from tests.fuzz.limit import TooSlow, limited  # noqa: E402
from tests.fuzz.programs import FRONT_END, SIMULATORS, Job, Outcome, check  # noqa: E402

SIZES = [7, 5]
_FLIPS = 20


@dataclass(frozen=True)
class HalideCase:
    """The pipeline of a seed: what `tests.fuzz.programs.Case` is for C."""

    seed: int

    @property
    def text(self) -> str:
        """What failures show."""
        return f"pipeline of seed {self.seed}"

    @cached_property
    def _loaded(self) -> HalideProgram:
        import halide

        return load_pipeline(random_pipeline(Random(f"halide {self.seed}"), halide), SIZES)

    @property
    def program(self) -> Program:
        """The translation."""
        return self._loaded.program

    @cached_property
    def data(self) -> Mapping[str, np.ndarray]:
        """Inputs."""
        return random_inputs(self.program, self.seed)

    @cached_property
    def wanted(self) -> Mapping[str, np.ndarray]:
        """What Halide computes."""
        return self._loaded.reference(self.data)

    @cached_property
    def interpreted(self) -> Program:
        """The program, whose results, and those of the one with its schedule's copies, are Halide's."""
        program = self.program
        require_same(interpret(program, self.data), self.wanted, "interpreter", self.text)
        if isinstance(program, ScheduledProgram):
            copied, _ = program.for_target({}, {})
            require_same(interpret(copied, self.data), self.wanted, "copies", self.text)
        return program


def main(arguments: list[str] | None = None) -> int:
    """Search."""
    options = _parser().parse_args(arguments)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    seeds = range(options.seed, options.seed + options.count)
    work = _flip if options.flips else _search
    jobs = [(seed, tuple(options.target or ()), tuple(options.simulator or ()), options.limit, time.time() +
             60 * options.minutes) for seed in seeds]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs) as executor:
        for found in executor.map(work, jobs, chunksize=4):
            for job, outcome in found:
                counts[f"{job.target}{' ' + '+'.join(job.simulators) if job.simulators else ''}: {outcome.kind}"] += 1
                if outcome.kind in ("wrong", "slow"):
                    console.print(_kept(options.folder, job, outcome))
                elif outcome.kind == "refused":
                    console.print(f"seed {job.seed} on {job.target} refused: {outcome.reason[:200]}")
    console.print("\n".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return int(any("wrong" in name or "slow" in name for name in counts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.halide", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="pipelines (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first one (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--target", action="append", choices=("fpga", "dataflow", "vector", "cgra"),
                        help="also on this one (repeat)")
    parser.add_argument("--simulator", action="append", choices=SIMULATORS, help="in RTL, on this one (repeat)")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=60.0, help="pipelines after that are left out")
    parser.add_argument("--flips", action="store_true", help="damage bits of serialised pipelines, 20 of each")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_found"), help="where failures go as tests")
    return parser


_Work = tuple[int, tuple[str, ...], tuple[str, ...], float, float]


def _search(work: _Work) -> list[tuple[Job, Outcome]]:
    """One pipeline: the interpreter first, then every target."""
    seed, targets, simulators, seconds, end = work
    if time.time() >= end:
        return []
    case: Any = HalideCase(seed)
    start = Job(seed, FRONT_END)
    found = [(start, check(start, case, seconds))]
    if found[0][1].kind == "right":
        found += [(job, check(job, case, seconds)) for job in (Job(seed, t, simulators) for t in targets)]
    return found


def _flip(work: _Work) -> list[tuple[Job, Outcome]]:
    """A serialised pipeline, `_FLIPS` times with one bit changed."""
    import halide

    seed, end = work[0], work[-1]
    random, job = Random(f"flip {seed}"), Job(seed, "bytes")
    data = halide.serialize_pipeline(halide.Pipeline([random_pipeline(random, halide)]))
    return [(job, _damaged(bytearray(data), random, work[3])) for _ in range(_FLIPS) if time.time() < end]


def _damaged(data: bytearray, random: Random, seconds: float) -> Outcome:
    place, bit = random.randrange(len(data)), random.randrange(8)
    data[place] ^= 1 << bit
    try:
        with limited(seconds):
            from_bytes(bytes(data), SIZES)
    except TooSlow:
        return Outcome("slow", f"byte {place}, bit {bit}: more than {seconds:g} s")
    except PipelineError as error:
        return Outcome("wrong" if "\n" in str(error) else "refused", str(error))
    except Exception:
        return Outcome("wrong", f"byte {place}, bit {bit}: {traceback.format_exc()}")
    return Outcome("right")


def _kept(folder: Path, job: Job, outcome: Outcome) -> str:
    """Write a test of a failure; what is printed of it."""
    text = (f'"""Found by random search: seed {job.seed} on {job.target}."""\n\n'
            "from tests.fuzz.halide import HalideCase\nfrom tests.fuzz.programs import Job, check\n\n\n"
            "def test_results_are_those_of_halide():\n"
            f"    outcome = check({job!r}, HalideCase({job.seed}), 600)\n"
            "    assert outcome.kind == 'right', outcome.reason\n")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"test_halide_{job.target}_{job.seed}.py"
    path.write_text(text)
    return f"{path}: {outcome.kind}\n{outcome.reason}"


if __name__ == "__main__":
    sys.exit(main())

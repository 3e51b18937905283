"""Random search: C functions against gcc on every target, and every property test of the suite with new examples.

Each failure is reduced, printed, and written to a folder as a test that pytest runs. Exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from tests.fuzz.programs import MODELS, Job, draw, failure_of, is_same_failure, options_of, text_of  # noqa: E402
from tests.fuzz.reduce import reduce_text  # noqa: E402

_BATCH = 20
_PROPERTY = 8
"""One job in so many is a file of property tests."""


def main(arguments: list[str] | None = None) -> int:
    """Search for as long as asked for."""
    options = _parser().parse_args(arguments)
    console = Console(markup=False, highlight=False)
    console.print(f"seed {options.seed}, {options.minutes:g} minutes, {options.jobs} processes")
    counts: Counter[str] = Counter()
    with _executor(options) as executor:
        for kind, count, failures in _results(executor, options):
            counts[kind] += count
            counts["failures"] += len(failures)
            for name, text in failures:
                options.folder.mkdir(parents=True, exist_ok=True)
                (options.folder / name).write_text(text)
                console.print(f"{options.folder / name}\n{text}")
    console.print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return int(counts["failures"] > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="first seed (default: from the clock)")
    parser.add_argument("--target", action="append", choices=list(MODELS), help="only this one (repeat)")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_found"), help="where failures go as tests")
    parser.add_argument("--cluster", metavar="ADDRESS", help="scheduler of a dask cluster to run on")
    return parser


def _executor(options: argparse.Namespace) -> Executor:
    if not options.cluster:
        return ProcessPoolExecutor(options.jobs)
    from distributed import Client

    return Client(options.cluster).get_executor()


_Found = tuple[str, int, list[tuple[str, str]]]
"""What a job found: its kind, how many programs or files it was, and failures as file name and text."""


def _results(executor: Executor, options: argparse.Namespace) -> Iterator[_Found]:
    """What jobs found, until the time is over; batches of programs stop then, too."""
    end = time.time() + 60 * options.minutes
    pending: set[Future[Any]] = set()
    number = 0
    while time.time() < end or pending:
        while time.time() < end and len(pending) < options.jobs:
            pending.add(_submit(executor, options, number, end))
            number += 1
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


def _submit(executor: Executor, options: argparse.Namespace, number: int, end: float) -> Future[Any]:
    seed = options.seed + number * _BATCH
    if number % _PROPERTY == _PROPERTY - 1 and not options.target:
        return executor.submit(search_properties, seed)
    return executor.submit(search_programs, seed, tuple(options.target or MODELS), end)


def search_programs(first: int, targets: tuple[str, ...], end: float = math.inf) -> _Found:
    """The programs of a batch of seeds, as far as they are begun before the time `end`."""
    found, seed = [], first
    while seed < first + _BATCH and time.time() < end:
        job = draw(seed, targets)
        if failure := failure_of(job):
            text = reduce_text(text_of(job), partial(is_same_failure, job, failure))
            found.append((f"test_found_{job.target}_{seed}.py", _as_test(job, text)))
        seed += 1
    return "programs", seed - first, found


def _as_test(job: Job, text: str) -> str:
    run = f"simulated({job.target!r}, {job.simulator!r})" if job.simulator else f"MODELS[{job.target!r}]"
    return (f'"""Found by random search: seed {job.seed} on {job.target}."""\n\n'
            "from c_targets import MODELS, require_gcc_results, simulated\n"
            "from random_constants import constant_data\n\n"
            f'TEXT = """{text}"""\n\n\ndef test_results_are_those_of_gcc():\n'
            f'    require_gcc_results(TEXT, "f", constant_data(TEXT, {job.seed}), {run},\n'
            f"                        {options_of(job)!r})\n")


def search_properties(seed: int) -> _Found:
    """One file of property tests with new examples."""
    files = sorted(path for folder in ("tests", "tb") for path in (ROOT / folder).rglob("test_*.py")
                   if "@given" in path.read_text())
    path = files[seed // _BATCH % len(files)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", str(path)]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {"SLUICE_FUZZ": "1"}, capture_output=True, text=True,
                            check=False)
    if result.returncode == 0:
        return "properties", 1, []
    return "properties", 1, [(f"{path.stem}_{seed}.txt", f"{' '.join(command)}\n\n{result.stdout}\n{result.stderr}")]


if __name__ == "__main__":
    sys.exit(main())

"""Random search: C functions against gcc on every target, and every property test of the suite with new examples.

Each failure is reduced, printed, and written to a folder as a test that pytest runs; so is each program that takes too
long. What was counted is written there, too, as counts.json. Exit status 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from tests.fuzz.programs import (  # noqa: E402
    FRONT_END,
    GENERATORS,
    MODELS,
    NAME,
    Job,
    Outcome,
    case_of,
    check,
    draw,
    generator_name,
    is_same_failure,
    options_of,
    text_of,
)
from tests.fuzz.reduce import reduce_text  # noqa: E402
from tests.fuzz.tally import Tally  # noqa: E402

_BATCH = 20
_PROPERTY = 8
"""One job in so many is a file of property tests."""
_REPORT = 300.0
"""Seconds from table to table."""


@dataclass
class Found:
    """What a batch found: the outcome of every job, how many files of property tests it was, and failures as file name
    and text."""

    outcomes: list[tuple[Job, Outcome]] = field(default_factory=list)
    properties: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Search:
    """How to search: on which targets, by which generators, until when, which share of programs in RTL, processor
    seconds for each."""

    targets: tuple[str, ...] = tuple(MODELS)
    generators: tuple[str, ...] = tuple(GENERATORS)
    end: float = math.inf
    rtl: float = 0.02
    seconds: float = 20.0


def main(arguments: list[str] | None = None) -> int:
    """Search for as long as asked for."""
    options = _parser().parse_args(arguments)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    counts = options.folder / "counts.json"
    tally = Tally.load(counts) if options.resume and counts.exists() else Tally(options.seed)
    console.print(f"seed {tally.seed}, {options.minutes:g} minutes, {options.jobs} processes")
    failures = 0
    with _executor(options) as executor:
        try:
            for found in _reported(_results(executor, options, tally), tally, console):
                _count(tally, found)
                tally.save(counts)
                failures += len(found.failures)
                for name, text in found.failures:
                    (options.folder / name).write_text(text)
                    console.print(f"{options.folder / name}\n{text}")
        except KeyboardInterrupt:
            console.print("interrupted; programs under way are left")
            executor.shutdown(wait=False, cancel_futures=True)
    console.print(tally.table())
    console.print(f"{tally.properties} files of property tests, {failures} failures; counts in {counts}")
    return int(failures > 0)


def _reported(results: Iterator[Found], tally: Tally, console: Console) -> Iterator[Found]:
    """`results`, between which the counts are printed now and then."""
    reported = time.time()
    for found in results:
        yield found
        if time.time() > reported + _REPORT:
            console.print(tally.table())
            reported = time.time()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="first seed (default: from the clock)")
    parser.add_argument("--target", action="append", choices=list(MODELS), help="only this one (repeat)")
    parser.add_argument("--generator", action="append", choices=list(GENERATORS), help="only its programs (repeat)")
    parser.add_argument("--rtl", type=float, default=0.02, metavar="SHARE",
                        help="of programs that both RTL simulators run (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=20.0, metavar="SECONDS",
                        help="of processor time for a program on a target (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_found"), help="where failures go as tests")
    parser.add_argument("--resume", action="store_true", help="go on with the seeds and counts of the folder")
    parser.add_argument("--no-properties", action="store_true", help="only C functions, no property tests")
    parser.add_argument("--cluster", metavar="ADDRESS", help="scheduler of a dask cluster to run on")
    return parser


def _executor(options: argparse.Namespace) -> Executor:
    if not options.cluster:
        return ProcessPoolExecutor(options.jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    from distributed import Client

    return Client(options.cluster).get_executor()


def _count(tally: Tally, found: Found) -> None:
    tally.properties += found.properties
    for job, outcome in found.outcomes:
        tally.add(job, outcome)


def _results(executor: Executor, options: argparse.Namespace, tally: Tally) -> Iterator[Found]:
    """What jobs found, until the time is over; batches of programs stop then, too."""
    end = time.time() + 60 * options.minutes
    search = Search(tuple(options.target or MODELS), tuple(options.generator or GENERATORS), end, options.rtl,
                    options.limit)
    properties = not (options.target or options.generator or options.no_properties)
    pending: set[Future[Any]] = set()
    number = 0
    while time.time() < end or pending:
        while time.time() < end and len(pending) < options.jobs:
            number += 1
            if properties and number % _PROPERTY == 0:
                pending.add(executor.submit(search_properties, tally.seed))
            else:
                pending.add(executor.submit(search_programs, tally.seed, search))
            tally.seed += _BATCH
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


def search_programs(first: int, search: Search) -> Found:
    """The programs of a batch of seeds, as far as they are begun before the end."""
    found = Found()
    for seed in (seed for seed in range(first, first + _BATCH) if generator_name(seed) in search.generators):
        if time.time() >= search.end:
            break
        _search_program(seed, search, found)
    return found


def _search_program(seed: int, search: Search, found: Found) -> None:
    """One program: through gcc and the interpreter first, then on every target that takes such programs."""
    jobs = draw(seed, search.targets, search.rtl)
    if not jobs:
        return
    case = case_of(text_of(seed), seed)
    start = Job(seed, FRONT_END)
    outcome = check(start, case, search.seconds)
    if outcome.kind in ("wrong", "slow"):
        found.failures.append(_failure(start, outcome, search.seconds))
    for job in jobs:
        found.outcomes.append((job, outcome if outcome.kind != "right" else check(job, case, search.seconds)))
        if outcome.kind == "right" and found.outcomes[-1][1].kind in ("wrong", "slow"):
            found.failures.append(_failure(job, found.outcomes[-1][1], search.seconds))


def _failure(job: Job, outcome: Outcome, seconds: float) -> tuple[str, str]:
    """A test of the smallest program found that fails in the same way; slow ones are not made smaller."""
    text = text_of(job.seed)
    if outcome.kind == "wrong":
        text = reduce_text(text, partial(is_same_failure, job, outcome, seconds))
    return f"test_{outcome.kind}_{job.target}_{job.seed}.py", _as_test(job, outcome, text)


def _as_test(job: Job, outcome: Outcome, text: str) -> str:
    run = f"simulated({job.target!r}, *{job.simulators!r})" if job.simulators else f"MODELS[{job.target!r}]"
    run = "lambda program, inputs, options: {}" if job.target == FRONT_END else run
    reason = outcome.reason.strip().splitlines()[-1:] or ["no reason"]
    return (f"# Found by random search: seed {job.seed} on {job.target}, {outcome.seconds:.1f} s of processor time.\n"
            f"# {reason[0]}\n\n"
            "from c_targets import MODELS, require_gcc_results, simulated\n"
            "from random_data import function_data\n\n"
            f'TEXT = """{text}"""\n\n\ndef test_results_are_those_of_gcc():\n'
            f"    require_gcc_results(TEXT, {NAME!r}, function_data(TEXT, {NAME!r}, {job.seed % 2**32}), {run},\n"
            f"                        {options_of(job)!r})\n")


def search_properties(seed: int) -> Found:
    """One file of property tests with new examples."""
    files = sorted(path for folder in ("tests", "tb") for path in (ROOT / folder).rglob("test_*.py")
                   if "@given" in path.read_text())
    path = files[seed // _BATCH % len(files)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", str(path)]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {"SLUICE_FUZZ": "1"}, capture_output=True, text=True,
                            check=False)
    if result.returncode == 0:
        return Found(properties=1)
    return Found(properties=1, failures=[
        (f"{path.stem}_{seed}.txt", f"{' '.join(command)}\n\n{result.stdout}\n{result.stderr}")])


if __name__ == "__main__":
    sys.exit(main())

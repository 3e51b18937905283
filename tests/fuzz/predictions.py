"""Predictions of the compiler over a corpus, before and after a change: cycles, start to done, and refusals.

    python -m tests.fuzz.predictions --write before.json [--seeds 40] [--folder DIR ...] [--only TEXT]
    python -m tests.fuzz.predictions --compare before.json

Nothing is simulated. The corpus is the applications, every C file in the folders (their first function), and random
programs with random options, which a seed gives. `--compare` compiles again what a file holds, prints each difference,
and ends with status 1 if anything got slower or is refused that was not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from c_targets import MODELS  # noqa: E402, F401

import compiler  # noqa: E402
from benchmarks.applications import APPLICATIONS  # noqa: E402
from compiler.frontend.apps import load  # noqa: E402
from compiler.frontend.c_scop import parse_scop  # noqa: E402
from compiler.ir.program import Program  # noqa: E402
from hw.errors import SluiceError  # noqa: E402
from hw.files import write_atomic  # noqa: E402
from tests.fuzz.limit import TooSlow, limited  # noqa: E402
from tests.fuzz.programs import NAME, Job, options_of, text_of  # noqa: E402

TARGETS = ("cgra", "fpga")
_ARRAY = "16x16"
_SLOWER = 1.5
"""Times as many processor seconds, beyond one, that a comparison mentions."""


@dataclass(frozen=True)
class Entry:
    """A program as data: its kind and source (a name, a path or a seed), the target and its options."""

    kind: str
    source: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Names the entry in files of results."""
        given = " ".join(f"{name}={value}" for name, value in self.options.items()) if self.kind != "seed" else ""
        return " ".join(filter(None, (self.kind, self.source, self.target, given)))

    def program(self) -> Program:
        """The program to compile. Raises `SluiceError` if it is refused."""
        if self.kind == "app":
            return load(self.source)
        if self.kind == "file":
            return load(Path(self.source))
        return parse_scop(text_of(int(self.source)), f"{NAME}.c", function=NAME)


def corpus(seeds: range, folders: list[Path]) -> Iterator[Entry]:
    """Everything that is compiled."""
    for app, array in APPLICATIONS.items():
        yield Entry("app", app, "fpga")
        for memory in ("pub", "dual-port", "buffet") if array != "16x32" else ("pub",):
            yield Entry("app", app, "cgra", {"memory": memory, "array": array})
    for path in sorted(path for folder in folders for path in folder.glob("*.c")):
        yield Entry("file", str(path), "fpga")
        yield Entry("file", str(path), "cgra", {"array": _ARRAY})
    for seed in seeds:
        for target in TARGETS:
            yield Entry("seed", str(seed), target, options_of(Job(seed, target)))


def predict(entry: Entry, seconds: float) -> dict[str, Any]:
    """The figures of one entry, or why it is refused; `seconds` of processor time are the most that it may take."""
    start = time.process_time()
    try:
        with limited(seconds):
            design = compiler.compile(entry.program(), target=entry.target, **entry.options)
            found = {"cycles": design.predicted_cycles, "start to done": design.predicted_start_to_done}
    except TooSlow:
        found = {"slow": seconds}
    except SluiceError as error:
        found = {"refused": f"{type(error).__name__}: {error}"}
    except Exception as error:  # what no user should see: kept, so that the others are compared
        found = {"crashed": f"{type(error).__name__}: {error}"}
    return {**found, "seconds": round(time.process_time() - start, 2)}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """What differs between two results of one entry: whether it is worse, and the words."""
    if "slow" in before:
        return
    for name in ("cycles", "start to done"):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield new is None or (old is not None and new > old), f"{name} {old} -> {new}"
    for name in ("refused", "crashed"):
        if before.get(name) != after.get(name):
            yield name == "crashed" and name in after, f"{name}: {before.get(name)} -> {after.get(name)}"
    if after["seconds"] > _SLOWER * before["seconds"] + 1:
        yield False, f"seconds {before['seconds']} -> {after['seconds']}"


def _entry(stored: Mapping[str, Any]) -> Entry:
    return Entry(*(stored[name] for name in ("kind", "source", "target", "options")))


def _write(options: argparse.Namespace) -> None:
    results: dict[str, Any] = {}
    for entry in corpus(range(options.seed, options.seed + options.seeds), options.folder):
        if options.only in entry.key:
            found = predict(entry, options.seconds)
            results[entry.key] = {**vars(entry), **found}
            print(entry.key, found, flush=True)
            write_atomic(options.write, json.dumps(results, indent=1) + "\n")


def _compare(options: argparse.Namespace) -> int:
    worse = total = 0
    spent = [0.0, 0.0]
    for key, before in json.loads(options.compare.read_text()).items():
        if options.only not in key:
            continue
        after = predict(_entry(before), options.seconds)
        print(key, after, file=sys.stderr, flush=True)
        spent = [spent[0] + before["seconds"], spent[1] + after["seconds"]]
        found = list(differences(before, after))
        total, worse = total + 1, worse + any(bad for bad, _ in found)
        for bad, text in found:
            print(f"{'WORSE ' if bad else ''}{key}: {text}", flush=True)
    print(f"{total} compiled, {worse} worse; processor seconds {spent[0]:.1f} -> {spent[1]:.1f}")
    return worse > 0


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE")
    what.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="of C files")
    parser.add_argument("--seeds", type=int, default=40, help="number of random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--only", default="", metavar="TEXT", help="entries whose names hold this text")
    parser.add_argument("--seconds", type=float, default=30.0, help="processor seconds that an entry may take")
    options = parser.parse_args()
    return _compare(options) if options.compare else _write(options) or 0


if __name__ == "__main__":
    sys.exit(main())

"""Module-level cocotb benches: one design, one file of cocotb tests, either simulator."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hw.sim.build import BuildRequest, build
from hw.sim.process import Outcome, SimulationError, run_simulation, working_folder

__all__ = ["BenchFailure", "BenchResult", "bench_data", "run_bench"]

_DATA = "SLUICE_BENCH_DATA"
_LOG_LINES = 40


class BenchFailure(SimulationError):
    """At least one cocotb test failed; the message names each of them, then shows the end of the log."""


@dataclass(frozen=True)
class BenchResult:
    """Names of the tests that passed, everything that was printed, and how long the build took (seconds)."""

    passed: tuple[str, ...]
    log: str
    build_seconds: float
    cached: bool


def run_bench(
    sources: Mapping[str, str],
    top: str,
    test_module: str | Path,
    *,
    simulator: str = "verilator",
    parameters: Mapping[str, int | str] | None = None,
    public: tuple[str, ...] = (),
    waves: bool = False,
    data: Any = None,
    seed: int | None = None,
    tests: str | None = None,
    folder: Path | None = None,
    timeout_seconds: float = 300.0,
) -> BenchResult:
    """Build `sources` and run the cocotb tests of `test_module` (an importable name or a .py file) on module `top`.

    * `parameters` of the top module; `public`: see `hw.sim.build.BuildRequest` (the top's ports are always visible).
    * `data`: anything JSON can hold; a test reads it with `bench_data`. It does not enter the build, so one build
      serves many data sets.
    * `seed` of cocotb's random generator, `tests` a regular expression that picks tests by name.
    * the simulation is built for a short run: a bench's Python takes longer than its design. The C++ compiler takes
      11 s of processor time instead of 16 s for the array of ``tb/test_array.py``, whose runs take 3 s either way.
    * `waves` leaves ``dump.vcd`` or ``dump.fst`` in `folder`; without a `folder` a temporary one is used and removed.

    Raises `BenchFailure` naming every failed test, `BuildError`, `SimulatorMissing`, `SimulationError` (a hang
    beyond `timeout_seconds` of wall-clock time).
    """
    built = build(BuildRequest(sources, top, simulator, parameters or {}, waves, public, short=True))
    with working_folder(folder, "sluice-bench-") as place:
        name, search = _module(test_module)
        environment = _write_data(place, data) | ({} if seed is None else {"COCOTB_RANDOM_SEED": str(seed)})
        environment |= {} if tests is None else {"COCOTB_TEST_FILTER": tests}
        outcome = run_simulation(built, place, [name], search=search, environment=environment, seconds=timeout_seconds)
    return BenchResult(_passed(outcome, simulator), outcome.log, built.seconds, built.cached)


def bench_data() -> Any:
    """Inside a cocotb test: the `data` that was given to `run_bench`."""
    return json.loads(Path(os.environ[_DATA]).read_text())


def _module(module: str | Path) -> tuple[str, Sequence[Path]]:
    path = Path(module)
    return (path.stem, [path.absolute().parent]) if path.suffix == ".py" else (str(module), [])


def _write_data(folder: Path, data: Any) -> dict[str, str]:
    path = folder / "bench_data.json"
    path.write_text(json.dumps(data))
    return {_DATA: str(path)}


def _passed(outcome: Outcome, simulator: str) -> tuple[str, ...]:
    failed = [f"{name}: {problem}" for name, problem in outcome.tests if problem is not None]
    tail = "\n".join(outcome.log.splitlines()[-_LOG_LINES:])
    if failed:
        names = ", ".join(failed)
        raise BenchFailure(f"{len(failed)} of {len(outcome.tests)} tests failed on {simulator}: {names}\n{tail}")
    if not outcome.tests:
        raise BenchFailure(f"no test ran on {simulator}\n{tail}")
    return tuple(name for name, _ in outcome.tests)

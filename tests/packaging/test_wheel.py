"""The wheel, installed into an environment of its own and used from another working directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(command: list[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    result = subprocess.run([str(word) for word in command], cwd=folder, env=clean | dict(environment or {}),
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def copy_sources(folder: Path) -> Path:
    """The project without what earlier builds may have left beside the sources."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("apps", "compiler", "hw", "sluice"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=unwanted)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    sources = copy_sources(tmp_path_factory.mktemp("sources"))
    run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder,
         sources], folder)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel. It finds the packages that Sluice depends on where the tests find them, but no
    Sluice there: that is behind a .pth file or a finder, which are read in an environment's own folder only."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index",
         wheel], folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_a_program_of_ones_own_imports_it(environment, tmp_path):
    text = (
        "import sys, sluice\n"
        "assert not {'compiler', 'hw', 'numpy'} & set(sys.modules)\n"
        "program = sluice.load('gaussian', width=10, height=8)\n"
        "design = sluice.compile(program, target='fpga')\n"
        "print(sluice.__file__, design.predicted_cycles, sluice.hardware.pe.Pe.__name__)\n"
    )
    (tmp_path / "mine.py").write_text(text)
    file, cycles, name = run([environment / "bin" / "python", "mine.py"], tmp_path).split()
    assert Path(file).is_relative_to(environment)
    assert int(cycles) >= 80
    assert name == "Pe"


def test_the_command_lists_compiles_and_writes(environment, tmp_path):
    sluice = environment / "bin" / "sluice"
    assert "gaussian" in run([sluice, "list"], tmp_path)
    assert run([sluice, "--version"], tmp_path) == "sluice 0.2.0\n"
    table = run([sluice, "compile", "gaussian", "--target", "fpga", "--set", "width=10", "--set", "height=8",
                 "--simulator", "none", "-o", "design"], tmp_path)
    assert "gaussian" in table
    assert list((tmp_path / "design").glob("**/*.v"))


def test_files_beside_the_modules_are_in_the_wheel(environment, tmp_path):
    """Programs in C with a header of their own, Verilog and firmware."""
    (installed,) = environment.glob("lib/python*/site-packages")
    for folder in ("apps", "compiler", "hw"):
        for name in run(["git", "ls-files", folder], ROOT).splitlines():
            assert (installed / ("sluice" if folder == "apps" else "") / name).is_file(), name
    run([environment / "bin" / "sluice", "compile", "systolic/mm", "--target", "systolic", "--simulator", "none"],
        tmp_path)

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

from sluice import __version__

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
    folder.mkdir()
    for name in ("apps", "compiler", "hw", "sluice"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=unwanted)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def build_wheel(folder: Path) -> Path:
    sources = copy_sources(folder / "sources")
    run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder,
         sources], folder)
    (file,) = folder.glob("*.whl")
    return file


def make_environment(folder: Path, wheel: Path) -> Path:
    """A new environment with the wheel. It finds the packages that Sluice depends on where the tests find them, but no
    Sluice there: that is behind a .pth file or a finder, which are read in an environment's own folder only."""
    venv.create(folder, with_pip=False, symlinks=True)
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index",
         "--no-compile", wheel], folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def check_import(environment: Path, folder: Path) -> None:
    """A program of one's own, in another folder."""
    text = (
        "import sys, sluice\n"
        "assert not {'compiler', 'hw', 'numpy'} & set(sys.modules)\n"
        "program = sluice.load('gaussian', width=10, height=8)\n"
        "design = sluice.compile(program, target='fpga')\n"
        "print(sluice.__file__, design.predicted_cycles, sluice.hardware.pe.Pe.__name__)\n"
    )
    (folder / "mine.py").write_text(text)
    file, cycles, name = run([environment / "bin" / "python", "mine.py"], folder).split()
    assert Path(file).is_relative_to(environment)
    assert int(cycles) >= 80
    assert name == "Pe"


def check_command(environment: Path, folder: Path) -> None:
    """The command lists, compiles, also a program with a header of its own, and writes."""
    sluice = environment / "bin" / "sluice"
    assert "gaussian" in run([sluice, "list"], folder)
    assert run([sluice, "--version"], folder) == f"sluice {__version__}\n"
    table = run([sluice, "compile", "gaussian", "--target", "fpga", "--set", "width=10", "--set", "height=8",
                 "--simulator", "none", "-o", "design"], folder)
    assert "gaussian" in table
    assert list((folder / "design").glob("**/*.v"))
    run([sluice, "compile", "systolic/mm", "--target", "systolic", "--simulator", "none"], folder)


def check_files(environment: Path) -> None:
    """All tracked files are there: programs in C, headers, grammars, Verilog, firmware."""
    (installed,) = environment.glob("lib/python*/site-packages")
    for folder in ("apps", "compiler", "hw"):
        for name in run(["git", "ls-files", folder], ROOT).splitlines():
            assert (installed / ("sluice" if folder == "apps" else "") / name).is_file(), name


def test_wheel_works_in_an_environment_of_its_own(tmp_path):
    environment = make_environment(tmp_path / "environment", build_wheel(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    check_files(environment)
    check_import(environment, work)
    check_command(environment, work)

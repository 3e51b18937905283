"""Loading application files: Python modules that define ``build(**parameters) -> Program``, and C files with a scop.

A Python application is executed, with all rights of whoever compiles it; a C application is only parsed.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from hw.errors import SluiceError

__all__ = ["SHIPPED", "applications", "built", "load", "sac_applications", "shipped"]

_Built = TypeVar("_Built")

SHIPPED = (Path(__file__).resolve().parents[2] / "sluice" / "apps").resolve()
"""Folder of the applications that come with the project: in a checkout ``apps``, where a link leads; in an installed
package inside of the package `sluice`."""


def applications() -> tuple[str, ...]:
    """Names of the applications that come with the project."""
    return tuple(path.stem for path in _files())


def _files() -> list[Path]:
    """The applications' files, sorted by name."""
    return sorted(_sources(SHIPPED.glob("*")), key=lambda path: path.stem)


def _sources(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.suffix in (".py", ".c") and not path.stem.startswith("_")]


def shipped() -> dict[str, Path]:
    """Every application that comes with the project, by its name: ``gaussian``, ``systolic/mm``, ``vector/fir``."""
    files = _sources(SHIPPED.glob("**/*"))
    return dict(sorted((path.relative_to(SHIPPED).with_suffix("").as_posix(), path) for path in files))


def sac_applications() -> dict[str, Path]:
    """Every SA-C program that comes with the project, by its name: ``sac/prewitt``."""
    files = sorted((SHIPPED / "sac").glob("*.sc"))
    return {f"sac/{path.stem}": path for path in files}


def load(path_or_name: str | Path, /, **parameters: Any) -> Program:
    """The program of an application: a file by its path, or one of `shipped()` by its name.

    `parameters` go to the file's ``build``; in a C file they are values of macros and scalar parameters of the
    function (`compiler.frontend.c_scop`). Raises `ProgramError`, in one line, if there is no such file or parameter,
    or the file fails.
    """
    path = _find(path_or_name)
    return load_c(path, **parameters) if path.suffix == ".c" else built(path, parameters, Program)


def built(path: Path, parameters: dict[str, Any], kind: type[_Built] | tuple[type[_Built], ...]) -> _Built:
    """What the function ``build`` of an application file returns, of a `kind`. Raises `ProgramError`, in one line."""
    build = _import(path)
    _check_parameters(path.stem, build, parameters)
    try:
        program = build(**parameters)
    except SluiceError:
        raise
    except Exception as error:
        raise ProgramError(f"application {path}: build failed: {type(error).__name__}: {error}") from error
    if not isinstance(program, kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise ProgramError(f"application {path}: build returned {type(program).__name__}, not a {kinds}")
    return program


def _find(path_or_name: str | Path) -> Path:
    text = str(path_or_name)
    if not text.endswith((".py", ".c")):
        names = shipped()
        if text in names:
            return names[text]
        if Path(text).is_file():
            raise ProgramError(f"application file {text} needs the ending .py, for Python, .c, for C, or .sc, for SA-C:"
                               " rename it")
        if "/" not in text:
            raise ProgramError(f"there is no application '{text}'; there are: {', '.join(applications())}")
    if not Path(text).is_file():
        raise ProgramError(f"there is no application file {text}")
    return Path(text)


def _import(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"application_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ProgramError(f"application {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SluiceError:
        raise
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else ""
        raise ProgramError(f"application {path} cannot be imported: {type(error).__name__}: {message}") from error
    if not callable(getattr(module, "build", None)):
        raise ProgramError(f"application {path} defines no function 'build'")
    return module.build


def _check_parameters(name: str, build: Any, parameters: dict[str, Any]) -> None:
    accepted = inspect.signature(build).parameters
    if any(entry.kind is entry.VAR_KEYWORD for entry in accepted.values()):
        return
    for parameter in parameters:
        if parameter not in accepted:
            known = ", ".join(accepted) or "none"
            raise ProgramError(f"application '{name}' has no parameter '{parameter}'; it has: {known}")

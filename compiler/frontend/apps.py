"""Loading application files: Python modules that define ``build(**parameters) -> Program``, and C files with a scop."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any, TypeVar

from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from hw.errors import SluiceError

__all__ = ["applications", "built", "load"]

_Built = TypeVar("_Built")

_FOLDER = Path(__file__).resolve().parents[2] / "apps"


def applications() -> tuple[str, ...]:
    """Names of the applications that come with the project."""
    return tuple(path.stem for path in _files())


def _files() -> list[Path]:
    """The applications' files, sorted by name."""
    files = [path for suffix in ("py", "c") for path in _FOLDER.glob(f"*.{suffix}")]
    return sorted((path for path in files if not path.stem.startswith("_")), key=lambda path: path.stem)


def load(path_or_name: str | Path, /, **parameters: Any) -> Program:
    """The program of an application: a file by its path, or one of `applications()` by its name.

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
    if "/" not in text and not text.endswith((".py", ".c")):
        if text not in applications():
            raise ProgramError(f"there is no application '{text}'; there are: {', '.join(applications())}")
        return next(path for path in _files() if path.stem == text)
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

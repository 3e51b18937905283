"""Loading application files: Python modules that define ``build(**parameters) -> Program``, and C files with a scop.

``FILE.py:NAME`` is a file with another function. In place of a program it may return one of parallel arrays, or a
pipeline of the package `halide`; a file may also define a Generator of that package, or be a pipeline that it has
serialised, or an ONNX model.
A Python application is executed, with all rights of whoever compiles it; others are only parsed.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from compiler.frontend.c_scop import load_c
from compiler.frontend.halide import files as halide_files
from compiler.frontend.onnx import load_network
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from hw.errors import SluiceError

__all__ = ["MODEL", "SHIPPED", "applications", "built", "import_application", "is_file_name", "load",
           "sac_applications", "shipped"]

_Built = TypeVar("_Built")

MODEL = ".onnx"
"""The ending of files with an ONNX model."""

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
    file, function = _split(str(path_or_name))
    path = _find(file)
    if path.suffix == ".c":
        return load_c(path, **parameters)
    if path.suffix == halide_files.SERIALISED:
        return halide_files.load_serialised(path, parameters)
    if path.suffix == MODEL:
        return load_network(path, **parameters).program
    program = built(path, parameters, (Program, ArrayProgram), function)
    return loop_nests(program) if isinstance(program, ArrayProgram) else program


def is_file_name(text: str) -> bool:
    """Whether `text` names a file, with or without a function, and not an application."""
    return _split(text)[0].endswith((".py", ".c", halide_files.SERIALISED, MODEL))


def _split(text: str) -> tuple[str, str]:
    """A file, and the name of its function that makes the program."""
    file, separator, function = text.rpartition(".py:")
    return (f"{file}.py", function) if separator else (text, "build")


def built(path: Path, parameters: dict[str, Any], kind: type[_Built] | tuple[type[_Built], ...],
          function: str = "build") -> _Built:
    """What a function of an application file returns, of a `kind`. Raises `ProgramError`, in one line."""
    module = import_application(path)
    build = getattr(module, function, None)
    generator = halide_files.find_generator(module) if build is None else build
    if isinstance(generator, type):
        program = halide_files.from_generator(generator, path.stem, parameters)
    elif callable(build):
        program = _called(path, build, function, parameters, halide_files.uses_halide(module))
    else:
        raise ProgramError(f"application {path} defines no function '{function}'")
    if not isinstance(program, kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise ProgramError(f"application {path}: {function} returned {type(program).__name__}, not a {kinds}")
    return program


def _called(path: Path, build: Any, function: str, parameters: dict[str, Any], halide: bool) -> Any:
    """What a function returns; a pipeline of Halide as its program, which takes the other parameters."""
    accepted = inspect.signature(build).parameters
    others = {name: value for name, value in parameters.items() if halide and name not in accepted}
    own = {name: value for name, value in parameters.items() if name not in others}
    _check_parameters(path.stem, build, own)
    try:
        result = build(**own)
        return halide_files.from_result(result, path.stem, others) if halide_files.is_pipeline(result) else result
    except SluiceError:
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        raise ProgramError(f"application {path}: {function} failed: {type(error).__name__}: {message}") from error


def _find(path_or_name: str | Path) -> Path:
    text = str(path_or_name)
    if not is_file_name(text):
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


def import_application(path: Path) -> Any:
    """The module of a Python application, which is executed. Raises `ProgramError`, in one line."""
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
    return module


def _check_parameters(name: str, build: Any, parameters: dict[str, Any]) -> None:
    accepted = inspect.signature(build).parameters
    if any(entry.kind is entry.VAR_KEYWORD for entry in accepted.values()):
        return
    for parameter in parameters:
        if parameter not in accepted:
            known = ", ".join(accepted) or "none"
            raise ProgramError(f"application '{name}' has no parameter '{parameter}'; it has: {known}")

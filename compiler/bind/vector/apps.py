"""Loading application files of parallel arrays: Python modules that define ``build(**parameters) -> ArrayProgram``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend.apps import SHIPPED, built, is_file_name, shipped
from compiler.frontend.apps import applications as loop_nest_applications
from compiler.frontend.apps import load as load_program
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.program import Program

__all__ = ["applications", "load", "load_any"]

_FOLDER = SHIPPED / "vector"


def applications() -> tuple[str, ...]:
    """Names of the applications that come with the project."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py")))


def load(name: str, /, **parameters: Any) -> ArrayProgram:
    """The program of an application by its name, or of a file by its path. Raises `VectorTargetError` if there is none,
    `ProgramError` if there is no such parameter or the file fails."""
    program = load_any(name, **parameters)
    if not isinstance(program, ArrayProgram):
        raise VectorTargetError(f"application '{name}' is a program of loop nests, not of parallel arrays; those are: "
                                f"{', '.join(applications())}")
    return program


def load_any(name: str, /, **parameters: Any) -> ArrayProgram | Program:
    """An application for the vector target: of parallel arrays or, if there is none of that name, of loop nests."""
    path = Path(name) if name.endswith(".py") else _FOLDER / f"{name.removeprefix('vector/')}.py"
    if path.is_file():
        return built(path, parameters, (ArrayProgram, Program))
    if not is_file_name(name) and name not in shipped():
        known = ", ".join(applications())
        others = ", ".join(sorted(set(loop_nest_applications()) - set(applications())))
        raise VectorTargetError(f"there is no application '{name}'; of parallel arrays there are: {known}; of loop "
                                f"nests: {others}")
    return load_program(name, **parameters)

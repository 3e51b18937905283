"""Loading application files of parallel arrays: Python modules that define ``build(**parameters) -> ArrayProgram``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend.apps import built
from compiler.frontend.parallel_array.program import ArrayProgram

__all__ = ["applications", "load"]

_FOLDER = Path(__file__).resolve().parents[3] / "apps" / "vector"


def applications() -> tuple[str, ...]:
    """Names of the applications that come with the project."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py")))


def load(name: str, /, **parameters: Any) -> ArrayProgram:
    """The program of an application by its name, or of a file by its path. Raises `VectorTargetError` if there is none,
    `ProgramError` if there is no such parameter or the file fails."""
    path = Path(name) if name.endswith(".py") else _FOLDER / f"{name}.py"
    if not path.is_file():
        known = ", ".join(applications())
        raise VectorTargetError(f"there is no application '{name}' of parallel arrays; there are: {known}")
    return built(path, parameters, ArrayProgram)

"""Writing files so that a reader never sees half of one, and folders so that nobody else writes them meanwhile."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["OutputError", "locked_folder", "remove_file", "write_atomic"]


class OutputError(SluiceError):
    """A result could not be written where the user asked for it."""


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write `data` (text as UTF-8) to `path` through a temporary file in the same folder and a rename.

    Creates missing parent folders. Raises `OutputError` if the place cannot be written.
    """
    payload = data.encode() if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """`folder`, made if missing, for one writer at a time: others that ask for it wait. Raises `OutputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_file(path: Path) -> None:
    """Remove a file that may not be there. Raises `OutputError`."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error

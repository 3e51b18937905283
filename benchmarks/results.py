"""Where measured figures are kept, and how they are written."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hw.files import write_atomic

__all__ = ["RESULTS", "kept_results", "read_results", "write_results"]

RESULTS = Path(__file__).parent / "results"


def write_results(path: Path, results: Mapping[str, Any]) -> None:
    """Write `results` as JSON with the Python version that measured them."""
    write_atomic(path, json.dumps({"python": platform.python_version(), **results}, indent=2) + "\n")


def read_results(name: str) -> dict[str, Any]:
    """The committed results called `name`."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def kept_results(path: Path, part: str) -> dict[str, Any]:
    """What an earlier run has written to `path` under the key `part`; nothing if there is no such run."""
    try:
        return json.loads(path.read_text())[part]
    except (OSError, ValueError, KeyError, TypeError):
        return {}

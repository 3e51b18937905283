"""What a search has found so far, on disk: one line of JSON per shape, so that it can go on where it stopped."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compiler.bind.systolic.tuner.budget import TunerError
from compiler.bind.systolic.tuner.candidate import Candidate, read_candidate
from hw.errors import SluiceError

__all__ = ["Record", "RecordError"]


class RecordError(SluiceError):
    """A record that is damaged, or of another search."""


class Record:
    """The lines of `path`; the first one names the search by `key`. Without a path nothing is kept.

    A last line that is cut off is forgotten: the search was stopped while it wrote. Raises `RecordError`.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self._path, self._key = path, key
        self.done: dict[str, tuple[Candidate, ...]] = {}
        if path is not None and path.exists():
            self._read(path)

    def add(self, shape: str, candidates: tuple[Candidate, ...]) -> None:
        """Keep what was found for a shape."""
        self.done[shape] = candidates
        if self._path is None:
            return
        line = json.dumps({"shape": shape, "candidates": [asdict(c) for c in candidates]})
        try:
            new = not self._path.exists() or self._path.stat().st_size == 0
            with self._path.open("a") as file:
                file.write((json.dumps({"search": self._key}) + "\n" if new else "") + line + "\n")
        except OSError as error:
            raise RecordError(f"record {self._path} cannot be written: {error.strerror}") from None

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise RecordError(f"record {path} cannot be read: {error}") from None
        if not text:
            return
        whole, _, rest = text.rpartition("\n")
        lines = whole.splitlines()
        if not lines or self._parsed(path, 1, lines[0]).get("search") != self._key:
            raise RecordError(f"record {path} belongs to another search; give another file, or remove it")
        for number, line in enumerate(lines[1:], 2):
            entry = self._parsed(path, number, line)
            try:
                self.done[entry["shape"]] = tuple(read_candidate(c) for c in entry["candidates"])
            except (KeyError, TypeError, TunerError):
                raise RecordError(f"record {path}, line {number}: that is no entry of a search") from None
        if rest:
            path.write_text(whole + "\n")

    @staticmethod
    def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise RecordError(f"record {path}, line {number}: that is no JSON object")
        return entry

"""Pin locations from a board vendor's own file.

Two formats are read: Quartus settings (``.qsf``: ``set_location_assignment PIN_x -to NAME`` and
``set_instance_assignment -name IO_STANDARD "..." -to NAME``; every other line is skipped) and Quartus pin lists
(``.csv``: a header line with the columns ``To`` and ``Location``, optionally ``I/O Standard``).
"""

from __future__ import annotations

import csv
import difflib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["Connection", "Pin", "PinError", "find_pin", "parse_connection", "read_pins"]

_LOCATION = re.compile(r"[A-Z]{1,2}[0-9]{1,2}")


class PinError(SluiceError):
    """A pin file that cannot be read, or a signal of the board that it does not name."""


@dataclass(frozen=True)
class Pin:
    """One package pin: `location` such as ``AB12``, and its I/O standard if the file gives one."""

    location: str
    standard: str | None = None


@dataclass(frozen=True)
class Connection:
    """A port of the top level is wired to the signal that the pin file calls `signal`, inverted on request."""

    port: str
    signal: str
    invert: bool = False


def parse_connection(text: str) -> Connection:
    """``PORT=NAME``, or ``PORT=~NAME`` for a signal that is active low. Raises `PinError`."""
    match = re.fullmatch(r"(\w+)=(~?)(\S+)", text)
    if match is None:
        raise PinError(f"'{text}' is not a connection; write PORT=NAME, or PORT=~NAME if the pin is active low")
    return Connection(match[1], match[3], invert=bool(match[2]))


def read_pins(path: Path) -> dict[str, Pin]:
    """Pins by signal name. Raises `PinError`, with the line, for a file or a line that cannot be understood."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise PinError(f"{path}: {error.strerror}") from error
    reader = _read_csv if path.suffix.lower() == ".csv" else _read_qsf
    pins = reader(path, lines)
    if not pins:
        raise PinError(f"{path}: no pin locations in it")
    return pins


def find_pin(pins: Mapping[str, Pin], signal: str, path: Path) -> Pin:
    """The pin of `signal`, upper and lower case alike. Raises `PinError` with names that come close."""
    by_name = {name.lower(): pin for name, pin in pins.items()}
    if signal.lower() in by_name:
        return by_name[signal.lower()]
    close = difflib.get_close_matches(signal.lower(), by_name, n=3, cutoff=0.5)
    names = [name for name in pins if name.lower() in close]
    hint = f"; close to it: {', '.join(names)}" if names else ""
    raise PinError(f"{path}: no location for signal '{signal}'{hint}")


def _location(path: Path, number: int, text: str) -> str:
    location = text.strip().upper().removeprefix("PIN_")
    if not _LOCATION.fullmatch(location):
        raise PinError(f"{path}: line {number}: '{text.strip()}' is not a pin location")
    return location


def _read_qsf(path: Path, lines: Iterable[str]) -> dict[str, Pin]:
    locations: dict[str, str] = {}
    standards: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = _tcl_words(line)
        target = _option(words, "-to")
        if words[:1] == ["set_location_assignment"]:
            if target is None or len(words) < 4:
                raise PinError(f"{path}: line {number}: set_location_assignment without a pin and a signal")
            places = _positional(words)
            if not places:
                raise PinError(f"{path}: line {number}: 'set_location_assignment' names no pin for {target}")
            locations[target] = _location(path, number, places[0])
        elif words[:1] == ["set_instance_assignment"] and _option(words, "-name") == "IO_STANDARD" and target:
            standards[target] = next(iter(_positional(words)), "")
    return {name: Pin(place, _standard(standards, name)) for name, place in locations.items()}


def _standard(standards: Mapping[str, str], name: str) -> str | None:
    """The standard set for a signal, or for the whole bus it is a bit of."""
    return standards.get(name) or standards.get(name.partition("[")[0]) or None


def _tcl_words(line: str) -> list[str]:
    """The words of one Tcl command without comments; quoted and braced words lose their quotes."""
    words = []
    for quoted, braced, plain in re.findall(r'"([^"]*)"|\{([^}]*)\}|([^\s;]+|;)', line):
        if plain.startswith(("#", ";")):
            break
        words.append((quoted or braced or plain).replace("\\[", "[").replace("\\]", "]"))
    return words


def _option(words: list[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def _positional(words: list[str]) -> list[str]:
    """Words after the command that are neither options nor their values."""
    return [
        word
        for before, word in itertools.pairwise(words)
        if not word.startswith("-") and not before.startswith("-")
    ]


def _read_csv(path: Path, lines: list[str]) -> dict[str, Pin]:
    rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if row and not row[0].startswith("#")]
    header = next((index for index, (_, row) in enumerate(rows) if {"To", "Location"} <= _stripped(row)), None)
    if header is None:
        raise PinError(f"{path}: no header line with the columns To and Location")
    columns = {name.strip(): index for index, name in enumerate(rows[header][1])}
    pins = {}
    for number, row in rows[header + 1 :]:
        cells = {name: row[index].strip() for name, index in columns.items() if index < len(row)}
        if cells.get("To") and cells.get("Location"):
            pins[cells["To"]] = Pin(_location(path, number, cells["Location"]), cells.get("I/O Standard") or None)
    return pins


def _stripped(row: Iterable[str]) -> set[str]:
    return {cell.strip() for cell in row}

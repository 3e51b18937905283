"""LiteDRAM's generated Verilog: files, ports, clock."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["LiteDramCore", "LiteDramError", "read_core"]

_MODULE = re.compile(r"\bmodule\s+(\w+)\s*(?:#\s*\([^()]*\)\s*)?\((.*?)\)\s*;", re.DOTALL)
_PORT = re.compile(r"\b(input|output|inout)\s+(?:wire|reg)?\s*(?:\[\s*(\d+)\s*:\s*0\s*\])?\s*(\w+)\s*(?:,|$)",
                   re.MULTILINE)
_USER = re.compile(r"(user_port_\w+?)_awaddr")
_OTHER_USER = re.compile(r"user_port_\w+_(adr|cmd_addr|address)")
_CLOCK = "config_clock_frequency"
_ADDRESS = ("valid", "ready", "addr", "burst", "len", "size", "id")
_CHANNELS = {"aw": _ADDRESS, "ar": _ADDRESS, "w": ("valid", "ready", "last", "strb", "data"),
             "b": ("valid", "ready", "resp", "id"), "r": ("valid", "ready", "last", "resp", "data", "id")}
_STATUS = ("clk", "user_clk", "user_rst", "init_done", "init_error")
IDLE = {"rst": 0, "uart_rx": 1, "uart_rx_valid": 0, "uart_rx_data": 0, "uart_tx_ready": 1, "sim_trace": 0}
"""Levels of inputs that nothing here drives."""


class LiteDramError(SluiceError):
    """Files that are no LiteDRAM core, or one that cannot be used."""


@dataclass(frozen=True)
class Port:
    """A port of the module: ``input``, ``output`` or ``inout``, and bits."""

    direction: str
    width: int


@dataclass(frozen=True)
class LiteDramCore:
    """A core: the name of its module, all ports by name, the beginning of the names of its AXI user port's, files by
    name, the user clock in Hz."""

    module: str
    ports: Mapping[str, Port]
    user: str
    files: Mapping[str, str]
    clock_hz: float

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return 1 << self.ports[f"{self.user}_awaddr"].width

    @property
    def data_width(self) -> int:
        """Bits of the user port."""
        return self.ports[f"{self.user}_wdata"].width

    @property
    def pads(self) -> dict[str, Port]:
        """Those of the chips, without their prefix."""
        return {name.removeprefix("ddram_"): port for name, port in self.ports.items() if name.startswith("ddram_")}


def read_core(paths: Sequence[Path]) -> LiteDramCore:
    """The core in `paths`: Verilog and memory files (``.v``, ``.init``), or folders with such files; its clock is in
    the ``csr.csv`` beside one of them or a folder above. Raises `LiteDramError`."""
    found = [file for path in paths for file in _find_files(path)]
    files = {file.name: _read(file) for file in found}
    modules = [(name, ports) for text in files.values() for name, ports in _modules(text) if _is_core(ports)]
    if not modules:
        raise LiteDramError(f"{_names(paths)}: no module with ports init_done and user_port_... is there, as "
                            "LiteDRAM's generator writes one")
    name, ports = modules[0]
    user = _user_port(name, ports)
    _check(name, ports, user)
    return LiteDramCore(name, ports, user, files, _clock(found, paths))


def _find_files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in (".v", ".init"))
    return [path]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise LiteDramError(f"{path}: {error.strerror}") from None


def _modules(text: str) -> list[tuple[str, dict[str, Port]]]:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return [(name, {port: Port(direction, int(high or 0) + 1) for direction, high, port in _PORT.findall(ports)})
            for name, ports in _MODULE.findall(text)]


def _is_core(ports: Mapping[str, Port]) -> bool:
    return "init_done" in ports and any(name.startswith("user_port_") for name in ports)


def _user_port(module: str, ports: Mapping[str, Port]) -> str:
    users = [found[1] for name in ports if (found := _USER.fullmatch(name))]
    if len(users) != 1:
        raise LiteDramError(f"module {module} has {len(users)} AXI user ports: generate it with one alone, of type: "
                            "axi")
    if other := next((name for name in ports if _OTHER_USER.fullmatch(name)), None):
        raise LiteDramError(f"module {module} has {other}, of another user port: generate it with one alone, of type: "
                            "axi")
    return users[0]


def _check(module: str, ports: Mapping[str, Port], user: str) -> None:
    expected = [*_STATUS, *(f"{user}_{channel}{name}" for channel, names in _CHANNELS.items() for name in names)]
    if missing := [name for name in expected if name not in ports]:
        raise LiteDramError(f"module {module} has no port {missing[0]}: LiteDRAM's generator of 2024.12 writes one")
    if any(name.startswith("wb_ctrl_") for name in ports):
        raise LiteDramError(f"module {module} waits for someone to calibrate its memory over wb_ctrl: generate it with "
                            "a processor that does, cpu: vexriscv")
    unknown = [name for name, port in ports.items() if port.direction == "input" and name not in expected
               and name not in IDLE and not name.startswith("ddram_")]
    if unknown:
        raise LiteDramError(f"module {module} has an input {unknown[0]}, and nothing here drives it")


def _clock(files: Sequence[Path], paths: Sequence[Path]) -> float:
    folders = [folder for file in files for folder in (file.parent, file.parent.parent)]
    for table in (folder / "csr.csv" for folder in folders):
        if table.is_file():
            rows = [row for row in csv.reader(_read(table).splitlines()) if row[1:2] == [_CLOCK]]
            if rows and rows[0][2].isdigit() and int(rows[0][2]) > 0:
                return float(rows[0][2])
    raise LiteDramError(f"{_names(paths)}: no csr.csv with {_CLOCK} beside it or one folder above, as LiteDRAM's "
                        "generator writes it")


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(str(path) for path in paths)

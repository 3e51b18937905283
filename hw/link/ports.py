"""Ways to a board, by name."""

from __future__ import annotations

import re

from hw.link.client import LinkError
from hw.link.jtag.loader import LoaderCable
from hw.link.jtag.port import JtagPort
from hw.link.jtag.tap import Cable
from hw.link.jtag.xvc import XvcCable
from hw.link.serial_port import SerialPort

__all__ = ["open_port"]

_JTAG = "jtag:"
_SERVER = re.compile(r"xvc://([\w.-]+):(\d{1,5})")
_KIND = re.compile(r"[\w.+-]+")
_LEAST_SECONDS = 1.0


def open_port(name: str, baud: int, seconds: float) -> SerialPort | JtagPort:
    """The board that `name` leads to, which may take `seconds` for an answer. Raises `LinkError`.

    ``jtag:CABLE`` is a JTAG cable by its name in openFPGALoader, ``jtag:xvc://HOST:PORT`` one behind a server of Xilinx
    Virtual Cable. Everything else is a serial line, of `baud` bits per second.
    """
    if not name.startswith(_JTAG):
        return SerialPort(name, baud)
    patience = max(seconds, _LEAST_SECONDS)
    return JtagPort(_open_cable(name, name.removeprefix(_JTAG), patience), seconds=patience)


def _open_cable(name: str, cable: str, seconds: float) -> Cable:
    if server := _SERVER.fullmatch(cable):
        return XvcCable(name, server[1], int(server[2]), seconds)
    if _KIND.fullmatch(cable):
        return LoaderCable(name, cable, seconds)
    raise LinkError(f"{name} is no JTAG cable: write jtag:CABLE, a cable of openFPGALoader --list-cables, or "
                    "jtag:xvc://HOST:PORT")

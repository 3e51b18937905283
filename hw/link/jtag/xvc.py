"""A JTAG cable behind a socket, by the protocol of Xilinx Virtual Cable 1.0, which openFPGALoader speaks for all the
cables that it knows."""

from __future__ import annotations

import re
import socket

import numpy as np

from hw.link.client import LinkError

__all__ = ["XvcCable"]

_MOST_INFO = 64
_LEAST_BYTES = 4
_MOST_BYTES = 1 << 16


class XvcCable:
    """A server at `host` and `port`, which may take `seconds` for an answer. Raises `LinkError`: there is none, or it
    speaks another language."""

    def __init__(self, name: str, host: str, port: int, seconds: float):
        self.name = name
        self._seconds = seconds
        try:
            self._socket = socket.create_connection((host, port), timeout=seconds)
        except (OSError, OverflowError, UnicodeError) as error:  # the latter two for numbers and names of no host
            raise LinkError(f"cannot open {name}: {_reason(error)}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._most_bits = self._ask_size()

    def shift(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        """See `Cable`."""
        parts = range(0, len(tms), self._most_bits)
        come = [self._part(tms[start:][:self._most_bits], tdi[start:][:self._most_bits]) for start in parts]
        return np.concatenate(come)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _part(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        packed = b"".join(np.packbits(bits, bitorder="little").tobytes() for bits in (tms, tdi))
        self._send(b"shift:" + len(tms).to_bytes(4, "little") + packed)
        come = np.frombuffer(self._receive(len(packed) // 2), np.uint8)
        return np.unpackbits(come, count=len(tms), bitorder="little")

    def _ask_size(self) -> int:
        """The most bits of a shift: half of what the server has room for, since TMS and TDI go together."""
        self._send(b"getinfo:")
        info = b""
        while not info.endswith(b"\n") and len(info) < _MOST_INFO:
            info += self._receive(1)
        found = re.fullmatch(rb"xvcServer_v1\.\d:(\d+)\n", info)
        size = 0 if found is None else int(found[1])
        if size < _LEAST_BYTES:
            raise LinkError(f"the server of {self.name} is none of the Xilinx Virtual Cable protocol, version 1.0")
        return 8 * (min(size, _MOST_BYTES) // 2)

    def _send(self, content: bytes) -> None:
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise LinkError(f"{self.name} is gone: {_reason(error)}") from None

    def _receive(self, length: int) -> bytes:
        content = bytearray()
        while len(content) < length:
            try:
                part = self._socket.recv(length - len(content))
            except OSError as error:
                raise LinkError(f"{self.name} is gone: {_reason(error)}") from None
            if not part:
                raise LinkError(f"{self.name} is gone: the server closed the connection")
            content += part
        return bytes(content)


def _reason(error: Exception) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or str(error)

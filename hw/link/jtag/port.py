"""Bytes over JTAG: what `hw.link.client` needs of a way to the board."""

from __future__ import annotations

import time
from collections.abc import Callable

from hw.link.client import LinkError
from hw.link.jtag.layout import ER1, Answer, decode_scan, encode_scan
from hw.link.jtag.tap import Cable, ChainError, TestAccessPort

__all__ = ["JtagPort"]

_FEWEST, _MOST = 16, 1024
"""Groups of a scan."""
_ATTEMPTS = 8
"""Scans without the link's preamble before it is not taken for damage any more."""


class JtagPort:
    """The board behind `cable` as a `ByteChannel`. A board that takes no byte for `seconds` is given up. Raises
    `LinkError`: no ECP5, or one whose bitstream has no link."""

    carried = 20_000.0
    """Bytes per second, at least: those of slow cables."""

    def __init__(self, cable: Cable, *, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic):
        self.name = cable.name
        self._cable = cable
        self._port = TestAccessPort(cable)
        self._seconds = seconds
        self._clock = clock
        self._come = bytearray()
        self._groups = _FEWEST
        self._missing = 0
        try:
            self._begin()
        except LinkError:
            cable.close()
            raise

    def write(self, content: bytes) -> None:
        """Sends all of it."""
        end = self._clock() + self._seconds
        while content:
            answer = self._scan(content[:_MOST])
            content = content[answer.taken:]
            if answer.taken:
                end = self._clock() + self._seconds
            elif self._clock() > end:
                raise LinkError(f"the board on {self.name} takes no bytes: is its clock running?")

    def read(self, seconds: float) -> bytes:
        end = self._clock() + seconds
        while not self._come:
            self._scan(b"")
            if self._clock() > end:
                break
        content = bytes(self._come)
        self._come.clear()
        return content

    def close(self) -> None:
        self._cable.close()

    def _begin(self) -> None:
        """Find the link, and forget what the board still had to say to someone else."""
        self._identify()
        self._port.select(ER1)
        end = self._clock() + self._seconds
        while (self._scan(b"").content or self._missing) and self._clock() < end:
            pass
        self._come.clear()

    def _identify(self) -> None:
        """A bit may be damaged on the way: ask again."""
        for _ in range(_ATTEMPTS - 1):
            try:
                self._port.identify()
            except ChainError:
                continue
            return
        self._port.identify()

    def _scan(self, content: bytes) -> Answer:
        """Send bytes, and keep those that come. Groups are more if the board has more to say. Without a preamble the
        bytes may have been taken or not: if not, the client sends them again."""
        groups = max(len(content), self._groups)
        answer = decode_scan(self._port.scan(encode_scan(content, groups)))
        if answer is None:
            self._missing += 1
            if self._missing == _ATTEMPTS:
                raise LinkError(f"the board on {self.name} does not answer as a link over JTAG does: build its "
                                "bitstream with --link jtag, and check its power")
            self._port.select(ER1)
            return Answer(len(content), b"", False)
        self._missing = 0
        self._come += answer.content
        self._groups = min(2 * groups, _MOST) if answer.full else _FEWEST
        return Answer(min(answer.taken, len(content)), answer.content, answer.full)

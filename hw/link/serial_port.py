"""Bytes over a serial line of the host, by pyserial."""

from __future__ import annotations

from types import ModuleType

from hw.link.client import LinkError

__all__ = ["SerialPort"]

_BITS_PER_BYTE = 10


class SerialPort:
    """A serial line as a `ByteChannel`; a pseudo-terminal will do. `carried`: bytes per second. Raises `LinkError` if
    it cannot be opened."""

    def __init__(self, name: str, baud: int):
        if baud < 1:
            raise LinkError(f"a serial line has 1 or more bits per second, not {baud}")
        self.name = name
        self.carried = baud / _BITS_PER_BYTE
        self._library = _pyserial()
        try:
            self._port = self._library.Serial(name, baud, timeout=0, exclusive=True)
            self._port.reset_input_buffer()
        except (OSError, ValueError, self._library.SerialException) as error:
            raise LinkError(f"cannot open {name}: {_reason(error)}") from None

    def write(self, content: bytes) -> None:
        try:
            self._port.write(content)
        except (OSError, self._library.SerialException) as error:
            raise LinkError(f"{self.name} is gone: {_reason(error)}") from None

    def read(self, seconds: float) -> bytes:
        try:
            self._port.timeout = seconds
            first = self._port.read(1)
            return first + self._port.read(self._port.in_waiting) if first else b""
        except (OSError, self._library.SerialException) as error:
            raise LinkError(f"{self.name} is gone: {_reason(error)}") from None

    def close(self) -> None:
        self._port.close()


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _pyserial() -> ModuleType:
    try:
        import serial
    except ImportError:
        raise LinkError("a board on a serial line needs pyserial: pip install 'sluice[board]'") from None
    return serial

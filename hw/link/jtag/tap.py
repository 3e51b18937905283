"""Scans of a test access port (IEEE 1149.1), made of what a cable shifts."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hw.link.client import LinkError

__all__ = ["Cable", "ChainError", "TestAccessPort"]

_INSTRUCTION_BITS = 8
_IDCODE_BITS = 32
_ECP5 = {0x1111043, 0x1112043, 0x1113043}
"""IDCODEs of ECP5 without the four highest bits: 12 and 25, 45, and 85 thousand LUTs."""
_TO_RESET = [1] * 5 + [0]
_TO_SHIFT_DR = [1, 0, 0]
_TO_SHIFT_IR = [1, 1, 0, 0]
_TO_IDLE = [1, 0]
"""TMS from Run-Test/Idle to there, or back from Exit1."""


class ChainError(LinkError):
    """Behind the cable is not one ECP5 alone."""


class Cable(Protocol):
    """What drives TCK, TMS and TDI, and reads TDO."""

    name: str

    def shift(self, tms: np.ndarray, tdi: np.ndarray) -> np.ndarray:
        """A cycle of TCK for each bit: `tms` and `tdi` before its rising edge, TDO there. Raises `LinkError` if the
        cable is gone."""
        ...

    def close(self) -> None:
        """Give the cable back."""
        ...


class TestAccessPort:
    """The port of the one device behind `cable`. Between calls it is in Run-Test/Idle."""

    __test__ = False  # for pytest, which takes the name for that of a test

    def __init__(self, cable: Cable):
        self._cable = cable

    def identify(self) -> int:
        """Reset the port and read the IDCODE. Raises `ChainError` unless there is one ECP5 and nothing else."""
        name = self._cable.name
        self._shift(_TO_RESET, np.zeros(0, np.uint8))
        sent = np.tile(np.array([1, 0, 0, 1], np.uint8), _IDCODE_BITS // 4)
        come = self.scan(np.concatenate([sent, sent]))
        code = int.from_bytes(np.packbits(come[:_IDCODE_BITS], bitorder="little").tobytes(), "little")
        if code in (0, (1 << _IDCODE_BITS) - 1):
            raise ChainError(f"no device answers on {name}: check the cable and the board's power")
        if code & 0xFFFFFFF not in _ECP5:
            raise ChainError(f"the device on {name} has IDCODE {code:#010x}, which is no ECP5's: a link over JTAG "
                             "needs one, and no other device in its chain")
        if not np.array_equal(come[_IDCODE_BITS:], sent):
            raise ChainError(f"there is more than one device in the JTAG chain on {name}: a link needs an ECP5 alone")
        return code

    def select(self, instruction: int) -> None:
        """Load the instruction register."""
        bits = np.array([instruction >> k & 1 for k in range(_INSTRUCTION_BITS)], np.uint8)
        self._shift(_TO_SHIFT_IR, bits)

    def scan(self, bits: np.ndarray) -> np.ndarray:
        """Shift `bits` through the data register; returns as many that came out."""
        return self._shift(_TO_SHIFT_DR, bits)

    def _shift(self, way: list[int], bits: np.ndarray) -> np.ndarray:
        """Go `way`, shift bits if there are any, and leave for Run-Test/Idle then."""
        tms = np.zeros(len(way) + len(bits) + (len(_TO_IDLE) if len(bits) else 0), np.uint8)
        tdi = np.zeros_like(tms)
        tms[:len(way)] = way
        if len(bits):
            tms[-len(_TO_IDLE) - 1:] = [1, *_TO_IDLE]
            tdi[len(way):len(way) + len(bits)] = bits
        return self._cable.shift(tms, tdi)[len(way):len(way) + len(bits)]

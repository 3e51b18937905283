"""The bits of a scan, for both ends. All fields have their lowest bit first.

Into the board go a one, then groups; out of it come `PREAMBLE`, then groups. The preamble tells a link from other
logic, and both ends find their groups by the ones in front, so that no end has to know how many registers there are
between the pins and the logic.

====================  =================================================================================
group, bits           meaning
====================  =================================================================================
0                     to the board: here is a byte; from the board: a byte was taken
1                     to the board: a byte may come in the next group; from the board: here is a byte
2 to 9                the byte
====================  =================================================================================

A byte that the board has no room for is not taken, nor are those after it in the same scan: as many as were taken, of
the first ones, need not be sent again. Bytes of the board come only where there was leave, so that none is lost where
a scan ends; the last `TAIL` groups to the board are empty, so that all answers come before that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["ER1", "GROUP_BITS", "PREAMBLE", "PREAMBLE_BITS", "TAIL", "Answer", "decode_scan", "encode_scan"]

ER1 = 0x32
"""The instruction that selects the register on an ECP5."""
PREAMBLE, PREAMBLE_BITS = 0b1_0110_0101, 9
GROUP_BITS = 10
TAIL = 3
_LATEST = 8
"""Bits that may come before the preamble."""


@dataclass(frozen=True)
class Answer:
    """What came out: how many bytes the board took, the bytes it sent, and whether the last group that might have one
    had one."""

    taken: int
    content: bytes
    full: bool


def encode_scan(content: bytes, groups: int) -> np.ndarray:
    """The bits that send `content` and give leave for bytes of the board in `groups` groups, at least as many as there
    are bytes to send."""
    bits = np.zeros((groups + TAIL, GROUP_BITS), np.uint8)
    bits[:len(content), 0] = 1
    bits[:groups, 1] = 1
    bits[:len(content), 2:] = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little").reshape(-1, 8)
    return np.concatenate([np.ones(1, np.uint8), bits.reshape(-1)])


def decode_scan(bits: np.ndarray) -> Answer | None:
    """What came out of the board in a scan; None without a preamble."""
    start = int(np.argmax(bits[:_LATEST]))
    field = bits[start:start + PREAMBLE_BITS]
    if int(np.dot(field, 1 << np.arange(len(field)))) != PREAMBLE:
        return None
    rest = bits[start + PREAMBLE_BITS:]
    groups = rest[:len(rest) // GROUP_BITS * GROUP_BITS].reshape(-1, GROUP_BITS)
    come = groups[groups[:, 1] == 1]
    full = bool(groups[-TAIL:, 1].any())
    return Answer(int(groups[:, 0].sum()), np.packbits(come[:, 2:], bitorder="little").tobytes(), full)

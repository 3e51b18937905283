"""Frames of the link: what bytes mean, for both ends.

A frame is a row of bytes between delimiters, with delimiters and escapes inside it replaced by two bytes each (SLIP,
RFC 1055). Its last four bytes are the CRC-32 (IEEE 802.3, lowest byte first) of those before. All numbers have their
lowest byte first.

====================  =================================================================================
request, bytes        meaning
====================  =================================================================================
0                     sequence number
1                     operation (`Operation`)
2, 3                  length: bytes to read or to write
4 to 7                byte address
8 …                   the bytes to write; none in other requests
====================  =================================================================================

====================  =================================================================================
response, bytes       meaning
====================  =================================================================================
0                     sequence number of the request
1                     `Status`
2, 3                  length: bytes that follow
4 …                   the bytes read; none if the status is not OK
====================  =================================================================================

A damaged frame has no answer: the host asks again, with the same sequence number, and a write that was carried out
already is answered and not carried out again.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from hw.errors import SluiceError

__all__ = ["DEFAULT_BAUD", "END", "ESCAPE", "ESCAPED_END", "ESCAPED_ESCAPE", "GREETING_BYTES", "PROGRESS_BYTES",
           "RESIDUE", "VERSION", "FrameDecoder", "Greeting", "LinkSpec", "LinkSpecError", "Operation", "Progress",
           "Request", "Response", "Status"]

VERSION = 1
DEFAULT_BAUD = 1_000_000
"""Bits per second of a serial line, where nothing else is said: common bridges carry it, board clocks divide to it."""
END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE = 0xC0, 0xDB, 0xDC, 0xDD
RESIDUE = 0xDEBB20E3
"""What a CRC-32 register holds, before it is complemented, after a frame and its own CRC-32."""
REQUEST_HEADER, RESPONSE_HEADER, CRC_BYTES = 8, 4, 4
MOST_PAYLOAD = 1 << 15
DESIGN_BYTES = 16
_GREETING = struct.Struct(f"<BBHII{DESIGN_BYTES}s")
GREETING_BYTES = _GREETING.size
_PROGRESS = struct.Struct("<II")
PROGRESS_BYTES = _PROGRESS.size
_ESCAPES = {END: bytes([ESCAPE, ESCAPED_END]), ESCAPE: bytes([ESCAPE, ESCAPED_ESCAPE])}
_ESCAPED = {ESCAPED_END: END, ESCAPED_ESCAPE: ESCAPE}


class LinkSpecError(SluiceError):
    """A link that cannot be built."""


class Operation(IntEnum):
    """What a request asks for. Reads and writes of registers are of 32-bit words at multiples of 4. A greeting is
    answered by a `Greeting`, a poll by a `Progress`."""

    GREET = 0
    READ_MEMORY = 1
    WRITE_MEMORY = 2
    READ_REGISTERS = 3
    WRITE_REGISTERS = 4
    POLL = 5

    @property
    def writes(self) -> bool:
        """Whether the request carries bytes, and must not be carried out twice."""
        return self in (Operation.WRITE_MEMORY, Operation.WRITE_REGISTERS)


class Status(IntEnum):
    """How a request ended. Nothing was read or written, but for BUS: bytes before the failing one may have been."""

    OK = 0
    UNKNOWN = 1
    LENGTH = 2
    OUTSIDE = 3
    BUS = 4


@dataclass(frozen=True)
class LinkSpec:
    """What a link gives access to.

    memory_bytes: main memory from address 0. register_bits: bits of a register's byte address. data_width, id_width:
    bits of the memory bus. design: 16 bytes that tell the design from others. payload: most bytes of a frame, a power
    of two from 32 (a greeting has to fit) to 32768. Raises `LinkSpecError`.
    """

    memory_bytes: int
    register_bits: int
    design: bytes
    data_width: int = 64
    id_width: int = 1
    payload: int = 2048

    def __post_init__(self) -> None:
        if self.payload & (self.payload - 1) or not 32 <= self.payload <= MOST_PAYLOAD:
            raise LinkSpecError(f"frames carry a power of two from 32 to {MOST_PAYLOAD} bytes, not {self.payload}")
        if not 0 < self.memory_bytes < 1 << 32:
            raise LinkSpecError(f"a link reaches 1 to {(1 << 32) - 1} bytes of memory, not {self.memory_bytes}")
        if len(self.design) != DESIGN_BYTES:
            raise LinkSpecError(f"a design is told from others by {DESIGN_BYTES} bytes, not {len(self.design)}")

    @property
    def greeting(self) -> Greeting:
        """What the board answers to a greeting."""
        return Greeting(VERSION, self.data_width // 8, self.payload, self.memory_bytes, 1 << self.register_bits,
                        self.design)


@dataclass(frozen=True)
class Greeting:
    """The answer to a greeting: versions, sizes in bytes, and the design that the board holds."""

    version: int
    beat_bytes: int
    payload: int
    memory_bytes: int
    register_bytes: int
    design: bytes

    def encode(self) -> bytes:
        """`GREETING_BYTES` bytes."""
        return _GREETING.pack(self.version, self.beat_bytes, self.payload, self.memory_bytes, self.register_bytes,
                              self.design)

    @classmethod
    def decode(cls, content: bytes) -> Greeting | None:
        """None if there are too few bytes: a later version may have more."""
        return cls(*_GREETING.unpack_from(content)) if len(content) >= GREETING_BYTES else None


@dataclass(frozen=True)
class Progress:
    """The answer to a poll: whether the design's interrupt has come since the last write to a register, and the clock
    cycles from that write to it, or until now."""

    cycles: int
    ended: bool

    @classmethod
    def decode(cls, content: bytes) -> Progress | None:
        """None if it is not `PROGRESS_BYTES` bytes."""
        if len(content) != PROGRESS_BYTES:
            return None
        cycles, ended = _PROGRESS.unpack(content)
        return cls(cycles, bool(ended))


@dataclass(frozen=True)
class Request:
    """A request, without its frame."""

    sequence: int
    operation: int
    address: int = 0
    length: int = 0
    content: bytes = b""

    def encode(self) -> bytes:
        """The whole frame."""
        return _frame(struct.pack("<BBHI", self.sequence, self.operation, self.length, self.address) + self.content)


@dataclass(frozen=True)
class Response:
    """A response, without its frame."""

    sequence: int
    status: int
    content: bytes = b""

    @classmethod
    def decode(cls, frame: bytes) -> Response | None:
        """The response in the bytes between two delimiters, None if they are damaged."""
        if len(frame) < RESPONSE_HEADER + CRC_BYTES or zlib.crc32(frame) != RESIDUE ^ 0xFFFFFFFF:
            return None
        sequence, status, length = struct.unpack_from("<BBH", frame)
        content = frame[RESPONSE_HEADER:-CRC_BYTES]
        return cls(sequence, status, content) if len(content) == length else None


def _frame(content: bytes) -> bytes:
    checked = content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")
    return bytes([END]) + b"".join(_ESCAPES.get(byte, bytes([byte])) for byte in checked) + bytes([END])


class FrameDecoder:
    """Takes bytes as they come and gives the frames in them, without delimiters and escapes. What is longer than
    `longest` bytes is no frame and is dropped."""

    def __init__(self, longest: int):
        self._longest = longest
        self._frame = bytearray()
        self._escaped = False

    def feed(self, received: bytes) -> list[bytes]:
        """The frames that end in `received`, not yet checked."""
        frames = []
        for byte in received:
            if byte == END:
                if 0 < len(self._frame) <= self._longest:
                    frames.append(bytes(self._frame))
                self._frame.clear()
                self._escaped = False
            elif byte == ESCAPE:
                self._escaped = True
            elif len(self._frame) <= self._longest:
                self._frame.append(_ESCAPED.get(byte, byte) if self._escaped else byte)
                self._escaped = False
        return frames

"""The host's end of the link."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from hw.errors import SluiceError
from hw.link.protocol import (
    CRC_BYTES,
    MOST_PAYLOAD,
    RESPONSE_HEADER,
    VERSION,
    FrameDecoder,
    Greeting,
    Operation,
    Progress,
    Request,
    Response,
    Status,
)

__all__ = ["ByteChannel", "LinkClient", "LinkError"]

_REGISTER_BYTES = 4
_REASONS = {
    Status.UNKNOWN: "it does not know the operation",
    Status.LENGTH: "it refuses the length",
    Status.OUTSIDE: "that is outside the design's window",
    Status.BUS: "the bus answered an error",
}


class LinkError(SluiceError):
    """The board does not answer, holds another design, or refuses what it is asked for."""


class ByteChannel(Protocol):
    """What carries bytes to the board and back, perhaps not all of them."""

    name: str

    def write(self, content: bytes) -> None:
        """Send bytes. Raises `LinkError` if the channel is gone."""
        ...

    def read(self, seconds: float) -> bytes:
        """The bytes that have come; waits for the first one for at most `seconds`. Raises `LinkError` likewise."""
        ...

    def close(self) -> None:
        """Give the channel back."""
        ...


class LinkClient:
    """Reads and writes memory and registers of the board behind `channel`.

    A request without an answer in `seconds` is sent again, `attempts` times in all; `carried` bytes per second, if
    known, add the time that a frame takes. Everything raises `LinkError`. `repeats`: requests that were sent again.
    """

    def __init__(self, channel: ByteChannel, *, seconds: float = 0.2, attempts: int = 4, carried: float | None = None,
                 clock: Callable[[], float] = time.monotonic):
        self._channel = channel
        self._seconds = seconds
        self._attempts = attempts
        self._carried = carried
        self._clock = clock
        self._decoder = FrameDecoder(MOST_PAYLOAD + RESPONSE_HEADER + CRC_BYTES)
        self._sequence = 0
        self._greeting: Greeting | None = None
        self.repeats = 0

    def greet(self, design: bytes | None = None) -> Greeting:
        """Ask the board what it is; with `design`, check that it holds that one."""
        greeting = Greeting.decode(self._ask(Operation.GREET))
        if greeting is None or greeting.version != VERSION:
            held = "?" if greeting is None else greeting.version
            raise LinkError(f"the board on {self._channel.name} speaks version {held} of the link, this program "
                            f"{VERSION}: build the bitstream again")
        if design is not None and greeting.design != design:
            raise LinkError(f"the board on {self._channel.name} holds design {greeting.design.hex()}, not "
                            f"{design.hex()}: load the bitstream of this design")
        self._greeting = greeting
        return greeting

    @property
    def greeting(self) -> Greeting:
        """What the board said last, or says now."""
        return self._greeting or self.greet()

    def read_memory(self, address: int, length: int) -> bytes:
        """`length` bytes from byte `address` on."""
        self._check(address, length, self.greeting.memory_bytes, "memory")
        parts = self._parts(address, length)
        return b"".join(self._ask(Operation.READ_MEMORY, start, size) for start, size in parts)

    def write_memory(self, address: int, content: bytes) -> None:
        """Write bytes from byte `address` on."""
        self._check(address, len(content), self.greeting.memory_bytes, "memory")
        for start, size in self._parts(address, len(content)):
            self._ask(Operation.WRITE_MEMORY, start, size, content[start - address:][:size])

    def read_register(self, offset: int) -> int:
        """A register by its byte offset."""
        self._check(offset, _REGISTER_BYTES, self.greeting.register_bytes, "registers")
        return int.from_bytes(self._ask(Operation.READ_REGISTERS, offset, _REGISTER_BYTES), "little")

    def write_register(self, offset: int, value: int) -> None:
        """Write 32 bits to a register."""
        self._check(offset, _REGISTER_BYTES, self.greeting.register_bytes, "registers")
        if not 0 <= value < 1 << 8 * _REGISTER_BYTES:
            raise LinkError(f"a register has 32 bits, too few for {value:#x}")
        content = value.to_bytes(_REGISTER_BYTES, "little")
        self._ask(Operation.WRITE_REGISTERS, offset, _REGISTER_BYTES, content)

    def poll(self) -> Progress:
        """Whether the run has ended, and its clock cycles."""
        progress = Progress.decode(self._ask(Operation.POLL))
        if progress is None:
            raise LinkError(f"the board on {self._channel.name} does not say whether the run has ended")
        return progress

    def close(self) -> None:
        """Give the channel back."""
        self._channel.close()

    def _check(self, address: int, length: int, size: int, what: str) -> None:
        if address < 0 or length < 0 or address + length > size:
            raise LinkError(f"{length} bytes at {address:#x} are outside the {what} of {size} bytes")

    def _parts(self, address: int, length: int) -> list[tuple[int, int]]:
        """(address, bytes) of the requests for so many bytes."""
        step = self.greeting.payload
        return [(start, min(step, address + length - start)) for start in range(address, address + length, step)]

    def _ask(self, operation: Operation, address: int = 0, length: int = 0, content: bytes = b"") -> bytes:
        self._sequence = (self._sequence + 1) % 256
        request = Request(self._sequence, operation, address, length, content)
        expected = 0 if operation.writes else length
        for attempt in range(self._attempts):
            self.repeats += attempt > 0
            self._channel.write(request.encode())
            response = self._response(len(content) + expected)
            if response is not None:
                return self._accepted(request, response, expected)
        raise LinkError(f"no answer from the board on {self._channel.name} in {self._attempts} attempts: check the "
                        "cable, that the bitstream is loaded, and the bits per second")

    def _response(self, payload: int) -> Response | None:
        """The answer to the last request, None if it does not come. Others are late answers to requests before."""
        moving = 0.0 if self._carried is None else 2 * payload / self._carried
        end = self._clock() + self._seconds + moving
        while (left := end - self._clock()) > 0:
            for frame in self._decoder.feed(self._channel.read(left)):
                response = Response.decode(frame)
                if response is not None and response.sequence == self._sequence:
                    return response
        return None

    def _accepted(self, request: Request, response: Response, expected: int) -> bytes:
        operation = Operation(request.operation)
        what = operation.name.lower().replace("_", " ")
        if response.status != Status.OK:
            known = response.status in tuple(Status)
            reason = _REASONS[Status(response.status)] if known else f"status {response.status}"
            raise LinkError(f"the board on {self._channel.name} did not {what} ({request.length} bytes at "
                            f"{request.address:#x}): {reason}")
        if operation not in (Operation.GREET, Operation.POLL) and len(response.content) != expected:
            raise LinkError(f"the board on {self._channel.name} answered {len(response.content)} bytes to {what} of "
                            f"{expected}")
        return response.content

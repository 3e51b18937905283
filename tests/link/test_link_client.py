"""A client and a simulated link: what is read and written, and what happens to damaged frames."""

from __future__ import annotations

import random

import pytest
from link_bench import DESIGN, MEMORY, LinkBench

from hw.link.client import LinkClient, LinkError
from hw.link.protocol import Operation, Request, Status

CONTENTS = bytes(k % 251 for k in range(MEMORY))


def connected(**options) -> tuple[LinkBench, LinkClient]:
    bench = LinkBench(**options)
    return bench, LinkClient(bench, seconds=0.005, clock=bench.clock)


def test_a_board_says_what_it_is():
    _, client = connected()
    greeting = client.greet(DESIGN)
    assert (greeting.memory_bytes, greeting.register_bytes, greeting.payload, greeting.beat_bytes) == (300, 64, 64, 8)


def test_another_design_is_named():
    _, client = connected()
    with pytest.raises(LinkError, match=f"the board on the bench holds design {DESIGN.hex()}, not {bytes(16).hex()}: "
                                        "load the bitstream of this design"):
        client.greet(bytes(16))


@pytest.mark.parametrize("data_width", [32, 64, 128])
def test_memory_at_any_alignment(data_width: int):
    _, client = connected(data_width=data_width)
    held = bytearray(CONTENTS)
    drawn = random.Random(data_width)
    for _ in range(3):
        address, length = drawn.randrange(200), drawn.randrange(1, 70)
        content = drawn.randbytes(length)
        client.write_memory(address, content)
        held[address:address + length] = content
        start = drawn.randrange(240)
        assert client.read_memory(start, 60) == held[start:start + 60]
    assert client.read_memory(0, MEMORY) == held


def test_registers():
    bench, client = connected()
    for offset in range(0, 60, 12):
        client.write_register(offset, 0xC0DBDCDD - offset)
    assert [client.read_register(offset) for offset in range(0, 60, 12)] == [0xC0DBDCDD - k for k in range(0, 60, 12)]
    assert bench.written == 5
    with pytest.raises(LinkError, match=r"did not write registers .4 bytes at 0x3c.: the bus answered an error"):
        client.write_register(60, 1)
    with pytest.raises(LinkError, match=r"did not read registers .4 bytes at 0x3c.: the bus answered an error"):
        client.read_register(60)


@pytest.mark.parametrize("value", [1 << 32, -1])
def test_a_register_has_32_bits(value: int):
    bench, client = connected()
    with pytest.raises(LinkError, match=f"a register has 32 bits, too few for {value:#x}"):
        client.write_register(0, value)
    assert bench.written == 0


def test_a_poll_counts_from_the_last_write_to_the_interrupt():
    bench, client = connected()
    client.write_register(0, 1)
    assert not client.poll().ended
    bench.interrupt = True
    first = client.poll()
    assert client.poll().ended
    bench.interrupt = False
    again = client.poll()
    assert again.ended and 0 < again.cycles < first.cycles + 1000
    client.write_register(0, 1)
    assert not client.poll().ended


def test_a_window_is_kept_by_the_client():
    _, client = connected()
    with pytest.raises(LinkError, match="8 bytes at 0x125 are outside the memory of 300 bytes"):
        client.read_memory(293, 8)
    with pytest.raises(LinkError, match="4 bytes at 0x40 are outside the registers of 64 bytes"):
        client.write_register(64, 0)


@pytest.mark.parametrize(("operation", "address", "length", "content", "status"), [
    (Operation.READ_MEMORY, 293, 8, b"", Status.OUTSIDE),
    (Operation.READ_MEMORY, 0xFFFFFFFF, 8, b"", Status.OUTSIDE),
    (Operation.READ_MEMORY, 0, 0, b"", Status.LENGTH),
    (Operation.READ_MEMORY, 0, 65, b"", Status.LENGTH),
    (Operation.READ_MEMORY, 0, 4, b"abcd", Status.LENGTH),
    (Operation.WRITE_MEMORY, 0, 4, b"abc", Status.LENGTH),
    (Operation.WRITE_MEMORY, 0, 3, b"abcd", Status.LENGTH),
    (Operation.WRITE_MEMORY, 299, 2, b"ab", Status.OUTSIDE),
    (Operation.READ_REGISTERS, 2, 4, b"", Status.LENGTH),
    (Operation.WRITE_REGISTERS, 0, 2, b"ab", Status.LENGTH),
    (Operation.READ_REGISTERS, 64, 4, b"", Status.OUTSIDE),
    (Operation.GREET, 0, 0, b"a", Status.LENGTH),
    (77, 0, 4, b"", Status.UNKNOWN),
])
def test_a_window_is_kept_by_the_board(operation: int, address: int, length: int, content: bytes, status: Status):
    """Whatever the host's program does."""
    bench, client = connected()
    client.greet()
    bench.write(Request(9, operation, address, length, content).encode())
    client._sequence = 9
    response = client._response(0)
    assert response is not None and (response.status, response.content) == (status, b"")
    assert client.read_memory(0, MEMORY) == CONTENTS
    assert bench.written == 0


def test_damaged_bytes_are_sent_again():
    """Three of a hundred bytes is wrong in each direction: everything arrives, and no register is written twice."""
    bench, client = connected()
    client = LinkClient(bench, seconds=0.005, attempts=40, clock=bench.clock)
    client.greet(DESIGN)
    drawn = random.Random(1)

    def damaged(content: bytes) -> bytes:
        return bytes(byte ^ (1 << drawn.randrange(8)) if drawn.random() < 0.03 else byte for byte in content)

    bench.to_board = bench.to_host = damaged
    content = drawn.randbytes(24)
    client.write_memory(17, content)
    for number in range(4):
        client.write_register(4 * number, number)
    assert client.read_memory(17, 24) == content
    assert client.repeats > 3
    assert bench.written == 4


def test_lost_and_additional_bytes():
    bench, _ = connected()
    client = LinkClient(bench, seconds=0.005, attempts=40, clock=bench.clock)
    client.greet()
    drawn = random.Random(2)

    def unsteady(content: bytes) -> bytes:
        return b"".join({0: b"", 1: bytes([byte, 0xC0])}.get(drawn.randrange(60), bytes([byte])) for byte in content)

    bench.to_board = bench.to_host = unsteady
    content = drawn.randbytes(24)
    client.write_memory(3, content)
    assert client.read_memory(3, 24) == content


def test_a_lost_cable_is_an_error():
    bench, client = connected()
    client.greet()
    bench.to_host = lambda content: b""
    with pytest.raises(LinkError, match="no answer from the board on the bench in 4 attempts: check the cable, that "
                                        "the bitstream is loaded, and the bits per second"):
        client.read_register(0)
    assert bench.seconds < 0.1


def test_random_bytes_write_nothing():
    """Frames of random bytes, whole ones with random headers among them: nothing is written but what was asked."""
    bench, client = connected()
    client.greet()
    drawn = random.Random(3)
    for _ in range(15):
        bench.write(drawn.randbytes(drawn.randrange(1, 40)) + b"\xc0")
        bench.write(Request(drawn.randrange(256), drawn.choice([1, 3, 6, 200]), drawn.randrange(1 << 32),
                            drawn.randrange(1 << 16), drawn.randbytes(drawn.randrange(90))).encode())
    while bench.read(0.001):
        pass
    assert client.read_memory(0, MEMORY) == CONTENTS
    assert bench.written == 0

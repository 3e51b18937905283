"""Random frames through the link, whole and damaged: it does what a model of the protocol does, and nothing else."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import cocotb
from cocotb.triggers import RisingEdge

from hw.link.host_link import HostLink
from hw.link.protocol import RESIDUE, FrameDecoder, LinkSpec, Operation, Request
from hw.sim.bench import bench_data, run_bench
from hw.verilog import convert

SPEC = LinkSpec(300, 6, bytes(16), payload=64)
FRAMES = 4000
"""As many as take a moment: `FRAMES * 25` ran once, with the same result."""
LONGEST = 8 + SPEC.payload + 4
MASK = 0xFFFFFFFF
WRITES = (Operation.WRITE_MEMORY, Operation.WRITE_REGISTERS)


def random_frame(drawn: Random) -> bytes:
    """Requests in and outside of the window, of all lengths, as they are and damaged; bytes that are no frame."""
    kind = drawn.random()
    if kind < 0.2:
        return drawn.randbytes(drawn.randrange(1, 60)) + drawn.choice([b"", b"\xc0"])
    length = drawn.choice([0, 1, 3, 4, 8, 20, 64, 65, drawn.randrange(1 << 16)])
    address = drawn.choice([0, 4, 7, 60, 64, 236, 290, 296, drawn.randrange(1 << 32)])
    carried = length if drawn.random() < 0.9 and length < 90 else drawn.randrange(80)
    operation = drawn.choice([*Operation, *WRITES, drawn.randrange(256)])
    content = drawn.randbytes(carried) if operation in WRITES else b""
    frame = bytearray(Request(drawn.randrange(4), operation, address, length, content).encode())
    if kind < 0.4:
        frame[drawn.randrange(len(frame))] ^= 1 << drawn.randrange(8)
    return bytes(frame[:-drawn.randrange(1, 9)] if kind > 0.95 else frame)


@dataclass
class Model:
    """What the buses see."""

    memory: list[int] = field(default_factory=lambda: [0, 0])
    registers: list[int] = field(default_factory=lambda: [0, 0])
    answers: int = 0
    last: int | None = None

    def take(self, frame: bytes) -> None:
        """A frame between two delimiters."""
        if len(frame) < 12 or zlib.crc32(frame) != RESIDUE ^ MASK:
            return
        self.answers += 1
        sequence, operation = frame[0], frame[1]
        length, address = int.from_bytes(frame[2:4], "little"), int.from_bytes(frame[4:8], "little")
        content = frame[8:-4]
        repeated = sequence == self.last and operation in WRITES
        self.last = sequence
        if repeated or not 0 < length <= SPEC.payload or len(content) != length:
            return
        if operation == Operation.WRITE_MEMORY and address + length <= SPEC.memory_bytes:
            self._write_memory(address, content)
        if operation == Operation.WRITE_REGISTERS and not (address | length) % 4 and address + length <= 64:
            for offset in range(0, length, 4):
                _mix(self.registers, address + offset, int.from_bytes(content[offset:offset + 4], "little"))

    def _write_memory(self, address: int, content: bytes) -> None:
        beats: dict[int, list[int]] = {}
        for place, byte in enumerate(content, address):
            beat = beats.setdefault(place & ~7, [0, 0])
            beat[0] |= 1 << place % 8
            beat[1] |= byte << 8 * (place % 8)
        for place, (strobes, data) in beats.items():
            _mix(self.memory, place, strobes, data & MASK, data >> 32)


def _mix(counted: list[int], *values: int) -> None:
    counted[0] += 1
    for value in values:
        counted[1] = (counted[1] ^ value) * 16777619 & MASK


def test_random_frames(simulator: str, tmp_path: Path) -> None:
    drawn, count = Random(7), FRAMES if simulator == "verilator" else FRAMES // 10
    stream = b"".join(random_frame(drawn) for _ in range(count)) + b"\xc0"
    model = Model()
    for frame in FrameDecoder(LONGEST).feed(stream):
        model.take(frame)
    assert min(model.memory[0], model.registers[0]) > count // 200
    (tmp_path / "frames.hex").write_text("\n".join(f"{byte:02x}" for byte in stream))
    sources = {"host_link.v": convert(HostLink(SPEC), "host_link"),
               "link_frames.v": (Path(__file__).parent / "link_frames.v").read_text()}
    data = {"memory": model.memory, "registers": model.registers, "answers": 2 * model.answers}
    run_bench(sources, "link_frames", __file__, simulator=simulator, parameters={"BYTES": len(stream)}, data=data,
              folder=tmp_path)


@cocotb.test()
async def buses_see_what_the_model_does(dut) -> None:
    await RisingEdge(dut.done)
    data = bench_data()
    assert [int(dut.memory_writes.value), int(dut.memory_hash.value)] == data["memory"]
    assert [int(dut.register_writes.value), int(dut.register_hash.value)] == data["registers"]
    assert int(dut.answers.value) == data["answers"]

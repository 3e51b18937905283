"""The link's data register behind a model of the FPGA's port: what goes in comes back, whatever the scans are like."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
from board_link_bench import ROW_BITS, simulated_pins

from hw.link.jtag.data_register import LinkDataRegister
from hw.link.jtag.layout import ER1, decode_scan, encode_scan
from hw.link.jtag.port import JtagPort
from hw.link.jtag.tap import TestAccessPort
from hw.link.jtag.xvc import XvcCable
from hw.verilog import convert

FOLDER = Path(__file__).parent
IDCODE = 0x41113043


def opened(port: str) -> XvcCable:
    host, number = port.removeprefix("jtag:xvc://").split(":")
    return XvcCable(port, host, int(number), 30.0)


def paused_scan(cable: XvcCable, bits: np.ndarray, at: int) -> np.ndarray:
    """A scan with a stay in Pause-DR after `at` bits."""
    before, after = [1, 0, 0] + [0] * (at - 1) + [1], [0, 1, 0] + [0] * (len(bits) - at - 1) + [1, 1, 0]
    tms = np.array(before + after, np.uint8)
    tdi = np.concatenate([np.zeros(3), bits[:at], np.zeros(3), bits[at:], np.zeros(2)]).astype(np.uint8)
    come = cable.shift(tms, tdi)
    return np.concatenate([come[3:3 + at], come[6 + at:-2]])


def test_bytes_come_back(simulator: str, tmp_path: Path) -> None:
    sources = {"link_register.v": convert(LinkDataRegister(), "link_register"),
               **{name: (FOLDER / name).read_text() for name in ("jtag_echo.v", "jtag_line.v", "ecp5_jtagg.v")}}
    drawn = Random(5)
    with simulated_pins(sources, "jtag_line", simulator, tmp_path, parameters={"BITS": ROW_BITS}) as name:
        cable = opened(name)
        tap = TestAccessPort(cable)
        assert tap.identify() == IDCODE
        tap.select(ER1)

        sent, come, refused = b"", b"", 0
        for number in range(60):  # scans of all sizes, some with a pause, more bytes than there is room for
            content = drawn.randbytes(drawn.choice([0, 1, 5, 20, 60]))
            groups = len(content) + drawn.randrange(30)
            bits = encode_scan(content, groups)
            out = paused_scan(cable, bits, drawn.randrange(1, len(bits))) if number % 4 == 0 else tap.scan(bits)
            answer = decode_scan(out)
            assert answer is not None
            sent, come = sent + content[:answer.taken], come + answer.content
            refused += len(content) - answer.taken
        for _ in range(40):
            answer = decode_scan(tap.scan(encode_scan(b"", 16)))
            assert answer is not None
            come += answer.content
        assert come == sent and refused > 50 and len(sent) > 200

        for _ in range(40):  # scans of any bits
            tap.scan(np.array([drawn.randrange(2) for _ in range(drawn.randrange(1, 90))], np.uint8))
        cable.close()
        port = JtagPort(opened(name), seconds=30.0)
        content = drawn.randbytes(300)
        port.write(content)
        come = b""
        # Bytes that those scans happened to send may still be on their way.
        while not come.endswith(content) and (part := port.read(5.0)):
            come += part
        assert come.endswith(content) and len(come) < 2 * len(content)
        port.close()

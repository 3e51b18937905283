"""The vector processor with its scalar core and a program that tries both."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.designs.system import SystemDesign
from hw.soc.program import build_program
from hw.soc.registers import host_registers
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.spec import VectorSpec

__all__ = ["demo_results", "vector_design", "vector_image"]

PROGRAM = Path(__file__).parent / "vector_demo.c"
MEMORY_BYTES = 1 << 13
_STACK_BYTES = 512
_COUNT, _ROWS = 48, 4
"""Of the program."""


def vector_design(lanes: int) -> SystemDesign:
    """A system of `lanes` lanes. Raises `VectorSpecError`, `CoreMissing`, and `FirmwareError` without a compiler."""
    spec = VectorSpec(lanes=lanes)
    image = vector_image(spec)
    return SystemDesign(image, host_registers(spec), SYSTEM_MODULE, emit_vector_system(spec),
                        data_width=8 * spec.memory_bytes, serial=True)


def vector_image(spec: VectorSpec) -> DesignImage:
    """Main memory and start of the program; its array ``result`` is checked. The array is a row of lanes."""
    firmware = build_program(PROGRAM, spec, options=("-Os",), memory_bytes=MEMORY_BYTES, stack_bytes=_STACK_BYTES)
    result, expected = firmware.symbol("result"), demo_results().tobytes()
    parameters = dataclasses.asdict(spec) | {"fraction_bits": list(spec.fraction_bits)}
    return DesignImage(
        name="vector",
        array=f"1x{spec.lanes}",
        configuration=(),
        plan=(("PROGRAM", 0), ("CONTROL", host_registers(spec).encode("CONTROL", start=1))),
        memory=((0, firmware.image),),
        outputs=(OutputRegion("result", result.address, len(expected), crc32(expected)),),
        memory_bytes=MEMORY_BYTES,
        parameters=parameters,
    )


def demo_results() -> np.ndarray:
    """What the program computes: sums, products and absolute differences of two vectors, and sums of products."""
    state, numbers = 1, []
    for _ in range(2 * _COUNT):
        state = (state * 1103515245 + 12345) & 0xFFFFFFFF
        numbers.append((state - (state >> 31 << 32)) >> 18)
    left, right = np.array(numbers, dtype=np.int32).reshape(_COUNT, 2).T
    rows = (left * right).reshape(_ROWS, -1).sum(axis=1, dtype=np.int32)
    return np.concatenate([left + right, left * right, np.abs(left - right), rows]).astype("<i4")

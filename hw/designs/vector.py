"""The vector processor with its scalar core: with a program that tries both, or one that the compiler wrote."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.designs.parameters import from_parameters
from hw.designs.system import SystemDesign
from hw.soc.program import build_program
from hw.soc.registers import host_registers
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.spec import VectorSpec

__all__ = ["VECTOR", "demo_results", "start_plan", "vector_design", "vector_image", "vector_parameters",
           "vector_program_design"]

VECTOR = "vector"
"""What `DesignImage.parameters` call the system."""

PROGRAM = Path(__file__).parent / "vector_demo.c"
MEMORY_BYTES = 1 << 13
_STACK_BYTES = 512
_COUNT, _ROWS = 48, 4
"""Of the program."""


def vector_design(lanes: int) -> SystemDesign:
    """A system of `lanes` lanes. Raises `VectorSpecError`, `CoreMissing`, and `FirmwareError` without a compiler."""
    spec = VectorSpec(lanes=lanes)
    return _system(vector_image(spec), spec)


def vector_program_design(image: DesignImage) -> SystemDesign:
    """The system that `image`, a program in a design directory, is for. Raises `DesignError`."""
    fields = {name: value for name, value in image.parameters.items() if name != "system"}
    spec = from_parameters(VectorSpec, fields | {"lanes": image.shape[1]}, "parameters")
    return _system(image, spec)


def vector_parameters(spec: VectorSpec) -> dict[str, Any]:
    """What `DesignImage.parameters` says about a program's system: its kind, and the processor without its lanes."""
    fields = dataclasses.asdict(spec) | {"scratchpad_bytes": spec.capacity, "fraction_bits": list(spec.fraction_bits)}
    return {name: value for name, value in fields.items() if name != "lanes"} | {"system": VECTOR}


def start_plan(spec: VectorSpec) -> tuple[tuple[str, int], ...]:
    """The writes that start the program at address 0."""
    return ("PROGRAM", 0), ("CONTROL", host_registers(spec).encode("CONTROL", start=1))


def _system(image: DesignImage, spec: VectorSpec) -> SystemDesign:
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
        plan=start_plan(spec),
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

"""A compiled vector program as a design directory: linked, in the smallest main memory, with what the host writes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.bind.host_interface import host_array, register_writes, word_c_type
from compiler.bind.vector.c_names import c_names
from compiler.bind.vector.text import print_program
from compiler.frontend.parallel_array.expression import Expression
from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.designs.register_documents import system_documents
from hw.designs.vector import start_plan, vector_parameters
from hw.drivers.interface import Area, Block, HostInterface, c_identifier
from hw.soc.program import DEFAULT_STACK_BYTES, Firmware, build_program
from hw.soc.registers import host_registers
from hw.soc.run import system_sources
from hw.soc.system import SYSTEM_MODULE

if TYPE_CHECKING:
    from compiler.bind.vector.design import VectorDesign

__all__ = ["link_program", "program_documents", "program_image", "program_interface"]

Arrays = Mapping[str, np.ndarray]


def program_documents(design: VectorDesign) -> dict[str, str]:
    """Texts of the design by path: both forms of the program, Verilog, and the host's registers."""
    name = design.code.name
    programs = {f"{name}.c": design.c_code, f"{name}.vector": print_program(design.code)}
    system = system_documents(SYSTEM_MODULE, system_sources(design.spec), host_registers(design.spec),
                              "vector processor")
    return programs | system | design.drivers


def program_interface(design: VectorDesign) -> HostInterface:
    """What drivers are made from: the program with its constants is in memory before the first run. Raises
    `FirmwareError`."""
    firmware, registers = design.linked, host_registers(design.spec)
    symbols = c_names(design.code.name, [array.name for array in design.code.arrays])
    named = [(role, name, node) for role, nodes in (("input", design.arrays.inputs), ("output", design.arrays.outputs))
             for name, node in nodes.items()]
    arrays = tuple(host_array(name, role, str(node.dtype), word_c_type(node.dtype), node.shape)
                   for role, name, node in named)
    areas = [_area(name, node, firmware.symbols[symbols[name]].address)
             for _, name, node in named if symbols.get(name) in firmware.symbols]
    writes = [(registers.address(name), value) for name, value in start_plan(design.spec)]
    return HostInterface(
        c_identifier(design.code.name), registers, arrays, tuple(areas), register_writes(registers, writes),
        firmware.memory_bytes, image=((0, firmware.image),), relocatable=False, cycles=("CYCLES", "CYCLES_HIGH"))


def _area(name: str, node: Expression, address: int) -> Area:
    size = node.dtype.itemsize
    origin = (0,) * len(node.shape)
    strides = tuple(size * prod(node.shape[k + 1:]) for k in range(len(node.shape)))
    block = Block(origin, (1,) * len(node.shape), node.shape, 0, strides, word_c_type(node.dtype))
    return Area(name, name, address, size * prod(node.shape), (block,))


def program_image(design: VectorDesign, data: tuple[Arrays, Arrays] | None) -> DesignImage:
    """The linked program as plain data. With `data`, inputs and wanted outputs by name, also the inputs' memory
    contents and the outputs' checksums. Raises `FirmwareError`."""
    code, firmware = design.code, design.linked
    inputs, wanted = data or ({}, {})
    symbols = c_names(code.name, [array.name for array in code.arrays])
    areas = {name: firmware.symbols[symbol] for name, symbol in symbols.items() if symbol in firmware.symbols}
    memory = bytearray(firmware.image.ljust(max((a.address + a.size for a in areas.values()), default=0), b"\0"))
    for name, values in inputs.items():
        if name in areas:  # the C compiler drops arrays that nothing moves
            memory[areas[name].address:areas[name].address + values.nbytes] = values.tobytes()
    outputs = tuple(
        OutputRegion(name, areas[name].address, areas[name].size,
                     crc32(wanted[name].tobytes()) if name in wanted else None)
        for name in design.arrays.outputs)
    return DesignImage(
        name=code.name, array=f"1x{design.spec.lanes}", configuration=(), plan=start_plan(design.spec),
        memory=((0, bytes(memory)),), outputs=outputs, memory_bytes=firmware.memory_bytes,
        parameters=vector_parameters(design.spec), metadata=_metadata(design))


def link_program(design: VectorDesign) -> Firmware:
    """The program in the smallest power of two of bytes that holds it with its arrays and stack. Raises
    `FirmwareError`."""
    sources = {f"{design.code.name}_program.c": design.c_code}
    large = build_program(sources, design.spec, memory_bytes=design.memory_bytes)
    used = max((symbol.address + symbol.size for symbol in large.symbols.values()
                if symbol.address + symbol.size <= design.memory_bytes), default=0)
    end = max(used, len(large.image)) + DEFAULT_STACK_BYTES + 64
    return build_program(sources, design.spec, memory_bytes=1 << (end - 1).bit_length())


def _metadata(design: VectorDesign) -> dict[str, Any]:
    return {"target": "vector", "choices": design.choices, **design.array_metadata, "lower_bound": design.lower_bound,
            "predicted_start_to_done": design.predicted_start_to_done,
            "predicted_cycles": design.predicted_cycles, "resources": design.resources}

"""Hardware with streams as a design directory that `hw.build` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.bind.dataflow.running import StreamExecutable
from compiler.bind.design import check_inputs
from compiler.ir.interpret import interpret
from hw.designs.dataflow import dataflow_parameters
from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.drivers.interface import c_identifier

__all__ = ["stream_image"]


def stream_image(executable: StreamExecutable, array: str, metadata: Mapping[str, Any],
                 inputs: Mapping[str, np.ndarray] | None) -> DesignImage:
    """The design as plain data; with `inputs`, their memory contents and the checksums of the expected results.
    `array`: its size, in words; `metadata`: what else is to be told."""
    blocks: list[tuple[int, bytes]] = []
    sums: dict[str, int] = {}
    ins, outs = executable.places
    if inputs is not None:
        data = check_inputs(executable.program, inputs)
        blocks = executable.loads(data)
        results = interpret(executable.program, data)
        sums = {p.node: crc32(p.packed(results[p.array.name])) for p in outs}
    regions = tuple(OutputRegion(p.node, p.address, p.bytes, sums.get(p.node)) for p in outs)
    streams = [{"node": p.node, "array": p.array.name, "address": p.address, "bytes": p.bytes} for p in (*ins, *outs)]
    return DesignImage(
        name=c_identifier(executable.program.name), array=array, configuration=(), plan=tuple(executable.writes()),
        memory=tuple(blocks), outputs=regions, memory_bytes=executable.memory_bytes,
        parameters=dataflow_parameters(executable.ports, executable.main_memory.port_bits),
        metadata={**metadata, "streams": streams},
    )

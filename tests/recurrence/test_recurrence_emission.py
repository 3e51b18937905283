"""What is written for a board: Verilog with one module per kind of cell, and a host function that packs and unpacks."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from c_reference import compile_c
from recurrence_programs import program_data, recurrence

from compiler.bind.systolic.recurrence import compile_recurrence
from compiler.ir.interpret import interpret
from hw.designs.directory import read_design


def test_design_directory_and_host_function(tmp_path: Path) -> None:
    """The host function fills memory as the simulation does and takes results from where the hardware puts them."""
    program = recurrence("lu")
    design = compile_recurrence(program, ("j", "k"))
    inputs = program_data(program, 4)
    folder = design.emit(tmp_path / "lu", inputs)
    image = read_design(folder)
    assert (image.array, image.parameters["system"]) == ("4x3", "dataflow")
    verilog = (folder / "rtl" / "dataflow_system.v").read_text()
    kinds = design.resources["kinds of cells"]
    assert all(verilog.count(f"\nmodule cell_{kind}(") == 1 for kind in range(kinds))
    assert verilog.count("\nmodule drain_stage_") <= 3
    results = interpret(program, inputs)["A"]
    _, outs = design.executable.places
    memory = bytearray(design.executable.memory_bytes)
    for place in outs:
        memory[place.address : place.address + place.bytes] = place.packed(results)
    status = design.executable.registers.address("STATUS")
    assert np.array_equal(_host(folder, tmp_path, status, memory, inputs), results)
    for address, content in design.executable.loads(inputs):
        assert memory[address : address + len(content)] == content


def _host(folder: Path, scratch: Path, status: int, memory: bytearray, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Run the host function with registers that say that the run is done."""
    header = (folder / "host" / "dataflow.h").read_text()
    (scratch / "dataflow.h").write_text(header)
    library = compile_c(scratch, {"lu_host": (folder / "host" / "dataflow.c").read_text()})
    registers = (ctypes.c_uint32 * 1024)()
    registers[status // 4] = 2
    source = np.ascontiguousarray(inputs["A_in"].astype(np.int32))
    result = np.zeros_like(source)
    pointers = [ctypes.c_void_p(values.ctypes.data) for values in (source, result)]
    buffer = (ctypes.c_uint8 * len(memory)).from_buffer(memory)
    assert library.lu_run(buffer, registers, *pointers) == 0
    return result

"""What is written for a board: Verilog with one module per kind of cell, and a host function that packs and unpacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from driver_bench import DriverBench
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
    bench = DriverBench(design, tmp_path)
    bench.packed(inputs)
    for address, content in design.executable.loads(inputs):
        assert bench.memory[address : address + len(content)].tobytes() == content
    for place in outs:
        bench.memory[place.address : place.address + place.bytes] = np.frombuffer(place.packed(results), np.uint8)
    assert np.array_equal(bench.unpacked(inputs)["A"], results)



"""The table of all targets: what is measured of a design, what of its machine, and what is kept."""

import json
from functools import partialmethod

import pytest

from benchmarks import dataflow_tables, target_area, targets
from benchmarks.area import Subject
from benchmarks.target_area import AreaError, design_area, design_mhz
from benchmarks.targets import WrongResult, main, programs
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.dataflow.stream_design import StreamDesign
from compiler.bind.design import Run
from compiler.bind.registry import compile_program
from compiler.ir.interpret import interpret
from hw.dataflow.system import SYSTEM_MODULE
from hw.fabric.spec import TileKind

PROGRAM = "moving_average"


def test_the_area_of_a_machine_is_that_of_its_tiles():
    design = compile_program(programs()[PROGRAM](), "cgra")
    assert isinstance(design, CgraDesign)
    area, mhz = design_area(design), design_mhz(design)
    pe, memory = (len(design.spec.tiles(kind)) for kind in (TileKind.PE, TileKind.MEM))
    assert area["of"] == f"{pe} x pe_tile + {memory} x mem_tile_pub"
    assert area["multipliers"] == pe
    assert mhz["of"] in ("pe_tile", "mem_tile_pub")


def test_a_machine_that_is_not_measured():
    design = compile_program(programs()[PROGRAM](), "vector", lanes=64)
    with pytest.raises(AreaError, match=r"^vector_64 is not measured: type  python -m benchmarks\.area vector_64$"):
        design_area(design)


def test_parts_are_kept(tmp_path, monkeypatch):
    """What a program becomes is synthesised elsewhere (`test_area_benchmark`); here, which module that would be."""
    subjects = []
    monkeypatch.setattr(target_area, "yosys_area", lambda subject: subjects.append(subject) or {"lut": 321})
    output = tmp_path / "targets.json"
    ask = ["--target", "dataflow", "--program", PROGRAM, "-o", str(output)]
    assert main([*ask, "--only", "cycles"]) == 0
    first = json.loads(output.read_text())["programs"][PROGRAM]["dataflow"]
    assert main([*ask, "--target", "cgra", "--only", "area"]) == 0
    entries = json.loads(output.read_text())["programs"][PROGRAM]
    assert entries["dataflow"]["cycles"] == first["cycles"]
    assert entries["dataflow"]["area"] == {"lut": 321}
    design = compile_program(programs()[PROGRAM](), "dataflow")
    assert isinstance(design, StreamDesign)
    assert [subject.digest for subject in subjects] == [Subject(SYSTEM_MODULE, design.executable.sources).digest]
    assert entries["cgra"]["area"]["lut"] > 0
    assert "cycles" not in entries["cgra"]


@pytest.mark.parametrize(("arrays", "refused"), [(("4x4", "8x8"), False), (("4x4",), True)])
def test_the_array_is_the_first_that_fits(arrays, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "_ARRAYS", arrays)
    output = tmp_path / "targets.json"
    assert main(["--target", "cgra", "--program", "cascade", "--only", "cycles", "-o", str(output)]) == 0
    entry = json.loads(output.read_text())["programs"]["cascade"]["cgra"]
    assert ("the 4x4 array has" in entry.get("refused", "")) == refused


def test_unknown_parts(capsys):
    assert main(["--only", "volts"]) == 1
    assert capsys.readouterr().err == "error: --only volts: write some of cycles, rtl, area, mhz\n"


def test_table_of_hardware(monkeypatch):
    area = {"lut": 10, "ff": 20, "block_ram": 3, "lut_ram": 0, "multipliers": 4}
    cycles = {"cycles": 8, "bound": 8, "start to done predicted": 12}
    entries = {"fast": {**cycles, "area": area, "mhz": {"mhz": 99.5}}, "small": {**cycles, "area": area},
               "other": {"refused": "too large"}, "bad": {**cycles, "area": {"failed": "no cells"}}}
    results = {"targets": ["fast", "small", "bad", "other", "new"], "programs": {"fir": entries}}
    monkeypatch.setattr(dataflow_tables, "read_results", lambda name: results)
    assert dataflow_tables.target_tables().splitlines()[-1] == (
        "| fir | 10 / 20 / 3 / 4, 99.5 MHz | 10 / 20 / 3 / 4, not routed | no cells, not routed | - |  |")


def test_table_of_cycles_says_what_is_measured(monkeypatch):
    cycles = {"cycles": 80, "bound": 100, "start to done predicted": 120}
    entries = {"built": {**cycles, "start to done": 125, "unstalled": 81}, "planned": cycles,
               "other": {"refused": "no"}}
    results = {"targets": ["built", "planned", "other", "new"], "programs": {"fir": entries}}
    monkeypatch.setattr(dataflow_tables, "read_results", lambda name: results)
    assert "| fir | 125 (1.25; 81) | model 120 (1.20; 80) | - |  |" in dataflow_tables.target_tables().splitlines()


def test_results_of_simulations_are_compared(monkeypatch, tmp_path):
    design = compile_program(programs()[PROGRAM](), "dataflow")
    assert isinstance(design, StreamDesign)

    def simulate(self, inputs, simulator, wrong=0):
        outputs = {name: values + wrong for name, values in interpret(design.program, inputs).items()}
        return Run(outputs, 70, 5, 99, simulator, 99, 0.0, 0.0)

    monkeypatch.setattr(type(design), "simulate", simulate)
    output = tmp_path / "targets.json"
    ask = ["--target", "dataflow", "--program", PROGRAM, "-o", str(output), "--only", "cycles,rtl"]
    assert main(ask) == 0
    entry = json.loads(output.read_text())["programs"][PROGRAM]["dataflow"]
    assert (entry["start to done"], entry["unstalled"]) == (99, 70)
    monkeypatch.setattr(type(design), "simulate", partialmethod(simulate, wrong=1))
    with pytest.raises(WrongResult, match=r"the simulation differs from the reference$"):
        main(ask)


def test_clock_rates_of_the_same_hardware_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    design = compile_program(programs()[PROGRAM](), "dataflow")
    assert isinstance(design, StreamDesign)
    subject = Subject(SYSTEM_MODULE, design.executable.sources)
    rows = {"other": {"sources": "0", "mhz": 1.0}, "same": {"sources": subject.digest, "mhz": 123.4}}
    monkeypatch.setattr(target_area, "read_results", lambda name: {"area": rows})
    assert design_mhz(design) == {"mhz": 123.4}
    assert subject.digest != Subject("other", subject.sources).digest

"""Directories of the dataflow target for boards: they build, and damage is one clear line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from network_programs import matmul

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.cli.input_files import random_inputs
from hw.boards import build
from hw.designs.dataflow import dataflow_design
from hw.designs.directory import DesignError
from hw.designs.registry import load_design


@pytest.fixture(scope="module")
def design() -> DataflowDesign:
    found = compiler.compile(matmul(3), target="dataflow")
    assert isinstance(found, DataflowDesign)
    return found


@pytest.mark.parametrize("board", ["de3", "ulx3s-85f"])
def test_build_command_takes_the_directory(design: DataflowDesign, tmp_path: Path, board: str) -> None:
    design.emit(tmp_path / "design", random_inputs(design.program, 0))
    arguments = ["--board", board, "--design", str(tmp_path / "design"), "-o", str(tmp_path / "out")]
    assert build.main(arguments) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["design"] == "matmul" and manifest["self_check"] == ["WriteC"]
    assert "module dataflow_system" in (tmp_path / "out" / "dataflow_system.v").read_text()


def test_registers_come_from_the_directory(design: DataflowDesign, tmp_path: Path) -> None:
    loaded = load_design(str(design.emit(tmp_path)), None, None)
    assert loaded.registers == design.executable.registers
    assert loaded.sources == design.executable.sources


@pytest.mark.parametrize(("key", "value", "message"), [
    ("inputs", 3, r"parameters: inputs must be a list of \[str, int, bool, int\]"),
    ("sizes", [["N", 1]], r"parameters: sizes must be a list of \[str, int, int\]"),
])
def test_damaged_parameters(design: DataflowDesign, tmp_path: Path, key: str, value: object, message: str) -> None:
    image = design.design_image()
    with pytest.raises(DesignError, match=message):
        dataflow_design(replace(image, parameters={**image.parameters, key: value}), design.emit(tmp_path))


def test_a_directory_without_verilog(design: DataflowDesign, tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=r"rtl/dataflow_system\.v: No such file or directory"):
        dataflow_design(design.design_image(), tmp_path)

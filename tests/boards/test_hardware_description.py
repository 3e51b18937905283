"""Hardware description files: what they say, what they must not say, and that the compiler obeys them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.registry import TargetError
from compiler.frontend.apps import load
from hw.boards.build import main as build
from hw.designs.hardware import HardwareError, describe_array, load_hardware
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec, GlobalBufferSpec
from hw.memtile import MemTileSpec
from hw.pe import PeSpec

SIZE = "rows = 8\ncolumns = 4\n"


def written(folder: Path, text: str, name: str = "array.toml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize("spec", [
    FabricSpec(2, 3),
    FabricSpec(4, 4, pe=PeSpec(counter=True), mem=MemTileSpec(kind="dual-port-pe", inputs=1, outputs=1)),
    FabricSpec(16, 32, tracks=6, delay_depth=8, mem=MemTileSpec(depth=64), glb=GlobalBufferSpec(8, 4096)),
    FabricSpec(4, 4, mem=MemTileSpec(kind="dual-port", sram_ports=2)),
])
def test_descriptions_are_read_back(tmp_path: Path, spec: FabricSpec) -> None:
    assert load_hardware(written(tmp_path, describe_array(spec))).array == spec


def test_json_is_as_good(tmp_path: Path) -> None:
    text = json.dumps({"rows": 4, "columns": 8, "mem": {"kind": "dual-port"}, "options": {"seed": 3}})
    hardware = load_hardware(written(tmp_path, text, "array.json"))
    assert hardware.array == FabricSpec(4, 8, mem=MemTileSpec(kind="dual-port")) and hardware.options == {"seed": 3}


def test_kinds_have_their_own_defaults(tmp_path: Path) -> None:
    addressed = load_hardware(written(tmp_path, SIZE + '[mem]\nkind = "dual-port-pe"\n')).array
    assert addressed is not None and (addressed.mem.inputs, addressed.mem.outputs) == (1, 1)
    buffets = load_hardware(written(tmp_path, SIZE + '[mem]\nkind = "buffet"\n')).array
    assert buffets is not None and buffets.protocol == "ready-valid"


@pytest.mark.parametrize(("text", "message"), [
    ("rows = 8", "columns is missing"),
    (SIZE + "track = 5", "there is no 'track'; there are: rows, columns, tracks, delay_depth, pe, mem, mem_period, "
                         "glb, protocol, mem_depths, target, options"),
    (SIZE + "[pe]\ncounters = true", "there is no 'pe.counters'; there are: width, counter, bfloat16, add_cycles, "
                                      "multiply_cycles"),
    (SIZE + 'tracks = "5"', "tracks: '5' is not possible"),
    (SIZE + "tracks = 1", "an array has 2 to 16 tracks per side, not 1"),
    (SIZE + '[mem]\nkind = "sram"', "mem.kind: 'sram' is not possible"),
    (SIZE + "[mem]\ndepth = 100", "mem: memory tile: depth 100 is not a power of two above 1"),
    (SIZE + "mem = 3", "mem: must be an object"),
    ("rows 8", "this is no TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)"),
    ('target = "fpga"\nrows = 8', "'rows' describes an array, which target fpga does not have"),
    ("target = 3", "target must be a name, options a table"),
])
def test_what_describes_nothing(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(HardwareError) as caught:
        load_hardware(file)
    assert str(caught.value) == f"{file}: {message}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(HardwareError, match=r"none\.toml: No such file or directory"):
        load_hardware(tmp_path / "none.toml")
    with pytest.raises(HardwareError, match=r"array\.json: this is no JSON: "):
        load_hardware(written(tmp_path, "{", "array.json"))
    with pytest.raises(HardwareError, match=r"array\.json: the file must hold one object"):
        load_hardware(written(tmp_path, "[]", "array.json"))


@pytest.mark.parametrize("kind", ["pub", "dual-port", "dual-port-pe"])
def test_the_compiler_obeys(tmp_path: Path, kind: str) -> None:
    counter = "true" if kind == "dual-port-pe" else "false"
    text = f'{SIZE}tracks = 6\n[mem]\nkind = "{kind}"\ndepth = 256\n[pe]\ncounter = {counter}\n[options]\nseed = 2\n'
    design = compiler.compile(load("gaussian", width=40, height=6), hardware=written(tmp_path, text))
    assert isinstance(design, CgraDesign)
    assert (design.spec.tracks, design.spec.mem.kind, design.spec.mem.depth, design.options.seed) == (6, kind, 256, 2)
    assert f"kind = &quot;{kind}&quot;" in design.report()


def test_a_description_may_name_another_target(tmp_path: Path) -> None:
    file = written(tmp_path, 'target = "fpga"\n[options]\nmultiplier_latency = 3\n')
    design = compiler.compile(load("gaussian", width=12, height=6), hardware=file)
    assert isinstance(design, FpgaDesign) and design.options.multiplier_latency == 3
    with pytest.raises(TargetError, match="describes hardware of target fpga, not dataflow"):
        compiler.compile(load("gaussian", width=12, height=6), target="dataflow", hardware=file)


def test_options_must_not_say_it_again(tmp_path: Path) -> None:
    file = written(tmp_path, SIZE)
    with pytest.raises(SluiceError) as caught:
        compiler.compile(load("gaussian"), hardware=file, array="4x4")
    assert str(caught.value) == f"option array is '4x4', but {file} describes the array"


def test_build_takes_a_description(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, describe_array(replace(FabricSpec(2, 4), tracks=3)))
    assert build(["--board", "de3", "--array", file, "-o", str(tmp_path / "out")]) == 0
    assert build(["--board", "de3", "--array", written(tmp_path, SIZE + "track = 3", "wrong.toml")]) == 1
    assert "there is no 'track'" in capsys.readouterr().err

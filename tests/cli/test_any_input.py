"""Any command line, design directory and hardware description: an answer, in time, of one line, and no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import compiler
from compiler.cli.main import main
from compiler.frontend.c_scop import parse_scop
from hw.designs.directory import DesignError, read_design
from hw.designs.hardware import HardwareError, describe_array, load_hardware
from hw.fabric.spec import FabricSpec

SECONDS = 20
"""Processor time that an answer may take; the slowest takes a tenth of it."""

TEXT = "void f(const short a[4], short b[4]) { for (int i = 0; i < 4; i++) b[i] = a[i] + 1; }\n"
NUMBERS = ["", "0", "-1", "1", "2", "3", str(2**31), str(2**64), f"-{2**70}", "1.5", "1e400", "many", "0x4", "²"]
SETTINGS = ["", "=", "x", "x=1", "N=", "a=1=2", "seed=", "seed=-1", f"seed={2**70}", "seed=[[", "target=fpga",
            "share=auto", "share=1", "loops=asked", "transform=fold", "counter=maybe", "clock=-1", "rate=0"]
FILES = ["", ".", "none.c", "none.toml", "app.c", "a=app.c", "a=", "none=app.c", "/dev/null", "a\0b"]
VALUES = {
    "--target": ["cgra", "fpga", "dataflow", "systolic", "vector", "", "CGRA"],
    "--memory": ["pub", "dual-port", "dual-port-pe", "buffet", "", "sram"],
    "--array": ["4x4", "1x1", "0x4", "8x", "-4x4", "4x4x4", f"{2**70}x4", "", "none.toml"],
    "--hardware": FILES, "--lanes": NUMBERS, "--fusion-level": NUMBERS, "--tile-depth": NUMBERS,
    "--half-words": [*NUMBERS, "64", str(2**24), str(2**40)], "--seed": NUMBERS,
    "--option": SETTINGS, "--set": SETTINGS,
    "--function": ["f", "g", "", "f f"], "-I": FILES, "--sizes": [*SETTINGS, "N=1..2", "N=2..1", "N=..", "=1..2"],
    "--stall-seed": NUMBERS, "--input": FILES, "--random": NUMBERS, "--output": FILES,
}
"""What options are given: smallest, largest, negative, empty, of another type."""

VALUED = st.sampled_from(sorted(VALUES)).flatmap(lambda o: st.tuples(st.just(o), st.sampled_from(VALUES[o])))
OPTION = st.one_of(VALUED, st.sampled_from([("--waves",), ("--list",), ("--unknown",), ("more",)]))


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """The working directory, with the program ``app.c``."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "app.c").write_text(TEXT)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit status and standard error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            return main(arguments), errors.getvalue()
        except SystemExit as end:
            assert isinstance(end.code, int)
            return end.code, errors.getvalue()


@given(st.lists(OPTION, max_size=4))
@example([("--seed", "1"), ("--seed", "2")])
@settings(max_examples=40)
def test_any_arguments(options: list[tuple[str, ...]]) -> None:
    """The last of an option that is given twice holds. Only the parser of arguments (status 2) shows the usage, too."""
    begin = time.process_time()
    with folder_of_its_own():
        status, error = run(["app.c", *(word for option in options for word in option), "--simulator", "none"])
    assert time.process_time() - begin < SECONDS
    assert status in (0, 1, 2)
    assert (status == 0) == (error == "")
    if status == 1:
        assert error.startswith("error: ")
        assert error.count("\n") == 1


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from([0, -1, 1, 1 << 32, 1 << 70, -1.5, float("inf"), "", "x", "4x4",
                                                         "manifest.json", "../x", "é\n"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["", "x", "kind"]), inner,
                                                                          max_size=2)), max_leaves=3)


@cache
def emitted() -> dict[str, bytes]:
    """The files of a design directory."""
    with tempfile.TemporaryDirectory() as folder:
        compiler.compile(parse_scop(TEXT, "app.c"), target="fpga").emit(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def mutated(value: Any, data: st.DataObject) -> Any:
    """`value` with something in it replaced, left out or added."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        return [mutated(value[0], data), *value[1:]]
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        left_out = data.draw(st.sampled_from(sorted(value)))
        return {key: item for key, item in value.items() if key != left_out}
    return data.draw(JSON)


@given(st.data())
@settings(max_examples=60)
def test_any_manifest(data: st.DataObject) -> None:
    files = emitted()
    manifest = mutated(json.loads(files["manifest.json"]), data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        try:
            read_design(folder)
        except DesignError as error:
            assert str(error).startswith(f"{folder}/")
            assert "\n" not in str(error)


@given(st.data(), st.sampled_from(["json", "toml"]))
@settings(max_examples=60)
def test_any_hardware_description(data: st.DataObject, kind: str) -> None:
    """Of JSON any value; of TOML any lines of a description, in any order, some twice."""
    if kind == "json":
        text = json.dumps(mutated({"rows": 4, "columns": 4, "mem": {"kind": "pub", "depth": 512}, "pe": {"width": 16},
                                   "mem_depths": [512], "options": {"seed": 1}}, data))
    else:
        lines = st.sampled_from(describe_array(FabricSpec(4, 4)).splitlines())
        text = "\n".join(data.draw(st.lists(lines, max_size=12)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"array.{kind}"
        path.write_text(text)
        try:
            load_hardware(path)
        except HardwareError as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error)


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff\xfe", b"[" * 100_000, b"{}", b"null", b"[1]", b"1e999"])
@pytest.mark.parametrize("file", ["array.json", "array.toml"])
def test_files_that_are_no_description(tmp_path: Path, content: bytes, file: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(HardwareError) as caught:
        load_hardware(tmp_path / file)
    assert str(caught.value).startswith(f"{tmp_path / file}: ")
    assert "\n" not in str(caught.value)

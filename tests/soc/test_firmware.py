"""Compiling programs for the scalar core: what is where, and one line for whatever is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hw.soc.command import main as command
from hw.soc.errors import CoreMissing, FirmwareError, ProgramError
from hw.soc.program import build_program
from hw.soc.run import memory_bytes_of, run_program
from hw.soc.vexriscv import check_core, core_source
from hw.vector_lanes.spec import VectorSpec

GOOD = """
#include "soc.h"
#include "vector.h"
int32_t a[10] ALIGNED, b[4] = {1, 2, 3};
int main(void) { return a[0] + b[0]; }
"""


def test_image_and_symbols():
    firmware = build_program({"main.c": GOOD})
    a, b = firmware.symbol("a"), firmware.symbol("b")
    assert (a.size, b.size, a.address % 64) == (40, 16, 0)
    assert firmware.image[b.address : b.address + 16] == bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0])
    assert len(firmware.image) <= a.address  # zeros are not in the image
    assert "csrw" in firmware.assembly.split("<_start>:")[1][:200]


def test_several_files(tmp_path):
    (tmp_path / "one.c").write_text('#include "shared.h"\nint main(void) { return two(); }\n')
    (tmp_path / "two.S").write_text(".global two\ntwo: li a0, 2\n ret\n")
    (tmp_path / "shared.h").write_text("int two(void);\n")
    firmware = build_program([tmp_path / name for name in ("one.c", "two.S", "shared.h")])
    assert firmware.symbol("main").size > 0
    (tmp_path / "alone.c").write_text("int main(void) { return 0; }\n")
    assert build_program(tmp_path / "alone.c").symbol("main").size > 0


def test_defines_and_lanes_reach_the_program():
    text = '#include "vector.h"\nuint32_t a[N], b[VECTOR_LANES];\nint main(void) { a[1] = b[1] = 1; return 0; }'
    firmware = build_program({"main.c": text}, VectorSpec(lanes=16), defines={"N": 5})
    assert (firmware.symbol("a").size, firmware.symbol("b").size) == (20, 64)


def test_vector_calls_are_two_instructions():
    text = '#include "vector.h"\nint main(void) { vector(VVWU, VADD, 0, 0, 0); vector_set_vl(0); return 0; }'
    body = build_program({"main.c": text}).assembly.split("<main>:")[1].split("<")[0]
    assert body.count(".word") + body.count(".insn") + body.count("0x") == 3


MAIN = "int main(void) { return 0; }\n"
ERRORS = [
    ({"main.c": "int main(void) { return x; }\n"},
     "main.c, line 1: 'x' undeclared (first use in this function)"),
    ({"main.c": '#include "nothing.h"\n' + MAIN}, "main.c, line 1: nothing.h: No such file or directory"),
    ({"main.c": "int f(void);\nint main(void) { return f(); }\n"}, "undefined reference to 'f'"),
    ({"main.c": MAIN, "second.c": MAIN}, "multiple definition of 'main'"),
    ({"main.c": "char a[1 << 22];\nint main(void) { a[5] = 1; return a[6]; }\n"},
     r"the program with its arrays and 8192 bytes of stack needs \d+ bytes more than the main memory of 2097152 bytes"),
    ({"main.h": ""}, r"a program needs at least one .c or .S file"),
    ({"soc.h": "", "main.c": MAIN}, "the file name soc.h is taken by the start-up code"),
    ({"../main.c": MAIN}, "'../main.c' is not a plain file name"),
    (Path("/nowhere/main.c"), "/nowhere/main.c: No such file or directory"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "message"), ERRORS)
def test_errors_are_one_line(sources, message):
    with pytest.raises(FirmwareError, match=f"^{message}$".replace("(f", r"\(f").replace("n)$", r"n\)$")):
        build_program(sources)


def test_files_that_cannot_be(tmp_path):
    (tmp_path / "a").mkdir()
    for folder in (tmp_path, tmp_path / "a"):
        (folder / "main.c").write_text(MAIN)
    with pytest.raises(FirmwareError, match=r"^two files are called main\.c$"):
        build_program([tmp_path / "main.c", tmp_path / "a" / "main.c"])
    (tmp_path / "binary.c").write_bytes(b"\xff\xfe")
    with pytest.raises(FirmwareError, match=r"binary\.c: not a text file$"):
        build_program(tmp_path / "binary.c")


INSTALL = "type `apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf` as root"


def test_missing_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FirmwareError) as caught:
        build_program({"main.c": MAIN})
    assert str(caught.value) == f"the RISC-V compiler is missing (riscv64-unknown-elf-gcc): {INSTALL}"


def test_missing_library(monkeypatch, tmp_path):
    tool = tmp_path / "riscv64-unknown-elf-gcc"
    tool.write_text("#!/bin/sh\necho \"gcc: fatal error: cannot read spec file 'picolibc.specs'\" >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(FirmwareError) as caught:
        build_program({"main.c": MAIN})
    assert str(caught.value) == f"the C library picolibc is missing: {INSTALL}"


def test_names_and_sizes_of_arrays_are_checked_before_the_run():
    with pytest.raises(FirmwareError, match=r"^the program has no variable 'c' \(static, unused or misspelt\?\)$"):
        run_program({"main.c": GOOD}, dumps=["c"])
    with pytest.raises(FirmwareError, match=r"^44 bytes do not fit into array 'a' of 40 bytes$"):
        run_program({"main.c": GOOD}, loads={"a": np.zeros(11, np.int32)})


def test_numbers_lie_little_endian_in_memory():
    assert memory_bytes_of(np.array([[1, 2], [3, 4]], dtype=">i2")) == bytes([1, 0, 2, 0, 3, 0, 4, 0])
    assert memory_bytes_of(bytearray(b"ab")) == b"ab"


def test_the_core_is_the_one_that_is_known():
    assert core_source().count("module VexRiscv (") == 1
    with pytest.raises(CoreMissing, match=r"no port CfuPlugin_bus_cmd_valid in VexRiscv$"):
        check_core(core_source().replace("CfuPlugin_bus_cmd_valid", "cmd_valid"))
    with pytest.raises(CoreMissing, match="of an unknown kind"):
        check_core("module other (input clk); endmodule")


def test_missing_core_says_what_to_install(monkeypatch):
    monkeypatch.setattr("hw.soc.vexriscv._PACKAGE", "no_such_package")
    core_source.cache_clear()
    try:
        with pytest.raises(CoreMissing) as caught:
            core_source()
    finally:
        core_source.cache_clear()
    assert str(caught.value) == (
        "the scalar core is missing (VexRiscv_FullCfu.v): type `pip install pythondata-cpu-vexriscv`"
    )


def test_undumped_array():
    from hw.soc.run import ProgramResult

    result = object.__new__(ProgramResult)
    object.__setattr__(result, "dumps", {"a": b"\1\0"})
    assert list(result.array("a", np.int16)) == [1]
    with pytest.raises(ProgramError, match=r"^array 'b' was not dumped, only a$"):
        result.array("b", np.int16)


# The command line.


def test_program_from_the_command_line(tmp_path, capsys):
    source, image = tmp_path / "main.c", tmp_path / "main.bin"
    source.write_text(GOOD)
    assert command([str(source), "--lanes", "1", "--simulator", "none", "--image", str(image)]) == 0
    assert image.read_bytes() == build_program(source, VectorSpec(1)).image
    assert capsys.readouterr().out == f"{image.stat().st_size} bytes of program and data\n"


@pytest.mark.parametrize(("options", "message"), [
    (["missing.c"], "missing.c: No such file or directory"),
    (["{main}", "--lanes", "3"], "64 lanes, not 3"),
    (["{main}", "--dump", "a"], "--dump takes NAME=FILE, not 'a'"),
    (["{main}", "--load", "a=nowhere.npy"], "nowhere.npy cannot be read: "),
    (["{main}", "--dump", "c=c.bin"], "the program has no variable 'c' (static, unused or misspelt?)"),
])
def test_errors_of_the_command_line(options, message, tmp_path, capsys):
    source = tmp_path / "main.c"
    source.write_text(GOOD)
    assert command([option.format(main=source) for option in options]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("error: ") and message in errors and errors.count("\n") == 1

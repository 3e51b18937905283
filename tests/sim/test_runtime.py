"""What all Verilator builds have in common is compiled once."""

import subprocess
from pathlib import Path
from unittest import mock

import pytest

import hw.sim.compile as recipe
from hw.cache import cache_folder
from hw.sim.compile import BuildRequest, compile_sources
from hw.sim.runtime import Runtime
from hw.sim.toolchain import Toolchain, find_simulator

GCC = Toolchain("verilator", "5.048", ("verilator",), ("verilator", "5.048", "g++ 12"))
CLANG = Toolchain("verilator", "5.048", ("verilator",), ("verilator", "5.048", "Debian clang version 14"))
OPTIONS = {"OPT_FAST": "-O1", "OPT_SLOW": "-O0", "OPT_GLOBAL": "-O2"}
MAKEFILE = "VM_TRACE = 0\nVM_GLOBAL_FAST += \\\n\tverilated \\\n\nVM_GLOBAL_SLOW += \\\n"
OBJECTS = ("verilated.o", "launch.o")
PRECOMPILED = {"sluice_library.h.fast.gch": b"fast", "sluice_library.h.slow.gch": b"slow"}


def compile_with(request: BuildRequest, work: Path) -> list[str]:
    """The commands that make runs for a build."""
    work.mkdir()
    toolchain = find_simulator("verilator")
    with mock.patch("hw.sim.compile._run", side_effect=recipe._run) as run:
        compile_sources(work, request, toolchain, None, cache_folder() / "runtimes")
    [made] = [call.args for call in run.call_args_list if call.args[0][0] == "make"]
    for product in ("sluice_part0.o", "Vtop__ALL.a", "simulation.so"):
        (work / product).unlink()
    listed = subprocess.run([*made[0], "-n"], cwd=work, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.fixture
def build(tmp_path):
    """A function that stands for one build: it runs `reuse`, makes what make would have to make, and runs `keep`."""

    program = tmp_path / "launch.cpp"
    program.write_text("int main() {}\n")

    def run(name: str, options=OPTIONS, toolchain=GCC, header="verilated_timing.h",
            ports="") -> tuple[set[str], dict[str, str]]:
        work = tmp_path / name
        work.mkdir()
        (work / "Vtop_classes.mk").write_text(MAKEFILE)
        (work / "Vtop.h").write_text(f'#include "{header}"\n#include "verilated.h"\n#include "Vtop__Syms.h"\n{ports}')
        runtime = Runtime(tmp_path / "kept", work, toolchain, options, (program,))
        settings = runtime.reuse()
        wanted = dict.fromkeys(OBJECTS, b"object") | PRECOMPILED
        made = {file: data for file, data in wanted.items() if not (work / file).exists()}
        for file, data in made.items():
            (work / file).write_bytes(data)
        runtime.keep()
        return set(made), settings

    return run


def test_a_second_build_makes_nothing_of_it_again(build, tmp_path):
    assert build("first")[0] == {*OBJECTS, *PRECOMPILED}
    made, settings = build("second")
    assert made == set()
    assert settings["VK_PCH_H"] == "sluice_library.h"
    assert settings["VK_PCH_I_FAST"] == "$(CFG_CXXFLAGS_PCH_I) sluice_library.h.fast"
    work = tmp_path / "second"
    assert {name: (work / name).read_bytes() for name in PRECOMPILED} == PRECOMPILED
    assert (work / "sluice_library.h").read_text() == '#include "verilated.h"\n#include "verilated_timing.h"\n'
    assert (work / "sluice_library.h").stat().st_mtime < (work / "sluice_library.h.fast.gch").stat().st_mtime


def test_a_design_of_one_file_has_precompiled_headers_too(tmp_path):
    """Which Verilator's own makefile would compile without them; the objects of the build are its own."""
    source = "module counter(input clk, output reg [3:0] count); always @(posedge clk) count <= count + 1; endmodule"
    request = BuildRequest({"counter.v": source}, "counter", short=True)
    commands = compile_with(request, tmp_path / "first") + compile_with(request, tmp_path / "second")
    compiled = [command for command in commands if "sluice_part0.cpp" in command]
    assert len(compiled) == 2 and all("-include sluice_library.h.fast " in command for command in compiled)
    assert sum("c++-header" in command for command in commands) <= 1


def test_other_options_and_other_headers_are_compiled_for_themselves(build):
    build("first")
    assert build("faster", OPTIONS | {"OPT_FAST": "-O2"})[0] == {"sluice_library.h.fast.gch", "launch.o"}
    assert build("vpi", header="verilated_vpi.h")[0] == {"launch.o", *PRECOMPILED}
    assert build("another top", ports="VL_IN8(&clk,0,0);\n")[0] == {"launch.o"}


def test_precompiled_headers_of_clang_stay_where_they_are(build):
    build("first", toolchain=CLANG)
    assert build("second", toolchain=CLANG) == (set(PRECOMPILED), {})

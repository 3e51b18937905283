"""What all Verilator builds have in common is compiled once."""

import pytest

from hw.sim.runtime import Runtime
from hw.sim.toolchain import Toolchain

GCC = Toolchain("verilator", "5.048", ("verilator",), ("verilator", "5.048", "g++ 12"))
CLANG = Toolchain("verilator", "5.048", ("verilator",), ("verilator", "5.048", "Debian clang version 14"))
OPTIONS = {"OPT_FAST": "-O1", "OPT_SLOW": "-O0", "OPT_GLOBAL": "-O2"}
MAKEFILE = "VM_TRACE = 0\nVM_GLOBAL_FAST += \\\n\tverilated \\\n\nVM_GLOBAL_SLOW += \\\n"
OBJECTS = ("verilated.o", "launch.o")
PRECOMPILED = {"sluice_library.h.fast.gch": b"fast", "sluice_library.h.slow.gch": b"slow"}


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


def test_other_options_and_other_headers_are_compiled_for_themselves(build):
    build("first")
    assert build("faster", OPTIONS | {"OPT_FAST": "-O2"})[0] == {"sluice_library.h.fast.gch", "launch.o"}
    assert build("vpi", header="verilated_vpi.h")[0] == {"launch.o", *PRECOMPILED}
    assert build("another top", ports="VL_IN8(&clk,0,0);\n")[0] == {"launch.o"}


def test_precompiled_headers_of_clang_stay_where_they_are(build):
    build("first", toolchain=CLANG)
    assert build("second", toolchain=CLANG) == (set(PRECOMPILED), {})

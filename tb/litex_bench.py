"""A system of LiteX with a design in it, on Verilator: its processor runs a program that uses the design's C driver.

Needs LiteX with its VexRiscv (``pip install litex==2024.12 pythondata-cpu-vexriscv``) and the RISC-V compiler.
"""

from __future__ import annotations

import importlib
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from driver_files import import_file

from hw.sim.toolchain import find_simulator

__all__ = ["MEMORY", "REGISTERS", "run_on_litex"]

REGISTERS, MEMORY = 0x9000_0000, 0x4000_1000
"""Addresses of the design's registers and of its part of main memory, which begins a page before."""

_RAM, _STACK = 0x4000_0000, 0x4000_FFF0
_BYTES = 0x10000
_START = """.section .init
.global _start
_start:
  li sp, STACK
  call main
  li t0, RESULT
  sw a0, 0(t0)
1: lw t1, 0(t0) /* waits for the write: a jump to itself alone never leaves the bus to it */
  j 1b
"""
_LINK = f"""ENTRY(_start)
SECTIONS {{
  . = 0;
  .text : {{ *(.init) *(.text*) *(.rodata*) *(.srodata*) }}
  . = {_RAM:#x};
  .data : {{ *(.data*) *(.sdata*) *(.bss*) *(.sbss*) }}
}}
"""
_MAIN = """#include "Vsim.h"
#include <cstdio>
#include <cstdlib>
int main(int count, char **arguments)
{
  Vsim sim;
  const long limit = count > 1 ? atol(arguments[1]) : 0;
  for (long cycle = 0; cycle < limit; cycle++) {
    sim.sys_rst = cycle < 20;
    for (int level = 1; level >= 0; level--) {
      sim.sys_clk = level;
      sim.eval();
    }
    if (sim.result) {
      printf("%u %ld\\n", (unsigned)sim.result, cycle);
      return 0;
    }
  }
  return 1;
}
"""
_CLASSES = (("litex.build.generic_platform", "Pins"), ("litex.build.sim", "SimPlatform"), ("litex.gen", "LiteXModule"),
            ("litex.soc.integration.soc_core", "SoCCore"), ("litex.soc.interconnect.csr", "CSRStorage"),
            ("migen", "ClockDomain"))
"""Of LiteX, which need not be installed."""
_FLAGS = ("-march=rv32i", "-mabi=ilp32", "-Os", "-ffreestanding", "-nostdlib", "-fno-builtin")


def run_on_litex(design: Path, name: str, program: str, folder: Path, cycles: int) -> tuple[int, int]:
    """The result of `program`'s main, other than 0, and the cycle it came in; `name`: of the design's driver. Raises
    `CalledProcessError`, also where there is no result within `cycles`."""
    soc, platform, result = _system(design)
    words = _compiled(program, design / "host", name, result, folder)
    soc.init_rom("rom", contents=words, auto_size=False)
    before = Path.cwd()
    os.chdir(folder)
    try:
        platform.get_verilog(soc, name="sim").write("sim.v")
    finally:
        os.chdir(before)
    _verilate(folder, [source[0] for source in platform.sources])
    done = subprocess.run(["./simulation", str(cycles)], cwd=folder, capture_output=True, text=True, check=True)
    code, cycle = done.stdout.split()[-2:]
    return int(code), int(cycle)


def _system(design: Path) -> tuple[Any, Any, int]:
    """A small SoC with the design as manager and subordinate, its platform, and the address of the result."""
    litex = SimpleNamespace(**{name: getattr(importlib.import_module(module), name) for module, name in _CLASSES})
    pins = [(name, 0, litex.Pins(width)) for name, width in (("sys_clk", 1), ("sys_rst", 1), ("result", 32))]
    platform = litex.SimPlatform("SIM", pins)
    soc = litex.SoCCore(platform, 1_000_000, cpu_type="vexriscv", cpu_variant="minimal", integrated_rom_size=_BYTES,
                        integrated_rom_init=[0], integrated_sram_size=0x1000, integrated_main_ram_size=_BYTES,
                        uart_name="stub", ident_version=False, with_timer=False)
    soc.crg = clocks = litex.LiteXModule()
    clocks.cd_sys = litex.ClockDomain("sys")
    clocks.comb += [clocks.cd_sys.clk.eq(platform.request("sys_clk")),
                    clocks.cd_sys.rst.eq(platform.request("sys_rst"))]
    soc.shown = shown = litex.LiteXModule()
    shown.result = litex.CSRStorage(32)
    shown.comb += platform.request("result").eq(shown.result.storage)
    (path,) = design.glob("*_litex.py")
    import_file(path).add_accelerator(soc, origin=REGISTERS)
    soc.finalize()
    return soc, platform, soc.mem_map["csr"] + soc.csr.locs["shown"] * soc.csr.paging


def _compiled(program: str, host: Path, name: str, result: int, folder: Path) -> list[int]:
    """The program with the driver, as words of the ROM."""
    for file, text in (("start.S", _START), ("link.ld", _LINK), ("main.c", program)):
        (folder / file).write_text(text)
    defined = [f"-DRESULT={result:#x}", f"-DSTACK={_STACK:#x}", f"-DREGISTERS={REGISTERS:#x}", f"-DMEMORY={MEMORY:#x}"]
    subprocess.run(["riscv64-unknown-elf-gcc", *_FLAGS, *defined, f"-I{host}", "start.S", "main.c", host / f"{name}.c",
                    "-T", "link.ld", "-o", "program.elf", "-lgcc"], cwd=folder, check=True)
    subprocess.run(["riscv64-unknown-elf-objcopy", "-O", "binary", "-j", ".text", "program.elf", "program.bin"],
                   cwd=folder, check=True)
    content = (folder / "program.bin").read_bytes()
    return [int.from_bytes(content[k:k + 4], "little") for k in range(0, len(content), 4)]


def _verilate(folder: Path, sources: list[str]) -> None:
    toolchain = find_simulator("verilator")
    (folder / "main.cpp").write_text(_MAIN)
    environment = {**os.environ, **toolchain.environment}
    subprocess.run([*toolchain.compile, "--cc", "--exe", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--quiet",
                    "--top-module", "sim", "--prefix", "Vsim", "-Mdir", "build", "-o", "../simulation", "sim.v",
                    *sources, "main.cpp"], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    settings = {**toolchain.make_variables, "OPT_FAST": "-O1", "OPT_SLOW": "-O0"}
    subprocess.run(["make", "-s", "-C", "build", "-f", "Vsim.mk", *(f"{k}={v}" for k, v in settings.items())],
                   cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

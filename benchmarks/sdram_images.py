"""Pictures of a million pixels from SDRAM, through target fpga: cycles from start to done in RTL.

    python -m benchmarks.sdram_images [NAME ...] [-o benchmarks/results/sdram_images.json]

The system of a design, the SDRAM controller of the ULX3S and a model of its chip, which checks the times of its data
sheet, on Verilator; the chip has its start-up behind it, and inputs in it. Outputs are compared with the interpreter's.
The bound is what the chip's data lines take for the bytes of inputs and outputs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.fpga.memory import array_from_bytes
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.program import Array, Program
from hw.errors import SluiceError
from hw.pipeline.system import SYSTEM_MODULE
from hw.sdram.chip import CHIPS
from hw.sdram.emitted import emit_sdram
from hw.sdram.memory import SdramMemory
from hw.sim.ports import module_ports
from hw.sim.simulate import Job, run_job

__all__ = ["IMAGES", "image_table", "main", "measure"]

_MHZ = 50.0
_BENCH_PERIOD_NS = 10.0
"""Of the clock that a design is simulated with; the chip's times get as much shorter."""
_HOLD_NS = 2.5
"""How long after a clock edge what was read before is still on the lines."""
_STARTUP_NS = 2_000.0
_PATIENCE = 8
_READS = 8
"""How often registers are read at the end, which the last words need to get into the chip."""
_APPS = Path(__file__).parents[1] / "apps"
_MODEL = Path(__file__).parents[1] / "tb" / "sdr_sdram.v"
_TOP = "sdram_image"
_BOARDS_CHIP = CHIPS["IS42S16160G"]
_CHIP = replace(_BOARDS_CHIP, times=replace(_BOARDS_CHIP.times, startup=_STARTUP_NS))
"""The board's, after its start-up."""


@dataclass(frozen=True)
class _Image:
    """A program of `size` by `size` elements."""

    program: Callable[[int], Program]
    size: int = 1024


IMAGES: Mapping[str, _Image] = {
    "sobel": _Image(lambda size: load_c(_APPS / "sobel.c", H=size, W=size)),
    "gaussian": _Image(lambda size: load("gaussian", width=size, height=size)),
}


def measure(name: str) -> dict[str, Any]:
    """Cycles of a picture. Raises `SluiceError` for a result that is not the interpreter's."""
    image = IMAGES[name]
    program = image.program(image.size)
    design: Any = compiler.compile(program, target="fpga")
    inputs = random_inputs(program, 1)
    with tempfile.TemporaryDirectory(prefix="sluice-sdram-") as folder:
        wall_cycles, outputs = _run(design, inputs, Path(folder))
    for output, expected in interpret(program, inputs).items():
        if not np.array_equal(outputs[output], expected):
            raise SluiceError(f"{name}: output {output} differs from the interpreter's")
    arrays = {"bytes in": program.inputs, "bytes out": program.outputs}
    sizes = {key: sum(map(_bytes, found)) for key, found in arrays.items()}
    words = sum(sizes.values()) * 8 // _CHIP.data_bits
    return {"size": image.size, "mhz": _MHZ, **sizes, "start to done": wall_cycles, "bound": words,
            "ratio": round(wall_cycles / words, 3), "pictures per second": round(_MHZ * 1e6 / wall_cycles, 1)}


def _bytes(array: Array) -> int:
    return prod(array.shape) * -(-array.type.width // 8)


def _run(design: Any, inputs: Mapping[str, np.ndarray], folder: Path) -> tuple[int, dict[str, np.ndarray]]:
    """Cycles from start to done, and the outputs."""
    executable = design.executable
    before, after = folder / "before.hex", folder / "after.hex"
    job: Job = executable.job(inputs, "verilator", seed=1, stall=None)
    _fill(before, job)
    words = 1 << (job.memory_bytes * 8 // _CHIP.data_bits - 1).bit_length()
    memory = SdramMemory(_CHIP, _CHIP.cycles(_MHZ * 1e6))
    sources = {**executable.sources, "sdram_system.v": emit_sdram(memory, "sdram_system"),
               "sdr_sdram.v": _MODEL.read_text(), f"{_TOP}.v": _top(executable.sources, before, after, words)}
    run = run_job(replace(job, sources=sources, top=_TOP, memory_bytes=4096, loads=(), dumps=(), fast=True,
                          reads=list(job.reads) * _READS, expected_cycles=None,
                          cycle_limit=_PATIENCE * job.memory_bytes))
    executable.check(*[run.registers[executable.registers.address(name)] for name in ("STATUS", "WAITING")])
    content = np.array([int(word, 16) for word in after.read_text().split() if not word.startswith(("//", "@"))],
                       "<u2").tobytes()
    return run.cycles, {array.name: array_from_bytes(array, content[address:address + length])
                        for array, (address, length) in zip(design.program.outputs, job.dumps, strict=True)}


def _fill(path: Path, job: Job) -> None:
    """The chip's words before the run."""
    content = bytearray(-(-job.memory_bytes // 2) * 2)
    for address, part in job.loads:
        content[address:address + len(part)] = part
    path.write_text("\n".join(f"{word:04x}" for word in np.frombuffer(content, "<u2")))


def _top(sources: Mapping[str, str], before: Path, after: Path, words: int) -> str:
    """A system with its control port, SDRAM and the chip, whose words come from a file and go into another."""
    ports = module_ports(sources.values(), SYSTEM_MODULE) or ()
    control = [port for port in ports if not port.name.startswith("m_axi_")]
    memory = [port for port in ports if port.name.startswith("m_axi_")]
    scale = _BENCH_PERIOD_NS * _MHZ
    times = asdict(_CHIP.times) | {"oh": _HOLD_NS}
    given = ", ".join(f".T_{name.upper()}({round(time * scale)})" for name, time in times.items())
    pins = ("cke", "cs", "ras", "cas", "we", "ba", "a", "dqm", "dq_o", "dq_enable")
    return "\n".join([
        "`timescale 1ns / 1ps", f"module {_TOP} (",
        ",\n".join(f"  {port.direction} [{(port.width or 1) - 1}:0] {port.name}" for port in control), ");",
        *(f"  wire [{(port.width or 1) - 1}:0] {port.name};" for port in memory),
        "  wire cke, cs, ras, cas, we, dq_enable;", "  wire [1:0] ba, dqm;", "  wire [12:0] a;",
        "  wire [15:0] dq_o, dq, violations;", "  assign dq = dq_enable ? dq_o : 16'bz;",
        f"  {SYSTEM_MODULE} system (", ",\n".join(f"    .{port.name}({port.name})" for port in ports), "  );",
        "  sdram_system memory (.clk(clk), .rst(rst), .dq_i(dq),",
        ",\n".join([*(f"    .{pin}({pin})" for pin in pins),
                    *(f"    .s_{port.name[2:]}({port.name})" for port in memory)]), "  );",
        f"  sdr_sdram #(.WORDS({words}), {given}) chip (",
        "    .clk(~clk), .cke(cke), .cs_n(~cs), .ras_n(~ras), .cas_n(~cas), .we_n(~we), .ba(ba), .a(a), .dqm(dqm),",
        "    .dq(dq), .violations(violations)", "  );",
        f'  initial $readmemh("{before}", chip.words);',
        # The last words are on their way to the chip when the run is done.
        "  reg [4:0] since = 0;", "  always @(posedge clk) if (irq) begin", "    if (!(&since)) since <= since + 1;",
        f'    if (since == 30) $writememh("{after}", chip.words);', "  end",
        "  always @(posedge clk) if (violations != 0) $fatal;", "endmodule", ""])


def image_table() -> str:
    """The committed results as Markdown."""
    rows = [[name, f"{r['size']} x {r['size']}", r["bytes in"], r["bytes out"], r["start to done"], r["bound"],
             r["ratio"], r["pictures per second"]] for name, r in read_results("sdram_images")["images"].items()]
    head = ["program", "elements", "bytes in", "bytes out", "start to done, cycles", "bound", "ratio",
            f"pictures per second at {_MHZ:g} MHz"]
    return ("Pictures in the SDRAM of the ULX3S (16 data lines), through target fpga, in RTL on Verilator with a model "
            "of the chip that checks its times (`python -m benchmarks.sdram_images`). The bound is the words of inputs "
            "and outputs, one per cycle.\n\n" + table(head, rows))


@reports_errors
def main() -> None:
    """Measure and write."""
    Measurement("sdram_images", "images", "image", IMAGES).command(__doc__, measure)


if __name__ == "__main__":
    sys.exit(main())

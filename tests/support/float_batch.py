"""Floating-point operators of `hw.float` on many operands in one simulation without a step of Python per operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hw.float import FloatOperator, FloatSpec
from hw.float.operator import operand_names, result_width
from hw.sim.bench import run_bench
from hw.verilog import convert_together

__all__ = ["Batch", "run_batches"]

_BENCH = Path(__file__).resolve().parents[2] / "tb" / "float_bench.py"


@dataclass(frozen=True)
class Batch:
    """Operators by name that take the same operands: columns of words (uint64), as many as the widest needs."""

    operators: Mapping[str, FloatSpec]
    operands: tuple[np.ndarray, ...]


def run_batches(batches: Sequence[Batch], simulator: str, folder: Path, depth: int) -> list[dict[str, np.ndarray]]:
    """For every batch the results (uint64) by the names of its operators. `depth`: room for operands, which is part of
    what is built. The clock never stops; one of eight cycles is disabled."""
    folder.mkdir(parents=True, exist_ok=True)
    instances, memories = [], []
    for k, batch in enumerate(batches):
        assert len(batch.operands[0]) <= depth
        _write(folder / f"operands{k}.hex", batch.operands, depth)
        width = 64 * len(batch.operands)
        memories.append(f"  reg [{width - 1}:0] operands{k} [0:{depth - 1}]; initial $readmemh(\"operands{k}.hex\", "
                        f"operands{k});\n  reg [{width - 1}:0] row{k};\n  always @(posedge clk) if (en) row{k} <= "
                        f"operands{k}[step];")
        for n, spec in enumerate(batch.operators.values()):
            instances.append(_instance(k, n, spec, depth))
    dumps = "".join(f"      $writememh(\"results{k}_{n}.hex\", results{k}_{n});\n"
                    for k, batch in enumerate(batches) for n in range(len(batch.operators)))
    parts = "\n".join((*memories, *instances))
    top = f"""module float_batch(input clk, output reg done = 0);
  reg [31:0] step = 0; reg [2:0] beat = 0;
  wire en = beat != 5;
{parts}
  always @(posedge clk) begin
    beat <= beat + 1;
    if (en) step <= step + 1;
    if (step == {depth + 80} && !done) begin
{dumps}      done <= 1;
    end
  end
endmodule
"""
    sources = {"batch.v": top, "operators.v": _operators(tuple(tuple(batch.operators.values()) for batch in batches))}
    run_bench(sources, "float_batch", _BENCH, simulator=simulator, folder=folder)
    return [{name: _read(folder / f"results{k}_{n}.hex")[: len(batch.operands[0])]
             for n, name in enumerate(batch.operators)} for k, batch in enumerate(batches)]


@cache
def _operators(specs: Sequence[Sequence[FloatSpec]]) -> str:
    """All operators, the same for all simulators."""
    return convert_together((f"float_{k}_{n}", FloatOperator(spec), None)
                            for k, batch in enumerate(specs) for n, spec in enumerate(batch))


def _instance(k: int, n: int, spec: FloatSpec, depth: int) -> str:
    ports = ", ".join(f".{name}(row{k}[{64 * place + spec.form.width - 1}:{64 * place}])"
                      for place, name in enumerate(operand_names(spec)))
    clock = ".clk(clk), .rst(1'b0), " if spec.latency else ""
    late = spec.latency + 1
    return f"""  wire [{result_width(spec) - 1}:0] o{k}_{n}; reg [63:0] results{k}_{n} [0:{depth - 1}];
  float_{k}_{n} unit{k}_{n}({clock}.en(en), {ports}, .o(o{k}_{n}));
  always @(posedge clk) if (en && step >= {late} && step < {depth + late}) results{k}_{n}[step - {late}] <= o{k}_{n};"""


def _write(path: Path, columns: Sequence[np.ndarray], depth: int) -> None:
    rows = ["".join(f"{int(word):016x}" for word in reversed(row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(rows + ["0" * 16 * len(columns)] * (depth - len(rows))) + "\n")


def _read(path: Path) -> np.ndarray:
    words = [line.split("//")[0].strip() for line in path.read_text().splitlines()]
    return np.array([int(word, 16) for word in words if word and not word.startswith("@")], np.uint64)

"""The machine of Hammes 2000 in RTL: cycles, iterations and memory accesses of every row of tables 7.1 to 7.7.

    python -m benchmarks.window_machine [TABLE ...] [--area] [-o benchmarks/results/window_machine.json]

Each row's program is compiled with the passes that it names (`benchmarks.sac_loops`), and the loop that the table is
of runs in RTL (`compiler.bind.window`) for a random picture of 198 x 300; the host runs the others, as fringes. All of
it is compared with the interpreter of the program as it is written. A loop that the host starts for each stripe runs in
RTL for the first one, whose cycles are multiplied: they do not depend on data. With ``--area``, LUT and MHz on an
ECP5-85 of the machine of each row, routed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.area import Subject, yosys_area
from benchmarks.area import measure as place_and_route_subject
from benchmarks.command import Measurement, reports_errors
from benchmarks.sac_loops import SHAPE, Row
from benchmarks.sac_loops import TABLES as COUNTED
from benchmarks.window_published import PUBLISHED
from compiler.bind.window import WindowLoop, WindowRun, compile_loop
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, parse_sac
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.dfg import LoopFate, convert_loops, run_on_dfgs
from hw.errors import SluiceError

__all__ = ["TABLES", "combined_pair", "main", "measure", "row_loop"]

_TWO_MEMORIES = ("7.2",)
_LOOPS = ("inline", "sizes", "unroll", "elements", "fold", "identities", "casts", "sizes")
_COMBINED = (*_LOOPS, "combine", *_LOOPS)
_FUSED = ("inline", "cycle", "combine", "cycle")


def combined_pair(depth: int = 0) -> str:
    """The pair of loops with two arrays between them, the lower one with a pragma for the fused one's window."""
    text = sac_applications()["sac/combined_pair"].read_text(encoding="utf-8")
    pragma = f"// PRAGMA (stripmine ({depth},4))\n" if depth else ""
    return text.replace("    ufix8.2 Res[:,:] =\n", f"    ufix8.2 Res[:,:] =\n{pragma}")


def _with_combining() -> dict[str, list[Row]]:
    """Rows of table 7.7, whose last column is a bound; iterations and accesses are those of the model."""
    rows = [
        Row("before, upper", combined_pair(), _LOOPS, 58.706, (59.100,)),
        Row("before, lower", combined_pair(), _LOOPS, 58.509, (44.325,), 1),
        Row("after, upper", combined_pair(), _COMBINED, 58.706, (58.903,)),
        Row("after, lower", combined_pair(), _COMBINED, 58.509, (44.128,), 1),
        Row("fused", combined_pair(), _FUSED, 58.509, (44.325,)),
        Row("6x4", combined_pair(6), (*_FUSED, "stripmine", "cycle"), 11.583, (32.175,)),
    ]
    return {"7.7": rows}


TABLES = {**COUNTED, **_with_combining()}
"""Rows of each table."""


def row_loop(row: Row, memories: int) -> tuple[SacProgram, LoopFate, WindowLoop]:
    """The program of a row after its passes, its loop, and the machine of it."""
    program, _ = parse_sac(row.program).with_extents({"A": SHAPE}).optimised(list(row.passes))
    able = [fate for fate in convert_loops(program.module) if fate.dfg is not None]
    fate = able[row.loop]
    return program, fate, compile_loop(fate, memories)


class _Difference(SluiceError):
    """Results that are not those of the interpreter."""


def _run(row: Row, memories: int) -> tuple[WindowRun, int]:
    """The first run of the row's loop, and how often the host starts it. Raises `_Difference`."""
    program, fate, machine = row_loop(row, memories)
    runs: list[WindowRun] = []
    starts = 0

    def execute(started: LoopFate, operands: Sequence[np.ndarray], extents: Sequence[int]
                ) -> list[np.ndarray] | None:
        nonlocal starts
        if started.dfg is None or started.dfg.name != fate.dfg.name:  # type: ignore[union-attr]
            return None
        starts += 1
        if runs:
            return None
        runs.append(machine.run(operands, extents, "icarus"))
        return runs[0].outputs

    written = parse_sac(row.program)
    (port,) = written.inputs.values()
    image = np.random.default_rng(7).integers(0, 1 << port.types[0].scalar.width, SHAPE)
    held = written.held({"A": image})
    found = run_on_dfgs(program.module, program.main.name, held, execute)
    if not all(map(np.array_equal, found, interpret(written.module, written.main.name, held))):
        raise _Difference(f"row {row.name}: results differ from the interpreter's")
    return runs[0], starts


def measure(table: str) -> dict[str, Any]:
    """A table's rows: what ran in RTL beside what is printed."""
    rows = {}
    for row in TABLES[table]:
        run, starts = _run(row, 2 if table in _TWO_MEMORIES else 1)
        printed = PUBLISHED[table][row.name]
        rows[row.name] = {
            "iterations": starts * run.iterations, "reads": starts * (run.reads - run.arguments),
            "writes": starts * run.writes, "least cycles": starts * run.least_cycles, "cycles": starts * run.cycles,
            "starts": starts, "printed iterations": round(1000 * row.iterations),
            "printed accesses": [round(1000 * accesses) for accesses in row.accesses],
            "printed cycles": printed.cycles, "printed FMAPs": printed.fmaps, "printed MHz": printed.mhz}
        print(table, row.name, rows[row.name]["least cycles"], rows[row.name]["cycles"], printed.cycles, flush=True)
    return rows


def measure_area(table: str) -> dict[str, Any]:
    """LUT, FF and MHz of each row's machine."""
    rows = {}
    for row in TABLES[table]:
        machine = row_loop(row, 2 if table in _TWO_MEMORIES else 1)[2]
        subject = Subject("window_machine", {"window_machine.v": machine.verilog}, alone=False, target_mhz=100.0)
        rows[row.name] = yosys_area(subject) | {"mhz": place_and_route_subject(subject)["mhz"]}
        print(table, row.name, rows[row.name], flush=True)
    return rows


@reports_errors
def main() -> None:
    """Measure what is asked for and write the results."""
    Measurement("window_machine", "tables", "table", TABLES).run_with_area(__doc__, measure, measure_area)


if __name__ == "__main__":
    sys.exit(main())

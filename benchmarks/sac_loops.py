"""Iterations and memory accesses of the thesis' loops after SA-C's passes, beside the printed ones.

    python -m benchmarks.sac_loops [TABLE ...] [-o benchmarks/results/sac_loops.json]

Tables 7.1 to 7.6 of [Hammes 2000]: stripmined maxima of windows, and the fused pair of loops in all its forms, for a
picture of 198 x 300. The programs are compiled with the passes that each row names, and the counts are those of the
resulting graphs (`compiler.frontend.sac.cost`: a model, nothing runs); fringes are left out, as the thesis does.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.command import Measurement, reports_errors
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import parse_sac
from compiler.frontend.sac.cost import LoopCost, loop_costs

__all__ = ["MISPRINTS", "SHAPE", "TABLES", "Row", "cost", "main", "measure"]

SHAPE = (198, 300)
_UNFUSED = ("inline", "sizes", "unroll", "elements", "fold", "sizes")


@dataclass(frozen=True)
class Row:
    """A loop of a program after passes: the number of the loop, and what the thesis prints in thousands: iterations,
    and accesses, to one memory or to that of sources and that of results."""

    name: str
    program: str
    passes: tuple[str, ...]
    iterations: float
    accesses: tuple[float, ...]
    loop: int = 0
    sweeps: int | None = None
    transfers: float | None = None


def strip(bits: int, window: int, depth: int) -> str:
    """A maximum of windows with three columns, stripmined to `depth` rows."""
    pragma = f"// PRAGMA (stripmine ({depth},3))\n" if depth > window else ""
    return (f"uint{bits}[:,:] main (uint{bits} A[:,:]) return (\n"
            f"{pragma}for window W[{window},3] in A return (array (array_max (W))));")


def fused_pair(depth: int = 3) -> str:
    """The pair of loops, the lower one with a pragma for the fused one's window."""
    text = sac_applications()["sac/fused_pair"].read_text(encoding="utf-8")
    pragma = f"// PRAGMA (stripmine ({depth},5))\n" if depth > 3 else ""
    return text.replace("uint8 R1[:,:] = ", f"uint8 R1[:,:] =\n{pragma}")


_ITERATIONS = (59.004, 29.502, 19.668, 14.602, 11.622, 9.834, 8.344, 7.152, 6.556, 5.662, 5.364, 4.768, 4.470, 4.172)
_ONE_PE = {
    "7.1": (2, (7.524, 7.524, 7.524, 7.448, 7.410, 7.524, 7.448, 7.296, 7.524, 7.220, 7.524, 7.296, 7.410, 7.448)),
    "7.3": (8, (29.700, 29.700, 29.700, 29.400, 29.250, 29.700, 29.400, 28.800, 29.700, 28.500, 29.700, 28.800, 29.250,
                29.400)),
    "7.4": (32, (118.404, 118.404, 118.404, 117.208, 116.610, 118.404, 117.208, 114.816, 118.404, None, 118.404)),
}
_TWO_PE = (3.762, 3.762, 3.762, 3.724, 3.705, 3.762, 3.724, 3.648, 3.762, 3.610, 3.762, 3.648, 3.705, 3.724)
_TWO_ROWS = ((2, 197, 58.706, 44.325, 29.625), (3, 98, 29.204, 36.750, 29.475), (4, 65, 19.370, 34.125, 29.325),
             (5, 49, 14.602, 33.075, 29.475), (6, 39, 11.622, 32.175, 29.325), (7, 32, 9.536, 31.200, 28.875),
             (8, 28, 8.344, 31.500, 29.475), (9, 24, 7.152, 30.600, 28.875), (10, 21, 6.258, 29.925, 28.425),
             (11, 19, 5.662, 29.925, 28.575), (12, 17, 5.066, 29.325, 28.125))
_GENERAL = ("all", "nextify", "windows", "cycle")
_PADDED = ("all", "nextify_padded", "windows", "cycle")


def _tables() -> dict[str, list[Row]]:
    found = {table: [Row(f"{depth}x3", strip(bits, 1, depth), ("all",), _ITERATIONS[depth - 1], (accesses,))
                     for depth, accesses in enumerate(printed, 1) if accesses is not None]
             for table, (bits, printed) in _ONE_PE.items()}
    found["7.2"] = [Row(f"{depth}x3", strip(2, 1, depth), ("all",), _ITERATIONS[depth - 1], (accesses, accesses))
                    for depth, accesses in enumerate(_TWO_PE, 1)]
    found["7.5"] = [Row(f"{depth}x3", strip(8, 2, depth), ("all",), iterations, (accesses,), 0, sweeps, transfers)
                    for depth, sweeps, iterations, accesses, transfers in _TWO_ROWS]
    found["7.6"] = [
        Row("unfused, upper", fused_pair(), _UNFUSED, 58.706, (41.325,)),
        Row("unfused, lower", fused_pair(), _UNFUSED, 58.016, (43.904,), 1),
        Row("fused", fused_pair(), ("all",), 58.016, (58.604,)),
        Row("carrying", fused_pair(), _GENERAL, 58.016, (58.604,), 0, 196),
        Row("carrying, 4x3", fused_pair(4), _GENERAL, 29.008, (43.904,), 0, 98),
        Row("carrying, 5x3", fused_pair(5), _GENERAL, 19.240, (38.805,), 0, 65),
        Row("carrying, padded", fused_pair(), _PADDED, 58.408, (58.800,)),
        Row("carrying, padded, 4x3", fused_pair(4), _PADDED, 29.204, (44.100,)),
        Row("carrying, padded, 5x3", fused_pair(5), _PADDED, 19.370, (39.000,)),
    ]
    return dict(sorted(found.items()))


TABLES = _tables()
"""Every row of the tables that has counts; 10x3 of table 7.4 has none, as it could not be routed."""

MISPRINTS = {("7.6", "unfused, upper"): 44.325}
"""What the thesis must mean: the loop is that of the first row of table 7.5."""


def cost(row: Row) -> LoopCost:
    """The loop of a row."""
    program = parse_sac(row.program).with_extents({"A": SHAPE})
    optimised, _ = program.optimised(list(row.passes))
    return loop_costs(optimised.module, optimised.main.name)[row.loop]


def measure(table: str) -> dict[str, Any]:
    """The counts of a table, beside the printed ones."""
    rows = {}
    for row in TABLES[table]:
        found = cost(row)
        rows[row.name] = {
            "sweeps": found.sweeps, "iterations": found.iterations, "reads": found.reads, "writes": found.writes,
            "words of the problem": found.transfers, "lower bound, one memory": found.one_memory,
            "lower bound, two memories": found.two_memories,
            "printed iterations": round(1000 * row.iterations),
            "printed accesses": [round(1000 * accesses) for accesses in row.accesses]}
    return rows


@reports_errors
def main() -> None:
    """Count what is asked for and write the results."""
    Measurement("sac_loops", "tables", "table", TABLES).command(__doc__, measure)


if __name__ == "__main__":
    sys.exit(main())

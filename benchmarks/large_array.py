"""The full 16x32 array: time to emit its Verilog, to build its simulation, and speed of gaussian on it.

    python -m benchmarks.large_array [-o benchmarks/results/large_array.json]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.applications import measure
from benchmarks.command import reports_errors
from benchmarks.results import RESULTS, write_results
from hw.fabric.spec import FabricSpec
from hw.fabric.system import emit_system

__all__ = ["main"]

ARRAY = "16x32"


@reports_errors
def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "large_array.json")
    options = parser.parse_args()
    start = time.perf_counter()
    sources = emit_system(FabricSpec.parse(ARRAY))
    emitted = time.perf_counter() - start
    start = time.perf_counter()
    gaussian = measure("gaussian", "pub", ARRAY)
    whole = time.perf_counter() - start
    write_results(options.output, {
        "array": ARRAY, "emit seconds": round(emitted, 1), "verilog bytes": sum(map(len, sources.values())),
        "compile, build and simulate seconds": round(whole, 1), "gaussian": gaussian,
    })


if __name__ == "__main__":
    sys.exit(main())

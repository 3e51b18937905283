"""All figures: measures everything, commits it to benchmarks/results and renews README.md and docs/figures.md.

    python -m benchmarks.figures [--table-only]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.tables import renew_documents

__all__ = ["main"]

MEASUREMENTS = ("applications", "storage", "sharing", "large_array", "compile_times",
                "resnet_layers --memory pub --memory dual-port", "unrolled", "address_units", "area", "area --intel",
                "boards", "sdram_images", "fpga", "vector", "vector_compiled", "dataflow", "dataflow --area",
                "systolic", "systolic_floats", "systolic_resources", "systolic_area", "systolic_lu", "targets",
                "polybench", "polybench --size mini", "polybench --size small", "compile_growth", "halide_jit",
                "halide_schedules", "sac_loops", "window_machine", "sac_lanes", "irregular", "exits",
                "polybench --type float", "polybench --type double", "float_operators", "float_areas",
                "float_functions", "vector_floats")
ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run every measurement in a process of its own, then renew the documents. Returns the first failure's status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table-only", action="store_true", help="only renew the tables from the committed results")
    if not parser.parse_args().table_only:
        for name in MEASUREMENTS:
            status = subprocess.run([sys.executable, "-m", *f"benchmarks.{name}".split()], check=False).returncode
            if status:
                print(f"error: measurement '{name}' failed", file=sys.stderr)
                return status
    renew_documents(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())

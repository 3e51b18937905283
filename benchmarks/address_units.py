"""Processing elements that compute addresses, where memories have no address generators (Liu 2023, table 7.5).

    python -m benchmarks.address_units [APP ...] [--compile] [-o FILE]

Every stencil is mapped to memories of kind "dual-port-pe", with and without a counter operation in the processing
elements, and its units are counted. With `--compile` it is also placed, routed and validated on the 16x32 array, which
gives the predicted cycles beside those of memories with address generators. With names of applications, only those are
mapped, and the results there are of the others are kept.
"""

from __future__ import annotations

import sys
from typing import Any

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.cgra.mapping import Application, map_program
from compiler.bind.cgra.netlist import MemNode, PeNode
from compiler.bind.cgra.options import Options
from compiler.frontend.apps import load
from compiler.passes.arrays.partition import partition
from compiler.passes.arrays.window_reuse import insert_window_copies
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.static_form import static_form
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import choose_tile_depth, stage_streams
from hw.errors import SluiceError

__all__ = ["address_table", "main"]

ARRAY = "16x32"

PUBLISHED: dict[str, tuple[int, int, int] | None] = {
    "gaussian": (156, 19, 19), "harris": (768, 91, 103), "upsample": (66, 15, 0), "unsharp": (612, 72, 101),
    "camera_pipeline": (656, 146, 331), "laplacian_pyramid": (660, 100, 89), "gaussian_pyramid": None, "cascade": None,
    "conv_3_3": None, "brighten_blur": None,
}
"""Elements for addresses without and with counters, and elements that compute (Liu 2023, table 7.5)."""


def _mapped(app: str, counter: bool) -> Application:
    """The units of an application, before they have places."""
    spec = Options(memory="dual-port-pe", counter=counter, array=ARRAY).fabric()
    program = insert_window_copies(static_form(load(app)))
    live = remove_dead_statements(partition(program, len(spec.bank_columns)).program)
    schedule = schedule_program(stage_streams(live, choose_tile_depth(live, spec.glb.half_words)))
    return map_program(schedule, spec.mem, shared=True, counter=counter)


def _counted(application: Application) -> dict[str, int]:
    addresses = len(application.addresses.nodes)
    return {"PEs": application.netlist.count(PeNode) - addresses, "address PEs": addresses,
            "memory tiles": application.netlist.count(MemNode)}


def measure(app: str, whole: bool) -> dict[str, Any]:
    """Units of one application with and without counters; `whole`: and predicted cycles."""
    found: dict[str, Any] = {}
    for name, counter in (("counter", True), ("no counter", False)):
        try:
            found[name] = _counted(_mapped(app, counter))
            if whole:
                options = {"memory": "dual-port-pe", "counter": counter, "array": ARRAY}
                found[name]["predicted"] = compiler.compile(load(app), **options).predicted_cycles
        except SluiceError as error:
            found[name] = {"error": str(error)}
    if whole:
        found["generators"] = compiler.compile(load(app), memory="dual-port", array=ARRAY).predicted_cycles
    return found


def address_table() -> str:
    """The committed results as Markdown."""
    head = ["application", "memory tiles", "compute PEs", "published", "address PEs with counters", "published",
            "address PEs without", "published"]
    rows = []
    for app, f in read_results("address_units")["applications"].items():
        plain, counted, compute = PUBLISHED[app] or ("-", "-", "-")
        cells = [f[k].get("address PEs", f[k].get("error")) for k in ("counter", "no counter")]
        units = f["counter"]
        rows.append([app, units["memory tiles"], units["PEs"], compute, cells[0], counted, cells[1], plain])
    return ("Processing elements that compute addresses, where memory tiles have no address generators "
            "(`--memory dual-port-pe`, `python -m benchmarks.address_units`); published: Liu 2023, table 7.5.\n\n"
            + table(head, rows))


@reports_errors
def main() -> None:
    """Measure and write."""
    measurement = Measurement("address_units", "applications", "application", PUBLISHED)
    parser = measurement.parser(__doc__)
    parser.add_argument("--compile", action="store_true")
    options = measurement.parse(parser)
    measurement.run(options, lambda app: measure(app, options.compile), {"array": ARRAY})


if __name__ == "__main__":
    sys.exit(main())

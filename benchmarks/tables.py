"""The tables of docs/figures.md and of the README, made from the committed results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.address_units import address_table
from benchmarks.area_tables import area_table
from benchmarks.boards import board_table
from benchmarks.compile_growth_tables import compile_growth_table
from benchmarks.dataflow_tables import dataflow_tables, target_tables
from benchmarks.exit_tables import exit_table
from benchmarks.float_areas import float_area_table
from benchmarks.float_functions import float_function_table
from benchmarks.float_operators import float_operator_table
from benchmarks.fpga_tables import fpga_table
from benchmarks.halide_jit import halide_table
from benchmarks.halide_schedules import schedule_table
from benchmarks.irregular_tables import irregular_table
from benchmarks.layer_tables import layer_tables
from benchmarks.markdown import table
from benchmarks.peer_tables import peer_tables
from benchmarks.polybench_tables import polybench_float_table, polybench_sizes_tables, polybench_table
from benchmarks.recurrence_tables import recurrence_tables
from benchmarks.results import read_results
from benchmarks.sac_tables import sac_table
from benchmarks.sdram_images import image_table
from benchmarks.sharing_tables import sharing_table
from benchmarks.storage_tables import storage_table
from benchmarks.summary import summary_tables
from benchmarks.systolic_tables import systolic_tables
from benchmarks.vector_floats import vector_float_table
from benchmarks.vector_tables import vector_tables
from benchmarks.window_tables import sac_lanes_table, window_table
from hw.errors import SluiceError
from hw.files import write_atomic

__all__ = ["figure_tables", "renew_documents"]

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

PUBLISHED = {
    "gaussian": ("4095", "1 / 2", "19"),
    "conv_3_3": ("4095", "2 / -", "18"),
    "cascade": ("4095", "3 / -", "28"),
    "brighten_blur": ("-", "1 / -", "5"),
    "upsample": ("16399 / 16383", "1 / 2", "0"),
    "gaussian_tiled": ("-", "-", "19"),
    "gaussian_pyramid": ("-", "3 / -", "16"),
    "fir": ("-", "-", "-"),
    "sobel": ("-", "-", "-"),
    "harris": ("4095", "5 / 11", "103"),
    "unsharp": ("4095", "6 / -", "101"),
    "laplacian_pyramid": ("-", "-", "89"),
    "gemm": ("-", "-", "223"),
    "resnet_layer": ("9807 / 8739", "80 / 80", "128"),
    "mobilenet_layer": ("-", "-", "96"),
    "camera_pipeline": ("-", "25 / -", "331"),
}
"""Published figures (wide-fetch / dual-port): last cycle, memory tiles, PEs. Liu 2023, tables 7.3 to 7.8, and the
mapped designs of the same group's compiler for conv_3_3, cascade and brighten-blur. Fir and sobel are not published."""


class DocumentError(SluiceError):
    """A document has no place for its figures."""


def figure_tables() -> str:
    """All tables as Markdown."""
    return "\n\n".join([
        _application_table(), storage_table(), sharing_table(), *layer_tables(), address_table(), _area_table(),
        _array_text(), fpga_table(), vector_tables(), dataflow_tables(), systolic_tables(), recurrence_tables(),
        target_tables(), polybench_table(), polybench_sizes_tables(), polybench_float_table(),
        compile_growth_table(), halide_table(), schedule_table(), sac_table(), window_table(), sac_lanes_table(),
        *peer_tables(), irregular_table(), exit_table(), float_operator_table(), float_area_table(),
        float_function_table(), vector_float_table(), board_table(), image_table(),
    ])


def _application_table() -> str:
    results = read_results("applications")
    head = ["application", "array", "memory", "cycles simulated", "predicted", "bound", "ratio", "last cycle published",
            "PEs", "published", "memory tiles", "published", "registers", "words live / allocated", "compile s",
            "cycles/s"]
    rows = []
    for app, memories in results["applications"].items():
        last, tiles, pes = PUBLISHED[app]
        for memory, f in _fitting(memories).items():
            used = f["resources"]
            rows.append([app, f["array"], memory, f["cycles simulated"], f["cycles predicted"], f["lower bound"],
                         f["ratio"], last, used["PEs"], pes, used["memory tiles"], tiles, used["registers"],
                         f"{f['words live']} / {f['words allocated']}", f["compile seconds"],
                         f["simulated cycles per second"]])
    text = ("RTL simulation on Verilator, published sizes where there are any (`python -m benchmarks.applications`). "
            "The last output is in cycle *cycles - 1*; the bound is the largest trip count of any statement.")
    return "\n\n".join([text, table(head, rows), *_refused_texts(results), *_icarus_texts(results)])


def _fitting(memories: dict[str, Any]) -> dict[str, Any]:
    """The figures of an application on the memories with which the array is large enough for it."""
    return {memory: figures for memory, figures in memories.items() if "refused" not in figures}


def _refused_texts(results: dict[str, Any]) -> Iterator[str]:
    refused = [f"{app} on {memory} {figures['refused']}" for app, memories in results["applications"].items()
               for memory, figures in memories.items() if "refused" in figures]
    if refused:
        yield f"Too large for the array: {'. '.join(refused)}."


def _icarus_texts(results: dict[str, Any]) -> Iterator[str]:
    for app, memories in results["applications"].items():
        small = {memory: figures["icarus"] for memory, figures in memories.items() if "icarus" in figures}
        if small:
            cycles = ", ".join(f"{f['cycles simulated']} cycles on {memory} ({f['cycles predicted']} predicted, "
                               f"{f['array']} array)" for memory, f in small.items())
            sizes = {key: value for key, value in next(iter(small.values())).items()
                     if key != "array" and not key.startswith("cycles")}
            size = ", ".join(f"{key} {value}" for key, value in sizes.items())
            yield f"On Icarus, {app} ({size}) equals the reference too: {cycles}."


def _area_table() -> str:
    results = read_results("area")
    text = f"{results['device']}, place and route by nextpnr (`python -m benchmarks.area`)."
    return f"{text}\n\n{area_table('module', results['modules'])}{_intel_table(results)}"


def _intel_table(results: dict[str, Any]) -> str:
    """Cells of the vector processor on an Intel FPGA, if they have been counted."""
    modules = results.get("intel")
    if not modules:
        return ""
    names = list(next(iter(modules.values())))
    rows = [[module, *(counts[name] for name in names)] for module, counts in modules.items()]
    head = [name.replace("_", " ") for name in names]
    text = ("Cells of the vector processor with its scalar core by yosys `synth_intel_alm` "
            f"({results['intel_family']}), module by module, not placed (`python -m benchmarks.area --intel`).")
    return f"\n\n{text}\n\n{table(['module', *head], rows)}"


def _array_text() -> str:
    results = read_results("large_array")
    return (f"The {results['array']} array emits in {results['emit seconds']} s; gaussian on it takes "
            f"{results['gaussian']['cycles simulated']} cycles at {results['gaussian']['simulated cycles per second']} "
            "simulated cycles per second (`python -m benchmarks.large_array`).")


def renew_documents(root: Path) -> None:
    """Write the summary into the README in folder `root` and all tables into its docs/figures.md.

    Raises `DocumentError` if one of them lacks the marks between which figures stand.
    """
    documents = {root / "README.md": summary_tables(), root / "docs" / "figures.md": figure_tables()}
    texts = {path: _renewed(path, figures) for path, figures in documents.items()}
    for path, text in texts.items():
        write_atomic(path, text)


def _renewed(path: Path, figures: str) -> str:
    """The text of `path` with `figures` between its marks. Raises `DocumentError`."""
    head, begin, rest = path.read_text().partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise DocumentError(f"{path.name} has no lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{figures}\n{END}{tail}"

"""Tables about layers of networks and about unrolling on the whole array."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.results import RESULTS, read_results

__all__ = ["layer_tables"]


def layer_tables() -> Iterator[str]:
    """The tables whose results there are."""
    for name, text in (("resnet_layers", _layer_table), ("unrolled", _unrolled_table), ("compile_times", _time_table)):
        if Path(RESULTS / f"{name}.json").exists():
            yield text()


def _layer_table() -> str:
    results = read_results("resnet_layers")
    rows = []
    for name, f in results["layers"].items():
        model, share = f["model"], f["occupancy"]
        wide = "pub-16" if "pub-16" in f and "refused" in f.get("pub", {"refused": ""}) else "pub"
        rows.append([name, model["multiply-accumulate steps"], model["cycles"]["loop optimisations"],
                     *(share[step] for step in ("sequential", "double buffering", "loop optimisations")),
                     share.get("quad-port", "-"), *_part(f, wide), *_part(f, "dual-port"), *_part(f, "quad-port")])
    head = ["layer", "steps", "cycles (model)", "sequential (model)", "double buffering (model)",
            "+ loop optimisations (model)", "quad-port (model)", "part pub: cycles", "bound / cycles",
            "part dual-port: cycles", "bound / cycles", "part quad-port: cycles", "bound / cycles"]
    text = ("Compute occupancy of the eight ResNet layers of Liu 2023, figures 7.8 and 7.9 (which print no numbers), "
            f"8 x 8 channels at a time (conv1: 3 x 16) on the {results['array']} array "
            "(`python -m benchmarks.resnet_layers`): multiply-accumulate steps over cycles. Whole layers are a model, "
            "from the whole layer's schedule, with the latency of the way through the array where a part is mapped; "
            "parts are several consecutive tiles with up to 16 input channels, placed, routed and simulated (RTL, "
            "equal to the prediction), or only predicted where a number says so. The model is of the tightest "
            "schedule; where no part is mapped, it is not shown that a memory follows it. A part marked * has "
            "transpose buffers of 16 words.")
    return f"{text}\n\n{table(head, rows)}"


def _part(figures: dict, memory: str) -> tuple[str, str]:
    if memory not in figures:
        return "-", "-"
    f = figures[memory]
    if "refused" in f:
        return "refused", "-"
    simulated = "cycles simulated" in f
    cycles = f["cycles simulated" if simulated else "cycles predicted"]
    mark = "" if simulated else " (predicted)"
    return f"{cycles}{mark}{' *' if memory == 'pub-16' else ''}", f"{f['lower bound'] / cycles:.4f}"


def _unrolled_table() -> str:
    results = read_results("unrolled")
    rows = []
    for app, f in results["applications"].items():
        used = f.get("resources")
        if used is None:
            continue
        rows.append([app, f["factor"], f["published"], f.get("banks of a column", 1), f.get("cycles simulated", "-"),
                     f["cycles predicted"], f["ratio"], used["PEs"] + used["delay PEs"], used["memory tiles"],
                     ", ".join(f["refused"]) or "-"])
    head = ["application", "factor", "published", "banks of a column", "cycles simulated", "predicted",
            "ratio to bound", "PEs", "memory tiles", "did not fit"]
    text = (f"The widest that places and routes on the {results['array']} array (`python -m benchmarks.unrolled`): "
            "strips of an image at once, or products x results in every cycle. A column of the array has two banks "
            "of the global buffer, one that sends words and one that takes them, of which 32 strips of gaussian take "
            "all; or one that does either, where the table says so.")
    return f"{text}\n\n{table(head, rows)}"


def _time_table() -> str:
    results = read_results("compile_times")
    rows = []
    for name, f in results["programs"].items():
        used = f["resources"]
        rows.append([name, f["seconds"], f["limit"], used["PEs"] + used["delay PEs"], used["memory tiles"],
                     f["cycles predicted"], round(f["cycles predicted"] / f["lower bound"], 4)])
    head = ["program", "seconds", "limit", "PEs", "memory tiles", "cycles predicted", "ratio to bound"]
    text = (f"Processor time of compiling for the {results['array']} array, wide-fetch memories, place, route and "
            "validation included (`python -m benchmarks.compile_times`).")
    return f"{text}\n\n{table(head, rows)}"

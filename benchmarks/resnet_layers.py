"""Compute occupancy of the eight ResNet layers of seed 001, figures 7.8 and 7.9, one optimisation after the other.

    python -m benchmarks.resnet_layers [LAYER ...] [--model-only] [-o benchmarks/results/resnet_layers.json]

Occupancy is the multiply-accumulate steps of a layer over its cycles. Whole layers take millions of cycles: what is
simulated is a part of each, several consecutive tiles with two blocks of input channels (the figures say which part).
Figures of whole layers are a *model*: cycles of the whole layer's own schedule, plus the latency of the way through
the array of the part. Sequential: each block of input channels is loaded, then multiplied; each tile is drained at
its end. Double buffering: the next block is loaded meanwhile, and the pipeline is flushed after each tile. With loop
optimisations nothing is flushed. The seed's fourth step, a quad-port memory of single words, saves it the padding of
rows to whole fetches; here rows are not padded, and the memory of single words is the dual-port one.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

from benchmarks.applications import measure_program
from benchmarks.command import Measurement, reports_errors
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.target import schedule_of
from compiler.frontend.apps import load
from compiler.sched.cycle_accurate import Schedule

__all__ = ["LAYERS", "main", "modelled", "part_of"]

ARRAY = "16x32"
LAYERS: dict[str, dict[str, int]] = {
    "conv1": {"size": 112, "kernel": 7, "stride": 2, "inputs": 3, "outputs": 64, "unroll_in": 3, "unroll_out": 16,
              "rows": 8},
    "conv2_x": {"size": 56, "inputs": 64, "outputs": 64, "rows": 14},
    "conv3_1": {"size": 28, "stride": 2, "inputs": 64, "outputs": 128, "rows": 14},
    "conv3_x": {"size": 28, "inputs": 128, "outputs": 128, "rows": 28},
    "conv4_1": {"size": 14, "stride": 2, "inputs": 128, "outputs": 256, "rows": 14},
    "conv4_x": {"size": 14, "inputs": 256, "outputs": 256, "rows": 14},
    "conv5_1": {"size": 7, "stride": 2, "inputs": 256, "outputs": 512, "rows": 7},
    "conv5_x": {"size": 7, "inputs": 512, "outputs": 512, "rows": 7},
}
"""Parameters of `apps/resnet_layer.py` for each layer."""

MEASUREMENT = Measurement("resnet_layers", "layers", "layer", LAYERS)

TILES = 3
"""Tiles of a part, fewer where the layer has fewer: the first, one in the steady state, and the last."""


def part_of(layer: dict[str, int]) -> dict[str, int]:
    """Parameters of the part that is simulated: up to two blocks of input channels, the first tiles of rows, and of
    output channels as many as make three tiles."""
    channels = layer.get("unroll_out", 8) * layer.get("blocks", 1)
    strips = min(layer["size"] // layer["rows"], TILES)
    return layer | {"inputs": min(layer["inputs"], 2 * layer.get("unroll_in", 8)), "height": strips * layer["rows"],
                    "outputs": min(layer["outputs"], channels * -(-TILES // strips))}


def steps_of(schedule: Schedule) -> dict[str, int]:
    """Cycles that one tile spends on loading a block of input channels, on multiplying it, and on draining; the blocks
    of a tile and the tiles."""
    entries = schedule.statements
    outputs = {footprint.statement for footprint in schedule.staged.outputs}
    loads = {footprint.statement for footprint in schedule.staged.inputs}
    (compute, *_) = (entries[name] for name in entries if {"zo", "ry", "rx"} <= set(entries[name].trips))
    blocks = compute.trips["zo"]
    words = max(prod(entries[name].trips.values()) for name in loads)
    return {"load": -(-words // blocks), "compute": prod(compute.trips.values()) // blocks,
            "drain": max(entries[name].span for name in outputs), "blocks": blocks, "tiles": schedule.staged.tiles}


def modelled(layer: dict[str, int]) -> dict[str, Any]:
    """Cycles and occupancies of a whole layer by its schedule, in logical cycles."""
    schedule = schedule_of(load("resnet_layer", **layer), Options(array=ARRAY, tile_depth=2))
    s = steps_of(schedule)
    steps = s["tiles"] * s["blocks"] * s["compute"]
    cycles = {
        "sequential": s["tiles"] * (s["blocks"] * (s["load"] + s["compute"]) + s["drain"]),
        "double buffering": s["tiles"] * (s["load"] + s["blocks"] * max(s["load"], s["compute"]) + s["drain"]),
        "loop optimisations": schedule.end,
    }
    return {"multiply-accumulate steps": steps, "per tile": s, "cycles": cycles}


def figures_of(name: str, simulated: bool) -> dict[str, Any]:
    """All figures of a layer: the whole by the model, and its part in simulation on both memories."""
    layer = LAYERS[name]
    found = {"layer": layer, "model": modelled(layer)}
    steps, cycles = found["model"]["multiply-accumulate steps"], found["model"]["cycles"]
    if simulated:
        part = part_of(layer)
        found["part"] = part
        for memory in ("pub", "dual-port"):
            options = {"memory": memory, "array": ARRAY, "tile_depth": 2}
            found[memory] = measure_program(name, load("resnet_layer", **part), "verilator", options)
        cycles["single words"] = cycles["loop optimisations"] + found["dual-port"]["path latency"]
        cycles["loop optimisations"] += found["pub"]["path latency"]
    found["occupancy"] = {step: round(steps / count, 4) for step, count in cycles.items()}
    return found


@reports_errors
def main() -> None:
    """Measure the layers that are asked for and write the results."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--model-only", action="store_true",
                        help="only the model, without the latency of the way through the array")
    options = MEASUREMENT.parse(parser)
    MEASUREMENT.run(options, lambda name: figures_of(name, not options.model_only), {"array": ARRAY})


if __name__ == "__main__":
    sys.exit(main())

"""Compute occupancy of the eight ResNet layers of Liu 2023, figures 7.8 and 7.9, one optimisation after the other.

    python -m benchmarks.resnet_layers [LAYER ...] [--memory MEMORY ...] [--no-simulation]
                                       [-o benchmarks/results/resnet_layers.json]

Occupancy is the multiply-accumulate steps of a layer over its cycles. Whole layers take millions of cycles: what is
mapped to the array and simulated is a part of each, several consecutive tiles with two blocks of input channels (the
figures say which part). Figures of whole layers are a *model*: cycles of the whole layer's own schedule, plus the
latency of the way through the array of the part. Sequential: each block of input channels is loaded, then multiplied;
each tile is drained at its end. Double buffering: the next block is loaded meanwhile, and the pipeline is flushed after
each tile. With loop optimisations nothing is flushed. The fourth step is the quad-port memory of single words, which
saves the published compiler the padding of rows to whole fetches; here they are not padded.

Without `--memory` only the model is computed. Figures of other layers and memories are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.applications import measure_program
from benchmarks.checks import FigureError
from benchmarks.command import Measurement, reports_errors
from benchmarks.mapping import map_program
from benchmarks.results import kept_results
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.target import schedule_of
from compiler.frontend.apps import load
from compiler.sched.static.schedule import Schedule
from hw.errors import SluiceError

__all__ = ["HARDWARE", "LAYERS", "MEMORIES", "figures_of", "main", "modelled", "occupancies", "part_of"]

ARRAY = "16x32"
HARDWARE = Path(__file__).parent / "hardware"
"""Where descriptions of arrays are."""

MEMORIES: dict[str, dict[str, Any]] = {
    "pub": {"memory": "pub", "array": ARRAY, "tile_depth": 2},
    "pub-16": {"memory": "pub", "hardware": str(HARDWARE / "pub_16_words.toml"), "tile_depth": 2},
    "dual-port": {"memory": "dual-port", "array": ARRAY, "tile_depth": 2},
    "quad-port": {"memory": "pub", "hardware": str(HARDWARE / "quad_port.toml"), "tile_depth": 2},
}
"""Options of the target for each memory; "pub-16" has transpose buffers of 16 words instead of 8."""

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


def figures_of(name: str, known: dict[str, Any], memories: list[str], simulated: bool) -> dict[str, Any]:
    """All figures of a layer: the whole by the model, and its part on `memories`; on others as they are `known`."""
    layer = LAYERS[name]
    part = part_of(layer)
    found = {"layer": layer, "model": modelled(layer), "part": part}
    same = known.get("layer") == layer and known.get("part") == part
    for memory, options in MEMORIES.items():
        if memory in memories:
            found[memory] = _mapped(f"{name} on {memory}", part, options, simulated)
        elif same and memory in known:
            found[memory] = known[memory]
    return found | {"occupancy": occupancies(found)}


def _mapped(name: str, part: dict[str, int], options: Mapping[str, Any], simulated: bool) -> dict[str, Any]:
    """Figures of a part on one memory, or why the memory refuses it."""
    program = load("resnet_layer", **part)
    try:
        return measure_program(name, program, "verilator", options) if simulated else map_program(program, options)
    except FigureError:
        raise
    except SluiceError as error:
        return {"refused": str(error)}


def occupancies(figures: Mapping[str, Any]) -> dict[str, float]:
    """Of the whole layer in the four steps, each with the way through the array where a part has been mapped."""
    cycles = dict(figures["model"]["cycles"])
    whole = cycles["loop optimisations"]
    for step, memories in (("loop optimisations", ("pub", "pub-16")), ("quad-port", ("quad-port",))):
        for way in [f["path latency"] for f in map(figures.get, memories) if f and "refused" not in f][:1]:
            cycles[step] = whole + way
    steps = figures["model"]["multiply-accumulate steps"]
    return {step: round(steps / count, 4) for step, count in cycles.items()}


@reports_errors
def main() -> None:
    """Measure the layers that are asked for and write the results."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--memory", action="append", choices=MEMORIES, default=[], help="map the parts to this memory")
    parser.add_argument("--no-simulation", action="store_true", help="map the parts, but do not simulate them")
    options = MEASUREMENT.parse(parser)
    known = kept_results(options.output, MEASUREMENT.part)

    def measure(name: str) -> dict[str, Any]:
        return figures_of(name, known.get(name, {}), options.memory, not options.no_simulation)

    MEASUREMENT.run(options, measure, {"array": ARRAY})


if __name__ == "__main__":
    sys.exit(main())

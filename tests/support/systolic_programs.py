"""Reduction kernels in C for the systolic target, and runs of their plans in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from systolic_emulator import run_array

from compiler.bind.systolic.kernel import Reference
from compiler.bind.systolic.layout import from_tiles, to_tiles
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.running import Executable
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.floating import decode, to_words
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Float

__all__ = ["APPS", "emulate", "kernel_app", "scop"]

_FOLDER = Path(__file__).resolve().parents[2] / "apps" / "systolic"

APPS = ("mm", "mm_scalar", "cnn", "mttkrp", "ttmc", "ttm", "pointwise", "depthwise", "fully_connected",
        "gemm", "quantised_layer", "cnn_same", "trmm", "syrk",
        "residual_layer")
"""Applications that are reduction kernels."""


def kernel_app(name: str, **sizes: int) -> Program:
    """The program of an application, with other values of its macros."""
    return load_c(_FOLDER / f"{name}.c", **sizes)


def scop(body: str, head: str) -> Program:
    """The program of a function with parameters `head`."""
    return parse_scop(f"#include <stdint.h>\nvoid f({head}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")


def emulate(plan: Plan, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output of a run of the plan's array, step by step."""
    kernel = plan.kernel
    tiles = [_tiles(plan, number, source.reference, inputs) for number, source in enumerate(plan.sources)]
    bounds = list(Executable(plan).settings.bounds)
    results = run_array(plan.spec, plan.tiles, tiles, bounds)
    shape = kernel.program.array(kernel.output).shape
    out = np.zeros(shape, object) if kernel.rest is None else interpret(kernel.rest, inputs)[kernel.output]
    kind = kernel.program.array(kernel.output).type
    from_tiles(plan, results, out := out.astype(kind.dtype if isinstance(kind, Float) else object))
    return out


def _tiles(plan: Plan, number: int, reference: Reference, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The numbers of a stream: what is laid out in tiles is their words."""
    kind, array = reference.type, reference.array
    words = None if array is None else inputs[array]
    if not isinstance(kind, Float):
        return to_tiles(plan, number, words)
    return decode(kind, to_tiles(plan, number, None if words is None else to_words(kind, words)))

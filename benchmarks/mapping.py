"""Figures of a program that is compiled, but not simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import compiler
from compiler.ir.program import Program

__all__ = ["map_program"]


def map_program(program: Program, options: Mapping[str, Any]) -> dict[str, Any]:
    """Compile `program`, place and route included, and say what simulation should find. Raises what the compiler
    raises."""
    design = compiler.compile(program, **options)
    return {
        "cycles predicted": design.predicted_cycles, "lower bound": design.lower_bound,
        "ratio": round(design.predicted_cycles / design.lower_bound, 4), "path latency": design.path_latency,
        "resources": design.resources, "compile seconds": round(design.compile_seconds, 2),
    }

"""Halide pipelines against Halide: translate, interpret, and compare with what Halide computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.frontend.halide import HalideProgram, load_pipeline
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Float, Int

__all__ = ["check_pipeline", "random_inputs", "require_halide_results"]


def random_inputs(program: Program, seed: int = 0, limit: int = 1 << 20) -> dict[str, np.ndarray]:
    """Numbers of all of an input's type, but not above `limit`: overflow of int32 means nothing in Halide."""
    generator = np.random.default_rng(seed)
    data = {}
    for array in program.inputs:
        type = array.type
        if isinstance(type, Float):
            data[array.name] = generator.normal(0, 30, array.shape).astype(np.float32)
        else:
            assert isinstance(type, Int)
            low, high = max(type.minimum, -limit), min(type.maximum, limit)
            data[array.name] = generator.integers(low, high, array.shape, type.dtype, endpoint=True)
    return data


def require_halide_results(loaded: HalideProgram, seed: int = 0, limit: int = 1 << 20) -> None:
    """The interpreter computes what Halide does, and other inputs give something else."""
    inputs = random_inputs(loaded.program, seed, limit)
    wanted = loaded.reference(inputs)
    found = interpret(loaded.program, inputs)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert same(found[name], values), f"{name}: {np.argwhere(found[name] != values)[:5].tolist()}"


def check_pipeline(outputs: Any, sizes: Any = None, seed: int = 0, limit: int = 1 << 20,
                   **options: Any) -> HalideProgram:
    """Translate a pipeline and compare its results with Halide's."""
    loaded = load_pipeline(outputs, sizes, **options)
    require_halide_results(loaded, seed, limit)
    return loaded

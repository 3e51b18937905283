"""Evaluating parallel arrays on hardware, simulated, or on the vector processor's reference machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.bind.registry import TARGETS, TargetError, compile_program
from compiler.bind.vector.target import Options, compile_arrays
from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.program import ArrayProgram, evaluate, program_of

__all__ = ["evaluate_arrays"]

_MODELS = ("numpy", "machine")


def evaluate_arrays(outputs: Array | Mapping[str, Array], inputs: Mapping[str, Any], target: str,
                    options: Mapping[str, Any]) -> Any:
    """See `compiler.evaluate`."""
    if target not in (*_MODELS, *TARGETS):
        raise TargetError(f"there is no target '{target}' to evaluate on; there are: {', '.join((*_MODELS, *TARGETS))}")
    if target == "numpy":
        return evaluate(outputs, inputs)
    program = program_of(outputs)
    if target == "machine":
        found = compile_arrays(program, Options(**options)).execute(inputs)
    else:
        given = program.check_inputs(inputs)
        design = compile_program(program, target, **options)
        found = _shaped(program, design.simulate(given).outputs)
    return found["result"] if isinstance(outputs, Array) else found


def _shaped(program: ArrayProgram, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs in the shapes and types of the expressions."""
    return {name: found[name].reshape(node.shape).astype(node.dtype) for name, node in program.outputs.items()}

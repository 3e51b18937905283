"""Evaluating parallel arrays on the vector processor or its reference machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.target import Options, compile_arrays
from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.program import evaluate, program_of

__all__ = ["evaluate_arrays"]

_TARGETS = ("numpy", "machine", "vector")


def evaluate_arrays(outputs: Array | Mapping[str, Array], inputs: Mapping[str, Any], target: str,
                    options: Mapping[str, Any]) -> Any:
    """See `compiler.evaluate`."""
    if target not in _TARGETS:
        raise VectorTargetError(f"there is no target '{target}' to evaluate on; there are: {', '.join(_TARGETS)}")
    if target == "numpy":
        return evaluate(outputs, inputs)
    design = compile_arrays(program_of(outputs), Options(**options))
    found = design.execute(inputs) if target == "machine" else design.simulate(inputs).outputs
    return found["result"] if isinstance(outputs, Array) else found

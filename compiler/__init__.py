"""The Sluice compiler: dense loop programs to bit-accurate hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.bind.design import Design
    from compiler.frontend.parallel_array import Array, ArrayProgram
    from compiler.ir.program import Program

__all__ = ["compile", "evaluate"]


def compile(program: Program | ArrayProgram, target: str = "cgra", **options: Any) -> Design:
    """Compile `program` for `target`; `options` are the fields of the target's ``Options``.

    Programs of loop nests and of parallel arrays are for all targets.

    Raises `hw.errors.SluiceError` subclasses whose one-line messages name the statement, line and reason.
    """
    from compiler.bind.registry import compile_program

    return compile_program(program, target, **options)


def evaluate(outputs: Array | Mapping[str, Array], inputs: Mapping[str, Any] | None = None, target: str = "machine",
             **options: Any) -> Any:
    """Values of parallel arrays: an array for one expression, a dictionary for several.

    target: "machine" compiles for the soft vector processor and executes the program on its instruction-level reference
    machine; "vector" runs the compiled C program on the processor in RTL simulation, and the other targets' names the
    hardware that they make of it; "numpy" is the reference. `options` are fields of the target's ``Options``. Raises
    `hw.errors.SluiceError` subclasses.
    """
    from compiler.bind.evaluate import evaluate_arrays

    return evaluate_arrays(outputs, inputs or {}, target, options)

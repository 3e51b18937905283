"""The Sluice compiler: dense loop programs to bit-accurate hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.bind.design import Design
    from compiler.ir.program import Program

__all__ = ["compile"]


def compile(program: Program, target: str = "cgra", **options: Any) -> Design:
    """Compile `program` for `target`; `options` are the fields of the target's ``Options``.

    Raises `hw.errors.SluiceError` subclasses whose one-line messages name the statement, line and reason.
    """
    from compiler.bind.registry import compile_program

    return compile_program(program, target, **options)

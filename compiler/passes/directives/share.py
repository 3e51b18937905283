"""The directive by which statements take turns on one set of units."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.isomorphism import check_shared
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from compiler.passes.directives.errors import TransformError

__all__ = ["share"]


def share(program: Program, *statements: str) -> Program:
    """`program` with the named statements on one set of units, of which each uses it in cycles of its own.

    They must compute the same from other operands (`compiler.ir.isomorphism`). The order of instances stays as it is;
    the scheduler of a target with units finds the turns, and slows the program down where there are too few cycles.
    Raises `TransformError` that says where statements differ, `ProgramError` on unknown names.
    """
    result = replace(program, shared=(*program.shared, statements))
    for name in statements:
        program.statement(name)
    try:
        check_shared(result)
    except ProgramError as error:
        raise TransformError(str(error)) from None
    return result

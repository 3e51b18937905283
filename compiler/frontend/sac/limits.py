"""Budgets of SA-C programs that run."""

from compiler.ir.types import ProgramError
from hw.limits import Limits

__all__ = ["LIMITS", "SAC_LIMITS"]

LIMITS = {"while_iterations": 1 << 20}
"""``while_iterations``: of one ``while`` loop, which might never end."""

SAC_LIMITS = Limits(LIMITS, ProgramError)

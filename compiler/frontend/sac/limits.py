"""Budgets of SA-C programs that run."""

from compiler.ir.types import ProgramError
from hw.limits import Limits

__all__ = ["SAC_LIMITS"]

SAC_LIMITS = Limits({"while_iterations": 1 << 20}, ProgramError)
"""``while_iterations``: of one ``while`` loop, which might never end."""

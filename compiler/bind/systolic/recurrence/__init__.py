"""Uniform recurrences on untiled arrays: the systolic target's second class (Wang 2021)."""

from compiler.bind.systolic.recurrence.design import RecurrenceDesign
from compiler.bind.systolic.recurrence.settings import Settings
from compiler.bind.systolic.recurrence.target import compile_recurrence

__all__ = ["RecurrenceDesign", "Settings", "compile_recurrence"]

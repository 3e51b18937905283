"""Systolic arrays with their network to main memory; seed 002."""

from hw.systolic.spec import ArraySpec, SystolicError

__all__ = ["ArraySpec", "SystolicError"]

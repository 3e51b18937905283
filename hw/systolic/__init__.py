"""Systolic arrays with their network to main memory; Wang 2021."""

from hw.systolic.spec import ArraySpec, SystolicError

__all__ = ["ArraySpec", "SystolicError"]

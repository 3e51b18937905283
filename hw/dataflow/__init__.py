"""Streaming dataflow hardware: counters, predicates, channels and operator pipelines; seed 003."""

from hw.dataflow.kernel import Kernel
from hw.dataflow.spec import KernelError, KernelSpec

__all__ = ["Kernel", "KernelError", "KernelSpec"]

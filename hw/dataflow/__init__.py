"""Streaming dataflow hardware: counters, predicates, channels and operator pipelines; Bok 2018.

`FifoChannel`, `DelayLine`, `ReorderChannel` and `ReuseMemory` are channels, `CounterChain` counts iterations. `Kernel`
is a whole network that a `KernelSpec` describes, `DataflowSystem` a kernel with registers and burst engines.
"""

from hw.dataflow.channels import DelayLine, FifoChannel, ReorderChannel, ReuseMemory
from hw.dataflow.counters import CounterChain
from hw.dataflow.kernel import Kernel
from hw.dataflow.registers import dataflow_registers
from hw.dataflow.spec import (
    Affine,
    ChannelSpec,
    Constraint,
    Counter,
    KernelError,
    KernelSpec,
    NodeSpec,
    Operator,
    ReadSpec,
    Source,
    StreamSpec,
    Word,
)
from hw.dataflow.system import DataflowSystem

__all__ = [
    "Affine",
    "ChannelSpec",
    "Constraint",
    "Counter",
    "CounterChain",
    "DataflowSystem",
    "DelayLine",
    "FifoChannel",
    "Kernel",
    "KernelError",
    "KernelSpec",
    "NodeSpec",
    "Operator",
    "ReadSpec",
    "ReorderChannel",
    "ReuseMemory",
    "Source",
    "StreamSpec",
    "Word",
    "dataflow_registers",
]

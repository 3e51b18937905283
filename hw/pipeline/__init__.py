"""Specialised pipelines on a static schedule: counters, delay lines, buffers and operators, all of them cells of a net.

The fifth memory implementation of Liu 2023, chapter 6, for those who have an FPGA and no array on it. `Pipeline` is the
hardware of a `PipelineSpec`, whose cells are the classes named ``…Cell``; `PipelineSystem` adds control registers and
burst engines; `Walker` carries out a `Walk`, a loop nest of cycles and addresses.
"""

from hw.pipeline.pipeline import Pipeline
from hw.pipeline.registers import RunError, pipeline_registers
from hw.pipeline.spec import (
    BufferCell,
    ConstantCell,
    CounterCell,
    Exit,
    InputCell,
    Level,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineError,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
)
from hw.pipeline.streams import ArrayReader, ArrayStream, ArrayWriter
from hw.pipeline.system import PipelineSystem, SystemSpec
from hw.pipeline.walker import Walker

__all__ = [
    "ArrayReader",
    "ArrayStream",
    "ArrayWriter",
    "BufferCell",
    "ConstantCell",
    "CounterCell",
    "Exit",
    "InputCell",
    "Level",
    "LineCell",
    "LoadCell",
    "MergeCell",
    "OperatorCell",
    "OutputCell",
    "Pipeline",
    "PipelineError",
    "PipelineSpec",
    "PipelineSystem",
    "RunError",
    "StoreCell",
    "SystemSpec",
    "Tap",
    "Walk",
    "Walker",
    "pipeline_registers",
]

"""The targets. Adding one means a folder beside `cgra` and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from compiler.bind.design import Design
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["TARGETS", "TargetError", "compile_program", "target"]

TARGETS = {"cgra": "compiler.bind.cgra.target", "dataflow": "compiler.bind.dataflow.target"}


class TargetError(SluiceError):
    """There is no such target or option."""


def target(name: str) -> Any:
    """The module of target `name`. It has `Options` (a frozen dataclass) and ``compile_program(program, options)``."""
    if name not in TARGETS:
        raise TargetError(f"there is no target '{name}'; there are: {', '.join(TARGETS)}")
    return import_module(TARGETS[name])


def compile_program(program: Program, target_name: str, **options: Any) -> Design:
    """Compile `program` for a target. Raises `TargetError` for unknown options, and what the target raises."""
    module = target(target_name)
    known = module.Options.__dataclass_fields__
    for option in options:
        if option not in known:
            raise TargetError(f"target {target_name} has no option '{option}'; there are: {', '.join(known)}")
    return module.compile_program(program, module.Options(**options))

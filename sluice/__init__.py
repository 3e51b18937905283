"""Sluice under one name: compile programs, the front ends, the targets, and the hardware library.

    import sluice

    design = sluice.compile(sluice.load("gaussian"), target="fpga")

Names are imported when they are first used, so that ``import sluice`` is quick. The hardware library is in
`sluice.hardware`. The packages `compiler` and `hw` hold the implementation and everything that has no name here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler import compile, evaluate
    from compiler.bind.design import Design, Run
    from compiler.bind.registry import TARGETS, compile_sizes
    from compiler.frontend import parallel_array
    from compiler.frontend.apps import applications, load
    from compiler.frontend.c_scop import load_c, parse_scop
    from compiler.frontend.loop_nest import prog
    from compiler.hints import find_hints
    from compiler.ir.interpret import interpret
    from hw.errors import SluiceError
    from sluice import hardware

__all__ = ["TARGETS", "Design", "Run", "SluiceError", "applications", "compile", "compile_sizes", "evaluate",
           "find_hints", "hardware", "interpret", "load", "load_c", "parallel_array", "parse_scop", "prog"]

__version__ = "0.2.0"

_MODULES = {
    "TARGETS": "compiler.bind.registry",
    "Design": "compiler.bind.design",
    "Run": "compiler.bind.design",
    "SluiceError": "hw.errors",
    "applications": "compiler.frontend.apps",
    "compile": "compiler",
    "compile_sizes": "compiler.bind.registry",
    "evaluate": "compiler",
    "find_hints": "compiler.hints",
    "interpret": "compiler.ir.interpret",
    "load": "compiler.frontend.apps",
    "load_c": "compiler.frontend.c_scop",
    "parse_scop": "compiler.frontend.c_scop",
    "prog": "compiler.frontend.loop_nest",
}
"""Where each name comes from."""

_PACKAGES = {"hardware": "sluice.hardware", "parallel_array": "compiler.frontend.parallel_array"}
"""Names that are modules."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(_PACKAGES[name])
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'sluice' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

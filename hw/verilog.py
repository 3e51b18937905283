"""Verilog text of Amaranth components: the one door from hardware descriptions to files."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.back import rtlil, verilog

__all__ = ["convert", "convert_together"]


def convert(component: Any, name: str, **options: Any) -> str:
    """The Verilog of `component` as module `name`, without references to Python sources.

    `options` are those of `amaranth.back.verilog.convert`, such as `ports` where the component has no signature.
    """
    with _no_collection():
        return verilog.convert(component, name, emit_src=False, **options)


def convert_together(modules: Iterable[tuple[str, Any, Any]]) -> str:
    """The Verilog of several modules (name, component, ports; None: those of its signature) in one text and one
    conversion, which takes a second however many they are. The next module is asked for when the one before is
    elaborated."""
    with _no_collection():
        texts = [rtlil.convert(part, name=name, ports=ports, emit_src=False) for name, part, ports in modules]
        return verilog._convert_rtlil_text("\n".join(texts))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collection of cyclic garbage: a netlist is millions of objects that all stay until it is written, and
    looking through them again and again takes as long as the conversion itself."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

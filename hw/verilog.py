"""Verilog text of Amaranth components: the one door from hardware descriptions to files."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from amaranth.back import rtlil, verilog

__all__ = ["convert", "convert_files", "convert_together"]

_MODULE = re.compile(r"^(?:\(\*[^\n]*\*\)\n)*module .*?^endmodule\n", re.MULTILINE | re.DOTALL)
# Up to the first dot: modules below another one are called after it.
_NAME = re.compile(r"^module \\?([^\s.(]+)", re.MULTILINE)


def convert(component: Any, name: str, **options: Any) -> str:
    """The Verilog of `component` as module `name`, without references to Python sources.

    `options` are those of `amaranth.back.verilog.convert`, such as `ports` where the component has no signature.
    """
    with _no_collection():
        return verilog.convert(component, name, emit_src=False, **options)


def convert_together(modules: Iterable[tuple[str, Any, Any]], **options: Any) -> str:
    """The Verilog of several modules (name, component, ports; None: those of its signature) in one text and one
    conversion, whose start takes as long as the work on a small module. The next module is asked for when the one
    before is elaborated. `options` as for `convert`."""
    with _no_collection():
        texts = [rtlil.convert(part, name=name, ports=ports, emit_src=False, **options)
                 for name, part, ports in modules]
        return verilog._convert_rtlil_text("\n".join(texts))


def convert_files(modules: Mapping[str, Any], ports: Mapping[str, Any] | None = None, **options: Any) -> dict[str, str]:
    """The same of components by name, as a file for each of them, ``NAME.v``, with what is below it. `ports` of those
    without a signature."""
    given = ports or {}
    text = convert_together(((name, part, given.get(name)) for name, part in modules.items()), **options)
    files: dict[str, list[str]] = {}
    head, _, _ = text.partition("\n")
    for module in _MODULE.findall(text):
        name = _NAME.search(module)
        assert name is not None
        files.setdefault(f"{name[1]}.v", [f"{head}\n"]).append(module)
    return {name: "\n".join(texts) for name, texts in files.items()}


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

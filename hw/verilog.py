"""Verilog text of Amaranth components: the one door from hardware descriptions to files."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from amaranth._toolchain.yosys import YosysError
from amaranth.back import rtlil, verilog

from hw.cache import use_tool_cache
from hw.errors import SluiceError
from hw.lint_waivers import waive
from hw.verilog_text import MODULE, tidy, wake_processes

__all__ = ["VerilogError", "convert", "convert_files", "convert_intermediate", "convert_together"]

# What the back end does to a design before it writes it. Operations that change nothing, such as a sum with zero, go,
# and so do wires of no bits. Processes stay as they are described.
_SCRIPT = """read_rtlil <<rtlil
{text}
rtlil
proc -nomux -norom
opt_expr
clean_zerowidth
delete s:0
memory_collect
write_verilog -norename
"""
# Up to the first dot: modules below another one are called after it.
_NAME = re.compile(r"^module \\?([^\s.(]+)", re.MULTILINE)


class VerilogError(SluiceError):
    """The tool that writes Verilog does not work here."""


def convert(component: Any, name: str, **options: Any) -> str:
    """The Verilog of `component` as module `name`. Of sources it only names those of signals with an `hw.labels.Label`.

    `options` are those of `amaranth.back.verilog.convert`, such as `ports` where the component has no signature.
    """
    with _conversion():
        return waive(_finished(rtlil.convert(component, name=name, emit_src=False, **options)))


def convert_together(modules: Iterable[tuple[str, Any, Any]], **options: Any) -> str:
    """The Verilog of several modules (name, component, ports; None: those of its signature) in one text and one
    conversion. The next module is asked for when the one before is elaborated. `options` as for `convert`."""
    return waive(_together(modules, **options))


def _together(modules: Iterable[tuple[str, Any, Any]], **options: Any) -> str:
    with _conversion():
        texts = [rtlil.convert(part, name=name, ports=ports, emit_src=False, **options)
                 for name, part, ports in modules]
        return _finished("\n".join(texts))


def convert_files(modules: Mapping[str, Any], ports: Mapping[str, Any] | None = None, **options: Any) -> dict[str, str]:
    """The same of components by name, as a file for each of them, ``NAME.v``, with what is below it. `ports` of those
    without a signature."""
    given = ports or {}
    text = _together(((name, part, given.get(name)) for name, part in modules.items()), **options)
    files: dict[str, list[str]] = {}
    head, _, _ = text.partition("\n")
    for module in MODULE.findall(text):
        name = _NAME.search(module)
        assert name is not None
        files.setdefault(f"{name[1]}.v", [f"{head}\n"]).append(module)
    return {name: waive("\n".join(texts)) for name, texts in files.items()}


def convert_intermediate(text: str) -> str:
    """The Verilog of a design in the intermediate form of Amaranth, as board platforms write it."""
    with _conversion():
        return wake_processes(verilog._convert_rtlil_text(text, strip_internal_attrs=True))


def _finished(text: str) -> str:
    """The Verilog of a design in the intermediate form."""
    from hw.yosys import run_script

    # It warns that not every process has a form in Verilog; those of Amaranth all have.
    return tidy(run_script(_SCRIPT.format(text=text)))


@contextmanager
def _conversion() -> Iterator[None]:
    """What every conversion needs. Raises `VerilogError`, `CacheError` if yosys, which writes the text, cannot run."""
    try:
        with _no_collection(), use_tool_cache():
            yield
    except YosysError as error:
        reason = str(error).strip().rpartition("\n")[2].strip()
        raise VerilogError(f"yosys cannot write Verilog: {reason or type(error).__name__}") from error


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

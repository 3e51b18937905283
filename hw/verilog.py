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
from hw.memory_words import fill_memories

__all__ = ["VerilogError", "convert", "convert_files", "convert_intermediate", "convert_together", "wake_processes"]

# A process of one register, which is how the back end writes each of them.
_REGISTER = re.compile(r"^  always @\((posedge [^\n()]+)\)\n(    (?!begin|if|case)[^\n]* <= [^\n]*;\n)", re.MULTILINE)
_MODULE = re.compile(r"^(?:\(\*[^\n]*\*\)\n)*module .*?^endmodule\n", re.MULTILINE | re.DOTALL)
# The signal that wakes combinational processes, which has its value by declaration.
_WAKING = re.compile(r"^  reg (\\\$auto\$verilog_backend\S+ ) = 0;$", re.MULTILINE)
_WAKEN = r"""  reg \1;
  /* verilator lint_off INITIALDLY */
  initial \1<= 0;
  /* verilator lint_on INITIALDLY */"""
# A process that reads nothing but a constant, which no event ever wakes: its registers would stay undefined.
_CONSTANT = re.compile(r"^  always @\*\n(    [^\n=]+ = \d+'[bdh][0-9a-fxz]+;\n)", re.MULTILINE)
# Up to the first dot: modules below another one are called after it.
_NAME = re.compile(r"^module \\?([^\s.(]+)", re.MULTILINE)


class VerilogError(SluiceError):
    """The tool that writes Verilog does not work here."""


def convert(component: Any, name: str, **options: Any) -> str:
    """The Verilog of `component` as module `name`, without references to Python sources.

    `options` are those of `amaranth.back.verilog.convert`, such as `ports` where the component has no signature.
    """
    with _conversion():
        return _finished(verilog.convert(component, name, emit_src=False, **options))


def convert_together(modules: Iterable[tuple[str, Any, Any]], **options: Any) -> str:
    """The Verilog of several modules (name, component, ports; None: those of its signature) in one text and one
    conversion, whose start takes as long as the work on a small module. The next module is asked for when the one
    before is elaborated. `options` as for `convert`."""
    with _conversion():
        texts = [rtlil.convert(part, name=name, ports=ports, emit_src=False, **options)
                 for name, part, ports in modules]
        return _finished(verilog._convert_rtlil_text("\n".join(texts)))


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


def convert_intermediate(text: str) -> str:
    """The Verilog of a design in the intermediate form of Amaranth, as board platforms write it."""
    with _conversion():
        return wake_processes(verilog._convert_rtlil_text(text, strip_internal_attrs=True))


def _finished(text: str) -> str:
    return wake_processes(_MODULE.sub(lambda module: _with_gathered_registers(fill_memories(module[0])), text))


def wake_processes(text: str) -> str:
    """`text` with an event for every combinational process at time zero, in Verilog and in SystemVerilog.

    The back end has each ``always @*`` read a signal that is declared with a value. In SystemVerilog declarations take
    effect before any process runs: no event, and outputs stay undefined until an input changes, which may be for ever.
    A nonblocking assignment takes effect when all processes of time zero wait already, in both languages. Verilator,
    which settles combinational logic before it starts, makes it a blocking one and would say so each time.
    """
    return _CONSTANT.sub(r"  initial\n\1", _WAKING.sub(_WAKEN, text))


def _with_gathered_registers(module: str) -> str:
    """The text of one `module` with its registers of a clock in one process. An event-driven simulator wakes each
    process at each edge, which for arrays is most of what it does: Icarus runs them in half of the time."""
    assignments: dict[str, list[str]] = {}
    for edge, assignment in _REGISTER.findall(module):
        assignments.setdefault(edge, []).append(assignment)

    def process(register: re.Match[str]) -> str:
        """All registers of an edge, in the place of the first of them."""
        gathered = assignments.pop(register[1], None)
        return "" if gathered is None else f"  always @({register[1]}) begin\n{''.join(gathered)}  end\n"

    return _REGISTER.sub(process, module)


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

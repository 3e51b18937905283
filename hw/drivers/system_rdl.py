"""Registers as SystemRDL 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hw.dma.registers import Field, Register, RegisterMap, Window

__all__ = ["system_rdl"]

_ACCESS = {"constant": "sw = r; hw = na", "read": "sw = r; hw = w", "write": "sw = rw; hw = r",
           "pulse": "sw = w; hw = r; singlepulse"}


def system_rdl(registers: RegisterMap) -> str:
    """``addrmap NAME``, with a ``regfile`` for every window."""
    lines = [f'addrmap {_safe(registers.name)} {{', f'  name = "control registers of {registers.name}";',
             "  default regwidth = 32;", "  default accesswidth = 32;", "  addressing = compact;"]
    for register in registers.registers:
        lines += _register(register, "  ")
    for window in registers.windows:
        lines += _window(window)
    return "\n".join([*lines, "};", ""])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _window(window: Window) -> list[str]:
    lines = ["  regfile {", f"    desc = {_quoted(window.description)};"]
    for register in window.registers:
        lines += _register(register, "    ")
    return [*lines, f"  }} {_safe(window.name)}[{window.count}] @ 0x{window.offset:x} += 0x{window.stride:x};"]


def _register(register: Register, indent: str) -> Iterator[str]:
    yield f"{indent}reg {{"
    yield f"{indent}  desc = {_quoted(register.description)};"
    for field in register.parts:
        yield from (f"{indent}  {line}" for line in _field(register, field))
    yield f"{indent}}} {_safe(register.name)} @ 0x{register.offset:x};"


def _field(register: Register, field: Field) -> Sequence[str]:
    codes = list(field.values or ())
    kind = f"{register.name}_{field.name}_codes"
    enumeration = [f"enum {kind} {{ " + " ".join(f"{code.name} = {field.width}'d{code.value};" for code in codes)
                   + " };"] if codes else []
    encoded = [f"  encode = {kind};"] if codes else []
    reset = field.extract(register.reset)
    return [*enumeration, "field {", f"  desc = {_quoted(field.description)};", f"  {_ACCESS[register.access]};",
            *encoded, f"}} {_safe(field.name)}[{field.low + field.width - 1}:{field.low}] = {field.width}'d{reset};"]


def _safe(name: str) -> str:
    """`name`, escaped if it may be a keyword: all of them are lower case."""
    return f"\\{name}" if name.islower() else name

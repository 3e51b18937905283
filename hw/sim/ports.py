"""Reading the port list of a Verilog module, in the old style (which Amaranth emits) and in the ANSI style."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Port", "module_ports"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\(\*.*?\*\)", re.DOTALL)
_RANGE = re.compile(r"\[\s*(\d+)\s*:\s*(\d+)\s*\]")
_DECLARATION = re.compile(
    r"\b(input|output|inout)\b\s*(?:\b(?:wire|reg|logic|signed)\b\s*)*((?:\[[^\]]*\]\s*)*)([^;]*)"
)
_NAME = re.compile(r"\\\S+|[A-Za-z_]\w*")


@dataclass(frozen=True)
class Port:
    """`direction` is ``input``, ``output`` or ``inout``; `width` in bits, None where the range is not a number."""

    name: str
    direction: str
    width: int | None


def module_ports(texts: Iterable[str], module: str) -> tuple[Port, ...] | None:
    """The ports of `module`, in the order of their declarations; None if no text defines that module."""
    for text in texts:
        clean = _COMMENT.sub(" ", text)
        start = re.search(rf"\bmodule\s+\\?{re.escape(module)}(?![\w$])", clean)
        if start:
            body = clean[start.end() :].split("endmodule")[0]
            return _ports(body)
    return None


def _ports(body: str) -> tuple[Port, ...]:
    header, _, rest = body.partition(";")
    port_list = _last_group(header)
    if re.search(r"\b(input|output|inout)\b", port_list):
        return tuple(port for part in _split_directions(port_list) for port in _declared(part))
    return tuple(port for statement in rest.split(";") for port in _declared(statement))


def _last_group(header: str) -> str:
    """The text inside the last balanced parentheses: the port list, after any parameter list."""
    end = header.rfind(")")
    depth = 0
    for position in range(end, -1, -1):
        depth += {")": 1, "(": -1}.get(header[position], 0)
        if depth == 0:
            return header[position + 1 : end]
    return ""


def _split_directions(port_list: str) -> list[str]:
    return re.split(r"(?=\b(?:input|output|inout)\b)", port_list)


def _declared(text: str) -> list[Port]:
    match = _DECLARATION.match(text.strip())
    if match is None:
        return []
    direction, ranges, names = match.groups()
    return [Port(name.lstrip("\\"), direction, _width(ranges)) for name in _NAME.findall(re.sub(r"=[^,]*", "", names))]


def _width(ranges: str) -> int | None:
    if not ranges.strip():
        return 1
    match = _RANGE.fullmatch(ranges.strip())
    return abs(int(match.group(1)) - int(match.group(2))) + 1 if match else None

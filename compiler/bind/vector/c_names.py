"""Names of a vector program's arrays in C: their own, unless the program around them has the name already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from hw.soc.program import header_texts

__all__ = ["c_names"]

_TEXT = """
asm auto bool break case char const continue default do double else enum extern false float for goto if inline int long
register restrict return short signed sizeof static struct switch true typedef typeof union unsigned void volatile while
main anchor linux unix riscv
abort exit malloc free memchr memcmp memcpy memmove memset printf putchar puts sprintf strcmp strcpy strlen
stdin stdout stderr environ errno
"""
_WORDS = frozenset(_TEXT.split())
"""Keywords, what the compiler defines, and functions of the library that the program may be linked with."""
_LOCAL = re.compile(r"[ai]\d+")
"""Anchors and loop counters of the kernel."""


def c_names(program: str, arrays: Iterable[str]) -> dict[str, str]:
    """The C identifier of every array of the kernel of `program`. Those that mean something else there get an
    underscore, or more."""
    names = list(arrays)
    taken = _taken() | {f"{program}_kernel"}
    found: dict[str, str] = {}
    for name in names:
        symbol = name
        while symbol in taken or _LOCAL.fullmatch(symbol) or (symbol != name and symbol in names):
            symbol += "_"
        found[name] = symbol
        taken = taken | {symbol}
    return found


@cache
def _taken() -> frozenset[str]:
    return _WORDS | frozenset(word for text in header_texts() for word in re.findall(r"[A-Za-z_]\w*", text))

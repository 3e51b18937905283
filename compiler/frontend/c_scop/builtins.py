"""Built-in functions of gcc and clang on bits, as functions of C that are inlined like those of a file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from pycparser import c_ast, c_parser

__all__ = ["builtin_functions"]

_TEXT = """
static int __builtin_popcount(unsigned v) {
  v = v - (v >> 1 & 0x55555555u);
  v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
  v = v + (v >> 4) & 0x0f0f0f0fu;
  v = v + (v >> 8);
  return v + (v >> 16) & 63;
}
static int __builtin_popcountl(unsigned long v) {
  return __builtin_popcount((unsigned)v) + __builtin_popcount((unsigned)(v >> 32));
}
static int __builtin_clz(unsigned v) {
  v |= v >> 1; v |= v >> 2; v |= v >> 4; v |= v >> 8; v |= v >> 16;
  return 32 - __builtin_popcount(v);
}
static int __builtin_clzl(unsigned long v) {
  v |= v >> 1; v |= v >> 2; v |= v >> 4; v |= v >> 8; v |= v >> 16; v |= v >> 32;
  return 64 - __builtin_popcountl(v);
}
static int __builtin_ctz(unsigned v) { return __builtin_popcount(~v & (v - 1)); }
static int __builtin_ctzl(unsigned long v) { return __builtin_popcountl(~v & (v - 1)); }
static int __builtin_ffs(int v) { return v ? __builtin_ctz((unsigned)v) + 1 : 0; }
static int __builtin_parity(unsigned v) {
  v ^= v >> 16; v ^= v >> 8; v ^= v >> 4; v ^= v >> 2;
  return (v ^ v >> 1) & 1;
}
static int __builtin_parityl(unsigned long v) { return __builtin_parity((unsigned)(v ^ v >> 32)); }
static unsigned short __builtin_bswap16(unsigned short v) { return v << 8 | v >> 8; }
static unsigned __builtin_bswap32(unsigned v) {
  return v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24;
}
static unsigned long __builtin_bswap64(unsigned long v) {
  return (unsigned long)__builtin_bswap32((unsigned)v) << 32 | __builtin_bswap32((unsigned)(v >> 32));
}
static long __builtin_expect(long v, long expected) { return v; }
"""


@cache
def _all() -> dict[str, c_ast.FuncDef]:
    found = {str(node.decl.name): node for node in c_parser.CParser().parse(_TEXT, "<built-in functions>").ext}
    long = {f"{name}l": node for name, node in found.items() if name.endswith("l")}  # long long has 64 bits, too
    return found | long


def builtin_functions(names: Iterable[str]) -> dict[str, c_ast.FuncDef]:
    """All of them, if one is among the `names`."""
    return _all() if _all().keys() & set(names) else {}

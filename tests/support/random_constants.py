"""Random C functions of one statement in which constants stand everywhere: on either side of every operation, at the
limits of every type, as indices of tables that are known or bounded to one value; stores are narrower and wider than
what is stored. What C leaves undefined is not drawn, except signed overflow, which both sides wrap.
"""

from __future__ import annotations

from random import Random

TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t")
CONSTANTS = ("0", "1", "2", "-1", "5", "-5", "127", "128", "-128", "255", "10973", "32767", "-32768", "65535", "65536",
             "70000", "100000", "0x7FFFFFFF", "0x80000000", "0xFFFFFFFF", "(-2147483647 - 1)", "3u", "40000u")
DIVISORS = ("2", "3", "7", "-5", "10u", "256", "1000", "65536")
MASKS = ("1", "3", "7", "15", "31")
ELEMENTS = 8


def constant_function(random: Random, name: str) -> str:
    """The text of ``void name(const T a[8], const T b[8], T y[8])``, with tables ``name_table`` and locals that are
    known."""
    types = [random.choice(TYPES) for _ in range(5)]
    entries = ", ".join(random.choice(CONSTANTS) for _ in range(ELEMENTS))
    value = _Expressions(random, f"{name}_table").expression(3)
    return f"""#include <stdint.h>
static const {types[0]} {name}_table[{ELEMENTS}] = {{{entries}}};
void {name}(const {types[1]} a[{ELEMENTS}], const {types[2]} b[{ELEMENTS}], {types[3]} y[{ELEMENTS}]) {{
#pragma scop
  for (int i = 0; i < {ELEMENTS}; i++) {{
    {types[4]} known = {random.choice(CONSTANTS)};
    y[i] = {value};
  }}
#pragma endscop
}}
"""


class _Expressions:
    def __init__(self, random: Random, table: str) -> None:
        self._random, self._table = random, table

    def expression(self, depth: int) -> str:
        """Text of an expression of up to `depth` operations in a row."""
        pick = self._random.choice
        if depth == 0 or self._random.random() < 0.15:
            return pick(("a[i]", "b[i]", "i", "known")) if self._random.random() < 0.6 else pick(CONSTANTS)
        inner = [f"({self.expression(depth - 1)})" for _ in range(3)]
        return pick((
            f"{inner[0]} >> ({inner[1]} & {pick(MASKS)})", f"{inner[0]} << ({inner[1]} & {pick(MASKS)})",
            f"{pick(CONSTANTS)} >> ({inner[1]} & {pick(MASKS)})",
            f"{inner[0]} {pick('/%')} ({pick(DIVISORS)})",
            f"{inner[0]} {pick(('<', '<=', '>', '>=', '==', '!='))} {inner[1]}",
            f"{inner[0]} {pick(('&&', '||'))} {inner[1]}",
            f"{inner[0]} ? {inner[1]} : {inner[2]}",
            f"{inner[0]} < {inner[1]} ? {inner[0]} : {inner[1]}",
            f"({pick(TYPES)}){inner[0]}", f"-{inner[0]}", f"~{inner[0]}", f"!{inner[0]}",
            f"{self._table}[{inner[0]} & {pick(('0', '1', '3', '7'))}]", f"{self._table}[{pick('01234567')}]",
            *(f"{inner[0]} {op} {inner[1]}" for op in "+-*&|^"),
        ))

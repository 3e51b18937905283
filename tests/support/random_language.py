"""Random C functions with the constructs beyond loops and arithmetic: helpers with early returns and loops, bool,
sizeof, initialisers, pointers, structures, comma operators, switch and continue. The parameters are those of
`random_constants`. What C leaves undefined is not drawn, except signed overflow, which both sides wrap.
"""

from __future__ import annotations

from random import Random

from random_constants import CONSTANTS, ELEMENTS, TYPES


def language_function(random: Random, name: str) -> str:
    """The text of ``void name(const T a[8], const T b[8], T y[8])`` and of what it calls."""
    made = _Language(random, name)
    helpers, body = made.helpers(), made.body()
    types = [random.choice(TYPES) for _ in range(3)]
    return f"""#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
{made.types()}
{helpers}
void {name}(const {types[0]} a[{ELEMENTS}], const {types[1]} b[{ELEMENTS}], {types[2]} y[{ELEMENTS}]) {{
#pragma scop
  for (int i = 0; i < {ELEMENTS}; i++) {{
{body}
  }}
#pragma endscop
}}
"""


class _Language:
    def __init__(self, random: Random, name: str) -> None:
        self._random, self._name = random, name
        self._scalars = ["i", "a[i]", "b[i]", "a[7 - i]"]

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _type(self) -> str:
        return self._pick(*TYPES, "bool")

    def types(self) -> str:
        """A structure with another inside and a table."""
        n, entries = self._name, ", ".join(self._pick(*CONSTANTS) for _ in range(3))
        return (f"struct {n}_in {{ {self._type()} u; {self._type()} v[2]; }};\n"
                f"typedef struct {{ {self._type()} p; struct {n}_in q[2]; {self._type()} r; }} {n}_out;\n"
                f"static const {self._pick(*TYPES)} {n}_table[8] = {{[{self._pick('1', '2', '5')}] = {entries}}};")

    def helpers(self) -> str:
        """An expression, statements with an early return and a loop, one that stores, one that returns a structure."""
        n, t = self._name, [self._pick(*TYPES) for _ in range(8)]
        inside = self._over("v", "w")
        return f"""static {self._type()} {n}_one({t[0]} v, {t[1]} w) {{ return {inside()}; }}
static {t[2]} {n}_two({t[3]} v, {t[4]} w) {{
  if ({inside()})
    return {inside()};
  {t[5]} s = {inside()};
  for (int k = 0; k < {self._pick('2', '3')}; k++) {{
    if (({inside()}) & 1)
      continue;
    s += k * {n}_one(w, v);
    w ^= 3;
  }}
  return s;
}}
static void {n}_put({n}_out *o, {t[6]} v, {t[7]} w) {{
  o->p = {inside()};
  o->q[1].v[0] += {inside()};
  (*o).r = o->p;
}}
static {n}_out {n}_made({n}_out o, {t[6]} v, {t[7]} w) {{
  if ({inside()})
    return o;
  {n}_out d = {{{inside()}, {{{{v}}, o.q[0]}}, .r = w}};
  o.q[0] = d.q[1];
  return {self._pick("o", "d", "w > v ? o : d")};
}}"""

    def _over(self, *names: str):
        def draw(depth: int = 2) -> str:
            if depth == 0 or self._random.random() < 0.2:
                return self._pick(*names, *names, self._pick(*CONSTANTS))
            x, z = f"({draw(depth - 1)})", f"({draw(depth - 1)})"
            return self._pick(
                *(f"{x} {op} {z}" for op in ("+", "-", "*", "&", "|", "^", "<", ">=", "==", "!=", "&&", "||")),
                f"{x} >> ({z} & 7)", f"{x} / ({z} & 15 | 1)", f"({self._type()}){x}", f"!{x}", f"~{x}",
                f"abs({x} % 1000)", f"{x} ? {z} : {draw(depth - 1)}",
                f"{x} % (int)sizeof({self._type()}[3])", f"({x}, {z})",
            )
        return draw

    def _value(self, depth: int = 2) -> str:
        n, simple = self._name, self._over(*self._scalars)
        return self._pick(
            simple(depth), simple(depth), f"{n}_one({simple(1)}, {simple(1)})", f"{n}_two({simple(1)}, {simple(1)})",
            f"{n}_table[({simple(1)}) & 7]", f"({simple(1)}) ? {n}_two({simple(1)}, i) : {n}_one(i, {simple(1)})",
            f"({simple(1)}) && {n}_two({simple(1)}, {simple(1)}) > 3", f"({simple(1)}) + (int)sizeof({n}_out)",
        )

    def body(self) -> str:
        """Statements of the loop, the last of which stores the result."""
        n = self._name
        lines = [f"{n}_out o = {{{self._value()}, {{{{{self._value()}, {{1, {self._value(1)}}}}}, {{.v = "
                 f"{{[1] = {self._value(1)}}}}}}}, {self._value(1)}}}, d = o;",
                 f"int l[3] = {{{self._value(1)}, [2] = {self._value(1)}}};", "const int *z = l + 1;"]
        self._scalars += ["o.p", "d.q[1].v[1]", "o.q[0].u", "d.r", "l[2]", "*z", "z[1]", "o.q[1].v[0]"]
        for _ in range(self._random.randint(2, 4)):
            lines.append(self._statement())
        lines.append(f"y[i] = {self._value()} + o.p * 3 - d.q[0].v[1] + o.q[1].v[0] + d.r;")
        return "\n".join(f"    {line}" for line in lines)

    def _statement(self) -> str:
        n = self._name
        return self._pick(
            f"{n}_put(&o, {self._value(1)}, {self._value(1)});", f"d = {n}_made(o, {self._value(1)}, i);",
            f"d.q[{self._pick('0', '1')}] = o.q[{self._pick('0', '1')}];", f"l[0] = {self._value()};",
            f"o = ({self._value(1)}) ? d : o;", f"d.q[0] = (struct {n}_in){{d.q[1].u, .v = {{{self._value(1)}}}}};",
            f"if ({self._value(1)}) o.r = {self._value(1)}; else d.p = {self._value(1)};",
            f"switch (({self._value(1)}) & 3) {{ case 0: o.p = {self._value(1)}; break; case 2: d.r += 1; break; "
            f"default: l[1] = 5; }}",
        )

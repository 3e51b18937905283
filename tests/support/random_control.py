"""Random C functions with loops of every counted form, jumps, branches, and subscripts of every quasi-affine form:
`while` and `do`, two counters, scaled steps, `break` and `continue` on iterators, else-if chains, `switch`, scalars
that loops step or that wrap, arrays of structures, local arrays, pointers with offsets, other functions.

The parameters are those of `random_constants`; all iterators stay in 0..7. What C leaves undefined is not drawn, except
signed overflow, which both sides wrap.
"""

from __future__ import annotations

from random import Random

from random_constants import CONSTANTS, ELEMENTS, TYPES


def control_function(random: Random, name: str) -> str:
    """The text of ``void name(const T a[8], const T b[8], T y[8])`` and of what it calls."""
    made = _Control(random, name)
    types = [random.choice(TYPES) for _ in range(7)]
    body = "\n".join(f"  {line}" for line in made.body())
    return f"""#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
struct {name}_pair {{ {types[3]} u; {types[4]} v[2]; }};
static const {types[5]} {name}_table[2][4] = {{[1] = {{{random.choice(CONSTANTS)}, 7}}, [0][2] = 3}};
static {types[6]} {name}_sum(const {types[0]} *p, int n) {{
  {types[6]} s = 1;
  for (int k = 0; k < 3; k++) {{
    if (p[k] == n)
      return s;
    s = s * 3 + p[k];
  }}
  return s;
}}
void {name}_other(int z[4]) {{
#pragma scop
  for (int i = 0; i < 4; i++)
    z[i] = i;
#pragma endscop
}}
void {name}(const {types[0]} a[{ELEMENTS}], const {types[1]} b[{ELEMENTS}], {types[2]} y[{ELEMENTS}]) {{
#pragma scop
{body}
#pragma endscop
}}
"""


class _Control:
    def __init__(self, random: Random, name: str) -> None:
        self._random, self._name = random, name
        self._count = 0
        self._pointed = random.choice(TYPES)
        self._iterators: list[str] = []
        self._scalars: list[str] = []

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def body(self) -> list[str]:
        """Declarations that give everything a value, loops, and a last loop that uses it."""
        lines = [
            f"{self._pointed} w[8] = {{{self._pick(*CONSTANTS)}, [3] = {self._pick(*CONSTANTS)}, 5}};",
            f"struct {self._name}_pair s[8];",
            "for (int i = 0; i < 8; i++) {",
            "  s[i].u = a[i];",
            f"  s[i].v[0] = b[7 - i] {self._pick('+', '^', '-')} i;",
            "  s[i].v[1] = 1;",
            "}",
            f"{self._pick(*TYPES)} c = {self._random.randint(-3, 9)};",
            f"{self._pick('int', 'int8_t', 'uint8_t')} p = {self._random.randint(0, 7)};",
        ]
        for _ in range(self._random.randint(2, 3)):
            lines += self._loop()
        return [*lines, "for (int i = 0; i < 8; i++) {",
                "  y[i] = y[i] * 3 + w[i] + s[i].u - s[7 - i].v[0] + 5 * s[i].v[1] + c + (p & 7);", "}"]

    # Loops.

    def _loop(self) -> list[str]:
        forms = (self._for, self._for, self._while, self._do, self._two, self._two_outside, self._scaled, self._broken,
                 self._triangle, self._counted_to_end, self._sized, self._two_in_the_body)
        depth, scalars = len(self._iterators), list(self._scalars)
        lines = self._random.choice(forms)()
        del self._iterators[depth:]
        self._scalars = scalars
        return lines

    def _inside(self, *names: str, jumps: bool = True) -> list[str]:
        """Statements of a loop's body."""
        self._iterators += names
        lines: list[str] = []
        for _ in range(self._random.randint(1, 3)):
            lines += self._statement(jumps)
        return [f"  {line}" for line in lines]

    def _for(self) -> list[str]:
        i = self._new("i")
        head = self._pick(f"int {i} = 0; {i} < 8; {i}++", f"int {i} = 7; {i} >= 0; {i}--",
                          f"unsigned {i} = 8; {i}-- > 0;", f"uint8_t {i} = 1; {i} < 8; {i} += 2",
                          f"int {i} = 0; {i} != 6; {i} += 3", f"long {i} = 6; {i} > 1; {i} = {i} - 2",
                          f"int8_t {i} = 0; {i} <= 7; ++{i}", f"int {i} = 8; {i}--;")
        return [f"for ({head}) {{", *self._inside(i, jumps=True), "}"]

    def _while(self) -> list[str]:
        i = self._new("i")
        first, test, step = self._random.choice([("0", f"{i} < 8", f"{i}++"), ("7", f"{i} >= 0", f"{i} -= 2"),
                                                 ("1", f"{i} <= 6", f"{i} = {i} + 1")])
        return [f"int {i} = {first};", f"while ({test}) {{", *self._inside(i, jumps=False), f"  {step};", "}"]

    def _do(self) -> list[str]:
        i = self._new("i")
        first, test, step = self._random.choice([("0", f"{i} < 8", f"{i}++"), ("7", f"{i} > 0", f"{i} -= 2"),
                                                 ("5", f"{i} < 3", f"{i} = {i} + 1")])
        return [f"int {i} = {first};", "do {", *self._inside(i, jumps=False), f"  {step};", f"}} while ({test});"]

    def _two(self) -> list[str]:
        i, j = self._new("i"), self._new("j")
        head = self._pick(f"int {i} = 0, {j} = 7; {i} < {j}; {i}++, {j}--",
                          f"int {i} = 7, {j} = 0; {j} < 8; {i}--, {j} += 1",
                          f"int {i} = 0, {j} = 1; {i} < 4; ++{i}, {j} += 2")
        return [f"for ({head}) {{", *self._inside(i, j), "}"]

    def _two_outside(self) -> list[str]:
        i, j = self._new("i"), self._new("j")
        head = self._pick(f"{i} = 0, {j} = 7; {i} < {j}; {i}++, {j}--", f"{i} = 6, {j} = 1; {i} > 1; {i} -= 2, {j}++")
        after = [f"c += {i} + {j};"] if self._random.random() < 0.5 else []
        return [f"int {i}, {j};", f"for ({head}) {{", *self._inside(i, j), "}", *after]

    def _two_in_the_body(self) -> list[str]:
        """The condition compares two counters, of which only the last one that is stepped can be the iterator."""
        i, j = self._new("i"), self._new("j")
        first, last, test = self._random.choice([("0", "7", f"{i} < {j}"), ("1", "6", f"{i} <= {j}"),
                                                 ("0", "7", f"{i} + 1 < {j}")])
        steps = [f"  {i}++;", f"  {j}--;"]
        self._random.shuffle(steps)
        inside = self._inside(i, j, jumps=False)
        return [f"int {i} = {first}, {j} = {last};", f"while ({test}) {{", *inside, *steps, "}"]

    def _scaled(self) -> list[str]:
        i = self._new("i")
        head = self._pick(f"int {i} = 1; {i} < 8; {i} *= 2", f"unsigned {i} = 4; {i} > 0; {i} >>= 1",
                          f"int {i} = 7; {i} > 0; {i} /= 2", f"int {i} = 2; {i} < 6; {i} <<= 1")
        return [f"for ({head}) {{", *self._inside(i), "}"]

    def _broken(self) -> list[str]:
        i = self._new("i")
        test = self._pick(f"{i} == 5", f"{i} > 2", f"2 * {i} + 1 >= 9", f"{i} % 3 == 2")
        cut = [f"  if ({test})", "    break;"]
        inside = self._inside(i)
        return [f"for (int {i} = 0; {i} < 8; {i}++) {{", *self._random.choice([[*cut, *inside], [*inside, *cut]]), "}"]

    def _triangle(self) -> list[str]:
        i, j = self._new("i"), self._new("j")
        inner = self._pick(f"int {j} = {i}; {j} < 8 - {i}; {j}++", f"int {j} = 0; {j} <= {i}; {j}++",
                           f"int {j} = 7; {j} > {i}; {j} -= 2")
        return [f"for (int {i} = 0; {i} < 4; {i}++) {{", f"  for ({inner}) {{",
                *(f"  {line}" for line in self._inside(i, j)), "  }", "}"]

    def _counted_to_end(self) -> list[str]:
        i = self._new("i")
        head = self._pick(f"{i} = 0; {i} < 7; {i}++", f"{i} = 1; {i} <= 4; {i} += 3", f"{i} = 7; {i} >= 3; {i}--")
        return [f"int {i};", f"for ({head}) {{", *self._inside(i), "}", f"w[{i} & 7] += {i};"]

    def _sized(self) -> list[str]:
        i = self._new("i")
        return [f"for (unsigned {i} = 0; {i} < sizeof(w) / sizeof(w[0]); {i}++) {{", *self._inside(i), "}"]

    # Statements.

    def _statement(self, jumps: bool) -> list[str]:
        match self._pick("store", "store", "chain", "switch", "jump", "local", "step", "flag", "pointer", "keep"):
            case "chain":
                return self._chain()
            case "switch":
                return [f"switch (({self._value(1)}) & 3) {{", f"case 0: {self._target()} = {self._value(1)}; break;",
                        "case 1:", f"case 2: {self._target()} += {self._value(1)};",
                        f"default: c = {self._value(1)};", "}"]
            case "jump" if jumps:
                return [f"if ({self._pick(self._affine_test(), self._value(1))})", "  continue;"]
            case "local":
                k = self._new("k")
                made = f"{self._pick('uint8_t', 'int8_t', 'int', 'uint16_t')} {k} = {self._affine()};"
                self._scalars.append(k)
                return [made, f"{self._array()}[{k} & 7] = {self._value(2)};"]
            case "step":
                return [f"{self._array()}[p & 7] {self._pick('=', '+=')} {self._value(1)};",
                        f"p {self._pick('+=', '-=')} {self._pick('1', '2', '3')};"]
            case "flag":
                k = self._new("g")
                made = f"bool {k} = {self._value(1)};"
                self._scalars.append(k)
                return [made]
            case "pointer":
                k = self._new("q")
                return [f"const {self._pointed} *{k} = w + {self._pick('0', '1', '2')};",
                        f"{self._target()} = *({k} + {self._index()} / 2) - {k}[{self._pick('0', '1', '5')}];"]
            case "keep":
                return [f"if ({self._value(1)}) {{", f"  {self._target()} = {self._value(1)};",
                        f"  c ^= {self._value(1)};", "}"]
        return [f"{self._target()} {self._pick('=', '=', '+=', '-=')} {self._value(2)};"]

    def _chain(self) -> list[str]:
        target = self._target()
        tests = [self._pick(self._affine_test(), self._value(1)) for _ in range(2)]
        lines = [f"if ({tests[0]})", f"  {target} = {self._value(1)};", f"else if ({tests[1]})",
                 f"  {target} = {self._value(1)};"]
        return [*lines, *self._random.choice([["else", f"  {target} = {self._value(1)};"], ["else", "  c += 1;"], []])]

    # Expressions.

    def _iterator(self) -> str:
        return self._pick(*self._iterators)

    def _affine(self) -> str:
        i = self._iterator()
        return self._pick(i, f"{i} * 50", f"{i} - 3", f"7 * {i} + {self._iterator()}", f"{i} << 5", f"-{i}",
                          f"{i} / 3 - 1")

    def _affine_test(self) -> str:
        i = self._iterator()
        return self._pick(f"{i} > 3", f"{i} == {self._iterator()}", f"{i} % 3 == 1", f"{i} < 2 || {i} == 5",
                          f"!({i} & 1)", f"p > {i}")

    def _index(self) -> str:
        i = self._iterator()
        return self._pick(f"{i}", f"(7 - {i})", f"({i} / 2)", f"(({i} * 3 + 1) & 7)", f"(({i} + 3) % 8)",
                          f"({i} > 3 ? {i} : 7 - {i})", f"(({i} + {self._iterator()}) / 2)", f"({i} >> 1)", "(p & 7)")

    def _array(self) -> str:
        return self._pick("y", "w", "w")

    def _target(self) -> str:
        return self._pick(f"{self._array()}[{self._index()}]", f"s[{self._index()}].u",
                          f"s[{self._index()}].v[{self._pick('0', '1')}]", "c")

    def _leaf(self) -> str:
        n = self._index()
        return self._pick(f"a[{n}]", f"b[{n}]", f"w[{n}]", f"y[{n}]", f"s[{n}].u", f"s[{n}].v[1]", f"*(a + {n})", "c",
                          "p", self._iterator(), self._pick(*self._scalars, "c"), self._pick(*CONSTANTS),
                          f"{self._name}_table[{self._iterator()} & 1][{self._pick('0', '2', '3')}]")

    def _value(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.15:
            return self._leaf()
        x, z = f"({self._value(depth - 1)})", f"({self._value(depth - 1)})"
        return self._pick(
            *(f"{x} {op} {z}" for op in ("+", "-", "*", "&", "|", "^", "<", ">=", "==", "!=", "&&", "||")),
            f"{x} >> ({z} & 7)", f"{x} / ({z} & 15 | 1)", f"{x} % ({z} & 7 | 2)", f"({self._pick(*TYPES, 'bool')}){x}",
            f"!{x}", f"~{x}", f"abs({x} % 1000)", f"(int)labs({x})", f"{x} ? {z} : {self._value(depth - 1)}",
            f"{self._name}_sum(a + ({self._index()} / 2), {z})", f"({self._affine_test()} ? {x} : {z})",
            f"{x} + (int)sizeof(struct {self._name}_pair)",
        )

"""Random C functions of several loop nests that use each other's results: reductions of every kind, running values,
wavefronts, triangles, imperfect nests, rows that take turns, statements that feed each other in both directions, local
arrays, tables at known and bounded indices; arrays of one to three dimensions and of every integer type, with names
that a compiler might use.

Iterators stay in 0..extent - 1 of every dimension. What C leaves undefined is not drawn, except signed overflow, which
both sides wrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from random_constants import CONSTANTS

__all__ = ["nest_function"]

_TYPES = (
    ("bool", "int8_t", "uint8_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int16_t", "char", "unsigned short"),
    ("bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int"),
    ("bool", "int8_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "int64_t"),
)
_SUMS = (
    ("int", "int16_t", "uint16_t", "uint8_t", "bool", "int8_t"),
    ("int", "int32_t", "uint32_t", "int16_t", "uint8_t"),
    ("int64_t", "int64_t", "uint64_t", "int", "uint32_t"),
)
"""Types of arrays and of sums: those of narrow words, of words, and all."""
_NAMES = ("S0", "S1", "S2", "t0", "t1", "in", "out", "out_in", "load_in", "S0_drain", "S0_values", "y_sums", "tile",
          "i0", "o0", "acc", "cell0", "result", "stream", "clk", "rst", "reg", "wire", "module", "x", "y", "table_0")
_EXTENTS = (2, 3, 4, 4, 5)


def nest_function(random: Random, name: str) -> str:
    """The text of a function of two to four arrays, the last of which it changes."""
    return _Nests(random, name).text()


@dataclass(frozen=True)
class _Array:
    name: str
    kind: str
    rank: int
    given: bool
    """Whether it has its values before the nests, so that they can be read."""


class _Nests:
    def __init__(self, random: Random, name: str) -> None:
        self._random, self._name = random, name
        self._size = random.choice(_EXTENTS)
        self._types, self._sums = random.choice(list(zip(_TYPES, _SUMS, strict=True)))
        self._names = random.sample(_NAMES, len(_NAMES))
        self._inputs = [self._array(True) for _ in range(random.randint(1, 2))]
        self._outputs = [self._array(random.random() < 0.5) for _ in range(random.randint(1, 2))]
        self._readable = [*self._inputs, *(array for array in self._outputs if array.given)]
        self._loops: list[str] = []
        self._scalars: list[str] = []
        self._count = 0

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _array(self, given: bool) -> _Array:
        return _Array(self._names.pop(), self._pick(*self._types), self._random.choice((1, 1, 2, 2, 3)), given)

    def _declared(self, array: _Array) -> str:
        return f"{array.kind} {array.name}{f'[{self._size}]' * array.rank}"

    def text(self) -> str:
        """The whole file."""
        entries = ", ".join(self._pick(*CONSTANTS) for _ in range(self._size))
        body = [line for _ in range(self._random.randint(1, 3)) for line in self._nest()]
        head = ", ".join([*(f"const {self._declared(a)}" for a in self._inputs), *map(self._declared, self._outputs)])
        lines = "\n".join(f"  {line}" for line in body)
        return (f"#include <stdint.h>\n#include <stdbool.h>\n"
                f"static const {self._pick('int8_t', 'uint16_t', 'int32_t', 'int64_t')} "
                f"{self._name}_known[{self._size}] = {{{entries}}};\n"
                f"void {self._name}({head}) {{\n#pragma scop\n{lines}\n#pragma endscop\n}}\n")

    # Nests.

    def _nest(self) -> list[str]:
        """Lines of a nest over the whole of an array, or of a part of it."""
        forms = (self._plain, self._plain, self._partial, self._sum, self._sum, self._in_place, self._running,
                 self._both_ways, self._triangle, self._local, self._ordered, self._choice, self._turns)
        self._loops, self._scalars = [], []
        return self._random.choice(forms)()

    def _target(self) -> _Array:
        return self._random.choice(self._outputs)

    def _whole(self, array: _Array, inner: list[str]) -> list[str]:
        """`inner` in loops over all elements of `array`, whose iterators have to be new."""
        lines = inner
        for name in reversed(self._loops[-array.rank :]):
            lines = [f"for ({self._head(name)}) {{", *(f"  {line}" for line in lines), "}"]
        if array not in self._readable:
            self._readable.append(array)
        return lines

    def _head(self, i: str) -> str:
        n, last = self._size, self._size - 1
        return self._pick(f"int {i} = 0; {i} < {n}; {i}++", f"int {i} = 0; {i} <= {last}; ++{i}",
                          f"int {i} = {last}; {i} >= 0; {i}--", f"uint8_t {i} = 0; {i} < {n}; {i} += 1",
                          f"int {i} = 0; {i} < {n}; {i}++", f"unsigned {i} = {n}; {i}-- > 0;")

    def _enter(self, array: _Array) -> str:
        """New iterators for all dimensions of `array`; its element at these, in some order."""
        self._loops = [self._new("i") for _ in range(array.rank)]
        return array.name + "".join(f"[{i}]" for i in self._mirrored(self._loops))

    def _mirrored(self, loops: list[str]) -> list[str]:
        order = self._random.sample(loops, len(loops)) if self._random.random() < 0.3 else loops
        return [i if self._random.random() < 0.8 else f"{self._size - 1} - {i}" for i in order]

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}_{self._count}"

    def _plain(self) -> list[str]:
        array = self._target()
        element = self._enter(array)
        value = self._pick(self._leaf(), self._value(2), self._value(2))
        return self._whole(array, [f"{element} = {value};"])

    def _partial(self) -> list[str]:
        array = self._target()
        element = self._enter(array)
        if array in self._readable:
            lines = self._whole(array, [f"if ({self._affine_test()}) {element} = {self._value(2)};"])
        else:
            first = self._random.randrange(self._size)
            lines = self._whole(array, [f"if ({self._loops[0]} >= {first}) {element} = {self._value(1)};"])
            self._readable.remove(array)
        return lines

    def _sum(self) -> list[str]:
        """A reduction into a scalar, which is stored in the end."""
        array = self._target()
        element = self._enter(array)
        s, kind = self._new("s"), self._pick(*self._sums)
        first = self._value(1)
        return self._whole(array, [f"{kind} {s} = {first};", *self._reduced(s, self._random.randint(1, 2)),
                                   f"{element} = {self._pick(s, s, f'{s} >> 3', f'{s} * 3 + {self._leaf()}')};"])

    def _in_place(self) -> list[str]:
        array = self._target()
        element = self._enter(array)
        start = [] if array in self._readable and self._random.random() < 0.5 else [f"{element} = {self._value(1)};"]
        return self._whole(array, [*start, *self._reduced(element, self._random.randint(1, 2))])

    def _reduced(self, target: str, depth: int) -> list[str]:
        """Loops in which `target` takes in something in every iteration."""
        k = self._new("k")
        self._loops.append(k)
        if depth > 1:
            inner = self._reduced(target, depth - 1)
        else:
            x = self._value(2)
            inner = [self._pick(f"{target} += {x};", f"{target} += {x};", f"{target} -= {x};", f"{target} ^= {x};",
                                f"{target} |= {x};", f"{target} &= {x};", f"{target} = {target} * 3 + {x};",
                                f"{target} = {x} > {target} ? {x} : {target};",
                                f"if ({x} < {target}) {target} = {x};", f"{target} = ({target} >> 1) + ({x});",
                                f"if ({x} & 1) {target} += 2;")]
        self._loops.remove(k)
        bound = self._pick(str(self._size), str(self._size), f"{self._loops[0]} + 1")
        return [f"for (int {k} = 0; {k} < {bound}; {k}++) {{", *(f"  {line}" for line in inner), "}"]

    def _running(self) -> list[str]:
        """Every element from the one before: along one dimension, or from all neighbours before."""
        array = self._target()
        element = self._enter(array)
        name, i = array.name, self._loops
        before = [f"{name}{''.join(f'[{x} - 1]' if k == j else f'[{x}]' for k, x in enumerate(i))}"
                  for j in range(len(i))]
        element = name + "".join(f"[{x}]" for x in i)
        used = before[:1] if self._random.random() < 0.5 else before
        test = " && ".join(f"{x} > 0" for x in i[: len(used)])
        old = array in self._readable
        parts = f" {self._pick('+', '^', '-')} ".join(used)
        lines = [f"if ({test}) {element} = ({parts}) {self._pick('+', '-', '^', '&')} {self._value(1)};"]
        if not old:
            lines.append(f"else {element} = {self._value(1)};")
        for x in reversed(i):
            lines = [f"for (int {x} = 0; {x} < {self._size}; {x}++) {{", *(f"  {line}" for line in lines), "}"]
        self._readable += [] if old else [array]
        return lines

    def _both_ways(self) -> list[str]:
        """Two statements of one nest: each takes what the other one had."""
        array, n = self._target(), self._size
        t, i = self._new("u"), self._new("i")
        self._loops = [i]
        kind = self._pick(*self._types)
        rest = "[0]" * (array.rank - 1)
        y = array.name
        first = f"{t}[{i}] = {y}[{i} - 1]{rest} {self._pick('+', '*', '^')} {self._value(1)};"
        second = f"{y}[{i}]{rest} = {t}[{i}{self._pick('', ' - 1', '')}] {self._pick('-', '+', '|')} {self._value(1)};"
        begin = [f"{kind} {t}[{n}];", f"{t}[0] = 1;"]
        if array not in self._readable:
            begin.append(f"{y}[0]{rest} = 3;")
        return [*begin, f"for (int {i} = 1; {i} < {n}; {i}++) {{", f"  {first}", f"  {second}", "}"]

    def _triangle(self) -> list[str]:
        array = next((a for a in self._outputs if a.rank == 2), None)
        if array is None:
            return self._plain()
        i, j, n = self._new("i"), self._new("j"), self._size
        self._loops = [i, j]
        low, high = self._random.choice((("0", f"{j} <= {i}"), (i, f"{j} < {n}"), (f"{i} + 1", f"{j} < {n}"),
                                         ("0", f"{j} < {n} - {i}"), (f"{i} / 2", f"{j} < {n}")))
        inside = [f"{array.name}[{i}][{j}] = {self._value(2)};"]
        if array in self._readable and self._random.random() < 0.5:
            inside.append(f"{array.name}[{j}][{i}] += {self._value(1)};")
        return [f"for (int {i} = 0; {i} < {n}; {i}++) {{", f"  for (int {j} = {low}; {high}; {j}++) {{",
                *(f"    {line}" for line in inside), "  }", "}"]

    def _local(self) -> list[str]:
        """A local array that one nest fills and another one reads, in another order."""
        made = _Array(self._new("l"), self._pick(*self._types), self._random.randint(1, 2), False)
        element = self._enter(made)
        filled = self._whole(made, [f"{element} = {self._value(2)};"])
        return [f"{self._declared(made)};", *filled, *self._plain()]

    def _ordered(self) -> list[str]:
        """An imperfect nest: statements before and behind an inner loop."""
        array, n = self._target(), self._size
        i, k, s = self._new("i"), self._new("k"), self._new("s")
        kind = self._pick(*self._sums)
        self._loops = [i]
        rest = "".join(f"[{self._pick(i, '0')}]" for _ in range(array.rank - 1))
        before, behind = self._value(1), self._value(1)
        self._loops = [i, k]
        self._scalars = [s]
        inner = self._reduced(s, 1) if self._random.random() < 0.3 else [f"{s} += {self._value(2)};"]
        lines = [f"for (int {i} = 0; {i} < {n}; {i}++) {{", f"  {kind} {s} = {before};",
                 f"  for (int {k} = {self._pick('0', '0', i)}; {k} < {n}; {k}++) {{", *(f"    {x}" for x in inner),
                 "  }", f"  {array.name}[{i}]{rest} = {s} {self._pick('+', '-', '^')} {behind};", "}"]
        self._scalars = []
        if array.rank == 1 and array not in self._readable:
            self._readable.append(array)
        return lines

    def _choice(self) -> list[str]:
        """The place and the value of the largest, or smallest, of something."""
        array, n = self._target(), self._size
        i, best, at = self._new("i"), self._new("s"), self._new("p")
        self._loops = [i]
        x = self._value(1)
        y = array.name
        rest = "[0]" * (array.rank - 1)
        return [f"{self._pick(*self._sums)} {best} = {self._pick('-32768', '0', '100')};",
                f"{self._pick('int', 'uint8_t')} {at} = 0;", f"for (int {i} = 0; {i} < {n}; {i}++) {{",
                f"  if ({x} {self._pick('>', '<', '>=')} {best}) {{ {best} = {x}; {at} = {i}; }}", "}",
                f"{y}[0]{rest} = {best};", f"{y}[1]{rest} = {at};"]

    def _turns(self) -> list[str]:
        """Rows that take turns."""
        n, k, i, rows = self._size, self._new("k"), self._new("i"), self._new("r")
        self._loops = [i]
        start = self._value(1)
        kind = self._pick(*self._types)
        array = self._target()
        rest = "[0]" * (array.rank - 1)
        inner = f"{rows}[{k} % 2][{i}] {self._pick('+', '^', '-')} {rows}[{k} % 2][{self._pick(f'{n - 1} - {i}', i)}]"
        return [f"{kind} {rows}[2][{n}];", f"for (int {i} = 0; {i} < {n}; {i}++) {rows}[0][{i}] = {start};",
                f"for (int {k} = 0; {k} < {self._random.randint(1, 3)}; {k}++)",
                f"  for (int {i} = 0; {i} < {n}; {i}++) {rows}[({k} + 1) % 2][{i}] = {inner};",
                f"for (int {i} = 0; {i} < {n}; {i}++) {array.name}[{i}]{rest} = {rows}[0][{i}];"]

    # Expressions.

    def _index(self) -> str:
        n, i = self._size, self._pick(*self._loops)
        return self._pick(i, i, i, i, f"{n - 1} - {i}", f"({i} + 1) % {n}", f"{i} / 2",
                          str(self._random.randrange(n)), f"({i} > 0 ? {i} - 1 : 0)", f"{i} * 0", f"2 * {i} - {i}")

    def _affine_test(self) -> str:
        i, j = self._pick(*self._loops), self._pick(*self._loops, "1", "2")
        return self._pick(f"{i} < {j}", f"{i} >= {j}", f"{i} == {j}", f"{i} % 2 == 0", f"{i} + {j} > 2",
                          f"!({i} < {j})", f"{i} != {j} && {i} > 0")

    def _leaf(self) -> str:
        read = []
        for _ in range(3):
            array = self._random.choice(self._readable)
            read.append(array.name + "".join(f"[{self._index()}]" for _ in range(array.rank)))
        table = f"{self._name}_known[{self._pick(self._index(), self._index(), f'{read[0]} & 1', f'{read[0]} & 0')}]"
        return self._pick(*read, *read, table, self._pick(*self._loops), self._pick(*CONSTANTS),
                          *(self._scalars or read[:1]))

    def _value(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.15:
            return self._leaf()
        x, z = f"({self._value(depth - 1)})", f"({self._value(depth - 1)})"
        return self._pick(
            *(f"({x} {op} {z})" for op in ("+", "-", "*", "+", "-", "*", "&", "|", "^", "<", ">=", "==", "!=", "&&")),
            f"({x} >> ({z} & {self._pick('3', '7', '0')}))", f"({x} << ({z} & 3))", f"({x} / ({z} & 15 | 1))",
            f"({x} % ({self._pick('3', '7', '16', '-5', '100u')}))", f"(({self._pick(*self._types)}){x})", f"(!{x})",
            f"(~{x})", f"({x} ? {z} : {self._leaf()})", f"({self._affine_test()} ? {x} : {z})",
            f"({x} < {z} ? {x} : {z})",
        )

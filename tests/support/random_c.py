"""Random C functions with a scop: nests, conditions, temporaries and expressions of all integer types.

Iterators stay in 0..7 and arrays have 16 elements per dimension, so that every subscript drawn here is inside. What C
leaves undefined is not drawn, except signed overflow, which both sides wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

SIZE = 16
TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "char", "unsigned")
ARITHMETIC = ("+", "-", "*", "&", "|", "^")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
DIVISORS = ("1", "2", "3", "5", "7", "8", "10", "16", "255", "256", "1000", "65536", "(-4)", "(-7)", "6u", "13u", "9l")
CONSTANTS = ("0", "1", "2", "-1", "5", "127", "128", "255", "-128", "0x7F", "32767", "65535", "-32768", "0xFFFFu", "3u",
             "2147483647", "0x80000000", "4000000000", "'a'", "077", "1L", "100000")


@dataclass
class RandomC:
    """A function `name` of arrays `arrays` (name, C type, dimensions), and its text."""

    name: str
    arrays: list[tuple[str, str, int]] = field(default_factory=list)
    text: str = ""


def random_function(random: Random, name: str) -> RandomC:
    """One random function called `name`."""
    made = RandomC(name)
    for number in range(random.randint(2, 4)):
        made.arrays.append((f"a{number}", random.choice(TYPES), random.randint(1, 2)))
    body = _Body(random, made)
    body.block(1, random.randint(1, 3))
    body.line(1, f"{body.element()} = {body.expression(2)};")
    parameters = ", ".join(f"{type} {array}{f'[{SIZE}]' * dims}" for array, type, dims in made.arrays)
    lines = ["#include <stdint.h>", f"void {name}({parameters}) {{", "  int i, j, k;", "#pragma scop", *body.lines,
             "#pragma endscop", "}"]
    made.text = "\n".join(lines) + "\n"
    return made


class _Body:
    """Draws statements line by line; `loops` and `scalars` are what is visible."""

    def __init__(self, random: Random, made: RandomC) -> None:
        self.random = random
        self.made = made
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.scalars: list[str] = []
        self.count = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def block(self, depth: int, statements: int) -> None:
        visible = list(self.scalars)
        for _ in range(statements):
            self.statement(depth)
        self.scalars = visible

    def statement(self, depth: int) -> None:
        kind = self.pick("loop", "loop", "assign", "assign", "declare", "if", "update")
        if kind == "loop" and len(self.loops) < 3:
            self.loop(depth)
        elif kind == "declare":
            self.count += 1
            self.line(depth, f"{self.pick(*TYPES)} t{self.count} = {self.expression(2)};")
            self.scalars.append(f"t{self.count}")
        elif kind == "if":
            self.branch(depth)
        elif kind == "update" and self.scalars:
            operator = self.pick("=", "+=", "*=", "-=", "^=")
            self.line(depth, f"{self.pick(*self.scalars)} {operator} {self.expression(2)};")
        else:
            self.line(depth, f"{self.element()} {self.pick('=', '=', '+=', '-=', '|=')} {self.expression(3)};")

    def branch(self, depth: int) -> None:
        affine = self.loops and self.pick("affine", "data") == "affine"
        condition = self.affine_condition() if affine else self.expression(2)
        if self.loops and self.pick("plain", "plain", "both") == "both":
            condition = f"{self.affine_condition()} {self.pick('&&', '||')} ({condition})"
        self.line(depth, f"if ({condition}) {{")
        self.block(depth + 1, 1)
        if self.pick("else", "none") == "else":
            self.line(depth, "} else {")
            self.block(depth + 1, 1)
        self.line(depth, "}")

    def loop(self, depth: int) -> None:
        name = ("i", "j", "k")[len(self.loops)]
        low, high = self.random.randint(0, 3), self.random.randint(3, 7)
        start, end = str(low), str(high)
        if self.loops and self.pick("box", "triangle") == "triangle":
            outer = self.loops[-1]
            start, end = self.random.choice([(outer, end), (start, outer), ("0", f"7 - {outer}")])
        kind = self.pick("int", "", "uint8_t", "unsigned")
        step = self.pick("1", "1", "2", "3")
        if self.pick("up", "up", "down") == "up":
            head = f"{kind} {name} = {start}; {name} <= {end}; {name} += {step}"
        else:
            kind, start = "int", str(low)  # an unsigned bound of 0 would never end the loop
            head = f"{kind} {name} = {end}; {name} >= {start}; {name} = {name} - {step}"
        self.line(depth, f"for ({head.strip()}) {{")
        self.loops.append(name)
        self.block(depth + 1, self.random.randint(1, 2))
        self.loops.pop()
        self.line(depth, "}")

    def subscript(self) -> str:
        if not self.loops:
            return str(self.random.randint(0, SIZE - 1))
        i, j = self.pick(*self.loops), self.pick(*self.loops)
        return self.pick(i, f"{i} + {j}", f"{i} + 3", f"15 - {i}", f"2 * {i} + 1", f"{i} / 2", f"({i} + {j}) % 5",
                         f"{i} > {j} ? {i} : {j} + 1", f"{i} - {j} + 7", "4")

    def affine_condition(self) -> str:
        i, j = self.pick(*self.loops), self.pick(*self.loops, "3", "4")
        return self.pick(f"{i} {self.pick(*COMPARE)} {j}", f"{i} % 2 == 0", f"{i} + {j} > 5 && {i} != 2",
                         f"!({i} < {j})", f"{i} < 2 || {i} > {j}")

    def element(self) -> str:
        array, _, dims = self.random.choice(self.made.arrays)
        return array + "".join(f"[{self.subscript()}]" for _ in range(dims))

    def leaf(self) -> str:
        options = [self.pick(*CONSTANTS), self.element(), self.element(), *self.loops[-1:], *self.scalars[-2:]]
        return self.pick(*options)

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        match self.pick("leaf", "arithmetic", "arithmetic", "arithmetic", "unary", "compare", "logic", "ternary",
                        "shift", "divide", "cast"):
            case "leaf":
                return self.leaf()
            case "arithmetic":
                return f"({self.expression(depth - 1)} {self.pick(*ARITHMETIC)} {self.expression(depth - 1)})"
            case "unary":
                return f"{self.pick('-', '~', '!', '+')}({self.expression(depth - 1)})"
            case "compare":
                return f"({self.expression(depth - 1)} {self.pick(*COMPARE)} {self.expression(depth - 1)})"
            case "logic":
                return f"({self.expression(depth - 1)} {self.pick('&&', '||')} {self.expression(depth - 1)})"
            case "ternary":
                return self.ternary(depth)
            case "shift":
                amount = self.pick("1", "3", "8", "31", f"({self.expression(depth - 1)} & 31)")
                return f"({self.expression(depth - 1)} {self.pick('<<', '>>')} {amount})"
            case "divide":
                some = f"(({self.expression(depth - 1)} & 127) + {self.pick('1', '2', '300')})"
                divisor = self.pick(*DIVISORS, some, some, some)
                return f"({self.expression(depth - 1)} {self.pick('/', '%')} {divisor})"
        return f"({self.pick(*TYPES)})({self.expression(depth - 1)})"

    def ternary(self, depth: int) -> str:
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        form = self.pick("any", "affine", "minimum")
        if form == "minimum":
            forms = [(a, b), (b, a), (f"{a} - {b}", f"{b} - {a}"), (f"{b} - {a}", f"{a} - {b}")]
            yes, no = self.random.choice(forms)
            return f"({a} {self.pick('<', '<=', '>', '>=')} {b} ? {yes} : {no})"
        condition = self.affine_condition() if form == "affine" and self.loops else self.expression(depth - 1)
        return f"({condition} ? {a} : {b})"

"""Random SA-C programs, typed, with every construct of the language: two references must agree on each."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_NUMBERS = ("int8", "uint8", "int3", "uint5", "int16", "uint16", "int32", "uint32", "fix16.8", "ufix8.4", "fix8.7",
            "ufix32.16", "fix32.30", "float", "double")
_INTEGERS = ("int8", "uint8", "int5", "uint12", "int32", "uint32")
_BITS = ("bits4", "bits11", "bits32")
_FUNCTIONS = ("sqrt", "fabs", "floor", "ceil")
_REDUCTIONS = ("sum", "product", "min", "max", "mean", "st_dev", "median", "mode")


@dataclass
class Names:
    """What can be read: scalars of numbers, bool and bits; arrays with their rank; records and arrays of them."""

    numbers: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    bits: list[str] = field(default_factory=list)
    arrays: list[tuple[str, int, str]] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)

    def copy(self) -> Names:
        return Names(list(self.numbers), list(self.bools), list(self.bits), list(self.arrays), list(self.records),
                     list(self.rows))


class Writer:
    """Writes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.count = 0
        self.in_main = False

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, items):
        return self.chance.choice(items)

    def program(self) -> str:
        """A helper function, and ``main`` with scalar and array parameters."""
        parts = [self.record_types(), self.helper(), self.renewed(), self.main()]
        self.chance.shuffle(parts)
        return "\n".join(parts)

    def record_types(self) -> str:
        """A record of numbers and an array, and one that holds it."""
        first, second, third, fourth = (self.pick(_NUMBERS) for _ in range(4))
        return (f"struct item {{ {first} a; inner deep; }};\n"
                f"typedef struct {{ {second} b, c; {third} d[2]; complex {self.pick(('int8', 'fix16.8'))} e; }} "
                "inner;\n"
                f"typedef struct {{ {fourth} a; }} other;")

    def renewed(self) -> str:
        """A function from a record to another."""
        names = Names(["r.a", "r.deep.b", "r.deep.c", "r.deep.d[0]", "r.deep.d[1]"])
        return (f"item, other renewed (item r) {{\n{self.definitions(names, 1)}}} "
                f"return ({self.record(names, 1)}, other ({self.number(names, 1)}));")

    def record(self, names: Names, depth: int) -> str:
        """An expression of the record `item`."""
        choice = self.chance.random()
        if names.records and choice < 0.4:
            return self.pick(names.records)
        if names.records and choice < 0.6 and depth:
            return f"({self.boolean(names, 1)} ? {self.record(names, depth - 1)} : {self.record(names, depth - 1)})"
        if names.rows and choice < 0.75:
            name, rank = self.pick(names.rows)
            return f"{name}[{', '.join('0' * rank)}]"
        one, two, three, four, five = (self.number(names, 1) for _ in range(5))
        deep = self.pick((f"{{{two}, {three}, {{{four}, {five}}}, make_complex ((int8){two}, (int8)1)}}",
                          f"inner ({two}, {three}, {{{four}, {five}}}, make_complex ((int8){three}, (int8){five}))"))
        return f"item ({one}, {deep})"

    def record_definition(self, names: Names) -> str:
        name, part, other = self.name(), self.name(), self.name()
        if self.in_main and self.chance.random() < 0.4:
            text = f"item {name}, other {other} = renewed ({self.record(names, 1)});"
            names.numbers.append(f"{other}.a")
        else:
            text = f"item {name} = {self.record(names, 2)};"
        names.records.append(name)
        names.numbers += [f"{name}.a", f"{name}.deep.c", f"{name}.deep.d[1]", f"(double)real ({name}.deep.e)"]
        if self.chance.random() < 0.5:
            text += f" inner {part} = {name}.deep;"
            names.numbers.append(f"{part}.b")
        return text

    def helper(self) -> str:
        left, right, result = (self.pick(_NUMBERS) for _ in range(3))
        names = Names(["x", "y"])
        return (f"{result}, bool helper ({left} x, {right} y) {{\n{self.definitions(names, 2)}}} "
                f"return ({self.number(names, 2)}, {self.boolean(names, 1)});")

    def main(self) -> str:
        self.in_main = True
        names = Names()
        parameters = []
        for _ in range(self.chance.randint(1, 3)):
            name, kind = self.name(), self.pick(_NUMBERS)
            parameters.append(f"{kind} {name}")
            names.numbers.append(name)
        for _ in range(self.chance.randint(1, 2)):
            name, kind, rank = self.name(), self.pick(_NUMBERS), self.chance.randint(1, 2)
            parameters.append(f"{kind} {name}[{','.join(':' * rank)}]")
            names.arrays.append((name, rank, kind))
        for rank in range(3):
            name = self.name()
            if self.chance.random() < 0.4:
                parameters.append(f"item {name}[{','.join(':' * rank)}]" if rank else f"item {name}")
                names.rows += [(name, rank)] * (rank > 0)
                names.records += [name] * (not rank)
                names.arrays += [(f"{name}.deep.c", rank, "double")] * (rank > 0)
        text = self.definitions(names, 2) + "".join(self.loop(names, 2) for _ in range(self.chance.randint(1, 3)))
        results, returned = [], []
        for name, rank, kind in names.arrays[-3:]:
            results.append(f"{kind}[{','.join(':' * rank)}]")
            returned.append(name)
        for name in names.records[-1:]:
            results.append("item")
            returned.append(name)
        for name, rank in names.rows[-2:]:
            results.append(f"item[{','.join(':' * rank)}]")
            returned.append(name)
        for name in names.numbers[-3:]:
            results.append("double")
            returned.append(name)
        return f"{', '.join(results)} main ({', '.join(parameters)}) {{\n{text}}} return ({', '.join(returned)});"

    def definitions(self, names: Names, depth: int) -> str:
        lines = []
        for _ in range(self.chance.randint(1, 3)):
            name, kind = self.name(), self.chance.random()
            if kind < 0.15 and depth:
                lines.append(self.record_definition(names))
            elif kind < 0.6:
                lines.append(f"{self.pick(_NUMBERS)} {name} = {self.number(names, depth)};")
                names.numbers.append(name)
            elif kind < 0.7:
                other = self.name()
                if self.in_main:
                    call = f"helper ({self.number(names, 1)}, {self.number(names, 1)})"
                    lines.append(f"{self.pick(_NUMBERS)} {name}, bool {other} = {call};")
                    names.numbers.append(name)
                else:
                    lines.append(f"bool {other} = {self.boolean(names, depth)};")
                names.bools.append(other)
            elif kind < 0.85:
                lines.append(f"bool {name} = {self.boolean(names, depth)};")
                names.bools.append(name)
            else:
                lines.append(f"{self.pick(_BITS)} {name} = {self.bit_string(names, depth)};")
                names.bits.append(name)
        return "".join(f"    {line}\n" for line in lines)

    def number(self, names: Names, depth: int) -> str:
        """An expression of a numeric type."""
        if depth == 0 or self.chance.random() < 0.15:
            known = self.pick(("1.5", "7", "0.3125", "100000"))
            return self.pick([*names.numbers, str(self.chance.randint(0, 300)), f"({self.pick(_NUMBERS)}){known}"])
        kinds = (self.arithmetic, self.arithmetic, self.division, self.converted, self.bitwise, self.conditional,
                 self.switch, self.question, self.function, self.array_value)
        return self.pick(kinds)(names, depth)

    def integer(self, names: Names, depth: int) -> str:
        return f"({self.pick(_INTEGERS)}){self.number(names, depth - 1)}"

    def arithmetic(self, names: Names, depth: int) -> str:
        if self.chance.random() < 0.2:
            return f"(-{self.number(names, depth - 1)})"
        return f"({self.number(names, depth - 1)} {self.pick('+-*')} {self.number(names, depth - 1)})"

    def division(self, names: Names, depth: int) -> str:
        if self.chance.random() < 0.3:
            return f"({self.integer(names, depth)} % {self.chance.randint(1, 9)})"
        divisor = f"({self.pick(('uint8', 'int16', 'fix16.8'))}){self.number(names, depth - 1)} + 3"
        return f"({self.number(names, depth - 1)} / ({divisor}))"

    def converted(self, names: Names, depth: int) -> str:
        return self.pick((lambda: f"(({self.pick(_NUMBERS)}){self.number(names, depth - 1)})",
                          lambda: f"(({self.pick(_INTEGERS)}){self.bit_string(names, depth - 1)})",
                          lambda: f"((uint4){self.boolean(names, depth - 1)})"))()

    def bitwise(self, names: Names, depth: int) -> str:
        return self.pick((lambda: f"(({self.integer(names, depth)}) {self.pick(('<<', '>>'))} "
                                  f"(uint4){self.number(names, depth - 1)})",
                          lambda: f"({self.integer(names, depth)} {self.pick('&|^')} {self.integer(names, depth)})",
                          lambda: f"(~{self.integer(names, depth)})"))()

    def question(self, names: Names, depth: int) -> str:
        return (f"({self.boolean(names, depth - 1)} ? {self.number(names, depth - 1)} : "
                f"{self.number(names, depth - 1)})")

    def function(self, names: Names, depth: int) -> str:
        return f"{self.pick(_FUNCTIONS)} ({self.number(names, depth - 1)})"

    def boolean(self, names: Names, depth: int) -> str:
        if depth == 0:
            return self.pick([*names.bools, "true", "false"])
        kinds = [
            lambda: (f"({self.number(names, depth - 1)} {self.pick(('<', '<=', '>', '>=', '==', '!='))} "
                     f"{self.number(names, depth - 1)})"),
            lambda: f"({self.boolean(names, depth - 1)} {self.pick(('&&', '||', '&', '|', '^'))} "
                    f"{self.boolean(names, depth - 1)})",
            lambda: f"(!{self.boolean(names, depth - 1)})",
            lambda: f"((bool){self.number(names, depth - 1)})",
            lambda: f"({self.bit_string(names, depth - 1)} == {self.bit_string(names, depth - 1)})",
        ]
        return self.pick(kinds)()

    def bit_string(self, names: Names, depth: int) -> str:
        if depth == 0:
            return self.pick([*names.bits, "0b1011", "0b0", "(bits9)0b101"])
        kinds = [
            lambda: f"(({self.pick(_BITS)}){self.number(names, depth - 1)})",
            lambda: f"({self.bit_string(names, depth - 1)} {self.pick('&|^')} {self.bit_string(names, depth - 1)})",
            lambda: f"(~{self.bit_string(names, depth - 1)})",
            lambda: f"({self.bit_string(names, depth - 1)} {self.pick(('<<', '>>'))} {self.chance.randint(0, 40)})",
        ]
        return self.pick(kinds)()

    def conditional(self, names: Names, depth: int) -> str:
        inner = names.copy()
        body = f"{{ {self.definitions(inner, 1).strip()} }} " if depth > 1 else ""
        return (f"(if ({self.boolean(names, depth - 1)}) {body}return ({self.number(inner, depth - 1)}) "
                f"elif ({self.boolean(names, depth - 1)}) return ({self.number(names, depth - 1)}) "
                f"else return ({self.number(names, depth - 1)}))")

    def switch(self, names: Names, depth: int) -> str:
        first, second, other = (self.number(names, depth - 1) for _ in range(3))
        return (f"(switch ((uint3){self.number(names, depth - 1)}) {{ case 1, 4: return ({first}) "
                f"case 0: return ({second}) default: return ({other}) }})")

    def array_value(self, names: Names, depth: int) -> str:
        """A reduction of an array, or an element that may be outside of it."""
        if not names.arrays:
            return "1"
        name, rank, _ = self.pick(names.arrays)
        if self.chance.random() < 0.3:
            return f"{name}[{', '.join(self.chance.choice('0012') for _ in range(rank))}]"
        wide = self.pick(("int32", "fix32.8", "double", "uint16"))
        return f"array_{self.pick(_REDUCTIONS)} (({wide}[{','.join(':' * rank)}]){name})"

    def loop(self, names: Names, depth: int) -> str:
        """A loop that defines new arrays and scalars."""
        outer, inner = names.copy(), names.copy()
        generators, rank = self.generators(inner)
        carried, before = "", ""
        if self.chance.random() < 0.4:
            name, kind = self.name(), self.pick(_NUMBERS)
            before = f"    {kind} {name} = {self.number(outer, 1)};\n"
            inner.numbers.append(name)
            carried = name
        body = self.definitions(inner, depth)
        changes = ""
        if self.chance.random() < 0.25:
            changes = self.name()
            before += f"    item {changes} = {self.record(outer, 1)};\n"
            inner.records.append(changes)
            inner.numbers.append(f"{changes}.deep.b")
            body += f"    next {changes} = {self.record(inner, 2)};\n"
        if carried:
            body += f"    next {carried} = {self.number(inner, depth)};\n"
        targets, returns = [], []
        for _ in range(self.chance.randint(1, 3)):
            self.returned(inner, names, rank, targets, returns, depth)
        if carried:
            targets.append(f"double {self.name()}")
            names.numbers.append(targets[-1].split()[1])
            returns.append(f"final ({carried})")
        if changes:
            names.records.append(self.name())
            targets.append(f"item {names.records[-1]}")
            returns.append(f"final ({changes})")
        return (f"{before}    {', '.join(targets)} = for {generators} {{\n{body}    }} "
                f"return ({', '.join(returns)});\n")

    def returned(self, inner: Names, names: Names, rank: int, targets: list[str], returns: list[str], depth: int
                 ) -> None:
        """One result of a loop of this rank."""
        name, kind, value = self.name(), self.pick(_NUMBERS), self.number(inner, depth)
        choice = self.chance.random()
        mask = f", {self.boolean(inner, 1)}" if self.chance.random() < 0.5 else ""
        if choice < 0.12 and rank < 3:
            targets.append(f"item {name}[{','.join(':' * rank)}]")
            names.rows.append((name, rank))
            returns.append(f"array ({self.record(inner, 1)})")
        elif choice < 0.35 and rank < 3:
            targets.append(f"{kind} {name}[{','.join(':' * rank)}]")
            names.arrays.append((name, rank, kind))
            returns.append(f"array ({value})")
        elif choice < 0.75:
            targets.append(f"{kind} {name}")
            names.numbers.append(name)
            wide = self.pick(("int32", "fix24.8", "double", "uint16"))
            returns.append(f"{self.pick(_REDUCTIONS)} (({wide}){value}{mask})")
        elif choice < 0.85:
            targets.append(f"uint32 {name}[:]")
            names.arrays.append((name, 1, "uint32"))
            returns.append(f"histogram ((uint3){value}, 8{mask})")
        elif choice < 0.95:
            targets.append(f"int32 {name}[:]")
            names.arrays.append((name, 1, "int32"))
            inside = f"{self.pick(_REDUCTIONS)} ((int32){value}{mask})"
            returns.append(f"accum ({inside}, (uint2){self.number(inner, 1)}, 4)")
        else:
            targets.append(f"double {name}[:]")
            names.arrays.append((name, 1, "double"))
            captured = f"(double){self.number(inner, 1)}"
            returns.append(f"vals_at_{self.pick(('maxs', 'mins'))} ((int16){value}, {captured}{mask})")

    def generators(self, inner: Names) -> tuple[str, int]:
        sources = list(inner.arrays)
        first, rank = self.generator(inner, sources)
        if self.chance.random() < 0.2:
            second, other = self.generator(inner, sources)
            return f"{first} cross {second}", rank + other
        return first, rank

    def generator(self, inner: Names, sources: list[tuple[str, int, str]]) -> tuple[str, int]:
        if not sources or self.chance.random() < 0.25:
            name = self.name()
            inner.numbers.append(name)
            low = self.chance.randint(0, 3)
            step = f" step ({self.chance.randint(1, 3)})" if self.chance.random() < 0.5 else ""
            return f"uint8 {name} in [{low}~{low + self.chance.randint(-1, 5)}]{step}", 1
        if inner.rows and self.chance.random() < 0.3:
            return self.record_generator(inner)
        source, rank, kind = self.pick([a for a in sources if a[1] <= 2])
        name, steps = self.name(), f" step ({', '.join(self.chance.choice('112') for _ in range(rank))})"
        choice = self.chance.random()
        if choice > 0.7 and rank == 2:
            inner.arrays.append((name, 1, kind))
            return f"{name} {self.pick(('(~,:)', '(:,~)'))} in {source} step ({self.chance.choice('112')})", 1
        at = self.places(inner, rank)
        if choice < 0.4:
            inner.numbers.append(name)
            return f"{name} in {source}{steps}{at}", rank
        inner.arrays.append((name, rank, kind))
        sizes = ", ".join(self.chance.choice("123") for _ in range(rank))
        return f"window {name}[{sizes}] in {source}{steps}{at}", rank

    def record_generator(self, inner: Names) -> tuple[str, int]:
        """Elements or windows of an array of records."""
        source, rank = self.pick(inner.rows)
        name = self.name()
        if self.chance.random() < 0.6:
            inner.records.append(name)
            inner.numbers += [f"{name}.a", f"{name}.deep.d[0]"]
            return f"{name} in {source}", rank
        inner.rows.append((name, rank))
        inner.arrays.append((f"{name}.a", rank, "double"))
        return f"window {name}[{', '.join(self.chance.choice('12') for _ in range(rank))}] in {source}", rank

    def places(self, inner: Names, rank: int) -> str:
        if self.chance.random() < 0.5:
            return ""
        names = [self.name() for _ in range(rank)]
        inner.numbers += names
        return f" at ({', '.join(f'uint16 {name}' for name in names)})"

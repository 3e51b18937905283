"""Random SA-C programs whose loops can all be dataflow graphs, once they are optimised."""

from __future__ import annotations

import random

_NUMBERS = ("int8", "uint8", "int3", "uint5", "int16", "uint12", "uint32", "int32", "fix16.8", "ufix8.4", "fix8.7",
            "ufix32.16", "bool", "uint1")
_REDUCTIONS = ("sum", "min", "max")


class LoopWriter:
    """Writes one program, with one loop, from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.names: list[str] = []
        self.statements: list[str] = []
        self.count = 0

    def pick(self, items):
        return self.chance.choice(items)

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def program(self) -> str:
        """``main`` with an array, a table, a scalar, and a loop with a body and several returns."""
        kind, other = self.pick([k for k in _NUMBERS if k != "bool"]), self.pick(_NUMBERS)
        self.names = ["s"]
        generators = self.generators()
        carried = self.chance.random() < 0.4
        start = f"    {self.pick(_NUMBERS)} c = s;\n" if carried else ""
        if carried:
            self.names.append("c")
        for _ in range(self.chance.randint(1, 4)):
            name = self.new()
            self.statements.append(f"{self.pick(_NUMBERS)} {name} = {self.value(2)};")
            self.names.append(name)
        if carried:
            self.statements.append(f"next c = {self.value(2)};")
        types, returns = self.returns(carried)
        names = [self.new() for _ in types]
        left = ", ".join(f"{type_} {name}{rank}" for (type_, rank), name in zip(types, names, strict=True))
        body = "".join(f"        {line}\n" for line in self.statements)
        results = ", ".join(f"{type_}{rank}" for type_, rank in types)
        return (f"{results} main ({kind} A[:,:], {other} B[:,:], uint8 table[5], {self.pick(_NUMBERS)} s) {{\n{start}"
                f"    {left} = for {generators} {{\n{body}    }} return ({', '.join(returns)});\n"
                f"}} return ({', '.join(names)});")

    def generators(self) -> str:
        """Two-dimensional ones that have equal shapes."""
        form = self.chance.randrange(4)
        if form == 0:
            self.names += ["a", "b", "(uint8)i"]
            return "a in A at (uint16 i, _) dot b in B"
        if form == 1:
            h, w = self.chance.randint(1, 3), self.chance.randint(1, 3)
            self.names += [f"W[{self.chance.randrange(h)},{self.chance.randrange(w)}]" for _ in range(3)]
            self.names.append(self.pick(("array_max (W)", "array_sum (W)", "array_min (W)", "array_median (W)"))
                              if self.chance.random() < 0.7 else "array_sum ((int16[:,:])W)")
            step = f" step ({self.chance.randint(1, 2)},{self.chance.randint(1, 2)})"
            return f"window W[{h},{w}] in A{self.pick(('', step))}"
        if form == 2:
            self.names += ["(uint8)i", "(uint8)j", "table[i]"]
            return "uint4 i, int5 j in [0~4,-2~3]"
        self.names += ["a"]
        return f"a in A step ({self.chance.randint(1, 3)},{self.chance.randint(1, 3)})"

    def value(self, depth: int) -> str:
        if depth == 0 or self.chance.random() < 0.2:
            return self.pick([*self.names, *self.names, str(self.chance.randint(0, 300)),
                              f"({self.pick(_NUMBERS)}){self.pick(('1.5', '7', '0.3125'))}"])
        return self.pick((self.arithmetic, self.arithmetic, self.shift, self.choice, self.switch, self.cast, self.bits,
                          self.root, self.quarter, self.comparison))(depth - 1)

    def arithmetic(self, depth: int) -> str:
        if self.chance.random() < 0.2:
            return f"(-{self.value(depth)})"
        return f"({self.value(depth)} {self.pick('+-***')} {self.value(depth)})"

    def shift(self, depth: int) -> str:
        return f"(({self.pick(_NUMBERS)}){self.value(depth)} {self.pick(('<<', '>>'))} (uint4){self.value(depth)})"

    def choice(self, depth: int) -> str:
        return f"({self.comparison(depth)} ? {self.value(depth)} : {self.value(depth)})"

    def switch(self, depth: int) -> str:
        return (f"(switch (({self.pick(('uint3', 'int4', 'uint8'))}){self.value(depth)}) {{ case 0, 5: return "
                f"({self.value(depth)}) case -3, 300: return ({self.value(depth)}) default: return "
                f"({self.value(depth)}) }})")

    def cast(self, depth: int) -> str:
        return f"(({self.pick(_NUMBERS)}){self.value(depth)})"

    def bits(self, depth: int) -> str:
        sides = [f"(bits{self.chance.randint(1, 32)}){self.value(depth)}" for _ in range(2)]
        if self.chance.random() < 0.3:
            return f"(({self.pick(_NUMBERS)})(~{sides[0]}))"
        return f"(({self.pick(_NUMBERS)})({sides[0]} {self.pick('&|^')} {sides[1]}))"

    def root(self, depth: int) -> str:
        source, target = self.pick(("uint8", "int16", "ufix8.1", "fix16.8", "uint32", "ufix32.16")), self.pick(
            ("uint8", "ufix8.4", "fix16.8", "uint32", "bool", "int4", "ufix20.8"))
        return f"(({target})sqrt (({source}){self.value(depth)}))"

    def quarter(self, depth: int) -> str:
        return f"(({self.pick(('uint12', 'ufix8.4', 'uint32'))}){self.value(depth)} / {self.pick((1, 2, 4, 16))})"

    def comparison(self, depth: int) -> str:
        return f"({self.value(depth)} {self.pick(('<', '<=', '==', '!=', '>', '>='))} {self.value(depth)})"

    def returns(self, carried: bool) -> tuple[list[tuple[str, str]], list[str]]:
        """Types, with ranks, and what is returned."""
        types: list[tuple[str, str]] = []
        found = []
        if carried:
            types.append((self.pick(_NUMBERS), ""))
            found.append("final (c)")
        for _ in range(self.chance.randint(1, 3)):
            form = self.chance.randrange(5)
            mask = f", {self.comparison(1)}" if self.chance.random() < 0.4 else ""
            kind = self.pick([k for k in _NUMBERS if k != "bool"])
            if form == 0:
                types.append((kind, "[:,:]"))
                found.append(f"array (({kind}){self.value(1)})")
            elif form == 1:
                types.append((kind, ""))
                found.append(f"{self.pick(_REDUCTIONS)} (({kind}){self.value(1)}{mask})")
            elif form == 2:
                types.append(("uint32", "[:]"))
                found.append(f"histogram ((uint3){self.value(1)}, 8{mask})")
            elif form == 3:
                types.append((kind, "[:]"))
                found.append(f"accum ({self.pick(_REDUCTIONS)} (({kind}){self.value(1)}{mask}), "
                             f"(uint2){self.value(1)}, 4)")
            else:
                tile = self.new()
                self.statements.append(f"{kind} {tile}[2,1] = {{{{{self.value(1)}}},{{{self.value(1)}}}}};")
                types.append((kind, "[:,:]"))
                found.append(f"tile ({tile})")
        return types, found

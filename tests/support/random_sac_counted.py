"""Random SA-C programs whose results have the extents that a run gives them: bounded ``while`` loops, ``concat``."""

from __future__ import annotations

from random_sac_nests import NestWriter

__all__ = ["CountedWriter"]

_TYPES = ("uint8", "int8", "uint5", "int12", "fix12.4")


class CountedWriter(NestWriter):
    """Writes one program from a seed."""

    def program(self) -> str:
        """One of the kinds."""
        return self.pick((self.orbit, self.orbits, self.compacted, self.places))()

    def condition(self, *names: str) -> str:
        """What an element may be or not."""
        a, b = (self.pick(names) for _ in range(2))
        return self.pick((f"(int16){a} > {self.chance.randint(-9, 90)}", f"(int16){a} <= (int16){b}",
                          f"((int16){a} + (int16){b}) < {self.chance.randint(0, 150)}",
                          f"(int16){a} != {self.chance.randint(0, 5)}"))

    def counter(self) -> tuple[str, str, str]:
        """A counter's first value, the bound on it, and what an iteration gives it."""
        trips, step, first = self.chance.randint(1, 9), self.chance.randint(1, 3), self.chance.randint(0, 4)
        if self.chance.random() < 0.5:
            return str(first), f"k {self.pick(('<', '<='))} {first + trips * step}", f"k + {step}"
        return str(first + trips * step), f"k {self.pick(('>', '>='))} {first}", f"k - {step}"

    def loop(self, results: str, returned: str) -> str:
        """A ``while`` loop with a counter `k` and values `x` and `y`, which are there."""
        _, bound, following = self._counter
        more = self.pick(("", f" && {self.condition('x', 'y')}", f" && {self.condition('x', 'y')}"))
        return (f"{results} = while ({bound}{more}) {{\nint16 old = x;\nnext k = {following};\n"
                f"next x = {self.value('x', 'y')};\nnext y = {self.pick(('old', 'y + 1', 'old - y'))};\n}} "
                f"return ({returned});\n")

    def orbit(self) -> str:
        """A loop of its own, with arrays."""
        self._counter = self.counter()
        mask = self.pick(("", f", {self.condition('x', 'old')}"))
        kind = self.pick(("sum", "min", "max"))
        return (f"int16, int16[:], int16 main ({self.pick(_TYPES)} a, {self.pick(_TYPES)} b) {{\n"
                f"int16 k = {self._counter[0]}; int16 x = (int16)a; int16 y = (int16)b;\n"
                + self.loop("int16 r, int16 T[:], int16 s",
                            f"final ({self.pick('kxy')}), array ({self.value('x', 'old')}), {kind} (y{mask})")
                + "} return (r, T, s);\n")

    def orbits(self) -> str:
        """A loop for each element."""
        self._counter = self.counter()
        kind = self.pick(("sum", "min", "max"))
        return (f"int16[:], int16[:], int16 main ({self.pick(_TYPES)} A[{self.extent()}], int8 b) {{\n"
                "// PRAGMA (no_unroll)\nint16 R[:], int16 S[:], int16 m = for a in A {\n"
                f"int16 k = {self._counter[0]}; int16 x = (int16)a; int16 y = (int16)b;\n"
                + self.loop("int16 r, int16 s", f"final ({self.pick('kxy')}), {kind} (x)")
                + f"}} return (array (r), array (s), {self.pick(('sum', 'max'))} (r));\n}} return (R, S, m);\n")

    def elements(self, *names: str) -> str:
        """An array `V` of no, one or two elements, as their values say."""
        count = self.chance.randint(1, 2)
        values = ", ".join(self.value(*names) for _ in range(count))
        fewer = "E[1:0]" if count == 1 else self.pick((
            "E[1:0]", "E[0:0]", f"({self.condition(*names)} ? E[0:0] : E[1:0])",
            f"({self.condition(*names)} ? E[1:1] : E)"))
        return (f"int16 E[{count}] = {{{values}}};\n"
                f"int16 V[:] = {self.condition(*names)} ? E : {fewer};\n")

    def compacted(self) -> str:
        """Elements that some others are behind each other; a loop behind reads them."""
        mask = self.pick(("", f", {self.condition('a')}"))
        behind = self.pick(("s", "s", "s + (for v in C return (sum (v)))"))
        return (f"int16[:], int16 main ({self.pick(_TYPES)} A[{self.chance.randint(2, 9)}], int8 b) {{\n"
                f"// PRAGMA (no_unroll)\nint16 C[:], int16 s = for a in A {{\n{self.elements('a', 'b')}}} "
                f"return (concat (V), {self.pick(('sum', 'max'))} ((int16)a{mask}));\n}} return (C, {behind});\n")

    def places(self) -> str:
        """Windows and indices; a value that is carried."""
        return (f"int16[:], int16[:], int16 main ({self.pick(_TYPES)} A[{self.chance.randint(3, 9)}]) {{\n"
                f"int16 x = {self.chance.randint(0, 9)};\n// PRAGMA (no_unroll)\n"
                "int16 C[:], int16 R[:], int16 f = for window W[2] in A at (uint8 i) {\n"
                f"{self.elements('W[0]', 'W[1]', 'i')}next x = {self.value('x', 'W[0]')};\n}} "
                "return (concat (V), array (x), final (x));\n} return (C, R, f);\n")

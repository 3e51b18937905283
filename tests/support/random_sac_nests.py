"""Random SA-C programs whose loops are crossed, inside others, or go where values say."""

from __future__ import annotations

import random

__all__ = ["NestWriter"]

_TYPES = ("uint8", "int8", "uint5", "int12", "fix12.4", "ufix8.3")


class NestWriter:
    """Writes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def pick(self, items):
        return self.chance.choice(items)

    def program(self) -> str:
        """One of the kinds."""
        return self.pick((self.crossed, self.rows, self.labelled, self.carried, self.chained))()

    def value(self, *names: str) -> str:
        """A value of int16 of elements."""
        terms = [self.pick((f"(int16){name}", f"((int16){name} * {self.chance.randint(2, 9)})",
                            f"((int16){name} >> {self.chance.randint(1, 2)})")) for name in names]
        return self.pick(("{0} + {1}", "{0} - {1}", "({0} > {1} ? {0} : {1} + 1)")).format(
            terms[0], terms[1] if len(terms) > 1 else self.chance.randint(1, 20))

    def extent(self) -> int:
        return self.chance.randint(2, 5)

    def crossed(self) -> str:
        n, m, step = self.extent(), self.extent() + 1, self.chance.randint(1, 2)
        other = self.pick((f"b in B step ({step})", "window W[2] in B"))
        b = "W[1]" if other.startswith("window") else "b"
        mask = self.pick(("", ", a > 3"))
        return (f"int16[:,:], int16 main ({self.pick(_TYPES)} A[{n}], {self.pick(_TYPES)} B[{m}]) {{\n"
                f"// PRAGMA (no_unroll)\nint16 R[:,:], int16 s = for a in A cross {other} "
                f"return (array ({self.value('a', b)}), "
                f"{self.pick(('sum', 'max', 'min'))} ({self.value(b, 'a')}{mask}));\n}} return (R, s);\n")

    def rows(self) -> str:
        n, m = self.extent(), self.extent()
        first, second = self.pick(("sum", "max", "min")), self.pick(("array", "sum"))
        kind = "int16[:,:]" if second == "array" else "int16[:]"
        colons = "[:]" if second == "array" else ""
        return (f"{kind}, int16[:] main ({self.pick(_TYPES)} A[{n},{m}], int8 k) {{\n"
                f"// PRAGMA (no_unroll)\n{kind.replace('[', ' R[', 1)}, int16 S[:] = for Row (~,:) in A {{\n"
                f"// PRAGMA (no_unroll)\nint16 s = for a in Row return ({first} ({self.value('a', 'k')}));\n"
                f"// PRAGMA (no_unroll)\nint16 t{colons} = for a in Row return ({second} ({self.value('a', 's')}));\n"
                f"}} return (array (t), array (s + Row[0]));\n}} return (R, S);\n").replace("s + Row[0]",
                                                                                      "s + (int16)Row[0]")

    def labelled(self) -> str:
        n = self.chance.randint(3, 9)
        mask = self.pick(("", ", a > 9"))
        return (f"uint8[:], int16[:], int9[:] main (uint8 A[{n}], int9 T[8]) {{\n// PRAGMA (no_unroll)\n"
                f"uint8 H[:], int16 S[:], int9 G[:] = for a in A return (histogram (a & 7, 8{mask}), "
                f"accum ({self.pick(('sum', 'max', 'min'))} ({self.value('a')}), a >> 6, 4), "
                "array (T[(a >> 2) & 7]));\n} return (H, S, G);\n")

    def carried(self) -> str:
        n, m = self.extent(), self.extent()
        return (f"int16[:,:], int16[:] main ({self.pick(_TYPES)} A[{n},{m}]) {{\n// PRAGMA (no_unroll)\n"
                "int16 R[:,:], int16 F[:] = for Row (~,:) in A {\n"
                f"int16 s = {self.pick(('7', '(int16)Row[1]'))};\n// PRAGMA (no_unroll)\n"
                f"int16 r[:], int16 f = for a in Row {{\nnext s = {self.value('s', 'a')};\n}} "
                "return (array (s), final (s));\n} return (array (r), array (f));\n} return (R, F);\n")

    def chained(self) -> str:
        n = self.chance.randint(4, 9)
        return (f"int16[:], int16 main ({self.pick(_TYPES)} A[{n}]) {{\n// PRAGMA (no_unroll)\n"
                f"int16 B[:], int16 m = for a in A return (array ({self.value('a')}), max ((int16)a));\n"
                f"// PRAGMA (no_unroll)\nint16 C[:], int16 s = for window W[{self.chance.randint(2, 3)}] in B "
                f"return (array ({self.value('W[0]', 'W[1]')} - m), sum (W[1], W[0] < {self.chance.randint(0, 50)}));\n"
                "} return (C, s);\n")

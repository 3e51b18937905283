"""Random SA-C programs that fulfil what passes over loops ask for, so that a test can tell that a pass was at work."""

from __future__ import annotations

import random
from math import prod

_TYPES = ("uint8", "int8", "uint16", "int12", "fix16.4", "ufix8.2")
_WIDE = ("int32", "uint16", "fix24.8")
_JOINED = ("sum", "min", "max")


class LoopWriter:
    """Writes windows, bodies and programs from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def pick(self, items):
        return self.chance.choice(items)

    def sizes(self, rank: int, most: int) -> list[int]:
        return [self.chance.randint(1, most) for _ in range(rank)]

    def term(self, window: str, shape: list[int]) -> str:
        """An element of a window, or a reduction of a part of it."""
        if self.chance.random() < 0.6:
            return f"{window}[{', '.join(str(self.chance.randrange(n)) for n in shape)}]"
        wide, rank = self.pick(_WIDE), len(shape)
        part = ", ".join(f"{low}:{self.chance.randint(low, n - 1)}" for n in shape
                         for low in [self.chance.randrange(n)])
        return f"array_{self.pick(_JOINED)} (({wide}[{','.join(':' * rank)}]){window}[{part}])"

    def body(self, windows: list[tuple[str, list[int]]]) -> str:
        """An expression of windows."""
        terms = [self.term(*self.pick(windows)) for _ in range(self.chance.randint(1, 3))]
        text = terms[0]
        for term in terms[1:]:
            text = f"({text} {self.pick('+-*')} {term})"
        if self.chance.random() < 0.3:
            text = f"({text} > {self.term(*self.pick(windows))} ? {text} : {self.chance.randint(0, 9)})"
        return text

    def returns(self, value: str, rank: int, tiles: bool = True) -> tuple[list[str], list[str]]:
        """Types of results, and what the loop returns for them."""
        kinds, written = [], []
        for _ in range(self.chance.randint(1, 3)):
            choice = self.chance.random()
            if choice < 0.5:
                kinds.append(f"{self.pick(_TYPES)} R[{','.join(':' * rank)}]")
                written.append(f"array ({value})")
            elif choice < 0.65 and tiles:
                kinds.append(f"int16 R[{','.join(':' * rank)}]")
                written.append("tile (T)")
            else:
                mask = f", {value} > 3" if self.chance.random() < 0.5 else ""
                kinds.append(f"{self.pick(_WIDE)} R")
                written.append(f"{self.pick(_JOINED)} (({self.pick(_WIDE)}){value}{mask})")
        return kinds, written

    def window_loop(self, array: str, window: str, sizes: list[int], steps: list[int]) -> str:
        return f"window {window}[{','.join(map(str, sizes))}] in {array} step ({','.join(map(str, steps))})"

    def strip(self, pragmas: tuple[str, ...], known: bool = True) -> str:
        """A loop with pragmas that can be followed, over an array whose extents are `known`."""
        rank = self.chance.randint(1, 2)
        windows, steps = self.sizes(rank, 3), self.sizes(rank, 3)
        larger = [[w + self.chance.randint(0, 4) for w in windows] for _ in pragmas]
        extents = [max(row) + self.chance.randint(0, 9) for row in zip(*larger, strict=True)]
        value = self.body([("W", windows)])
        tile = self.sizes(rank, 2)
        kinds, written = self.returns(value, rank)
        lines = "".join(f"// PRAGMA ({pragma} ({','.join(map(str, sizes))}))\n"
                        for pragma, sizes in zip(pragmas, larger, strict=True))
        shape = map(str, extents) if known else ":" * rank
        return self.program(f"{self.pick(_TYPES)} A[{','.join(shape)}]", kinds,
                            f"{lines}for {self.window_loop('A', 'W', windows, steps)} {{\n"
                            f"int16 T[{','.join(map(str, tile))}] = {self.braces(tile, ['W'], windows)};\n}} "
                            f"return ({', '.join(written)})")

    def braces(self, shape: list[int], windows: list[str], sizes: list[int]) -> str:
        """An initialiser of an array."""
        if len(shape) == 1:
            return f"{{{', '.join(self.term(windows[0], sizes) for _ in range(shape[0]))}}}"
        return f"{{{', '.join(self.braces(shape[1:], windows, sizes) for _ in range(shape[0]))}}}"

    def program(self, parameters: str, kinds: list[str], loop: str, before: str = "") -> str:
        """A function whose results are those of a loop."""
        types = [kind.replace(" R", "") for kind in kinds]
        names = [f"r{number}" for number in range(len(kinds))]
        targets = [kind.replace(" R", f" {name}") for kind, name in zip(kinds, names, strict=True)]
        return (f"{', '.join(types)} main ({parameters}) {{\n{before}{', '.join(targets)} =\n{loop};\n}} "
                f"return ({', '.join(names)});")

    def pair(self) -> str:
        """A loop that reads what another makes, alone or beside other arrays."""
        rank = self.chance.randint(1, 2)
        count = self.chance.randint(1, 2)
        steps, lower_steps = self.sizes(rank, 2), self.sizes(rank, 2)
        lower = self.sizes(rank, 3)
        uppers = [self.sizes(rank, 3) for _ in range(count)]
        middle = [self.chance.randint(n, 6) for n in lower]
        arrays = [[(m - 1) * s + w + self.chance.randrange(s) for m, s, w in zip(middle, steps, sizes, strict=True)]
                  for sizes in uppers]
        parameters = [f"{self.pick(_TYPES)} A{k}[{','.join(map(str, e))}]" for k, e in enumerate(arrays)]
        kind = self.pick(_TYPES)
        at = rank == 1 and self.chance.random() < 0.3
        generators = " dot ".join(self.window_loop(f"A{k}", f"U{k}", sizes, steps)
                                  for k, sizes in enumerate(uppers)) + (" at (uint16 i)" if at else "")
        value = self.body([(f"U{k}", sizes) for k, sizes in enumerate(uppers)]) + (" + i" if at else "")
        colons = ",".join(":" * rank)
        before = f"{kind} M[{colons}] = for {generators} return (array (({kind})({value})));\n"
        element = prod(lower) == 1 and self.chance.random() < 0.7
        below = self.chance.random() < 0.3
        if element:
            generator, value = f"m in M step ({','.join(map(str, lower_steps))})", "(m * 3 - 1)"
        else:
            generator, value = self.window_loop("M", "L", lower, lower_steps), self.body([("L", lower)])
        if below:
            names = ", ".join(f"uint16 p{k}" for k in range(rank))
            generator += f" at ({names})"
            value = f"({value} + p0)"
        carried = self.chance.random() < 0.2
        kinds, written = self.returns(value, rank, tiles=False)
        before += "int32 s = 5;\n" if carried else ""
        text = f"{{\nnext s = s * 3 + {value};\n}} " if carried else ""
        if carried:
            kinds.append("int32 R")
            written.append("final (s)")
        loop = f"for {generator} {text}return ({', '.join(written)})"
        return self.program(", ".join(parameters), kinds, loop, before)

    def repeated(self) -> str:
        """A loop whose body computes one function of parts of its windows that lie some columns apart."""
        rank, count = self.chance.randint(1, 2), self.chance.randint(1, 2)
        step = self.chance.randint(1, 2)
        steps = [*self.sizes(rank - 1, 2), step]
        parts = [self.sizes(rank, 2) for _ in range(count)]
        most = self.chance.randint(1, 3)
        windows = [[*(n + self.chance.randint(0, 1) for n in part[:-1]), part[-1] + most * step] for part in parts]
        iterations = self.sizes(rank, 5)
        extents = [[(n - 1) * s + w + self.chance.randrange(s) for n, s, w in zip(iterations, steps, size, strict=True)]
                   for size in windows]
        calls = []
        for _ in range(self.chance.randint(3, 5)):
            k, shift = self.chance.randrange(count), self.chance.randint(0, most) * step
            lows = [0] * (rank - 1) + [shift]
            taken = ", ".join(f"{low}:{low + n - 1}" for low, n in zip(lows, parts[k], strict=True))
            calls.append(f"f{k} (W{k}[{taken}])")
        last = self.chance.randrange(count)
        for shift in (0, most * step):  # the outermost ones, so that something repeats
            taken = ", ".join(f"{low}:{low + n - 1}" for low, n in zip([0] * (rank - 1) + [shift], parts[last],
                                                                      strict=True))
            calls.append(f"f{last} (W{last}[{taken}])")
        value = "(" + f" {self.pick('+-')} ".join(calls) + ")"
        at = self.chance.random() < 0.3
        places = f" at ({', '.join(f'uint16 p{k}' for k in range(rank))})" if at else ""
        value = f"({value} + p{rank - 1} * 5)" if at else value
        kinds, written = self.returns(value, rank)
        kinds.append(f"int16 R[{','.join(':' * rank)}]")
        written.append(f"array ({value})")
        tile = self.sizes(rank, 2)
        generators = " dot ".join(self.window_loop(f"A{k}", f"W{k}", windows[k], steps) + (places if k == 0 else "")
                                  for k in range(count))
        functions = "".join(f"int16 f{k} (int16 V[{','.join(map(str, part))}]) return "
                            f"({self.body([('V', part)])} * 3 + {self.chance.randint(1, 9)});\n"
                            for k, part in enumerate(parts))
        parameters = ", ".join(f"int16 A{k}[{','.join(map(str, e))}]" for k, e in enumerate(extents))
        return functions + self.program(
            parameters, kinds, f"// PRAGMA (no_unroll)\nfor {generators} {{\nint16 T[{','.join(map(str, tile))}] = "
                               f"{self.braces(tile, [f'W{last}'], windows[last])};\n}} return ({', '.join(written)})")

    def several(self) -> str:
        """A loop that makes several arrays, all of which another reads in the same way."""
        rank, count = self.chance.randint(1, 2), self.chance.randint(2, 3)
        upper, lower = self.sizes(rank, 3), self.sizes(rank, 2)
        types = [self.pick(("uint8", "int8", "fix8.4", "bool", "bits7")) for _ in range(count)]
        extents = [w + v + self.chance.randint(0, 4) for w, v in zip(upper, lower, strict=True)]
        colons, source = ",".join(":" * rank), self.pick(_TYPES)
        given = [f"({kind}){self.body([('W', upper)])}" for kind in types]
        before = (", ".join(f"{kind} M{k}[{colons}]" for k, kind in enumerate(types)) +
                  f" = for {self.window_loop('A', 'W', upper, [1] * rank)} return "
                  f"({', '.join(f'array ({value})' for value in given)});\n")
        element = self.chance.random() < 0.4
        generators = " dot ".join(f"m{k} in M{k}" if element else self.window_loop(f"M{k}", f"m{k}", lower, [1] * rank)
                                  for k in range(count))
        values = [f"((int16)m{k})" if element else f"((int16)m{k}[{', '.join('0' * rank)}])" for k in range(count)]
        kinds, written = self.returns(f"({' * '.join(values)})", rank, tiles=False)
        return self.program(f"{source} A[{','.join(map(str, extents))}]", kinds,
                            f"for {generators} return ({', '.join(written)})", before)

    def siblings(self) -> str:
        """Two loops over one array, or over two whose results meet."""
        rank = self.chance.randint(1, 2)
        windows, steps = self.sizes(rank, 3), self.sizes(rank, 2)
        other = self.sizes(rank, 3)
        counts = self.sizes(rank, 5)
        colons = ",".join(":" * rank)
        one = [(n - 1) * s + w for n, s, w in zip(counts, steps, windows, strict=True)]
        two = [n - 1 + w for n, w in zip(counts, other, strict=True)]
        kind = self.pick(_TYPES)
        if self.chance.random() < 0.5:
            first = self.window_loop("A", "W", windows, steps)
            between = f"array_sum ((int16[{colons}])X)" if self.chance.random() < 0.5 else "3"
            text = (f"{kind} X[{colons}] = for {first} return (array (({kind}){self.body([('W', windows)])}));\n"
                    f"int16 s = {between};\n"
                    f"{kind} Y[{colons}] = for {first} return (array (({kind}){self.body([('W', windows)])}));\n")
            return (f"{kind}[{colons}], {kind}[{colons}], int16 main ({kind} A[{','.join(map(str, one))}]) "
                    f"{{\n{text}}} return (X, Y, s);")
        text = (f"{kind} X[{colons}] = for {self.window_loop('A', 'W', windows, steps)} return "
                f"(array (({kind}){self.body([('W', windows)])}));\n"
                f"{kind} Y[{colons}] = for {self.window_loop('B', 'V', other, [1] * rank)} return "
                f"(array (({kind}){self.body([('V', other)])}));\n"
                f"{kind} Z[{colons}] = for x in X dot y in Y return (array (({kind})(x * 3 - y)));\n")
        return (f"{kind}[{colons}] main ({kind} A[{','.join(map(str, one))}], {kind} B[{','.join(map(str, two))}]) "
                f"{{\n{text}}} return (Z);")

    def unused(self) -> str:
        """A loop with a window of which rows or columns at a border are not used."""
        rank = self.chance.randint(1, 2)
        sizes = [self.chance.randint(2, 4) for _ in range(rank)]
        box = [(low, self.chance.randint(low, size - 1)) for size in sizes for low in [self.chance.randrange(size)]]
        if all(low == 0 and high == size - 1 for (low, high), size in zip(box, sizes, strict=True)):
            box[0] = (1, box[0][1])
        corners = [f"W[{', '.join(str(self.pick(span)) for span in box)}]" for _ in range(3)]
        at = f" at ({', '.join(f'uint16 p{k}' for k in range(rank))})" if self.chance.random() < 0.5 else ""
        value = f"({corners[0]} * 3 - {corners[1]} + {corners[2]}{' + p0' if at else ''})"
        kinds, written = self.returns(value, rank, tiles=False)
        extents = [size + self.chance.randint(-1, 5) for size in sizes]
        shape = ",".join(":" * rank) if self.chance.random() < 0.5 else ",".join(map(str, extents))
        loop = f"for {self.window_loop('A', 'W', sizes, self.sizes(rank, 2))}{at} return ({', '.join(written)})"
        return self.program(f"{self.pick(_TYPES)} A[{shape}]", kinds, f"// PRAGMA (no_unroll)\n{loop}")

    def invariant(self) -> str:
        """A loop that computes something alike in each iteration."""
        sizes = self.sizes(2, 2)
        value = f"({self.body([('W', sizes)])} + k * {self.chance.randint(3, 9)})"
        kinds, written = self.returns(value, 2, tiles=False)
        inside = self.pick(("n * n + 1", "n > 3 ? n - 3 : (int16)7", "array_sum ((int16[:])B)", "(int16)n ^ 5"))
        return self.program(f"{self.pick(_TYPES)} A[:,:], int16 n, int16 B[3]", kinds,
                            f"for {self.window_loop('A', 'W', sizes, [1, 1])} {{ int16 k = {inside}; }} "
                            f"return ({', '.join(written)})")

    def converted(self) -> str:
        """A loop over an array that was converted as a whole, and a reference to it."""
        rank, wide = self.chance.randint(1, 2), self.pick(("int32", "uint16", "fix24.8", "double"))
        sizes, colons = self.sizes(rank, 2), ",".join(":" * rank)
        generator = f"W in B step ({','.join('1' * rank)})" if prod(sizes) == 1 else self.window_loop("B", "W", sizes,
                                                                                                      [1] * rank)
        value = "(W * 2)" if prod(sizes) == 1 else f"({self.term('W', sizes)} + 1)"
        first = f"B[{', '.join('0' * rank)}]"
        source = self.pick([kind for kind in _TYPES if kind != wide])
        return self.program(f"{source} A[{colons}]", [f"int32 R[{colons}]"],
                            f"for {generator} return (array (({value}) - {first}))",
                            f"{wide} B[{colons}] = ({wide}[{colons}])A;\n")

    def narrowed(self) -> str:
        """A loop that computes with more bits than its values have, or than are used."""
        kind = self.pick(("uint3", "int4", "uint5", "bits6"))
        wide = "int32" if kind == "int4" else self.pick(("uint32", "int32"))
        terms = [f"({wide})W[{self.chance.randrange(3)}]" for _ in range(4)]
        shifts = [f"({term} << {self.chance.randint(1, 3)})" for term in terms[:2]]
        value = (f"(({shifts[0]} {self.pick('+-|&^')} {terms[1]}) {self.pick('+-*')} "
                 f"({terms[2]} {self.pick('+-|')} {self.chance.randint(0, 9)}) >> {self.chance.randint(0, 2)})")
        if self.chance.random() < 0.5:
            value = f"({terms[3]} {self.pick(('<', '>=', '=='))} {value} ? {value} : {shifts[1]})"
        used = self.pick(("uint7", "int9", wide))
        return self.program(f"{kind} A[9]", [f"{used} R[:]", f"{wide} R"],
                            f"// PRAGMA (no_unroll)\nfor window W[3] in A return (array (({used}){value}), "
                            f"{self.pick(_JOINED)} ({value}))")

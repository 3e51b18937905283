"""Every operation of parallel arrays, compiled, equals numpy for every element type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from compiled import compile_and_check
from random_arrays import TYPES, random_inputs

from compiler.frontend import parallel_array as pa

Function = Callable[[pa.Array, pa.Array], pa.Array]

OPERATIONS: dict[str, Function] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "invert": lambda a, b: ~a,
    "negate": lambda a, b: -a, "left": lambda a, b: a << (b & 7), "right": lambda a, b: a >> (b & 15),
    "scalar left": lambda a, b: 3 << (b & 3), "scalar right": lambda a, b: 77 >> (b & 3),
    "minimum": pa.minimum, "maximum": pa.maximum, "absolute": lambda a, b: abs(a), "difference": pa.abs_difference,
    "high": lambda a, b: pa.multiply_high(a.astype("int32") * 77777, b.astype("int32") << 19),
    "high without sign": lambda a, b: pa.multiply_high(a.astype("uint32") * 99991, b.astype("uint32") << 17),
    "high by a number": lambda a, b: pa.multiply_high(a.astype("int32") << 16, -1234567891) + b,
    "equal": lambda a, b: a == b, "unequal": lambda a, b: a != b, "less": lambda a, b: a < b,
    "at most": lambda a, b: a <= b, "greater": lambda a, b: a > b, "at least": lambda a, b: a >= b,
    "where": lambda a, b: pa.where(a > 3, a, b), "where scalar": lambda a, b: pa.where(b, 1, a),
    "clip": lambda a, b: a.clip(3, 99), "divide": lambda a, b: a // 7, "divide by 16": lambda a, b: a // 16,
    "divide by 100": lambda a, b: a // 100, "remainder": lambda a, b: a % 10, "remainder 8": lambda a, b: a % 8,
    "reverse subtract": lambda a, b: 5 - a, "from scalar": lambda a, b: b - 3, "scalar": lambda a, b: 3 * a + 1,
    "logic": lambda a, b: (a > 3) & ~(b > 7) | (a == b), "count": lambda a, b: (a > b).astype("uint8") + (b > 3),
    "sum": lambda a, b: a.sum(), "rows": lambda a, b: (a * b).sum(axis=1), "columns": lambda a, b: a.sum(axis=0),
    "least": lambda a, b: a.min(), "greatest": lambda a, b: b.max(axis=0), "least rows": lambda a, b: b.min(axis=1),
    "any": lambda a, b: (a > 100).any(axis=1), "all": lambda a, b: (a != 3).all(), "dot": lambda a, b: a[0].dot(b[1]),
    "matrix": lambda a, b: a @ b.T, "vector": lambda a, b: a @ b[0], "kept": lambda a, b: a - a.max(1, keepdims=True),
    "transpose": lambda a, b: a.T, "reverse": lambda a, b: a[::-1, ::-1], "steps": lambda a, b: a[1::2, ::3],
    "section": lambda a, b: a[1:-1, 2:] + b[:-2, :-2], "row": lambda a, b: a[1] + b,
    "column": lambda a, b: a * b[:, 2:3], "interleave": lambda a, b: pa.interleave([a + b, a - b, b]),
    "interleave columns": lambda a, b: pa.interleave([a, b], axis=1)[:, 1:] + 1,
    "element": lambda a, b: a + b[1, 2], "rotate": lambda a, b: pa.rotate(a, (1, -2)) - b,
    "wrap": lambda a, b: pa.shift(a + b, (2, 3), pa.WRAP), "clamp": lambda a, b: pa.shift(a - b, (-2, 1), pa.CLAMP),
    "default": lambda a, b: pa.shift(a | b, (1, -1), pa.default(7)) + a,
    "two boundaries": lambda a, b: pa.shift(a, 2, (pa.WRAP, pa.default(5))) + pa.shift(b, -1, (pa.CLAMP, pa.WRAP)),
    "beyond": lambda a, b: pa.shift(a, (99, 0), pa.CLAMP) + pa.shift(b, (0, -99), pa.default(1)),
    "stretch": lambda a, b: pa.stretch(a, (2, 3)), "stretch computed": lambda a, b: pa.stretch(a ^ b, (3, 1)),
    "windows": lambda a, b: pa.sliding_window_view(a, (2, 3)).max(axis=(2, 3)),
    "box": lambda a, b: pa.sliding_window_view(a, (3, 3)).sum(axis=(2, 3)),
    "match": lambda a, b: pa.abs_difference(a[:2, :3], pa.sliding_window_view(b, (2, 3))).sum(axis=(2, 3)),
    "filter": lambda a, b: (pa.sliding_window_view(a, 4, axis=1) * np.array([1, 0, 5, 3], np.int8)).sum(axis=2),
    "broadcast": lambda a, b: pa.broadcast_to(a[2], (4, 7)) + 1,
    "constant": lambda a, b: a[:, :3] * np.eye(5, 3, dtype=np.int8),
    "table": lambda a, b: pa.take(np.arange(-9, 40, dtype=np.int8), a, mode="clip") + b,
    "own table": lambda a, b: pa.take(a[1], b, mode="wrap"), "table of sums": lambda a, b: (a + b).max(axis=0)[a & 3],
    "rank": lambda a, b: (a[:, :, None] > b[0][None, None, :]).sum(axis=2),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str, kind: str) -> None:
    function = OPERATIONS[name]
    a, b = pa.input("a", (5, 7), kind), pa.input("b", (5, 7), kind)
    try:
        program = pa.program("test", out=function(a, b))
    except pa.ArrayError as error:
        assert "no common type of 32 bits" in str(error) and kind == "uint32"
        return
    rng = np.random.default_rng(5)
    lanes, scratchpad = ((2, 256), (4, None))[len(name) % 2]
    # The plans of some are searched for: what an operation does is the same in all plans.
    searched = TYPES.index(kind) == len(name) % len(TYPES)
    compile_and_check(program, random_inputs(program, rng), lanes=lanes, scratchpad=scratchpad, search=searched)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("other", TYPES)
def test_conversion(kind: str, other: str) -> None:
    x = pa.input("x", 40, kind)
    converted = x.astype(other)
    program = pa.program("test", plain=converted, used=(x + 1).astype(other) + 3, compared=converted < 90)
    compile_and_check(program, random_inputs(program, np.random.default_rng(1)), lanes=1)


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 7, 10, 60, 641, 1000, 65535, 65536, 1000003, 2**31 - 1])
@pytest.mark.parametrize("kind", ["int32", "uint32"])
def test_division_is_exact(divisor: int, kind: str) -> None:
    x = pa.input("x", 64, kind)
    limits = np.iinfo(kind)
    near = np.array([limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, divisor - 1, divisor], np.int64)
    multiples = np.random.default_rng(divisor).integers(limits.min // divisor + 1, limits.max // divisor, 28) * divisor
    data = np.concatenate([near, multiples, multiples - 1]).astype(kind)
    program = pa.program("test", quotient=x // divisor, rest=x % divisor)
    compile_and_check(program, {"x": data}, lanes=4)

"""Parallel arrays: the numpy back end is numpy, and what cannot be built says why and where."""

# pyright: reportAssignmentType=false, reportCallIssue=false, reportArgumentType=false, reportOperatorIssue=false
# What types refuse is what is tested here.

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import compiler
from compiler.bind.registry import TargetError
from compiler.frontend import parallel_array as pa

DATA = np.random.default_rng(3).integers(-100, 100, (6, 7)).astype(np.int16)
x = pa.input("x", (6, 7), "int16")
SQUARES = np.arange(9, dtype=np.int16) ** 2
windows = np.lib.stride_tricks.sliding_window_view

EXPRESSIONS: list[tuple[pa.Array, Callable[[np.ndarray], object]]] = [
    (x + 1, lambda d: d + 1), (3 - x * 2, lambda d: 3 - d * 2), (x // 3 + x % 5, lambda d: d // 3 + d % 5),
    (x << 3 >> 1, lambda d: d << 3 >> 1), (~x & 15 | 64 ^ x, lambda d: ~d & 15 | 64 ^ d), (-abs(x), lambda d: -abs(d)),
    ((x > 3) | (x == -3), lambda d: (d > 3) | (d == -3)), (~(x <= 0), lambda d: ~(d <= 0)),
    (pa.where(x != 0, x, 7), lambda d: np.where(d != 0, d, np.int16(7))), (x.clip(-5, 9), lambda d: d.clip(-5, 9)),
    (pa.minimum(x, x.T[0, 0]), lambda d: np.minimum(d, d[0, 0])), (x[::2, ::-1].T, lambda d: d[::2, ::-1].T),
    (x[1, None, ..., -2:], lambda d: d[1, None, ..., -2:]), (x.sum(), lambda d: d.sum(dtype=np.int32)),
    (x.sum(axis=1, dtype="int16"), lambda d: d.sum(axis=1, dtype=np.int16)), (x.min(0), lambda d: d.min(0)),
    (x.max(axis=(0, 1)), lambda d: d.max()), ((x > 90).any(1), lambda d: (d > 90).any(1)),
    ((x > -99).all(), lambda d: (d > -99).all()),
    (x.max(axis=1, keepdims=True) - x, lambda d: d.max(axis=1, keepdims=True) - d), (x @ x.T, lambda d: d @ d.T),
    (x @ x[0], lambda d: d @ d[0]), (x[1].dot(x[2]), lambda d: d[1].dot(d[2])),
    (pa.rotate(x, (1, -2)), lambda d: np.roll(d, (1, -2), (0, 1))),
    (pa.stretch(x, 2), lambda d: d.repeat(2, 0).repeat(2, 1)),
    (pa.shift(x, (1, 0), pa.default(5)), lambda d: np.vstack([np.full((1, 7), 5, np.int16), d[:-1]])),
    (pa.shift(x, (0, -1), pa.CLAMP), lambda d: np.hstack([d[:, 1:], d[:, -1:]])),
    (x.section((-1, 0), (8, 3), (1, 2), (pa.WRAP, pa.CLAMP)), lambda d: np.pad(d, ((1, 1), (0, 0)), "wrap")[:, 0:6:2]),
    (pa.sliding_window_view(x, (2, 3)).max(axis=(2, 3)), lambda d: windows(d, (2, 3)).max(axis=(2, 3))),
    (pa.interleave([x, x + 1], axis=1), lambda d: np.stack([d, d + 1], 2).reshape(6, 14)),
    (x.astype("uint8"), lambda d: d.astype(np.uint8)), (x.astype("bool"), lambda d: d.astype(bool)),
    (pa.abs_difference(x, -x), lambda d: np.abs(2 * d)),
    (pa.multiply_high(x.astype("int32") << 20, -7 << 24),
     lambda d: ((d.astype(np.int64) << 20) * (-7 << 24) >> 32).astype(np.int32)),
    (pa.multiply_high(x.astype("uint32"), np.uint32(3 << 30)),
     lambda d: (d.astype(np.uint32).astype(np.uint64) * (3 << 30) >> 32).astype(np.uint32)),
    (x * np.arange(7, dtype=np.int16), lambda d: d * np.arange(7, dtype=np.int16)),
    (np.arange(7, dtype=np.int32) - x, lambda d: np.arange(7, dtype=np.int32) - d),
    (x + np.int8(3), lambda d: d + np.int8(3)),
    (sum(row for row in x), lambda d: d.sum(0, dtype=np.int16)),
    (pa.broadcast_to(x[0], (3, 7)), lambda d: np.broadcast_to(d[0], (3, 7))),
    (pa.broadcast_to(x[0, 1], (3, 7)), lambda d: np.broadcast_to(d[0, 1], (3, 7))),
    (pa.flip(x, 0) - pa.flip(x), lambda d: np.flip(d, 0) - np.flip(d)),
    (pa.roll(x, (3, -1), (1, 0)), lambda d: np.roll(d, (3, -1), (1, 0))),
    (pa.roll(x, 2, 1), lambda d: np.roll(d, 2, 1)), (pa.swapaxes(x, 0, -1), lambda d: np.swapaxes(d, 0, -1)),
    (pa.repeat(x, 3, 1), lambda d: np.repeat(d, 3, 1)), (pa.tile(x, (2, 3)), lambda d: np.tile(d, (2, 3))),
    (pa.tile(x, 2), lambda d: np.tile(d, 2)), (pa.pad(x, 2, "edge"), lambda d: np.pad(d, 2, "edge")),
    (pa.pad(x, ((1, 0), (0, 3)), "wrap"), lambda d: np.pad(d, ((1, 0), (0, 3)), "wrap")),
    (pa.pad(x, 1, constant_values=-4), lambda d: np.pad(d, 1, constant_values=-4)),
    (pa.concatenate([x, x[:2] * 2, x[3:4]]), lambda d: np.concatenate([d, d[:2] * 2, d[3:4]])),
    (pa.concatenate([x[:, :1], x], 1), lambda d: np.concatenate([d[:, :1], d], 1)),
    (pa.stack([x[0], x[1] + 1, x[2]], 1), lambda d: np.stack([d[0], d[1] + 1, d[2]], 1)),
    (pa.square(x), lambda d: np.square(d)), (pa.diff(x), lambda d: np.diff(d)),
    (pa.diff(x, 1, 0), lambda d: np.diff(d, 1, 0)), (pa.diff(x, 3), lambda d: np.diff(d, 3)),
    (pa.outer(x[0], x[1]), lambda d: np.outer(d[0], d[1])), (pa.inner(x[0], x[1]), lambda d: np.inner(d[0], d[1])),
    (np.where(x > 3, np.minimum(x, 9), np.abs(x)), lambda d: np.where(d > 3, np.minimum(d, 9), np.abs(d))),
    (np.roll(x[0], 2) + np.repeat(x[1], 2)[:7], lambda d: np.roll(d[0], 2) + np.repeat(d[1], 2)[:7]),
    (np.sum(x, axis=0, dtype="int32") - np.max(x), lambda d: np.sum(d, axis=0, dtype=np.int32) - np.max(d)),
    (np.concatenate([x, np.zeros_like(x)]), lambda d: np.concatenate([d, np.zeros_like(d)])),
    (np.logical_and(x, x > 2) ^ np.logical_not(x), lambda d: np.logical_and(d, d > 2) ^ np.logical_not(d)),
    (pa.logical_or(x > 9, x) & pa.logical_xor(x, 1), lambda d: np.logical_or(d > 9, d) & np.logical_xor(d, 1)),
    (np.sign(x) + pa.sign(x.astype("uint8")), lambda d: np.sign(d) + np.sign(d.astype(np.uint8))),
    (x ** 3 + x ** 0, lambda d: d ** 3 + d ** 0), (divmod(x, 7)[1] * divmod(x, 7)[0], lambda d: d % 7 * (d // 7)),
    (x.clip(max=4) + np.clip(x, -3, 3), lambda d: d.clip(max=4) + np.clip(d, -3, 3)),
    ((x.astype("uint8") < 300) & (x.astype("uint8") > -1) | (x == 70000), lambda d: np.full(d.shape, True)),
    (x.reshape(2, -1, 7, 1) + 1, lambda d: d.reshape(2, -1, 7, 1) + 1),
    (np.reshape(x[:, :6], (3, 2, 2, 3)), lambda d: d[:, :6].reshape(3, 2, 2, 3)),
    (np.squeeze(x[:1]) - pa.ravel(pa.expand_dims(x[1], 0)), lambda d: d[0] - d[1]),
    (pa.add(x, 1) * pa.negative(x), lambda d: (d + 1) * -d),
    (x + pa.arange(7, dtype="int16") * pa.full((6, 1), 3, "int16"),
     lambda d: d + np.arange(7, dtype=np.int16) * np.int16(3)),
    (x[0][x & 3] + np.take(x[:, 2], x >> 13), lambda d: d[0][d & 3] + d[:, 2][d >> 13]),
    (pa.take(SQUARES, x[1], mode="clip") - SQUARES[-1], lambda d: np.take(SQUARES, d[1], mode="clip") - SQUARES[-1]),
    (x[0].take(x, mode="wrap") + x[0][[3, -1, 0]][:1], lambda d: d[0].take(d, mode="wrap") + d[0][3]),
    (pa.take(SQUARES, [x.shape[0], -1]) * x[2, 3], lambda d: SQUARES[[6, -1]] * d[2, 3]),
    (pa.take(x[0], (x & 7).astype("uint8") * 40, mode="wrap"), lambda d: d[0].take((d & 7) * 40 % 256, mode="wrap")),
    (pa.take(np.arange(300, dtype=np.int16), x.astype("int8"), mode="wrap"),
     lambda d: np.arange(300, dtype=np.int16).take(d.astype(np.int8), mode="wrap")),
    (pa.ones((6, 7)) - pa.zeros(7) + pa.arange(2, 16, 2),
     lambda d: np.ones((6, 7), np.int32) + np.arange(2, 16, 2, np.int32)),
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_the_numpy_back_end_is_numpy(number: int) -> None:
    expression, formula = EXPRESSIONS[number]
    wanted = np.asarray(formula(DATA))
    inputs = {"x": DATA} if number < len(EXPRESSIONS) - 1 else {}
    found = pa.evaluate(expression, inputs)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert (found == wanted).all()
    assert (compiler.evaluate(expression, inputs, lanes=1) == wanted).all()


def test_several_results_and_data_given_with_the_array() -> None:
    y = pa.array(DATA, "y")
    found = pa.evaluate({"twice": y * 2, "count": len(y) + y[:, 0]})
    assert (found["twice"] == DATA * 2).all() and (found["count"] == DATA[:, 0] + 6).all()


def test_types_combine_as_documented() -> None:
    u8, i16, u32 = (pa.input(t, 4, t) for t in ("uint8", "int16", "uint32"))
    assert (u8 + i16).dtype == np.int16 and (u8 * u32).dtype == np.uint32 and (u8 + 255).dtype == np.uint8
    assert u8.sum().dtype == np.uint32 and i16.sum().dtype == np.int32 and (u8 < i16).dtype == np.bool_
    assert ((u8 < 3) + (u8 > 1)).dtype == np.uint8 and ((u8 < 3) & (u8 > 1)).dtype == np.bool_


def broken(name: str) -> object:
    """Expressions that cannot be built; each line is what its message must quote."""
    u32, small = pa.input("u", 7, "uint32"), pa.input("s", 3, "int16")
    match name:
        case "shapes":
            return x + small
        case "types":
            return u32 + x
        case "range":
            return x + 40000
        case "divisor":
            return x // 0
        case "float":
            return x + np.float64(1.5)
        case "operand":
            return x * "text"
        case "truth":
            return "yes" if x > 3 else "no"
        case "index":
            return x[9]
        case "fancy":
            return x[[1, 2]]
        case "table axis":
            return np.take(x, small, axis=1)
        case "condition":
            return x[0][x > 3]
        case "mode":
            return np.take(small, x, mode="nearest")
        case "numpy's table":
            return SQUARES[x]
        case "numpy's take":
            return np.take(SQUARES, x)
        case "fractional index":
            return small[np.array([0.5])]
        case "empty":
            return x[3:3]
        case "outside":
            return x.section((0, 1), (6, 7))
        case "axis":
            return x.sum(axis=2)
        case "matrix":
            return x @ x
        case "window":
            return pa.sliding_window_view(x, (7, 7))
        case "element":
            return pa.input("f", 4, "float16")
        case "shape":
            return pa.input("f", (2, 0), "int8")
        case "promise":
            return pa.input("f", 4, "int8", high=200)
        case "interleave":
            return pa.interleave([x, small])
    return broken_function(name)


def broken_function(name: str) -> object:
    """The same with numpy's functions and methods."""
    small = pa.input("s", 3, "int16")
    match name:
        case "fraction":
            return x / 2
        case "method":
            return x.partition(3)
        case "function":
            return np.median(x)
        case "reduce":
            return np.add.reduce(x, initial=3)
        case "accumulate":
            return np.multiply.accumulate(x)
        case "at":
            return np.add.at(x, small, 1)
        case "mean":
            return x.mean(axis=0)
        case "sort":
            return np.sort(pa.input("long", 65, "int8"))
        case "differences":
            return pa.diff(x, 7)
        case "padding":
            return pa.pad(x, 1, "mean")
        case "assigned":
            x.section((0, 0), (6, 7))[1:3] = np.zeros((3, 7), np.int16)
            return "return "
        case "subscripts":
            return np.einsum("ij,jk->ik", x, x)
        case "ellipsis":
            return np.einsum("...j->...", x)
        case "labels":
            return np.einsum("ij->ii", x)
        case "arrays":
            return np.einsum("ij,ij", x)
        case "axes":
            return np.tensordot(x, x, axes=3)
        case "kron":
            return np.kron(x, small)
        case "convolution":
            return np.convolve(small, x[0])
        case "convolution mode":
            return np.convolve(x[0], small, "all")
        case "diagonal":
            return np.diagonal(x, 7)
        case "triangle":
            return np.tril(small)
        case "option":
            return np.sum(x, where=DATA > 0)
        case "exponent":
            return x ** -1
        case "sizes":
            return x.reshape(5, -1)
        case "repeat":
            return pa.repeat(x, 2)
        case "matrices":
            return x[None] @ x
        case "high":
            return pa.multiply_high(x, 7)
    raise AssertionError(name)


ERRORS = {
    "shapes": "shapes (6, 7) and (3,) do not fit",
    "types": "uint32 and int16 have no common type of 32 bits: convert one with astype",
    "range": "the number 40000 is out of the range of int16 (-32768 to 32767)",
    "divisor": "unsupported operation: a division by 0",
    "float": "unsupported type float64: elements are bool, int8, int16, int32, uint8, uint16, uint32, float32, "
             "bfloat16",
    "operand": "unsupported operand of type str: arrays and numbers are possible",
    "truth": "the elements are not known yet: use where(), any() or all(), not if",
    "index": "index 9 is outside a dimension of 6 elements",
    "fancy": "unsupported operation: a table has one dimension, not shape (6, 7)",
    "table axis": "unsupported operation: a table has one dimension, not shape (6, 7) along axis 1",
    "condition": "unsupported operation: how many elements a condition selects is not known; where() chooses between "
                 "elements, and indices are integers",
    "mode": "there is no mode 'nearest' of take(): raise, clip, wrap",
    "numpy's table": "the elements are not known yet; take(table, indices) looks them up in an array of numpy's",
    "numpy's take": "the elements are not known yet; take(table, indices) looks them up in an array of numpy's",
    "fractional index": "unsupported type float64: elements are bool, int8, int16, int32, uint8, uint16, uint32, "
                        "float32, bfloat16",
    "empty": "the section 3:3:1 of 6 elements is empty",
    "outside": "index 7 is outside dimension 1 of shape (6, 7)",
    "axis": "there is no axis 2 in an array of 2 dimensions",
    "matrix": "shapes (6, 7) and (6, 7) do not fit: columns of the first, rows of the second",
    "window": "a window of 7 does not fit dimension 0 of shape (6, 7)",
    "element": "unsupported type float16: elements are bool, int8, int16, int32, uint8, uint16, uint32, float32, "
             "bfloat16",
    "shape": "unsupported shape (2, 0): arrays have up to 6 dimensions of at least one element",
    "promise": "the range -128 to 200 does not lie in int8 (-128 to 127)",
    "interleave": "(6, 7) int16, (3,) int16 cannot be interleaved along axis 0: one shape and type, and an axis of it",
    "fraction": "unsupported operation: divide of int16, whose results are fractions: // rounds quotients down, "
                "astype('float32') makes other numbers of it",
    "method": "unsupported operation: there is no partition for parallel arrays",
    "function": "unsupported operation: there is no median for parallel arrays; np.sort(x, axis=-1)[..., n // 2] is "
                "the one of an odd number n of elements",
    "reduce": "unsupported operation: numpy's add.reduce with these arguments: Array.sum() got an unexpected keyword "
              "argument 'initial'",
    "accumulate": "unsupported operation: multiply.accumulate; there are add, minimum, maximum",
    "at": "unsupported operation: there is no add.at for parallel arrays",
    "mean": "unsupported operation: the mean of int16 is a fraction: sum(axis) // count rounds it down, "
            "astype('float32') keeps it",
    "sort": "unsupported operation: 65 elements are sorted side by side, of which 64 are possible; a loop nest in C "
            "sorts more",
    "differences": "there are no differences of order 7 along axis -1 of shape (6, 7)",
    "padding": "there is no padding 'mean'; there are: constant, edge, wrap, reflect, symmetric",
    "assigned": "shapes (3, 7) and (2, 7) do not fit",
    "subscripts": "subscripts 'ij,jk->ik': 'j' is 7 and 6",
    "ellipsis": "unsupported subscripts '...j->...': letters, commas and -> are possible",
    "labels": "subscripts 'ij->ii': the result has letters twice, or such that no array has",
    "arrays": "'ij,ij' names 2 arrays, and there are 1",
    "axes": "axes 3 do not fit shapes (6, 7) and (6, 7)",
    "kron": "a Kronecker product of shapes (6, 7) and (3,) is unsupported: give them equally many dimensions",
    "convolution": "a convolution of shapes (3,) and (7,) is unsupported: 1-D, the longer one first",
    "convolution mode": "there is no mode 'all' of convolutions: full, same, valid",
    "diagonal": "a matrix of shape (6, 7) has no diagonal 7",
    "triangle": "unsupported operation: a triangle of an array of 1 dimensions",
    "option": "unsupported operation: numpy's sum with these arguments: Array.sum() got an unexpected keyword argument "
              "'where'",
    "exponent": "unsupported operation: the exponent -1 is no number from 0 on",
    "sizes": "shape (6, 7) of 42 elements cannot become (5, -1)",
    "repeat": "unsupported operation: without an axis, 2 dimensions would become one",
    "high": "multiply_high takes int32 or uint32, not int16: use astype and multiply",
    "matrices": "shapes (1, 6, 7) and (6, 7) do not fit: columns of the first, rows of the second",
}


def test_arrays_have_the_attributes_that_they_have() -> None:
    assert hasattr(x, "argmax") and not hasattr(x, "partition") and not hasattr(x, "__array_interface__")


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_line(name: str) -> None:
    with pytest.raises(pa.ArrayError) as caught:
        broken(name)
    message = str(caught.value)
    assert message.startswith("test_parallel_array.py:") and message.endswith(ERRORS[name])
    assert "': " in message and ("return " in message or "] = " in message)


@pytest.mark.parametrize(("inputs", "message"), [
    ({}, "input x is missing"),
    ({"x": DATA[:2]}, "input x has shape (2, 7), the program needs (6, 7)"),
    ({"x": DATA * 1.5}, "input x holds float64, the program needs int16"),
    ({"x": DATA.astype(np.int32) + 40000}, "outside -32768 to 32767"),
    ({"x": DATA, "z": DATA}, "program program has no input 'z'; inputs: x"),
])
def test_inputs_are_checked(inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(pa.ArrayError) as caught:
        pa.evaluate(x + 1, inputs)
    assert message in str(caught.value)


def test_indices_are_checked() -> None:
    with pytest.raises(pa.ArrayError, match=r"test_parallel_array.py:\d+: .*: index 99 is outside the table of 7 "):
        pa.evaluate(x[0][x], {"x": np.full_like(DATA, 99)})


def test_programs_are_checked() -> None:
    with pytest.raises(pa.ArrayError, match="program p has no output"):
        pa.program("p")
    with pytest.raises(pa.ArrayError, match="output y is no parallel array"):
        pa.program("p", y=3)
    with pytest.raises(pa.ArrayError, match="there is another input or output of the name 'x'"):
        pa.program("p", y=x + pa.input("x", (6, 7), "int8")).reference({})
    with pytest.raises(TargetError, match="there is no target 'gpu' to evaluate on; there are: numpy, machine, cgra"):
        compiler.evaluate(x, {"x": DATA}, target="gpu")

"""Numpy's functions on parallel arrays: each computes what numpy does, as loops and on the vector machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend import parallel_array as pa
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.ir.interpret import interpret

_RANDOM = np.random.default_rng(6)
ARRAYS = {
    "x": _RANDOM.integers(-100, 100, (4, 6)).astype(np.int16), "m": _RANDOM.integers(-9, 9, (6, 6)).astype(np.int32),
    "s": _RANDOM.integers(-3, 4, (5,)).astype(np.int32), "t": _RANDOM.integers(-99, 99, (2, 3, 4)).astype(np.int32),
    "u": _RANDOM.integers(0, 9, (4, 2)).astype(np.int32),
}
FLOATS = {"f": _RANDOM.standard_normal((3, 5)).astype(np.float32), "g": _RANDOM.standard_normal(5).astype(np.float32)}
WORD = np.int32


def _set(a: Any, index: Any, value: Any) -> Any:
    changed = a * 1
    changed[index] = value
    return changed


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cumsum": lambda x: np.cumsum(x, axis=1, dtype=WORD), "cumsum of all": lambda x: np.cumsum(x, dtype=WORD),
    "cumsum of columns": lambda x: x.cumsum(axis=0, dtype=WORD), "maxima": lambda x: np.maximum.accumulate(x, axis=1),
    "minima": lambda x: np.minimum.accumulate(x), "reduce": lambda x: np.add.reduce(x, dtype=WORD),
    "differences": lambda s: np.subtract.outer(s, s), "argmax": lambda x: np.argmax(x, axis=1).astype(WORD),
    "argmin of all": lambda m: np.argmin(m).astype(WORD), "count": lambda m: np.count_nonzero(m, axis=0).astype(WORD),
    "ptp": lambda x: np.ptp(x, axis=0), "prod": lambda s: np.prod(s, dtype=WORD),
    "prod of rows": lambda u: np.prod(u, axis=0, dtype=WORD), "sort": lambda x: np.sort(x),
    "sort of columns": lambda t: np.sort(t, axis=1), "trace": lambda m: np.trace(m, dtype=WORD) if _known(m) else
    np.trace(m), "diagonal": lambda x: np.diagonal(x, 2), "tril": lambda m: np.tril(m, -1), "triu": np.triu,
    "matmul": lambda t, u: t @ u, "matmul of a vector": lambda s, x: s[:4] @ x, "einsum": lambda m, s: np.einsum(
        "ij,jk,k->i", m, m[:, :5], s), "einsum of a diagonal": lambda m: np.einsum("ii->i", m),
    "einsum without a result": lambda m: np.einsum("ji", m), "tensordot": lambda t, u: np.tensordot(t, u, axes=1),
    "tensordot of axes": lambda t, u: np.tensordot(u, t, axes=([0], [2])), "kron": lambda m, u: np.kron(m[:2, :2], u),
    "convolve": lambda m, s: np.convolve(m[0], s), "convolve same": lambda m, s: np.convolve(m[0], s[:4], "same"),
    "correlate": lambda m, s: np.correlate(m[0], s, "valid"), "ravel": lambda x: x.ravel()[::-1],
    "reshape": lambda x: x.reshape(3, 8), "reshape of three": lambda t: t.reshape(6, 4) + t.reshape(1, 6, 4)[0],
    "roll of all": lambda x: np.roll(x, 5), "arange": lambda x: (x[:, :1] == np.arange(4)).sum(axis=0, dtype=WORD),
    "a border": lambda m: _set(m, (slice(1, -1), slice(1, -1)), m[:-2, 1:-1] + m[2:, 1:-1]),
    "a column": lambda m: _set(m, (slice(None), -1), m[:, 0]), "a row": lambda m: _set(m, 2, 7),
    "backwards": lambda m: _set(m, slice(None, None, -1), m), "an element": lambda m: _set(m, (0, 3), 1),
    "vstack": lambda x: np.vstack([x, x[0]]), "hstack": lambda x: np.hstack([x, x[:, :2]]),
    "hstack of rows": lambda s: np.hstack([s, s[::-1]]), "column_stack": lambda s: np.column_stack([s, -s]),
    "flipud": lambda x: np.flipud(x), "fliplr": lambda x: np.fliplr(x), "turned": lambda x: np.rot90(x),
    "turned back": lambda x: np.rot90(x, -1), "moveaxis": lambda t: np.moveaxis(t, 0, -1),
    "split": lambda x: np.split(x, 3, axis=1)[1], "split at": lambda x: np.split(x, [1, 3])[2],
    "diag": lambda s: np.diag(s), "diag above": lambda s: np.diag(s, 2), "diag below": lambda s: np.diag(s, -1),
    "diag of a matrix": lambda m: np.diag(m, 1), "isin": lambda x: np.isin(x, [1, 2, 50]).astype(WORD),
    "select": lambda x: np.select([x > 50, x < 0], [x - 50, -x], 3), "squeeze": lambda x: np.squeeze(x[:, :1], axis=1),
    "kept range": lambda x: np.ptp(x, axis=1, keepdims=True), "padded alike": lambda x: np.pad(x, (1, 2)),
    "every second": lambda m: _set(m, (slice(1, None, 2), slice(None, None, 3)), m[:3, :2]),
    "every third backwards": lambda m: _set(m, (slice(None, None, -3), 2), m[1, :2]),
    "steps in a new dimension": lambda t: _set(t, (1, slice(None), slice(3, 0, -2)), t[0, 1, :2]),
    "floor": lambda x, m: x[:, :4] // m[:4, :4], "remainder": lambda x, m: x[:, :4] % m[:4, :4],
    "negative divisor": lambda x: x // -7 + x % -3, "divided number": lambda s: 100 // s + -7 % s,
    "least divisor": lambda x: x.astype(np.int8) // np.int8(-128), "divided by one": lambda m: m // m[0, :1],
    "reflected": lambda x: np.pad(x, ((2, 3), (0, 5)), "reflect"),
    "reflected twice": lambda x: np.pad(x, ((7, 0), (0, 8)), "reflect"),
    "symmetric": lambda x: np.pad(x, ((1, 4), (2, 0)), "symmetric"), "second differences": lambda x: np.diff(x, 2),
}
LOOPS_ONLY: dict[str, Callable[..., Any]] = {
    "divide": lambda f, g: f / g, "sqrt": lambda f: np.sqrt(np.abs(f)),
    "maximum of fractions": lambda f: f.max(axis=1), "sums of fractions": lambda f: np.cumsum(f, axis=1),
    "mean": lambda f: f.T.mean(axis=1), "norm": lambda f: f / np.sqrt((f * f).T.sum(axis=0))[:, None],
    "product of fractions": lambda f: f.prod(axis=0),
}


def _known(a: Any) -> bool:
    return isinstance(a, np.ndarray)


def _program(formula: Callable[..., Any]) -> tuple[pa.Array, dict[str, np.ndarray], np.ndarray]:
    """An expression, its inputs, and what numpy computes."""
    names = formula.__code__.co_varnames[: formula.__code__.co_argcount] if hasattr(formula, "__code__") else ("m",)
    data = {name: (ARRAYS | FLOATS)[name] for name in names}
    with np.errstate(all="ignore"):
        wanted = np.asarray(formula(*data.values()))
    return formula(*(pa.input(name, values.shape, values.dtype) for name, values in data.items())), data, wanted


def _as_loops(expression: pa.Array, data: dict[str, np.ndarray]) -> np.ndarray:
    return interpret(loop_nests(pa.program("p", y=expression)), data)["y"].reshape(expression.shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers(name: str) -> None:
    expression, data, wanted = _program(FUNCTIONS[name])
    found = pa.evaluate(expression, data)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(_as_loops(expression, data), wanted)
    np.testing.assert_array_equal(compiler.evaluate(expression, data, lanes=2, search=False), wanted)


@pytest.mark.parametrize("name", LOOPS_ONLY)
def test_what_lanes_do_not_have(name: str) -> None:
    expression, data, wanted = _program(LOOPS_ONLY[name])
    np.testing.assert_array_equal(pa.evaluate(expression, data), wanted)
    np.testing.assert_array_equal(_as_loops(expression, data), wanted)
    with pytest.raises(VectorTargetError, match=r"test_numpy_functions.py:\d+: "):
        compiler.evaluate(expression, data)


def test_exponentials_are_those_of_the_hardware_and_near_to_those_of_numpy() -> None:
    f = pa.input("f", (3, 5), "float32")
    powers = np.exp(f - f.max(axis=1)[:, None])
    softmax = powers / powers.sum(axis=1)[:, None]
    found = pa.evaluate(softmax, {"f": FLOATS["f"]})
    exact = np.exp(FLOATS["f"].astype(np.float64))
    np.testing.assert_allclose(found, exact / exact.sum(axis=1)[:, None], rtol=1e-6)
    np.testing.assert_array_equal(_as_loops(softmax, {"f": FLOATS["f"]}), found)

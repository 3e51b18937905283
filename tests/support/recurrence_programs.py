"""Recurrences that the tests share: those of apps/systolic, and random ones as C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.program import Program

APPS = Path(__file__).resolve().parents[2] / "apps" / "systolic"

SIZES: dict[str, dict[str, int]] = {
    "lu": {"N": 4}, "cholesky": {"N": 4}, "triangular_solve": {"N": 4, "M": 3}, "seidel": {"N": 5, "T": 2},
    "subsequence": {"N": 5, "M": 4}, "alignment": {"N": 4, "M": 5}, "fir_recurrence": {"N": 6, "TAPS": 3},
}
"""Recurrences of apps/systolic with small sizes."""


def recurrence(name: str) -> Program:
    """A recurrence of apps/systolic at its small size."""
    return load_c(APPS / f"{name}.c", **SIZES[name])


def scop(body: str, arrays: str = "int32_t a[6][6], const int16_t x[12]") -> Program:
    """The program of a scop in one function."""
    return parse_scop(f"#include <stdint.h>\nvoid f({arrays})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")


def elimination_data(size: int, seed: int) -> np.ndarray:
    """A matrix for elimination without pivoting: quotients are not all exact, no pivot is zero."""
    rng = np.random.default_rng(seed)
    while True:
        lower = np.tril(rng.integers(-3, 4, (size, size)), -1) + np.eye(size, dtype=np.int64)
        upper = np.triu(rng.integers(-9, 10, (size, size)), 1) + np.diag(rng.choice([-7, -3, 2, 5, 8], size))
        found = lower @ upper + rng.integers(-1, 2, (size, size))
        if all(round(np.linalg.det(found[:k, :k])) and _quotients_keep_pivots(found) for k in range(1, size + 1)):
            return found


def _quotients_keep_pivots(values: np.ndarray) -> bool:
    """Whether no pivot becomes zero, in both forms of elimination that the programs have."""
    for scaled in (False, True):
        work = [[int(v) for v in row] for row in values]
        for k in range(len(work)):
            if work[k][k] == 0:
                return False
            for i in range(k + 1, len(work)):
                factor = 0 if scaled else _quotient(work[i][k], work[k][k])
                for j in range(k + 1, len(work)):
                    product = _quotient(work[i][k] * work[j][k], work[k][k]) if scaled else factor * work[k][j]
                    work[i][j] -= product
    return True


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def program_data(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Inputs: small numbers, and square matrices that can be eliminated."""
    rng = np.random.default_rng(seed)
    found = {}
    for array in program.inputs:
        if len(array.shape) == 2 and array.shape[0] == array.shape[1]:
            found[array.name] = elimination_data(array.shape[0], seed)
        else:
            found[array.name] = rng.integers(-4, 5, array.shape)
    return found


_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_ROWS = ("0", "i", "1")


@st.composite
def random_recurrence(draw: st.DrawFn) -> str:
    """A nest over i and j (a box, or a triangle), with another loop around or inside or neither, whose statement uses
    what it computed at one to three neighbouring points, and an input along a row, a column or a diagonal."""
    size = draw(st.integers(3, 5))
    low = draw(st.sampled_from(_ROWS))
    steps = draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=3, unique=True))
    outer, inner = draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    places = draw(st.lists(st.sampled_from(["i", "j", "i + j", "0"]), min_size=1, max_size=2))
    terms = [_neighbour(step, low, size) for step in steps] + [f"x[{place}]" for place in places]
    operators = draw(st.lists(st.sampled_from([" + ", " - ", " * "]), min_size=len(terms), max_size=len(terms)))
    value = terms[0] + "".join(op + term for op, term in zip(operators, terms[1:], strict=False))
    statement = f"a[i][j] = {value};"
    if inner:
        along = draw(st.sampled_from(["i", "j", "k", "i + k"]))
        statement = f"{{ {statement} for (int k = 0; k < 3; k++) a[i][j] += x[k] * x[{along}]; }}"
    nest = f"for (int i = 0; i < {size}; i++) for (int j = {low}; j < {size}; j++) {statement}"
    return f"for (int t = 0; t < 2; t++) {nest}" if outer else nest


def _neighbour(step: tuple[int, int], low: str, size: int) -> str:
    """The value one `step` before, or an input where that is outside of the array."""
    di, dj = step
    inside = [f"i >= {di}"] if di else []
    inside += [f"j >= {dj}"] if dj > 0 else [f"j < {size} - 1"] if dj < 0 else []
    return f"({' && '.join(inside)} ? a[i - {di}][j - ({dj})] : x[i])"

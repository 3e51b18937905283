"""Budgets of whole programs: checked before the work, named in the message, adjustable."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from compiler.frontend import parallel_array
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.limits import LIMITS
from compiler.ir.types import ProgramError


def from_c(size: int) -> object:
    return parse_scop(f"void f(short a[{size}], short b[1]) {{\n#pragma scop\nb[0] = a[0];\n#pragma endscop\n}}")


def from_loops(size: int) -> object:
    nest = prog("copy")
    nest.add_input("a", shape=(size,))
    nest.add_output("b", shape=(1,))
    operation = nest.add_loop("i", 0, 1).add_op("Copy")
    operation.add_load("a", "i")
    operation.add_store("b", "i")
    return nest.build()


def from_arrays(size: int) -> object:
    a = parallel_array.input("a", size, "uint16")
    return parallel_array.program("copy", b=a[:1] + 1)


FRONT_ENDS = (from_c, from_loops, from_arrays)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("size", [1 << 28, 10**12, 1 << 62])
def test_bytes_of_arrays(front_end: Callable[[int], object], size: int) -> None:
    with pytest.raises(ProgramError, match=re.escape(f"array 'a' of shape [{size}] takes {2 * size} bytes, all arrays ")
                       + r"\d+; the arrays of a program may take 268435456 \(set SLUICE_MAX_ARRAY_BYTES above "
                       r"268435456 to go on\)"):
        front_end(size)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_budget_of_bytes_can_be_set(front_end: Callable[[int], object], monkeypatch: pytest.MonkeyPatch) -> None:
    front_end(100)
    monkeypatch.setenv("SLUICE_MAX_ARRAY_BYTES", "200")
    with pytest.raises(ProgramError, match="SLUICE_MAX_ARRAY_BYTES above 200"):
        front_end(100)
    monkeypatch.setenv("SLUICE_MAX_ARRAY_BYTES", str(4 * LIMITS["array_bytes"]))
    front_end(1 << 28)


def test_what_stays_on_the_chip_counts_where_it_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """1200 bytes of an array between two statements: no hardware has them, the interpreter does."""
    monkeypatch.setenv("SLUICE_MAX_ARRAY_BYTES", "1000")
    loop = "for (int i = 0; i < 100; i++) { t[6 * i] = a[i]; b[i] = t[6 * i]; }"
    program = parse_scop("void f(const short a[100], short b[100]) {\nshort t[600];\n"
                         f"#pragma scop\n{loop}\n#pragma endscop\n}}")
    with pytest.raises(ProgramError, match=r"array 't' of shape \[600\] takes 1200 bytes, all arrays 1600; "):
        interpret(program, {"a": np.zeros(100, np.int16)})


@pytest.mark.parametrize("given", ["", "0", "-1", "1e9", "many", "²"])
def test_a_budget_is_a_positive_number(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_MAX_ARRAY_BYTES", given)
    with pytest.raises(ProgramError, match=f"SLUICE_MAX_ARRAY_BYTES={given!r} is not a positive integer"):
        from_c(4)

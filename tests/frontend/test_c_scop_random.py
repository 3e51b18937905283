"""Random C functions: the interpreter computes what gcc's code computes, with and without narrowing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import numpy as np
from c_reference import call, compile_c
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_c import SIZE, RandomC, random_function

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.narrow import narrow

BATCH = 10
"""Functions per run of gcc."""

DTYPES = {"char": np.int8, "unsigned": np.uint32}


def _data(function: RandomC, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    data = {}
    for name, type, dims in function.arrays:
        info = np.iinfo(DTYPES.get(type) or type.removesuffix("_t"))
        full = generator.integers(info.min, info.max, (SIZE,) * dims, info.dtype, endpoint=True)
        small = generator.integers(max(info.min, -5), 6, (SIZE,) * dims).astype(info.dtype)
        data[name] = np.where(generator.integers(0, 2, full.shape) == 1, full, small)
    return data


def _require_equal(function: RandomC, memory: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> None:
    """`memory` is what gcc's code made of `before`."""
    wide = parse_scop(function.text, narrowed=False)
    inputs = {a.name: before[a.name.removesuffix("_in")] for a in wide.inputs}
    for narrowed, program in ((False, wide), (True, narrow(wide))):
        for name, result in interpret(program, inputs).items():
            np.testing.assert_array_equal(result, memory[name], err_msg=f"{name}, narrowed={narrowed}\n{function.text}")


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(1862)  # a loop variable is used where a choice fixes it by an equation
def test_random_functions_compute_what_gcc_computes(seed: int) -> None:
    compare_batch(seed)


def compare_batch(seed: int) -> None:
    """One run of gcc: the functions of `seed` on the data of `seed`."""
    random = Random(seed)
    batch = [random_function(random, f"f{number}") for number in range(BATCH)]
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(Path(folder), {function.name: function.text for function in batch})
    for function in batch:
        before = _data(function, seed)
        memory = {name: array.copy() for name, array in before.items()}
        call(library, function.name, list(memory.values()))
        _require_equal(function, memory, before)

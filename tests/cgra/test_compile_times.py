"""How long compiling takes: processor time, which other work on the machine does not prolong."""

from __future__ import annotations

import time

import pytest

import compiler
from compiler.frontend.apps import load


@pytest.mark.parametrize(("app", "seconds"), [("harris", 10), ("unsharp", 10), ("gemm", 60)])
def test_whole_array(app: str, seconds: int) -> None:
    """Place, route and validation included: a tenth of this is usual (``python -m benchmarks.compile_times``)."""
    program = load(app)
    start = time.process_time()
    compiler.compile(program, array="16x32")
    assert time.process_time() - start < seconds

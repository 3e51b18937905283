"""Fixtures of the benches that need an RTL simulator."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from compiler.bind import registry
from compiler.bind.design import Design
from compiler.ir.program import Program
from hw.sim.toolchain import SIMULATORS

_KEPT = 64
"""Designs that are remembered, the last ones."""
_compile = registry.compile_program
_designs: OrderedDict[object, Design] = OrderedDict()
_remembering = False


@wraps(_compile)
def _compile_once(program: Any, target_name: str, **options: Any) -> Design:
    if not _remembering or not isinstance(program, Program):
        return _compile(program, target_name, **options)
    key = program, target_name, repr(sorted(options.items()))
    if key not in _designs:
        _designs[key] = _compile(program, target_name, **options)
    _designs.move_to_end(key)
    while len(_designs) > _KEPT:
        _designs.popitem(last=False)
    return _designs[key]


registry.compile_program = _compile_once


@pytest.fixture(autouse=True)
def one_design_for_both_simulators(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that runs on both simulators compiles its program once: equal programs (with their places in the source)
    and options have one design, except where a test changes the compiler."""
    global _remembering
    _remembering = "monkeypatch" not in request.fixturenames
    yield
    _remembering = False


@pytest.fixture(params=SIMULATORS)
def simulator(request: pytest.FixtureRequest) -> str:
    """Name of an RTL simulator: a test that takes it runs on each of them."""
    return request.param

"""Fixtures of the benches that need an RTL simulator."""

from __future__ import annotations

import pytest

from hw.sim.toolchain import SIMULATORS


@pytest.fixture(params=SIMULATORS)
def simulator(request: pytest.FixtureRequest) -> str:
    """Name of an RTL simulator: a test that takes it runs on each of them."""
    return request.param

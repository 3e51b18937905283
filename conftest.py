"""Settings of all tests."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# Netlists, programs and schedules are many small objects that live as long as a test. Looking for garbage among them at
# Python's usual intervals takes up to a quarter of a test's time.
gc.set_threshold(400_000, 20, 50)

# The suite draws the same examples on every run, and none fails because the machine is busy; `make fuzz` draws others
# on every run.
settings.register_profile("suite", derandomize=True, database=None, deadline=None,
                          suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("SLUICE_FUZZ") else "suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The switch that writes golden texts."""
    parser.addoption("--update-goldens", action="store_true", help="write golden texts in place of comparing with them")


def pytest_collection_finish() -> None:
    """Modules and ten thousand tests stay to the end: no search for garbage looks at them again."""
    gc.collect()
    gc.freeze()

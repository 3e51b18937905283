"""docs/compiling.md lists every variable of the environment that sets something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler.frontend.c_scop.limits import LIMITS as C_LIMITS
from compiler.frontend.sac.limits import LIMITS as SAC_LIMITS
from compiler.ir.limits import LIMITS as PROGRAM_LIMITS
from hw.fabric.bank import LIMITS as BANK_LIMITS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "compiling.md").read_text()


@pytest.mark.parametrize(("limits", "of"), [(C_LIMITS, "C: "), (PROGRAM_LIMITS, ""), (BANK_LIMITS, "`cgra`: "),
                                            (SAC_LIMITS, "SA-C: ")])
def test_every_budget_is_listed_with_its_default(limits: Mapping[str, int], of: str) -> None:
    for resource, default in limits.items():
        assert f"| `SLUICE_MAX_{resource.upper()}` | {default} | {of}" in TEXT


def test_every_variable_that_the_code_names_is_listed() -> None:
    """But for what a bench is told by the process that starts it."""
    sources = [path for folder in ("compiler", "hw", "sluice") for path in (ROOT / folder).glob("**/*.py")]
    sources.append(ROOT / "conftest.py")
    named = {name for path in sources for name in re.findall(r'"(SLUICE_[A-Z_]+)"', path.read_text())}
    listed = set(re.findall(r"^\| `(SLUICE_[A-Z_]+)`", TEXT, re.MULTILINE))
    budgets = {f"SLUICE_MAX_{resource.upper()}" for resource in {*C_LIMITS, *PROGRAM_LIMITS, *BANK_LIMITS, *SAC_LIMITS}}
    assert listed == named - {"SLUICE_BENCH_DATA", "SLUICE_SIMULATOR_LIBRARY"} | budgets

"""A bypass of a processing element that is not the one of the program is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from local_feedback_programs import running_sums
from verify_mappings import Mapping, mapping_of

from compiler.bind.cgra.validate import ValidationError, enumeration
from hw.pe.config import PeConfig


@pytest.fixture(autouse=True, params=["one by one", "by relations"])
def proof(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both proofs, of few instances and of many."""
    if request.param == "by relations":
        for limit in ("_CHEAP", "_QUICK", "_MOST"):
            monkeypatch.setattr(enumeration, limit, 0)


def element(mapping: Mapping) -> tuple[tuple[int, int], PeConfig]:
    """The place and configuration of the element that takes its own result."""
    (found,) = [(place, tile.core) for place, tile in mapping.config.tiles.items()
                if isinstance(tile.core, PeConfig) and tile.core.feedback is not None]
    return found


def test_a_wrong_bypass_is_no_mapping() -> None:
    good = mapping_of(running_sums(), "dual-port")
    place, core = element(good)
    assert good.validate().units >= 1
    assert core.feedback is not None and core.restart
    other = tuple(8 if k == core.feedback else constant for k, constant in enumerate(core.constants))
    wrong = {
        "another number at the beginning": replace(core, constants=other),
        "no feedback": replace(core, feedback=None, restart=False),
        "no restart": replace(core, restart=False, constants=(None, None, None)),
        "the other operand": replace(core, feedback=1 - core.feedback, constants=(None, None, None)),
        "another operation": replace(core, op="sub"),
    }
    for damage in wrong.values():
        with pytest.raises(ValidationError, match=r"statement 'S[01]'"):
            good.with_tile(place, core=damage).validate()


def test_a_restart_in_another_cycle_is_no_mapping() -> None:
    good = mapping_of(running_sums(), "dual-port")
    place, _ = element(good)
    delays = dict(good.config.tiles[place].delays)
    for change in (1, 2):
        late = {**delays, "bit2": delays.get("bit2", 0) + change}
        with pytest.raises(ValidationError, match="reads"):
            good.with_tile(place, delays=late).validate()

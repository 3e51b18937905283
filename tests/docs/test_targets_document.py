"""docs/targets.md: each target takes or refuses each program of its table as it says, and has the options it lists."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import compiler
from compiler.bind.registry import TARGETS, target
from compiler.frontend.c_scop import parse_scop
from hw.errors import SluiceError

TEXT = (Path(__file__).parents[2] / "docs" / "targets.md").read_text()
SECTION = re.compile(r"^### (.*?)\n\n```c\n(.*?)^```\n(.*?)(?=^###|\Z)", re.MULTILINE | re.DOTALL)
PROGRAMS = {name: (text, dict(re.findall(r"^- `(\w+)`: `(.*)`$", rest, re.MULTILINE)))
            for name, text, rest in SECTION.findall(TEXT)}
HEAD = re.search(r"^\| program \| (.*) \|$", TEXT, re.MULTILINE)
COLUMNS = re.findall(r"`(\w+)`", HEAD[1]) if HEAD else []
ROWS = {name: dict(zip(COLUMNS, cells.split(" | "), strict=True))
        for name, cells in re.findall(r"^\| \[(.*?)\]\(#.*?\) \| (.*) \|$", TEXT, re.MULTILINE)}
QUICK = {"vector": {"search": False}}
"""Options with which a target takes the same programs in less time."""


def test_table_and_programs_belong_together():
    assert set(COLUMNS) == set(TARGETS)
    assert list(ROWS) == list(PROGRAMS)
    for name, (_, refusals) in PROGRAMS.items():
        assert {column for column, cell in ROWS[name].items() if cell == "no"} == set(refusals), name
        assert set(ROWS[name].values()) <= {"yes", "no"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_targets_take_and_refuse_what_the_table_says(name):
    text, refusals = PROGRAMS[name]
    program = parse_scop(text)
    for place in TARGETS:
        if place in refusals:
            with pytest.raises(SluiceError, match=re.escape(refusals[place])):
                compiler.compile(program, target=place, **QUICK.get(place, {}))
        else:
            assert compiler.compile(program, target=place, **QUICK.get(place, {})).predicted_cycles > 0


@pytest.mark.parametrize("name", TARGETS)
def test_options_are_those_of_the_target(name):
    table = re.search(rf"^\| `{name}` \| default \| meaning \|\n\|.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert table
    documented = re.findall(r"^\| `(\w+)` \| `(.*?)` \| \S.* \|$", table[1], re.MULTILINE)
    fields = dataclasses.fields(target(name).Options)
    assert documented == [(field.name, repr(field.default)) for field in fields]

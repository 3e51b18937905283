"""Names in emitted Verilog: a reader finds the statement of a line of the user's program, from C and from Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from tests.support.emitted_systems import emitted

C = """/* The squares of differences. */
#include <stdint.h>

void edges(const int16_t image[6][8], int16_t edges[4][6])
{
#pragma scop
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 6; x++) {
            int16_t across = image[y + 1][x + 2] - image[y + 1][x];
            int16_t down = image[y + 2][x + 1] - image[y][x + 1];
            // Line 12 is the next one.
Gradient:   edges[y][x] = across * across + down * down;
        }
    }
#pragma endscop
}
"""


def from_c() -> tuple[Program, str]:
    """The program, and the place of its statement, in a file whose folder is of this machine."""
    return parse_scop(C, "/somebody/home/edges.c"), "edges.c:12"


def from_python() -> tuple[Program, str]:
    """The same as a loop nest."""
    nest = prog("edges")
    nest.add_input("image", shape=(6, 8))
    nest.add_output("edges")
    x = nest.add_loop("y", 0, 4).add_loop("x", 0, 6)
    frame = inspect.currentframe()
    assert frame is not None
    place = f"{Path(__file__).name}:{frame.f_lineno + 1}"
    gradient = x.add_op("Gradient")
    gradient.add_function(lambda a, b, c, d: (b - a) * (b - a) + (d - c) * (d - c))
    for column, row in (("x", "y + 1"), ("x + 2", "y + 1"), ("x + 1", "y"), ("x + 1", "y + 2")):
        gradient.add_load("image", column, row)
    gradient.add_store("edges", "x", "y")
    return nest.build(), place


def declared(text: str) -> dict[str, str]:
    """The place in the user's source of every signal that has one, by its name."""
    return {name: place for place, name in re.findall(
        r'\(\* src = "([^"]+)" \*\)\n  (?:wire|reg)(?: signed)?(?: \[\d+:0\])? (\w+)', text)}


def texts(folder: Path) -> str:
    return "".join(file.read_text() for file in sorted(folder.rglob("*.v")))


@pytest.mark.parametrize("front", [from_c, from_python])
@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_a_reader_finds_the_statement_of_a_line(target: str, front: Callable[[], tuple[Program, str]],
                                                tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, place = front()
    compiler.compile(program, target=target).emit(tmp_path / "one")
    text = texts(tmp_path / "one")
    places = declared(text)
    assert sum(bool(re.fullmatch(r"Gradient_mul_\d+", name)) for name, at in places.items() if at == place) == 2
    assert any(name.startswith("Gradient_add_") for name, at in places.items() if at == place)
    assert {at.partition(":")[0] for at in re.findall(r'src = "([^"]*)"', text)} == {place.partition(":")[0]}
    assert re.search(r"assign \S+ += .*\*.*;", text)
    assert not re.search(r"\bcell\d", text)
    assert not re.search(r"[+-] (\$signed\()?\d+'h0\)?;", text)
    monkeypatch.chdir(tmp_path)
    compiler.compile(front()[0], target=target).emit(tmp_path / "two")
    assert texts(tmp_path / "two") == text


@pytest.mark.parametrize(("name", "part", "place"), [
    ("systolic", r"S1_lane0_mul_\d+", "systolic.c:6"),
    ("recurrence", r"S0_add_\d+", "recurrence.c:6"),
])
def test_elements_of_a_systolic_array_name_their_statement(name: str, part: str, place: str) -> None:
    _, sources = emitted(name)
    found = declared("".join(sources.values()))
    assert {at for signal, at in found.items() if re.fullmatch(part, signal)} == {place}

"""The directive `store`: registers or memory tiles for the values of an array, whatever the compiler would choose."""

from __future__ import annotations

import pytest

import compiler
from compiler.bind.cgra.mapping import ApplicationError
from compiler.frontend.loop_nest import load
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import ProgramError
from compiler.passes.directives import TransformError, apply_script, store


@pytest.mark.parametrize(("level", "memories", "registers"), [("", 1, 2), ("registers", 0, 31), ("memory", 2, 0)])
def test_level_of_storage(level: str, memories: int, registers: int) -> None:
    """Rows of 30 words and pairs of neighbours: by default a memory for the row, a register for the pair."""
    program = load("brighten_blur", size=30, tiles=1)
    text = f"store(brighten, {level})" if level else ""
    design = compiler.compile(program, array="8x8", transform=text)
    assert (design.resources["memory tiles"], design.resources["registers"]) == (memories, registers)


def test_level_belongs_to_the_program() -> None:
    program = store(load("brighten_blur", size=8, tiles=2), "input", "memory")
    assert "input input : uint16[2, 8, 8] in memory\n" in print_program(program)
    assert parse_program(print_program(program)) == program
    assert store(program, "input", "registers").array("input").level == "registers"
    assert program.statements == load("brighten_blur", size=8, tiles=2).statements


def test_waits_that_vary_have_no_registers() -> None:
    with pytest.raises(ApplicationError) as error:
        compiler.compile(load("upsample", width=8, height=8), transform="store(input, registers)")
    assert str(error.value).endswith("sees values after waits that vary, which registers do not give; store the array "
                                     "in memory")


@pytest.mark.parametrize(("text", "kind", "message"), [
    ("store(input, disk)", TransformError, "array 'input' cannot be stored in 'disk'; there are: registers, memory"),
    ("store(blur, memory)", TransformError, "array 'blur' is an output, which goes to main memory"),
    ("store(input)", TransformError, "directive 'store(input)': store is used as store(array, registers)"),
    ("store(nothing, memory)", ProgramError, None),
])
def test_wrong_levels(text: str, kind: type[Exception], message: str | None) -> None:
    with pytest.raises(kind) as error:
        apply_script(load("brighten_blur", size=8, tiles=1), text)
    assert message is None or str(error.value) == message

"""What every registered pass does, as text: the program before and after it."""

from pathlib import Path

import pytest
from goldens import Goldens
from pass_programs import before_pass, pass_of, program_for

import compiler.bind.registry  # noqa: F401 (the passes of the targets)
from compiler.ir.text import print_program
from compiler.passes.registry import PASSES

FOLDER = Path(__file__).with_name("golden")


@pytest.fixture
def goldens(request: pytest.FixtureRequest) -> Goldens:
    return Goldens(FOLDER, request.config.getoption("--update-goldens"))


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_by_its_text(name: str, goldens: Goldens) -> None:
    one = pass_of(name)
    before = before_pass(one, program_for(name))
    texts = [print_program(state.program) for state in (before, one.apply(before))]
    assert texts[0] != texts[1], f"{name} has nothing to do"
    for when, text in zip(("before", "after"), texts, strict=True):
        goldens.check(f"{name}.{when}.txt", text)


def test_every_text_is_that_of_a_pass() -> None:
    assert {path.name.partition(".")[0] for path in FOLDER.iterdir()} <= set(PASSES)


def test_other_texts_are_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"there is no .*one\.txt: write it with pytest --update-goldens"):
        Goldens(tmp_path, update=False).check("one.txt", "1")
    Goldens(tmp_path, update=True).check("one.txt", "1")
    Goldens(tmp_path, update=False).check("one.txt", "1")
    with pytest.raises(AssertionError, match=r"one\.txt is another text"):
        Goldens(tmp_path, update=False).check("one.txt", "2")

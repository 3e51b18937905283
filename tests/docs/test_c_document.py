"""The C of docs/c.md: accepted blocks compute what gcc's code computes, refused ones give the message after them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.interpret import interpret

TEXT = (Path(__file__).parents[2] / "docs" / "c.md").read_text()
BLOCKS = re.findall(r"^```c\n(.*?)^```$(?:\n\nRefused: `(.*?)`\.)?", TEXT, re.MULTILINE | re.DOTALL)
ACCEPTED = [text for text, refusal in BLOCKS if not refusal]
REFUSED = [(text, refusal) for text, refusal in BLOCKS if refusal]


def test_there_are_blocks_of_both_kinds():
    assert len(ACCEPTED) > 4
    assert len(REFUSED) > 3


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_block_computes_what_gcc_computes(text, tmp_path):
    x = np.random.default_rng(1).integers(-32768, 32768, 16).astype(np.int16)
    y = np.zeros(16, np.int32)
    call(compile_c(tmp_path, {"block": text}), "f", [x, y])
    program = parse_scop(text)
    inputs = {array.name: x for array in program.inputs}
    np.testing.assert_array_equal(interpret(program, inputs)["y"], y)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_block_gives_its_message(text, message):
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(text)

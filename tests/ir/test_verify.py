"""The verifier's messages, each for one change of a correct program."""

import pytest

from compiler.ir.program import ProgramError
from compiler.ir.text import parse_program
from compiler.ir.verify import verify

CORRECT = """\
program "two" {
  input image : uint16[4, 8]
  output result : uint16[4, 7]
  intermediate double : uint16[4, 8]
  table curve : uint16 = [5, 6, 7]
  statement Twice(y, x) at "two.py":3 {
    domain "{ Twice[y, x] : 0 <= y <= 3 and 0 <= x <= 7 }"
    read image "{ Twice[y, x] -> image[y, x] }" at "two.py":4
    write double "{ Twice[y, x] -> double[y, x] }" at "two.py":5
    value mul(#0:uint16, 2:uint16):uint16
  }
  statement Sum(y, x) at "two.py":6 {
    domain "{ Sum[y, x] : 0 <= y <= 3 and 0 <= x <= 6 }"
    read double "{ Sum[y, x] -> double[y, x] }" at "two.py":7
    read double "{ Sum[y, x] -> double[y, x + 1] }"
    write result "{ Sum[y, x] -> result[y, x] }"
    value add(#0:uint16, #1:uint16):uint16
  }
  order "{ Twice[y, x] -> [0, y, x]; Sum[y, x] -> [1, y, x] }"
}
"""


def test_the_correct_program_passes() -> None:
    verify(parse_program(CORRECT))


TWICE = "mul(#0:uint16, 2:uint16):uint16"
SUM = "add(#0:uint16, #1:uint16):uint16"
SUM_ORDER = "Sum[y, x] -> [1, y, x]"
NO_TIME = "statement 'Sum' (two.py:6): the order does not give every iteration its own time"

CASES = [
    # Names and declarations.
    ("double : uint16[4, 8]", "image : uint16[4, 8]", "array, table or memory 'image' is declared twice"),
    ("table curve", "table image", "array, table or memory 'image' is declared twice"),
    ("image : uint16[4, 8]", "image : uint16[4, 0]", "array 'image' of shape [4, 0] has no elements"),
    ("output result", "intermediate result", "program 'two' has no output"),
    ("[5, 6, 7]", "[]", "table 'curve' is empty"),
    ("[5, 6, 7]", "[5, 65536]", "table 'curve': entry 1, 65536, does not fit uint16"),
    ("statement Sum(", "statement Twice(", "statement 'Twice' is declared twice"),
    # Iterators and domains.
    ("Sum(y, x)", "Sum(y, y)", "statement 'Sum' (two.py:6) has two iterators of the same name"),
    ("Sum(y, x)", "Sum(y, mod)", "statement 'Sum' (two.py:6): 'mod' is a reserved word; call it 'mod_'"),
    (
        "Sum(y, x)",
        "Sum(y)",
        "statement 'Sum' (two.py:6): its domain is over Sum[2 dimensions], not its own iterators",
    ),
    (
        "{ Sum[y, x] : 0 <= y <= 3",
        "{ [y, x] : 0 <= y <= 3",
        "statement 'Sum' (two.py:6): its domain is over [2 dimensions], not its own iterators",
    ),
    ("and 0 <= x <= 6", "and 0 <= x", "statement 'Sum' (two.py:6) has an unbounded domain"),
    ("and 0 <= x <= 6", "and 0 <= x <= -1", "statement 'Sum' (two.py:6) has an empty domain"),
    (
        "{ Sum[y, x] : 0 <= y <= 3",
        "[n] -> { Sum[y, x] : 0 <= y <= n",
        "statement 'Sum' (two.py:6): its domain has parameters; sizes must be numbers",
    ),
    # Accesses.
    (
        "read image",
        "read picture",
        "statement 'Twice' (two.py:4): there is no array 'picture'; there are: image, result, double",
    ),
    (
        "-> image[y, x]",
        "-> double[y, x]",
        "statement 'Twice' (two.py:4): the access to 'image' maps to 'double'",
    ),
    ("-> image[y, x]", "-> [y, x]", "statement 'Twice' (two.py:4): the access to 'image' maps to ''"),
    ("-> image[y, x]", "-> image[y]", "statement 'Twice' (two.py:4): 'image' has 2 dimensions and is accessed with 1"),
    (
        "{ Twice[y, x] -> image",
        "{ Sum[y, x] -> image",
        "statement 'Twice' (two.py:4): the access to 'image' is not a map from the statement's iterations",
    ),
    (
        "-> image[y, x] }",
        "-> image[y, x] : x > 0 }",
        "statement 'Twice' (two.py:4): the access to 'image' does not give every iteration exactly one element",
    ),
    (
        "-> image[y, x] }",
        "-> image[y, z] : x <= z <= x + 1 }",
        "statement 'Twice' (two.py:4): the access to 'image' does not give every iteration exactly one element",
    ),
    (
        'write double "{ Twice[y, x] -> double',
        'write image "{ Twice[y, x] -> image',
        "statement 'Twice' (two.py:5) writes 'image', which is an input",
    ),
    # Values and types.
    (TWICE, "mul(#0:uint16, 65536:uint16):uint16", "statement 'Twice' (two.py:3): constant 65536 does not fit uint16"),
    (TWICE, "#1:uint16", "statement 'Twice' (two.py:3): its value uses read 1; it has 1 reads"),
    (TWICE, "#0:int16", "statement 'Twice' (two.py:3): read 0 delivers uint16 from 'image', not int16"),
    (TWICE, "$z:uint16", "statement 'Twice' (two.py:3): 'z' is no iterator of it; there are: y, x"),
    (
        TWICE,
        "cast(#0:uint16):int16",
        "statement 'Twice' (two.py:3) computes int16 for 'double' of uint16; cast(uint16, value) converts, "
        "or declare the array as int16",
    ),
    (
        TWICE,
        "mul(#0:uint16, cast(#0:uint16):int16):uint16",
        "statement 'Twice' (two.py:3): operation 'mul' mixes uint16 and int16; cast one of them",
    ),
    (TWICE, "mul(#0:uint16):uint16", "statement 'Twice' (two.py:3): operation 'mul' takes 2 operands, not 1"),
    (TWICE, "lt(#0:uint16, #0:uint16):uint16", "statement 'Twice' (two.py:3): operation 'lt' gives bit, not uint16"),
    (
        TWICE,
        "select(#0:uint16, #0:uint16, #0:uint16):uint16",
        "statement 'Twice' (two.py:3): operation 'select' takes a bit and is given a value of type uint16",
    ),
    (
        TWICE,
        "add(1:bit, 1:bit):bit",
        "statement 'Twice' (two.py:3): operation 'add' takes a word and is given a value of type bit",
    ),
    (
        TWICE,
        "lut3(1:bit, 1:bit, 1:bit):bit",
        "statement 'Twice' (two.py:3): operation 'lut3' takes a truth table of type uint8 as its first argument",
    ),
    (
        TWICE,
        "lut3(cast(#0:uint16):uint8, 1:bit, 1:bit, 1:bit):bit",
        "statement 'Twice' (two.py:3): the truth table of 'lut3' must be a constant",
    ),
    (
        TWICE,
        "cast(#0:uint16):fixed16.8",
        "statement 'Twice' (two.py:3): a conversion with fixed16.8: only integers and floating-point numbers within "
        "float8.23 are supported",
    ),
    (
        TWICE,
        "slope[#0:uint16]:uint16",
        "statement 'Twice' (two.py:3): program 'two' has no table 'slope'; there are: curve",
    ),
    (TWICE, "curve[#0:uint16]:int16", "statement 'Twice' (two.py:3): table 'curve' holds uint16, not int16"),
    # Order.
    (SUM_ORDER, "", "statement 'Sum' (two.py:6) has no place in the order"),
    (SUM_ORDER, "Sum[y, x] -> [1, y, 0]", NO_TIME),
    (SUM_ORDER, "Sum[y, x] -> [1, y, x] : x > 0", NO_TIME),
    (SUM_ORDER, "Sum[y, x] -> [1, y]", NO_TIME),
    (SUM_ORDER, "Sum[y, x] -> [1, y, x, 0]", "program 'two': the order has time vectors of different lengths"),
    (
        SUM_ORDER,
        "Sum[y, x] -> [0, y, x]",
        "statement 'Sum' (two.py:6): the order puts an iteration of it at the time of one of 'Twice'",
    ),
    # Data: the first offending iteration in execution order.
    (
        "-> image[y, x] }",
        "-> image[y, x + 1] }",
        "statement 'Twice' (two.py:4) reads 'image'[0, 8] outside its shape [4, 8], first at y=0, x=7",
    ),
    (
        "-> image[y, x] }",
        "-> image[y - x + 3, x] }",
        "statement 'Twice' (two.py:4) reads 'image'[-1, 4] outside its shape [4, 8], first at y=0, x=4",
    ),
    (
        "-> result[y, x] }",
        "-> result[y, x - 1] }",
        "statement 'Sum' (two.py:6) writes 'result'[0, -1] outside its shape [4, 7], first at y=0, x=0",
    ),
    (
        SUM_ORDER,
        "Sum[y, x] -> [0, y, x - 9]",
        "statement 'Sum' (two.py:7) reads 'double'[0, 0] before anything is written there, first at y=0, x=0",
    ),
    (
        "Twice[y, x] : 0 <= y <= 3 and 0 <= x <= 7",
        "Twice[y, x] : 0 <= y <= 3 and 0 <= x <= 6",
        "statement 'Sum' (two.py:6) reads 'double'[0, 7] before anything is written there, first at y=0, x=6",
    ),
    (
        "-> double[y, x] }\" at \"two.py\":5",
        "-> double[y, 7 - x] }\" at \"two.py\":5",
        None,
    ),
    ("result : uint16[4, 7]", "result : uint16[5, 7]", "output 'result' of shape [5, 7] is never written at [4, 0]"),
]


@pytest.mark.parametrize(("old", "new", "message"), CASES, ids=[str(case[2]) for case in CASES])
def test_one_change_gives_one_message(old: str, new: str, message: str | None) -> None:
    assert CORRECT.count(old) == 1
    program = parse_program(CORRECT.replace(old, new))
    if message is None:
        verify(program)
        return
    with pytest.raises(ProgramError) as error:
        verify(program)
    assert str(error.value) == message


def message_of(text: str) -> str:
    with pytest.raises(ProgramError) as error:
        verify(parse_program(text))
    return str(error.value)


def replaced(*pairs: tuple[str, str]) -> str:
    text = CORRECT
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_the_earliest_offence_of_the_whole_program_is_reported() -> None:
    """Both statements leave their arrays; in time, the offence of the first one in the text comes later."""
    text = replaced(
        ("-> image[y, x] }", "-> image[y, x + 1] }"),
        ("-> result[y, x] }", "-> result[y, x + 1] }"),
        ("Twice[y, x] -> [0, y, x]; Sum[y, x] -> [1, y, x]", "Twice[y, x] -> [y, x, 0]; Sum[y, x] -> [y, x, 1]"),
    )
    where = "'result'[0, 7] outside its shape [4, 7], first at y=0, x=6"
    assert message_of(text) == f"statement 'Sum' (two.py:6) writes {where}"


def test_execution_order_and_not_loop_order_decides_what_is_first() -> None:
    text = replaced(("-> image[y, x] }", "-> image[y, x + 1] }"), ("-> [0, y, x]", "-> [0, -y, x]"))
    where = "'image'[3, 8] outside its shape [4, 8], first at y=3, x=7"
    assert message_of(text) == f"statement 'Twice' (two.py:4) reads {where}"


def test_a_statement_without_loops_has_an_only_iteration() -> None:
    text = """\
program "scalar" {
  input a : uint16[2]
  output b : uint16[]
  statement S() {
    domain "{ S[] }"
    read a "{ S[] -> a[2] }"
    write b "{ S[] -> b[] }"
    value #0:uint16
  }
  order "{ S[] -> [0] }"
}
"""
    assert message_of(text) == "statement 'S' reads 'a'[2] outside its shape [2], first at its only iteration"
    verify(parse_program(text.replace("a[2] }", "a[1] }")))

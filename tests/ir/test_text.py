"""Text form: one example in full, sharing, depth, and messages for text of another form."""

import time

import islpy as isl
import pytest

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Lookup, Read
from compiler.ir.program import Access, Array, Location, Program, ProgramError, Statement, Table
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import BIT, INT16, UINT16, Fixed
from compiler.ir.verify import verify

EXAMPLE = """\
program "an \\"example\\"" {
  input image : uint16[4, 8]
  output result : int16[4, 8]
  table curve : uint16 = [0, 3, 65535]
  statement Convert(y, x) at "apps/example.py":12 {
    domain "{ Convert[y, x] : 0 <= y <= 3 and 0 <= x <= 7 }"
    read image "{ Convert[y, x] -> image[y, x] }" at "apps/example.py":13
    write result "{ Convert[y, x] -> result[y, x] }"
    %0 = curve[and(#0:uint16, 1:uint16):uint16]:uint16
    value cast(select(lt(%0, $x:uint16):bit, %0, 7:uint16):uint16):int16
  }
  order "{ Convert[y, x] -> [y, x] }"
}
"""


def example() -> Program:
    looked_up = Lookup("curve", Apply("and", (Read(0, UINT16), Const(1, UINT16)), UINT16), UINT16)
    smaller = Apply("lt", (looked_up, Iterator("x", UINT16)), BIT)
    value = Cast(Apply("select", (smaller, looked_up, Const(7, UINT16)), UINT16), INT16)
    statement = Statement(
        "Convert",
        ("y", "x"),
        isl.Set("{ Convert[y, x] : 0 <= y < 4 and 0 <= x < 8 }"),
        (Access("image", isl.Map("{ Convert[y, x] -> image[y, x] }"), Location("apps/example.py", 13)),),
        Access("result", isl.Map("{ Convert[y, x] -> result[y, x] }")),
        value,
        Location("apps/example.py", 12),
    )
    arrays = (Array("image", (4, 8), UINT16, "input"), Array("result", (4, 8), INT16, "output"))
    order = isl.UnionMap("{ Convert[y, x] -> [y, x] }")
    return Program('an "example"', arrays, (Table("curve", (0, 3, 65535), UINT16),), (statement,), order)


def test_the_whole_text_of_one_program() -> None:
    verify(example())
    assert print_program(example()) == EXAMPLE
    assert parse_program(EXAMPLE) == example()


def test_comments_and_white_space_do_not_matter() -> None:
    assert parse_program(EXAMPLE.replace("  table", "\t// a table\n\n table")) == example()


def with_value(value: Expr) -> Program:
    program = example()
    (statement,) = program.statements
    fields = {name: getattr(statement, name) for name in ("name", "iterators", "domain", "reads", "write", "location")}
    return Program(program.name, program.arrays, program.tables, (Statement(**fields, value=value),), program.order)


def test_shared_subexpressions_are_printed_once() -> None:
    value: Expr = Read(0, UINT16)
    for _ in range(200):
        value = Apply("add", (value, value), UINT16)
    start = time.process_time()
    text = print_program(with_value(value))
    parsed = parse_program(text)
    assert text.count("add(") == 200
    assert print_program(parsed) == text
    assert time.process_time() - start < 2


def test_deep_expressions_need_no_deep_stack() -> None:
    value: Expr = Read(0, UINT16)
    for number in range(5000):
        value = Apply("add", (value, Const(number, UINT16)), UINT16)
    text = print_program(with_value(value))
    assert print_program(parse_program(text)) == text


def test_types_without_operations_have_a_text_form() -> None:
    array = Array("a", (), Fixed(16, 8), "intermediate")
    program = Program("fixed", (array,), (), (), isl.UnionMap("{ }"))
    assert parse_program(print_program(program)) == program


def changed(old: str, new: str) -> str:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "program text, line 1, column 1: it ends too early"),
        (EXAMPLE[:-2], "program text, line 12, column 9: it ends too early"),
        (changed("input image", "in image"), "program text, line 2, column 3: 'in' does not belong here"),
        (
            changed("uint16[4, 8]", "uint16[4; 8]"),
            "program text, line 2, column 25: this character does not belong here",
        ),
        (changed("%0 = curve", "%1 = curve"), "program text, line 10: '%0' is used before it is bound"),
        (
            changed('domain "{ Convert[y, x] :', 'domain "{ Convert[y, x :'),
            'program text, line 6: "{ Convert[y, x : 0 <= y <= 3 and 0 <= x <= 7 }" is not a set',
        ),
        (
            changed("-> image[y, x] }", "-> image[x*y] }"),
            'program text, line 7: "{ Convert[y, x] -> image[x*y] }" is not a map',
        ),
        (changed("int16[4, 8]\n  table", "int65[4, 8]\n  table"), "integer width 65 is not in 1..64"),
    ],
)
def test_other_text_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        parse_program(text)
    assert str(error.value) == message

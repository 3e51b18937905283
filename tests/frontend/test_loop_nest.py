"""The loop-nest language: figure 4.1, inference, locations, and every mistake that it reports."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from compiler.frontend.kernel import Typed, cast, lookup
from compiler.frontend.loop_nest import OpNode, Prog, load, prog
from compiler.ir.expr import Apply, Const, Iterator, Lookup, Read
from compiler.ir.program import Location, ProgramError
from compiler.ir.types import INT16, UINT16, Int

HERE = "tests/frontend/test_loop_nest.py"


def here(offset: int = 0) -> int:
    """The caller's line number."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno + offset


def test_figure_4_1_gives_the_sets_and_maps_of_the_text() -> None:
    program = load("brighten_blur")
    brighten, blur = program.statements
    assert brighten.iterators == ("t", "y_br", "x_br")
    assert brighten.domain == isl.Set("{ Brighten[t, y, x] : 0 <= t <= 15 and 0 <= y <= 63 and 0 <= x <= 63 }")
    assert blur.domain == isl.Set("{ Blur[t, y, x] : 0 <= t <= 15 and 0 <= y <= 62 and 0 <= x <= 62 }")
    assert brighten.write.map == isl.Map("{ Brighten[t, y, x] -> brighten[y, x] }")
    assert [read.map for read in blur.reads] == [
        isl.Map(f"{{ Blur[t, y, x] -> brighten[y + {j}, x + {i}] }}") for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))
    ]
    assert program.order_of("Brighten") == isl.Map("{ Brighten[t, y, x] -> [0, t, 0, y, 0, x, 0] }")
    assert program.order_of("Blur") == isl.Map("{ Blur[t, y, x] -> [0, t, 1, y, 0, x, 0] }")
    assert {array.name: (array.shape, array.role) for array in program.arrays} == {
        "input": ((16, 64, 64), "input"),
        "brighten": ((64, 64), "intermediate"),
        "blur": ((16, 63, 63), "output"),
    }


def simple(**arrays: Any) -> tuple[Prog, OpNode]:
    """output[y, x] = f(input[y, x]) without the function and the store."""
    prg = prog("simple")
    prg.add_input("input", **arrays)
    prg.add_output("output")
    op = prg.add_loop("y", 0, 4).add_loop("x", 2, 8).add_op("S")
    op.add_load("input", "x", "y")
    return prg, op


def test_an_operation_without_a_function_copies() -> None:
    prg, op = simple()
    op.add_store("output", "x - 2", "y")
    program = prg.build()
    assert program.statement("S").value == Read(0, UINT16)
    assert program.statement("S").box() == {"y": (0, 3), "x": (2, 9)}
    assert program.array("input").shape == (4, 10)
    assert program.array("output").shape == (4, 8)


def test_types_come_from_the_declarations_and_tables_from_the_program() -> None:
    prg, op = simple(type=Int(8, False))
    curve = prg.add_table("curve", [3, 4], INT16)
    prg.add_intermediate("middle", type=INT16)
    op.add_function(lambda a: lookup(curve, a))
    op.add_store("middle", "x", "y")
    copy = prg.add_loop("y", 0, 4).add_loop("x", 2, 8).add_op("T")
    copy.add_load("middle", "x", "y")
    copy.add_function(lambda a: cast(UINT16, a))
    copy.add_store("output", "x - 2", "y")
    program = prg.build()
    assert program.statement("S").value == Lookup("curve", Read(0, Int(8, False)), INT16)
    assert program.array("middle").type == INT16
    assert program.array("middle").shape == (4, 10)
    assert program.table("curve").values == (3, 4)


def test_constants_serve_addresses_and_functions() -> None:
    prg, op = simple(shape=(4, 16))
    offset = prg.add_constant("OFFSET", 3)
    op.add_load("input", "x + OFFSET", "y")
    op.add_function(lambda a, b: a + b * offset)
    op.add_store("output", "x - 2", "y")
    statement = prg.build().statement("S")
    assert statement.reads[1].map == isl.Map("{ S[y, x] -> input[y, x + 3] }")
    times = Apply("mul", (Read(1, UINT16), Const(3, UINT16)), UINT16)
    assert statement.value == Apply("add", (Read(0, UINT16), times), UINT16)


def doubled(a: Typed) -> Typed:
    return a * 2


def test_functions_are_given_by_value_or_by_name() -> None:
    def tripled(a: Typed) -> Typed:
        return a * 3

    for function, op_name, factor in (("doubled", "mul", 2), ("tripled", "mul", 3), (tripled, "mul", 3)):
        prg, op = simple()
        op.add_function(function)
        op.add_store("output", "x - 2", "y")
        expected = Apply(op_name, (Read(0, UINT16), Const(factor, UINT16)), UINT16)
        assert prg.build().statement("S").value == expected
    prg, op = simple()
    op.add_function("abs")
    op.add_store("output", "x - 2", "y")
    assert prg.build().statement("S").value == Apply("abs", (Read(0, UINT16),), UINT16)


def test_a_function_may_return_an_int_and_take_no_load() -> None:
    prg = prog("clear")
    prg.add_output("output")
    op = prg.add_loop("x", 0, 3).add_op("Clear")
    op.add_function(lambda: 7)
    op.add_store("output", "x")
    assert prg.build().statement("Clear").value == Const(7, UINT16)


def test_functions_may_use_the_loops() -> None:
    from compiler.frontend.kernel import iterator

    prg, op = simple()
    op.add_function(lambda a: iterator("x", UINT16))
    op.add_store("output", "x - 2", "y")
    assert prg.build().statement("S").value == Iterator("x", UINT16)


def test_locations_are_the_lines_of_the_calls() -> None:
    prg = prog("located")
    prg.add_input("input")
    prg.add_output("output")
    op = prg.add_loop("x", 0, 4).add_op("S")
    line = here(-1)
    op.add_load("input", "x")
    op.add_store("output", "x")
    statement = prg.build().statement("S")
    assert statement.location == Location(HERE, line)
    assert statement.reads[0].location == Location(HERE, line + 2)
    assert statement.write.location == Location(HERE, line + 3)


def finish(prg: Prog, op: OpNode) -> None:
    op.add_store("output", "x - 2", "y")
    prg.build()


def second_store(prg: Prog, op: OpNode) -> None:
    op.add_store("output", "x", "y")
    op.add_store("output", "x", "y")


def unknown_function(prg: Prog, op: OpNode) -> None:
    op.add_function("sharpen")


def unknown_array(prg: Prog, op: OpNode) -> None:
    op.add_load("inptu", "x", "y")
    finish(prg, op)


def unknown_iterator(prg: Prog, op: OpNode) -> None:
    op.add_load("input", "z + 1", "y")
    finish(prg, op)


def not_affine(prg: Prog, op: OpNode) -> None:
    op.add_load("input", "x*y", "y")
    finish(prg, op)


def other_rank(prg: Prog, op: OpNode) -> None:
    op.add_load("input", "x", "y", 0)
    op.add_function("add")
    finish(prg, op)


def no_function(prg: Prog, op: OpNode) -> None:
    op.add_load("input", "x", "y")
    finish(prg, op)


def wrong_arity(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a, b: a + b)
    finish(prg, op)


def mixed_types(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a: a + cast(INT16, a))
    finish(prg, op)


def wrong_result_type(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a: cast(INT16, a))
    finish(prg, op)


def no_value(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a: None)
    finish(prg, op)


def python_bug(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a: [a][1])
    finish(prg, op)


def constant_too_large(prg: Prog, op: OpNode) -> None:
    op.add_function(lambda a: 65536)
    finish(prg, op)


def negative_address(prg: Prog, op: OpNode) -> None:
    op.add_load("input", "x - 3", "y")
    op.add_function("add")
    finish(prg, op)


def duplicate_name(prg: Prog, op: OpNode) -> None:
    prg.add_op("S")


def no_store(prg: Prog, op: OpNode) -> None:
    prg.build()


CASES: list[tuple[Callable[[Prog, OpNode], None], int | None, str]] = [
    (second_store, 2, "has a second store; an operation stores one word"),
    (unknown_function, 1, ": there is no function or operation 'sharpen'"),
    (unknown_array, 1, ": there is no array 'inptu'; there are: input, output"),
    (
        unknown_iterator,
        1,
        ": access to 'input': address 'z + 1' names 'z', no loop around it and no constant; there are: y, x",
    ),
    (
        not_affine,
        1,
        ": access to 'input': address 'x*y' is not affine: it multiplies two expressions that both depend on loops",
    ),
    (no_function, None, "has 2 loads and no function"),
    (wrong_arity, None, ": function '<lambda>' does not take 1 arguments, one per load"),
    (mixed_types, None, ": operation 'add' mixes uint16 and int16; cast one of them"),
    (wrong_result_type, None, "computes int16 for 'output' of uint16; cast(uint16, value) converts, or "
     "declare the array as int16"),
    (no_value, None, ": its function returned None, not a typed value"),
    (python_bug, None, ": its function failed: IndexError: list index out of range"),
    (constant_too_large, None, ": constant 65536 does not fit uint16 (0..65535)"),
    (negative_address, 1, "reads 'input'[0, -1] outside its shape [4, 10], first at y=0, x=2"),
    (duplicate_name, 1, f": the name is taken by the statement at {HERE}:OP"),
    (no_store, None, "has no store"),
]


@pytest.mark.parametrize(("mistake", "offset", "text"), CASES, ids=[case[0].__name__ for case in CASES])
def test_mistakes_name_the_statement_and_the_line(
    mistake: Callable[[Prog, OpNode], None], offset: int | None, text: str
) -> None:
    """`offset` is the line of the mistake inside its function, None for the line of `add_op` in `simple`."""
    prg, op = simple()
    op_line = op.location.line
    line = op_line if offset is None else mistake.__code__.co_firstlineno + offset
    with pytest.raises(ProgramError) as error:
        mistake(prg, op)
    gap = "" if text.startswith(":") else " "
    assert str(error.value) == f"statement 'S' ({HERE}:{line}){gap}{text}".replace(":OP", f":{op_line}")


def test_arrays_keep_their_number_of_coordinates() -> None:
    with pytest.raises(ProgramError) as error:
        other_rank(*simple())
    assert str(error.value) == "array 'input' is accessed with 2 and 3 coordinates"


PROGRAM_MISTAKES: list[tuple[Callable[[Prog], Any], str]] = [
    (lambda p: p.add_loop("mod", 0, 1), "loop 'mod' (LINE): 'mod' is a reserved word; call it 'mod_'"),
    (
        lambda p: p.add_loop("x y", 0, 1),
        "loop 'x y' (LINE): a name consists of letters, digits and underscores, not 'x y'",
    ),
    (lambda p: p.add_loop("x", 0, 0), "loop 'x' (LINE): bound 0 must be at least 1"),
    (
        lambda p: p.add_loop("x", 0, 2.5),  # type: ignore[arg-type]
        "loop 'x' (LINE): start and bound: (0, 2.5) must be integers",
    ),
    (lambda p: p.add_loop("x", 0, 2).add_loop("x", 0, 2), "loop 'x' (LINE): a loop around it has the same name"),
    (
        lambda p: p.add_op("9"),
        "statement '9' (LINE): a name consists of letters, digits and underscores, not '9'",
    ),
    (lambda p: (p.add_input("a"), p.add_output("a")), "'a' (LINE) is declared twice"),
    (lambda p: (p.add_input("a"), p.add_table("a", [1])), "'a' (LINE) is declared twice"),
    (lambda p: (p.add_constant("a", 1), p.add_intermediate("a")), "'a' (LINE) is declared twice"),
    (lambda p: p.add_input("floor"), "'floor' (LINE): 'floor' is a reserved word; call it 'floor_'"),
    (lambda p: p.add_table("a", [1, 2.5]), "table 'a' (LINE): (1, 2.5) must be integers"),  # type: ignore[list-item]
    (lambda p: p.add_input("a", (4, 2.0)), "shape of 'a' (LINE): (4, 2.0) must be integers"),  # type: ignore[arg-type]
    (lambda p: p.add_constant("a", 2.5), "constant 2.5 is not an integer"),  # type: ignore[arg-type]
    (lambda p: p.add_constant("a", -1), "constant -1 does not fit uint16 (0..65535)"),
    (
        lambda p: (p.add_output("a"), p.build()),
        "array 'a' (LINE) has no shape and no access that would tell it",
    ),
    (lambda p: p.build(), "program 'empty' has no output"),
]


@pytest.mark.parametrize(("mistake", "message"), PROGRAM_MISTAKES, ids=[case[1] for case in PROGRAM_MISTAKES])
def test_mistakes_outside_statements(mistake: Callable[[Prog], Any], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        mistake(prog("empty"))
    assert str(error.value) == message.replace("LINE", f"{HERE}:{_line_in(mistake, error.value)}")


def _line_in(mistake: Callable[[Prog], Any], error: ProgramError) -> int:
    """The line of `mistake` that the traceback passed through."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not mistake.__code__:
        trace = trace.tb_next
    assert trace is not None
    return trace.tb_lineno

"""The interpreter: exactness at every width, speed, programs that cannot run statement by statement, bad input."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.frontend.kernel import Typed, cast, iterator, lookup, mul_high
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program, ProgramError
from compiler.ir.text import parse_program
from compiler.ir.types import BIT, INT16, UINT16, Int


def pointwise(function: Callable[..., Any], inputs: int, size: int, type: Int, result: Int | None = None) -> Program:
    """output[x] = function(a[x], b[x], ...)."""
    prg = prog("pointwise", type)
    prg.add_output("output", type=result)
    op = prg.add_loop("x", 0, size).add_op("S")
    for name in "abc"[:inputs]:
        prg.add_input(name)
        op.add_load(name, "x")
    op.add_function(function)
    op.add_store("output", "x")
    return prg.build()


@pytest.mark.parametrize("width", [31, 32, 33, 63, 64])
@pytest.mark.parametrize("signed", [False, True])
def test_wide_words_are_exact(width: int, signed: bool) -> None:
    type = Int(width, signed)
    program = pointwise(lambda a, b, c: mul_high(a, b) * c - (a << 3), 3, 4, type)
    a, b, c = ([type.minimum, type.maximum, type.maximum - 1, 1], [type.maximum] * 4, [3, type.maximum, 5, 7])
    inputs = {name: np.array(data, type.dtype) for name, data in zip("abc", (a, b, c), strict=True)}
    expected = [type.wrap(((x * y) >> width) * z - x * 8) for x, y, z in zip(a, b, c, strict=True)]
    output = interpret(program, inputs)["output"]
    assert output.dtype == type.dtype
    assert output.tolist() == expected


def test_casts_extend_truncate_and_reinterpret() -> None:
    data = np.array([0, 127, 128, 255, 256, 65535], np.uint16)
    for type in (Int(8, True), Int(8, False), INT16, Int(40, True), Int(64, False)):
        program = pointwise(lambda a, type=type: cast(type, a), 1, 6, UINT16, type)
        expected = [type.wrap(int(value)) for value in data]
        assert interpret(program, {"a": data})["output"].tolist() == expected
    wide = pointwise(lambda a: cast(UINT16, a), 1, 2, Int(64, False), UINT16)
    assert interpret(wide, {"a": np.array([2**64 - 1, 2**16], np.uint64)})["output"].tolist() == [65535, 0]


def test_iterators_have_values_and_bits_have_logic() -> None:
    def odd_or_large(a: Typed) -> Typed:
        x = iterator("x", UINT16)
        return (x % 2 == 1) | ~(a < 100) & (x != 4)

    program = pointwise(odd_or_large, 1, 6, UINT16, BIT)
    output = interpret(program, {"a": np.array([0, 0, 100, 0, 100, 0])})["output"]
    assert output.tolist() == [0, 1, 1, 1, 0, 1]


def with_table(size: int) -> Program:
    prg = prog("table")
    prg.add_input("a")
    prg.add_output("output")
    curve = prg.add_table("curve", [value * value for value in range(16)])
    op = prg.add_loop("y", 0, 2).add_loop("x", 0, size).add_op("Look")
    op.add_load("a", "x", "y")
    op.add_function(lambda a: lookup(curve, a))
    op.add_store("output", "x", "y")
    return prg.build()


def test_tables_are_looked_up() -> None:
    data = np.array([[0, 15, 3], [1, 2, 4]])
    assert interpret(with_table(3), {"a": data})["output"].tolist() == (data**2).tolist()


def test_a_lookup_outside_its_table_names_the_iteration() -> None:
    place = f"tests/ir/test_interpret.py:{with_table.__code__.co_firstlineno + 5}"
    with pytest.raises(ProgramError) as error:
        interpret(with_table(3), {"a": np.array([[0, 1, 2], [3, 16, 99]])})
    message = f"statement 'Look' ({place}): index 16 is outside table 'curve' of 16 entries, at y=1, x=1"
    assert str(error.value) == message


def stencil_pipeline(size: int, stages: int) -> Program:
    """Stages of 3x3 windows over an image of `size` x `size`."""
    prg = prog("pipeline")
    prg.add_input("s0", (size, size))
    prg.add_output(f"s{stages}")
    for stage in range(stages):
        side = size - 2 * (stage + 1)
        op = prg.add_loop("y", 0, side).add_loop("x", 0, side).add_op(f"Stage{stage}")
        for j in range(3):
            for i in range(3):
                op.add_load(f"s{stage}", f"x + {i}", f"y + {j}")
        op.add_function(lambda *window: (sum(window[1:], window[0] * 3) >> 2) ^ window[4])
        op.add_store(f"s{stage + 1}", "x", "y")
    return prg.build()


def test_a_large_pipeline_takes_less_than_two_seconds() -> None:
    data = np.random.default_rng(1).integers(0, 2**16, (512, 512), np.uint16)
    program = stencil_pipeline(512, 5)
    start = time.process_time()
    output = interpret(program, {"s0": data})["s5"]
    assert time.process_time() - start < 2
    image = data
    for _ in range(5):
        side = len(image) - 2
        window = [image[j : j + side, i : i + side] for j in range(3) for i in range(3)]
        image = (sum(window[1:], window[0] * 3) >> 2) ^ window[4]
    assert (output == image).all()


def matrix_product(size: int) -> Program:
    prg = prog("matmul", INT16)
    prg.add_input("a")
    prg.add_input("b")
    prg.add_output("c")
    y = prg.add_loop("y", 0, size)
    x = y.add_loop("x", 0, size)
    clear = x.add_op("Clear")
    clear.add_function(lambda: 0)
    clear.add_store("c", "x", "y")
    update = x.add_loop("r", 0, size).add_op("Update")
    update.add_function("mad")
    update.add_load("a", "r", "y")
    update.add_load("b", "x", "r")
    update.add_load("c", "x", "y")
    update.add_store("c", "x", "y")
    return prg.build()


def test_a_reduction_steps_only_through_the_loop_that_carries_it() -> None:
    generator = np.random.default_rng(2)
    a, b = (generator.integers(-(2**15), 2**15, (64, 64)).astype(np.int16) for _ in range(2))
    start = time.process_time()
    output = interpret(matrix_product(64), {"a": a, "b": b})["c"]
    assert time.process_time() - start < 2
    assert (output == (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int16)).all()


def test_two_statements_that_feed_each_other_run_interleaved() -> None:
    """p[i] = q[i-1] + in[i], q[i] = 3 * p[i]: neither can run ahead of the other."""
    prg = prog("pair")
    prg.add_input("input")
    prg.add_output("q")
    start = prg.add_op("Start")
    start.add_load("input", 0)
    start.add_store("q", 0)
    i = prg.add_loop("i", 1, 19)
    first, second = i.add_op("P"), i.add_op("Q")
    first.add_load("q", "i - 1")
    first.add_load("input", "i")
    first.add_function("add")
    first.add_store("p", "i")
    second.add_load("p", "i")
    second.add_function(lambda p: p * 3)
    second.add_store("q", "i")
    data = np.arange(20)
    expected = [0]
    for value in data[1:]:
        expected.append((expected[-1] + int(value)) * 3 % 2**16)
    assert interpret(prg.build(), {"input": data})["q"].tolist() == expected


def test_any_order_and_any_domain_can_be_run() -> None:
    """A running sum along the anti-diagonals of a triangle, backwards, over every second element."""
    text = """\
program "triangle" {
  input a : uint16[8, 8]
  output s : uint16[1]
  statement Clear() {
    domain "{ Clear[] }"
    write s "{ Clear[] -> s[0] }"
    value 1:uint16
  }
  statement Sum(y, x) {
    domain "{ Sum[y, x] : 0 <= y <= x <= 7 and x mod 2 = 0 }"
    read s "{ Sum[y, x] -> s[0] }"
    read a "{ Sum[y, x] -> a[y, z] : (y <= 3 and z = x) or (y > 3 and z = floor(x / 2)) }"
    write s "{ Sum[y, x] -> s[0] }"
    value add(mul(#0:uint16, 3:uint16):uint16, #1:uint16):uint16
  }
  order "{ Clear[] -> [-100, 0]; Sum[y, x] -> [-x - y, y] }"
}
"""
    data = np.random.default_rng(3).integers(0, 2**16, (8, 8), np.uint16)
    points = [(y, x) for x in range(0, 8, 2) for y in range(x + 1)]
    total = 1
    for y, x in sorted(points, key=lambda point: (-point[0] - point[1], point[0])):
        total = (3 * total + int(data[y, x] if y <= 3 else data[y, x // 2])) % 2**16
    assert interpret(parse_program(text), {"a": data})["s"].tolist() == [total]


def bad_inputs() -> list[tuple[dict[str, np.ndarray], str]]:
    good = np.zeros((2, 3), np.uint16)
    return [
        ({}, "program 'table': input 'a' is missing"),
        ({"a": good, "b": good}, "program 'table' has no input 'b'; there are: a"),
        ({"a": good.T}, "input 'a' has shape [3, 2]; the program wants [2, 3]"),
        ({"a": good + 0.5}, "input 'a' holds float64; the program wants integers, uint16"),
        ({"a": good.astype(np.int64) - 1}, "input 'a' holds values -1..-1, which do not fit uint16"),
        ({"a": good.astype(np.int32) + 65536}, "input 'a' holds values 65536..65536, which do not fit uint16"),
    ]


@pytest.mark.parametrize(("inputs", "message"), bad_inputs())
def test_bad_input_is_one_clear_error(inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        interpret(with_table(3), inputs)
    assert str(error.value) == message


def test_types_that_cannot_be_interpreted_say_so() -> None:
    text = """\
program "copy" {
  input a : fixed16.8[2]
  output b : fixed16.8[2]
  statement S(x) {
    domain "{ S[x] : 0 <= x < 2 }"
    read a "{ S[x] -> a[x] }"
    write b "{ S[x] -> b[x] }"
    value #0:fixed16.8
  }
  order "{ S[x] -> [x] }"
}
"""
    with pytest.raises(ProgramError) as error:
        interpret(parse_program(text), {"a": np.zeros(2, int)})
    assert str(error.value) == ("values of type fixed16.8 cannot be interpreted: only integers and floating-point "
                                "numbers within float11.52 are supported")


def test_the_input_is_not_changed() -> None:
    data = np.arange(6, dtype=np.uint16).reshape(2, 3)
    interpret(with_table(3), {"a": data})
    assert data.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_prog_and_prog_class_are_the_same() -> None:
    assert prog is Prog

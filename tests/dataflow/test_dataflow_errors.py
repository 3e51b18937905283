"""What programs the dataflow target refuses: one line with the place in the source and a witness."""

from __future__ import annotations

from pathlib import Path

import pytest
from network_programs import matmul, program

import compiler
from compiler.bind.dataflow import addresses
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from compiler.frontend.c_scop import ScopError, load_c
from compiler.passes.directives import TransformError

APPS = Path(__file__).resolve().parents[2] / "apps" / "dataflow"


TEXT = "void f(const int16_t x[8], int16_t y[8]) {{\n#pragma scop\n{line}\n#pragma endscop\n}}"


def test_programs_that_do_not_end() -> None:
    with pytest.raises(ScopError, match=r"bad\.c:4:1: the loop over 'i' does not end") as error:
        program("bad", TEXT.format(line="for (int i = 0; i >= 0; i++) y[i] = x[i];"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", [
    "for (int i = 0; i < 8; i++) y[i] = x[x[i]];", "for (int i = 0; i < 8; i++) y[x[i] & 7] = 1;",
    "for (int i = 0; i < 8; i++) y[i] = x[i * i % 8];"])
def test_places_that_are_not_affine_are_in_memories(line: str) -> None:
    kernel = make_plan(program("good", TEXT.format(line=line)), Options()).kernel
    assert [memory.words for memory in kernel.memories] == [8]
    assert len(kernel.accesses) >= 2


def test_ports_that_elements_do_not_fit() -> None:
    wide = program("wide", TEXT.replace("int16_t", "int64_t").format(line="for (int i = 0; i < 8; i++) y[i] = x[i];"))
    with pytest.raises(DataflowError, match="array 'x' has elements of 64 bits, which no port of bus_bits=32 moves at "
                                            "once: take 64"):
        compiler.compile(wide, target="dataflow", bus_bits=32)
    with pytest.raises(DataflowError, match="bus_bits is 48, not one of 32, 64, 128, 256, 512"):
        Options(bus_bits=48)


def test_illegal_transform_names_two_instances_of_a_dependence() -> None:
    tested = load_c(APPS / "matmul.c", N=4)
    message = (r"reorder to k, j would change the result: statement 'S0' \(.*matmul\.c:16\) at i=0, j=1 must come "
               r"before statement 'S1' \(.*matmul\.c:18\) at i=0, j=1, k=0")
    with pytest.raises(TransformError, match=message) as error:
        compiler.compile(tested, target="dataflow", transform="reorder(k, j)")
    assert "\n" not in str(error.value)


def test_a_reordering_buffer_that_is_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_MOST_WORDS", 16)
    message = (r"statement 'Comp' \(matmul\.c:\d+\): values of 'A' need a reordering buffer of 32 words, more than 16; "
               r"that of ReadA\[0, 5\] waits 177 ticks")
    with pytest.raises(DataflowError, match=message) as error:
        make_plan(matmul(6, transposed=False), Options(reorder="chip"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"transform": 3}, "transform is 3, not a text like"),
    ({"latency": 3}, "latency is 3, not a table like"),
    ({"lanes": "two"}, "lanes is two, not in"),
    ({"latency": {"add": "x"}}, "latency of 'add' is x ticks"),
])
def test_options_of_the_wrong_kind(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataflowError, match=message):
        Options(**options)  # pyright: ignore[reportArgumentType]

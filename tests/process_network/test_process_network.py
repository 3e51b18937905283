"""Process networks: the rows F1 to F9, F13, F16, F19, F28, F29 and F33 of Bok 2018 under their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_programs import INNER_PRODUCT, KERNELS, ROW_SUM, kernel, matmul, nests, program

from compiler.analysis.dependences import flow
from compiler.cli.input_files import random_inputs
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program, Statement
from compiler.passes import directives as transform
from compiler.sched.process_network import (
    ChannelKind,
    NetworkError,
    NodeKind,
    ProcessNetwork,
    derive,
    draw_network,
    parse_network,
    print_loops,
    print_network,
    run_freely,
    run_scheduled,
    size_polynomials,
)
from compiler.sched.process_network.channels import traffic
from compiler.sched.process_network.memory import memory_dependences


def edges(network: ProcessNetwork) -> dict[str, tuple[str, int]]:
    """Kind and size of every edge by its name."""
    return {edge.name: (edge.kind.value, edge.size) for edge in network.edges}


def check_run(network: ProcessNetwork, seed: int = 0) -> None:
    """Both ways to run it give what the interpreter gives, and the channels fill exactly to their sizes."""
    inputs = random_inputs(network.program, seed)
    expected = interpret(network.program, inputs)
    scheduled, free = run_scheduled(network, inputs), run_freely(network, inputs)
    for name, values in expected.items():
        assert np.array_equal(scheduled.outputs[name], values)
        assert np.array_equal(free.outputs[name], values)
    assert scheduled.high_water == tuple(edge.size for edge in network.edges)


def test_f01_nodes_of_the_matrix_product() -> None:
    network = derive(matmul(100))
    assert [node.name for node in network.nodes] == ["ReadA", "ReadB", "InitC", "Comp", "WriteC"]
    assert [node.firings for node in network.nodes] == [10_000, 10_000, 10_000, 1_000_000, 10_000]


def test_f01_subscript_that_is_not_affine() -> None:
    text = "void f(const int A[64], int B[8]) {\n#pragma scop\nfor (int i = 0; i < 8; i++) B[i] = A[i * i];\n" \
           "#pragma endscop\n}"
    network = derive(program("good", text))
    sources = {edge.source for edge in network.edges if edge.sink == "S0" and edge.origin == "flow"}
    assert sources == {"A_filled"}  # the load waits for the word that is stored last


def test_f02_access_relations() -> None:
    summed = program("row_sum", ROW_SUM, N=5, M=7)
    statement = summed.statement("S3")
    assert [str(read.map.range().get_tuple_name()) for read in statement.reads] == ["y", "scale", "A"]
    box = "0 <= i < 5 and 0 <= j < 7"
    expected = isl.Map(f"{{ S3[i, j] -> A[i, j] : {box} }}")
    assert statement.reads[2].map.intersect_domain(statement.domain).is_equal(expected)
    assert statement.write.map.intersect_domain(statement.domain).is_equal(isl.Map(f"{{ S3[i, j] -> y[i] : {box} }}"))


def test_f03_memory_based_dependences() -> None:
    found = memory_dependences(program("dot", INNER_PRODUCT, N=9))
    later = "T[i] -> T[j] : 0 <= i < j < 9"
    first = "S[] -> T[i] : 0 <= i < 9"
    assert found["RAW"].is_equal(isl.UnionMap(f"{{ {first}; {later} }}"))
    assert found["WAR"].is_equal(isl.UnionMap(f"{{ {later} }}"))
    assert found["WAW"].is_equal(isl.UnionMap(f"{{ {first}; {later} }}"))


FLOWS = {
    "dot": (lambda: program("dot", INNER_PRODUCT, N=9), "{ T[0] -> S[]; T[i] -> T[i - 1] : 1 <= i < 9 }"),
    "row_sum": (lambda: program("row_sum", ROW_SUM, N=4, M=6),
                "{ S3[i, 0] -> S2[i] : 0 <= i < 4; S3[i, j] -> S3[i, j - 1] : 0 <= i < 4 and 1 <= j < 6; "
                "S3[i, j] -> S1[] : 0 <= i < 4 and 0 <= j < 6 }"),
    "matmul": (lambda: matmul(7),
               "{ Comp[i, j, k] -> ReadA[i, k] : 0 <= i, j, k < 7; Comp[i, j, k] -> ReadB[j, k] : 0 <= i, j, k < 7; "
               "Comp[i, j, 0] -> InitC[i, j] : 0 <= i, j < 7; "
               "Comp[i, j, k] -> Comp[i, j, k - 1] : 0 <= i, j < 7 and 1 <= k < 7; "
               "WriteC[i, j] -> Comp[i, j, 6] : 0 <= i, j < 7 }"),
}


@pytest.mark.parametrize("name", FLOWS)
def test_f04_value_based_flow(name: str) -> None:
    build, expected = FLOWS[name]
    total = isl.UnionMap("{ }")
    for dependence in flow(build()):
        total = total.union(isl.UnionMap.from_map(dependence.relation))
    assert total.is_equal(isl.UnionMap(expected))


EQUATION_5 = {
    "ReadA": "{ ReadA[i, j] -> [i, 0, j] }", "ReadB": "{ ReadB[i, j] -> [0, i, j] }",
    "InitC": "{ InitC[i, j] -> [i, j, 0] }", "Comp": "{ Comp[i, j, k] -> [i, j, k] }",
    "WriteC": "{ WriteC[i, j] -> [i, j, 4] }",
}


def test_f05_the_schedule_of_the_seed_is_computed_and_accepted() -> None:
    computed = derive(matmul(5))
    schedule = {name: isl.Map(text) for name, text in EQUATION_5.items()}
    for node in computed.nodes:
        assert node.schedule.is_equal(schedule[node.name].intersect_domain(node.schedule.domain()))
    assert derive(matmul(5), schedule) == computed


PREFIX = """
void f(const int16_t x[33], int32_t y[33]) {
#pragma scop
  y[0] = x[0];
  for (int i = 1; i < 33; i++) y[i] = y[i - 1] + x[i];
#pragma endscop
}"""

MEDIAN = """
void f(const uint8_t x[40], uint8_t y[40]) {
#pragma scop
  for (int i = 1; i < 39; i++) {
    uint8_t a = x[i - 1], b = x[i], c = x[i + 1];
    uint8_t low = a < b ? a : b, high = a < b ? b : a;
    uint8_t least = high < c ? high : c;
    y[i] = low > least ? low : least;
  }
  y[0] = x[0];
  y[39] = x[39];
#pragma endscop
}"""


APART = """
void f(const int16_t x[8], int16_t y[16], const int16_t u[9], int16_t w[9]) {
#pragma scop
  for (int i = 0; i < 8; i++) y[2 * i] = x[7 - i];
  for (int i = 0; i < 9; i++) w[8 - i] = u[i] * 3;
#pragma endscop
}"""


@pytest.mark.parametrize(("text", "most"), [(PREFIX, 34), (MEDIAN, 41), (APART, 16)])
def test_f05_statements_run_together(text: str, most: int) -> None:
    """Private scalars, borders and first steps do not make loops run one after another."""
    network = derive(program("stages", text), movable=lambda _: True)
    fired = isl.UnionSet("{ }")
    for time in network.times.values():
        fired = fired.union(isl.UnionSet.from_set(time.range()))
    assert isl.Set.from_union_set(fired).count_val().to_python() <= most
    check_run(network)


def test_f05_a_schedule_that_breaks_a_dependence() -> None:
    schedule = {name: isl.Map(text) for name, text in EQUATION_5.items()}
    schedule["Comp"] = isl.Map("{ Comp[i, j, k] -> [i, j, 4 - k] }")
    with pytest.raises(NetworkError, match=r"statement 'Comp' \(matmul.c:\d+\): the schedule reads 'C' of "
                                           r"'(InitC|Comp)' before it is written: Comp\["):
        derive(matmul(5), schedule)


def test_f05_a_schedule_that_fires_twice_at_one_time_or_misses_a_node() -> None:
    schedule = {name: isl.Map(text) for name, text in EQUATION_5.items()}
    with pytest.raises(NetworkError, match=r"statement 'Comp'.* fires two instances at one time"):
        derive(matmul(5), {**schedule, "Comp": isl.Map("{ Comp[i, j, k] -> [i, j, 0] }")})
    del schedule["InitC"]
    with pytest.raises(NetworkError, match=r"statement 'InitC'.*: the schedule gives it no time"):
        derive(matmul(5), schedule)


def test_f06_reuse_becomes_edges_of_the_node_to_itself() -> None:
    network = derive(matmul(5))
    assert len(network.edges) == 7
    reuse = {edge.array: edge for edge in network.edges if edge.origin == "reuse"}
    assert set(reuse) == {"A", "B"}
    assert all(edge.source == edge.sink == "Comp" for edge in reuse.values())
    for edge in network.edges:
        assert edge.relation.is_single_valued() and edge.relation.is_injective()


@pytest.mark.parametrize("size", [5, 100])
def test_f07_f08_kinds_and_sizes(size: int) -> None:
    found = edges(derive(matmul(size)))
    assert found.pop("Comp->Comp.1'") == ("shift register", size)
    assert found.pop("Comp->Comp.2'") == ("shift register", size * size)
    assert set(found.values()) == {("register", 1)} and len(found) == 5


def test_f07_f08_untransposed_operand_is_reordered() -> None:
    """All reads first need room for all of B; computed times have them no earlier than the first products want them."""
    schedule = {name: isl.Map(text) for name, text in EQUATION_5.items()}
    schedule |= {"ReadB": isl.Map("{ ReadB[i, j] -> [-1, i, j] }")}
    network = derive(matmul(5, transposed=False), schedule)
    assert edges(network)["ReadB->Comp.2"] == ("reordering buffer", 25)
    check_run(network)
    network = derive(matmul(5, transposed=False))
    assert edges(network)["ReadB->Comp.2"] == ("reordering buffer", 20)
    check_run(network)


def test_f08_a_movable_reader_needs_no_reordering() -> None:
    network = derive(matmul(6, transposed=False), movable=lambda _: True)
    assert edges(network)["ReadB->Comp.2"] == ("register", 1)
    check_run(network)


@pytest.mark.parametrize("name", KERNELS)
def test_f08_f33_sizes_are_reached_and_one_word_less_is_too_small(name: str) -> None:
    network = derive(kernel(name))
    check_run(network)
    inputs = random_inputs(network.program, 0)
    for edge in network.edges:
        with pytest.raises(NetworkError, match=r"channel .* of \d+ words overflows at \w+\["):
            run_scheduled(network, inputs, {edge.name: edge.size - 1})


def test_f33_a_channel_that_is_too_small_deadlocks() -> None:
    network = derive(matmul(4))
    with pytest.raises(NetworkError, match=r"deadlock: .*Comp\[0, 3, 3\]"):
        run_freely(network, random_inputs(network.program, 0), {"Comp->Comp.2'": 15})
    with pytest.raises(NetworkError, match="deadlock: "):
        run_freely(network, random_inputs(network.program, 0), {"Comp->Comp.1'": 3})


@pytest.mark.parametrize("name", ["triangular", "elimination", "strided"])
def test_f09_text_form(name: str) -> None:
    network = derive(kernel(name))
    assert parse_network(print_network(network)) == network


@pytest.mark.parametrize(("old", "new", "message"), [
    ('"size": 16', '"size": 15', "edge Comp->Comp.2': the text says size 15, its program and schedule give 16"),
    ('"kind": "shift register"', '"kind": "FIFO"', "the text says kind FIFO"),
    ("Comp[i, j, k] -> [i, j, k]", "Comp[i, j, k] -> [i, j, 3 - k]", "before it is written"),
    ('"format": "sluice', '"format": "other', "its format is not 'sluice process network 1'"),
    ('"nodes": [', '"nodes": 3, "other": [', "it has no nodes"),
    ('"relation": "{', '"relation": "', "a node or an edge is incomplete"),
    ('"edges"', "edges", r"line \d+, column 2"),
])
def test_f09_text_that_is_no_network(old: str, new: str, message: str) -> None:
    text = print_network(derive(matmul(4)))
    assert old in text
    with pytest.raises(NetworkError, match=message):
        parse_network(text.replace(old, new))


def test_network_prints_and_draws() -> None:
    network = derive(matmul(5))
    assert "Comp->Comp.2' (B): shift register, 25 words" in str(network)
    picture = draw_network(network)
    assert picture.count("<rect") == 5 and picture.count("<title>") == 7
    assert picture.count('stroke-width="3"') == 2


def test_f13_kinds_of_nodes() -> None:
    kinds = [node.kind for node in derive(matmul(4)).nodes]
    assert kinds == [NodeKind.INPUT, NodeKind.INPUT, NodeKind.CONSTANT, NodeKind.COMPUTE, NodeKind.OUTPUT]


def test_f13_transfers_are_inserted_where_statements_compute_on_them() -> None:
    network = derive(program("dot", INNER_PRODUCT, N=4))
    assert {n.name: n.kind for n in network.nodes} == {
        "Read_a": NodeKind.INPUT, "Read_b": NodeKind.INPUT, "S": NodeKind.CONSTANT, "T": NodeKind.COMPUTE,
        "Write_c": NodeKind.OUTPUT,
    }


def test_f16_distance_vectors() -> None:
    network = derive(matmul(5))
    vectors = {e.name: traffic(e, network.times).distances().tolist() for e in network.edges}
    assert vectors["Comp->Comp.1'"] == [[0, 1, 0]]
    assert vectors["Comp->Comp.2'"] == [[1, 0, 0]]
    assert vectors["Comp->Comp.0"] == [[0, 0, 1]]


def test_f19_only_the_accumulation_is_feedback() -> None:
    network = derive(matmul(5))
    assert [e.name for e in network.edges if e.origin == "flow" and e.source == e.sink] == ["Comp->Comp.0"]
    number = {n.name: n.number for n in network.nodes}
    assert all(number[e.source] < number[e.sink] for e in network.edges if e.source != e.sink)


def test_f16_an_edge_whose_distance_varies_is_no_shift_register() -> None:
    """All its distances are reported; it is a reordering buffer, or queues of its parts."""
    network = derive(matmul(3, transposed=False))
    edge = next(e for e in network.edges if e.name == "ReadB->Comp.2")
    assert len(traffic(edge, network.times).distances()) > 1
    assert edge.kind is ChannelKind.REORDERING
    parts = derive(matmul(4), tiled_times(2, 4))
    assert [e.name for e in parts.edges if e.array == "B" and e.origin == "reuse"] == ["Comp->Comp.2'#1",
                                                                                       "Comp->Comp.2'#2"]


def tiled_times(width: int, size: int) -> dict[str, isl.Map]:
    """The C-slow schedule of section 5.5: `width` sums of `size` terms interleaved."""
    return {
        "ReadA": isl.Map(f"{{ ReadA[i, j] -> [i // {width}, 0, j, i % {width}] }}"),
        "ReadB": isl.Map("{ ReadB[i, j] -> [0, i, j, 0] }"),
        "InitC": isl.Map(f"{{ InitC[i, j] -> [i // {width}, j, 0, i % {width}] }}"),
        "Comp": isl.Map(f"{{ Comp[i, j, k] -> [i // {width}, j, k, i % {width}] }}"),
        "WriteC": isl.Map(f"{{ WriteC[i, j] -> [i // {width}, j, {size - 1}, i % {width}] }}"),
    }


@pytest.mark.parametrize(("width", "size"), [(4, 12), (12, 24)])
def test_f29_channels_after_tiling(width: int, size: int) -> None:
    network = derive(matmul(size), tiled_times(width, size))
    found = edges(network)
    assert found["Comp->Comp.1'"] == ("shift register", width * size)
    assert found["Comp->Comp.2'#1"] == ("register", 1)
    assert found["Comp->Comp.2'#2"] == ("shift register", size * size)
    vectors = {e.name: traffic(e, network.times).distances().tolist() for e in network.edges}
    assert vectors["Comp->Comp.0"] == [[0, 0, 1, 0]]
    assert vectors["Comp->Comp.2'#1"] == [[0, 0, 0, 1]]
    assert vectors["Comp->Comp.2'#2"] == [[1, 0, 0, 1 - width]]
    if size < 20:
        check_run(network)


TRANSFORMS: dict[str, Callable[[Program], Program]] = {
    "interchange": lambda p: transform.reorder(p, ("y", "x")[::-1], ["step"]),
    "reversal": lambda p: transform.reverse(p, "x", ["step"]),
    "strip-mine": lambda p: transform.split(p, "x", 4),
    "tile": lambda p: transform.tile(p, {"y": 4, "x": 4}, ["step"]),
    "fusion": lambda p: transform.fuse(p, "step", "after", 2),
    "fission": lambda p: transform.distribute(transform.fuse(p, "step", "after", 2), "after", 2),
}


def two_stages(height: int = 10, width: int = 10) -> Program:
    """An element-wise stage and one that sums it with its own input; sizes that no tile of four divides."""
    prg = prog("stages")
    prg.add_input("image", (height, width))
    prg.add_output("result")
    step = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("step")
    step.add_load("image", "x", "y")
    step.add_load("image", "x", "y")
    step.add_function("mul")
    step.add_store("middle", "x", "y")
    after = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("after")
    after.add_load("middle", "x", "y")
    after.add_load("image", "x", "y")
    after.add_function("sub")
    after.add_store("result", "x", "y")
    return prg.build()


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("movable", [False, True])
def test_f28_networks_of_transformed_programs(name: str, movable: bool) -> None:
    network = derive(TRANSFORMS[name](two_stages()), movable=lambda _: movable)
    assert network.node("step").firings == 100
    check_run(network)


def test_f28_reversed_accumulation_where_order_matters() -> None:
    recurrence = program("recurrence", "void f(const int16_t x[9], int16_t y[1]) {\n#pragma scop\n y[0] = 1;\n"
                                       "for (int i = 0; i < 9; i++) y[0] = y[0] * 3 + x[i];\n#pragma endscop\n}")
    with pytest.raises(transform.TransformError, match="statement 'S1'"):
        transform.reverse(recurrence, "i")


def _movable(statement: Statement) -> bool:
    return statement.name.startswith("Read")


@settings(max_examples=12, deadline=None)
@given(nests(), st.booleans())
def test_random_affine_programs(tested: Program, movable: bool) -> None:
    check_run(derive(tested, movable=_movable if movable else lambda _: False))


def test_kinds_are_exact() -> None:
    network = derive(matmul(5, transposed=False))
    assert {edge.kind for edge in network.edges} == {ChannelKind.REGISTER, ChannelKind.SHIFT_REGISTER,
                                                     ChannelKind.REORDERING}


FIGURE_6_1 = """for (int c0 = 0; c0 <= 4; c0 += 1)
  for (int c1 = 0; c1 <= 4; c1 += 1) {
    for (int c2 = 0; c2 <= 4; c2 += 1) {
      if (c1 == 0)
        ReadA(c0, c2);
      if (c0 == 0)
        ReadB(c1, c2);
      if (c2 == 0)
        InitC(c0, c1);
      Comp(c0, c1, c2);
    }
    WriteC(c0, c1);
  }
"""


def test_f10_fused_loops() -> None:
    """Figure 6.1b up to the names of iterators and the place of InitC, which fires in the tick of its first use."""
    assert print_loops(derive(matmul(5))).strip() == FIGURE_6_1.strip()


@pytest.mark.parametrize(("bounds", "message"), [
    ("0 <= i and 0 <= j < 4", r"'i' has no greatest value, Comp\[1000000, \d, \d\] is one of its instances"),
    ("0 <= i < 4 and j <= i", r"'j' has no least value, Comp\[\d, -1000000, \d\] is one of its instances"),
])
def test_unbounded_domain(bounds: str, message: str) -> None:
    tested = matmul(4)
    endless = replace(tested.statement("Comp"), domain=isl.Set(f"{{ Comp[i, j, k] : {bounds} and 0 <= k < 4 }}"))
    statements = tuple(endless if s.name == "Comp" else s for s in tested.statements)
    with pytest.raises(NetworkError, match=rf"statement 'Comp'.*: its domain is not bounded: {message}"):
        derive(replace(tested, statements=statements))


def test_f09_sizes_as_functions_of_the_parameter() -> None:
    found = size_polynomials(lambda n: derive(matmul(n)), [2, 3, 4, 5, 7, 9])
    assert {name: str(function) for name, function in found.items() if str(function) != "1"} == {
        "Comp->Comp.1'": "n", "Comp->Comp.2'": "n^2",
    }
    assert found["Comp->Comp.2'"](100) == 10_000
    assert {e.name: e.size for e in derive(matmul(20)).edges} == {name: f(20) for name, f in found.items()}


def test_f09_sizes_that_are_no_function() -> None:
    with pytest.raises(NetworkError, match=r"at least 3 different sizes, not \[4, 5\]"):
        size_polynomials(lambda n: derive(matmul(n)), [4, 5])
    with pytest.raises(NetworkError, match=r"edge Comp->Comp.2': its size is no polynomial of degree below 2: at 5 "
                                           r"it is 25, not 23"):
        size_polynomials(lambda n: derive(matmul(n)), [3, 4, 5, 6])
    with pytest.raises(NetworkError, match="networks of sizes 4 and 6 have different edges"):
        size_polynomials(lambda n: derive(matmul(n)) if n < 6 else derive(kernel("triangular")), [4, 5, 6])

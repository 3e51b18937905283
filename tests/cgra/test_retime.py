"""Retiming: hand-computed cases, the optimum against an integer solver, errors."""

from dataclasses import replace

import pytest
from cgra_netlists import Builder, gaussian, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from compiler.bind.cgra.netlist import Edge, Netlist, PeNode, Pin, SkewBound, StreamOut
from compiler.bind.cgra.retime import DelayShortage, retime
from compiler.bind.cgra.timing import RecurrenceViolation, TimingSystem
from hw.pe.config import PeConfig


def one_hop(netlist: Netlist, hops: int = 1) -> dict[Pin, int]:
    return {edge.sink: hops for edge in netlist.edges}


def test_chain_takes_hops_and_two_cycles_per_pe():
    b = Builder()
    first = b.pe("add", (b.stream_in("i"), 0))
    second = b.pe("sub", (first, 0))
    b.stream_out("o", second)
    netlist = b.build()
    hops = {Pin(first.node, "word0"): 0, Pin(second.node, "word0"): 3, Pin("o", "in"): 2}
    retiming = retime(netlist, hops)
    assert retiming.times == {Pin("i", "out"): 2, first: 2 + 0 + 2, second: 4 + 3 + 2, Pin("o", "in"): 9 + 2 + 1}
    assert set(retiming.delays.values()) == {0} and Pin("o", "in") not in retiming.delays
    assert retiming.latest == 12 and retiming.words == 0
    assert "latest output at 12, 0 delay words" in str(retiming)


def test_short_branch_waits_for_the_long_one():
    b = Builder()
    i = b.stream_in("i")
    long = b.pe("abs", (b.pe("abs", (i, 0)), 0))
    total = b.pe("add", (i, 0), (long, 0))
    b.stream_out("o", total)
    retiming = retime(b.build(), one_hop(b.build()))
    assert retiming.delays[Pin(total.node, "word0")] == 6
    assert retiming.delays[Pin(total.node, "word1")] == 0


def test_distance_is_served_by_delay_where_there_is_no_slack():
    b = Builder()
    i = b.stream_in("i")
    total = b.pe("add", (i, 0), (i, 4))
    b.stream_out("o", total)
    retiming = retime(b.build(), one_hop(b.build()))
    assert retiming.delays == {Pin(total.node, "word0"): 0, Pin(total.node, "word1"): 4}


def test_memory_output_moves_within_its_separation():
    b = Builder()
    i = b.stream_in("i")
    row, _ = b.line_buffer("m", i, minimum=-5, maximum=20)
    slow = b.pe("abs", (b.pe("abs", (b.pe("abs", (i, 0)), 0)), 0))
    b.stream_out("o", b.pe("add", (row, 0), (slow, 0)))
    retiming = retime(b.build(), one_hop(b.build()))
    assert retiming.words == 0
    assert -5 <= retiming.times[row] - retiming.times[Pin("m", "in0")] <= 20


def test_a_memory_output_waits_for_the_start_of_its_fetches():
    """Also one whose words may come long before what is written: nothing is fetched before the run starts."""
    b = Builder()
    i = b.stream_in("i")
    row, _ = b.line_buffer("m", i, minimum=-50, maximum=20)
    b.stream_out("o", b.pe("abs", (row, 0)))
    netlist = b.build()
    early = retime(netlist, one_hop(netlist)).times
    late = retime(replace(netlist, starts={row: 17}), one_hop(netlist)).times
    assert early[row] < 17 == late[row] and late[Pin("o", "in")] - 17 == early[Pin("o", "in")] - early[row]


def test_a_loop_of_its_own_starts_with_the_run():
    """However late the memory in it is read first: the loop has no other time than that."""
    b = Builder()
    row, _ = b.line_buffer("m", Pin("abs1", "word0"), minimum=1, maximum=4000)
    b.edges[0] = replace(b.edges[0], distance=100)
    total = b.pe("abs", (row, 0))
    b.stream_out("o", total)
    netlist = b.build()
    plain = retime(netlist, one_hop(netlist)).times
    assert retime(replace(netlist, starts={row: -5000}), one_hop(netlist)).times == plain
    assert max(plain.values()) >= 4


def test_both_outputs_of_a_pe_share_a_time():
    b = Builder()
    i = b.stream_in("i")
    first = b.pe("lt", (i, 0))
    b.edges.append(Edge(Pin(first.node, "word0"), Pin("extra", "word0"), "word"))
    b.nodes["extra"] = PeNode("extra", PeConfig("pass"))
    b.stream_out("o", b.pe("select", (i, 0), bits=((first, 0),)))
    retiming = retime(b.build(), one_hop(b.build()))
    assert retiming.times[first] == retiming.times[Pin(first.node, "word0")]


def test_feedback_fits_its_distance():
    b = Builder()
    total = b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 6))
    b.stream_out("o", total)
    retiming = retime(b.build(), one_hop(b.build(), 4))
    assert retiming.delays[Pin("add1", "word1")] == 0


def test_feedback_that_is_too_slow():
    b = Builder()
    total = b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 4))
    b.stream_out("o", total)
    with pytest.raises(RecurrenceViolation) as error:
        retime(b.build(), one_hop(b.build(), 4))
    assert str(error.value) == ("the recurrence add1.word1 -> add1.word1 is 2 cycles longer than its "
                                "dependence distances allow")


def test_shortage_names_edges_and_cycles():
    b = Builder()
    i = b.stream_in("i")
    b.stream_out("o", b.pe("add", (i, 0), (i, 18)))
    with pytest.raises(DelayShortage) as error:
        retime(b.build(), one_hop(b.build()))
    assert str(error.value) == (
        "input stages delay by at most 15 cycles: i.out -> add1.word1 (word, distance 18) lacks 3")
    assert error.value.missing == {b.edges[1]: 3}


def test_shortage_through_a_bounded_memory():
    b = Builder()
    i = b.stream_in("i")
    row, _ = b.line_buffer("m", i, minimum=1, maximum=2)
    slow = b.reduce("add", [(i, 0)] * 12)
    b.stream_out("o", b.pe("add", (row, 0), (slow, 0)))
    with pytest.raises(DelayShortage) as error:
        retime(b.build(), one_hop(b.build(), 2))
    assert error.value.missing


def test_a_longer_input_stage_needs_no_more():
    b = Builder()
    i = b.stream_in("i")
    b.stream_out("o", b.pe("add", (i, 0), (i, 18)))
    assert retime(b.build(), one_hop(b.build()), delay_depth=32).words == 18


def test_empty_netlist():
    assert retime(Netlist({}, ()), {}).times == {}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 25), hops=st.integers(1, 3))
def test_optimum_is_that_of_an_integer_solver(seed, pes, hops):
    netlist = random_netlist(seed, pes, distance=3)
    lengths = {edge.sink: hops + (hash_of(edge) % 2) for edge in netlist.edges}
    oracle = integer_optimum(netlist, lengths)
    if oracle is None:
        with pytest.raises(DelayShortage):
            retime(netlist, lengths)
    else:
        retiming = retime(netlist, lengths)
        assert (retiming.latest, retiming.words) == oracle


def hash_of(edge: Edge) -> int:
    return sum(map(ord, str(edge)))


def integer_optimum(netlist: Netlist, hops: dict[Pin, int]) -> tuple[int, int] | None:
    """Least latest output and least words for it, from the constraints as the contract states them."""
    model = cp_model.CpModel()
    times: dict[Pin, cp_model.IntVar] = {}

    def time(pin: Pin) -> cp_model.IntVar:
        pin = Pin(pin.node, "") if isinstance(netlist.nodes[pin.node], PeNode) else pin
        stream = pin.port == "out" and pin.node.startswith("input")
        return times.setdefault(pin, model.new_int_var(2 if stream else -500, 1000, str(pin)))

    words, ends = [], []
    for edge in netlist.edges:
        sink = netlist.nodes[edge.sink.node]
        gap = time(edge.sink) - time(edge.source) - hops[edge.sink] + edge.distance
        if isinstance(sink, StreamOut):
            model.add(gap == 1)
            ends.append(time(edge.sink))
        else:
            delta = gap - (2 if isinstance(sink, PeNode) else 1)
            model.add_linear_constraint(delta, 0, 15)
            words.append(delta)
    for s in netlist.separations:
        model.add_linear_constraint(time(s.output) - time(s.input), s.minimum, s.maximum)
    latest = model.new_int_var(-500, 1000, "latest")
    model.add_max_equality(latest, ends)
    model.minimize(1000000 * latest + sum(words))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return solver.value(latest), sum(solver.value(word) for word in words)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 40))
def test_least_solution_is_least(seed, pes):
    """No time of the least solution can be lowered by one."""
    system = TimingSystem(random_netlist(seed, pes), Ones(), 16, 2)
    times = system.earliest(limits=False)
    for index, value in enumerate(times):
        lowered = [*times[:index], value - 1, *times[index + 1 :]]
        held = system.anchors.get(index) == value
        broken = any(lowered[b.after] - lowered[b.before] < b.low for b in system.bounds)
        tight = any(lowered[b.after] - lowered[b.before] > b.high and isinstance(b.cause, SkewBound)
                    for b in system.bounds)
        assert held or broken or tight


class Ones(dict):
    """One hop on the way to every pin."""

    def __missing__(self, key):
        return 1


def test_gaussian_with_the_newest_row_first_needs_few_words():
    retiming = retime(gaussian(), one_hop(gaussian()))
    # The stream at 2, the first tap two words back, ten units of one hop and two cycles each, a hop and the IO stage.
    assert retiming.latest == 2 - 2 + 10 * 3 + 2
    assert retiming.words < 40

"""Chains of PEs that only delay: how many, who taps them, what they are."""

import pytest
from cgra_netlists import Builder, gaussian, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.cgra.netlist import Edge, Netlist, Pin
from compiler.bind.cgra.path_balancing import insert_delays, pass_node, plan_delays
from compiler.bind.cgra.retime import retime
from compiler.bind.cgra.timing import RecurrenceViolation
from hw.ops import OPERATIONS


def hops(netlist: Netlist, count: int = 1) -> dict[Pin, int]:
    return {edge.sink: count for edge in netlist.edges}


def taps(*distances: int) -> Netlist:
    """One stream used at several distances by a chain of adders."""
    b = Builder()
    i = b.stream_in("i")
    b.stream_out("o", b.reduce("add", [(i, d) for d in distances]))
    return b.build()


def test_nothing_to_do():
    plan = plan_delays(taps(0, 4), hops(taps(0, 4)), 16, 2)
    assert plan.count == 0 and not plan.detours
    assert insert_delays(taps(0, 4), plan) == taps(0, 4)


def test_a_few_cycles_come_from_a_detour():
    netlist = taps(0, 18)
    plan = plan_delays(netlist, hops(netlist), 16, 2)
    assert plan.count == 0 and plan.detours == {Pin("add1", "word1"): 1 + 4}
    assert str(plan) == "detour to add1.word1: 5 hops"
    retime(netlist, hops(netlist) | plan.detours)


def test_without_detours_a_pass_is_inserted():
    netlist = taps(0, 18)
    plan = plan_delays(netlist, hops(netlist), 16, 2, detours=False)
    assert plan.stages == {Pin("i", "out"): ((Pin("add1", "word1"),),)}
    padded = insert_delays(netlist, plan)
    assert list(padded.nodes) == ["i", "add1", "o", "i_delay0"]
    assert Edge(Pin("i", "out"), Pin("i_delay0", "word0"), "word") in padded.edges
    assert Edge(Pin("i_delay0", "word0"), Pin("add1", "word1"), "word", 18) in padded.edges
    padded.verify()
    retime(padded, hops(padded))


def test_sinks_of_a_net_share_one_chain():
    """Distances 0, 20, 40, 60: 60 is served by three PEs, the others tap them."""
    netlist = taps(0, 20, 40, 60)
    plan = plan_delays(netlist, hops(netlist), 16, 2, detours=False)
    assert plan.count == 3
    padded = insert_delays(netlist, plan)
    tapped = {edge.source.node for edge in padded.edges if edge.distance}
    assert tapped == {"i_delay0", "i_delay1", "i_delay2"}
    retime(padded, hops(padded))


def test_chains_are_of_the_network_of_their_net():
    b = Builder()
    i = b.stream_in("i")
    now, before = b.pe("lt", (i, 0), (i, 1)), b.pe("lt", (i, 1), (i, 0))
    both = b.pe("lut3", bits=((now, 0), (before, 0), (now, 18)))
    b.stream_out("o", b.pe("select", (i, 0), (i, 0), bits=((both, 0),)))
    netlist = b.build()
    padded = insert_delays(netlist, plan_delays(netlist, hops(netlist), 16, 2, detours=False))
    added = padded.nodes["lt1_delay0"]
    assert added == pass_node("lt1_delay0", "bit")
    assert {e.network for e in padded.edges if "lt1_delay0" in (e.source.node, e.sink.node)} == {"bit"}
    retime(padded, hops(padded))


def test_pass_nodes_do_nothing():
    word, bit = pass_node("w", "word").config, pass_node("b", "bit").config
    assert word.inputs == ("word0",) and word.output == "word0"
    assert OPERATIONS[word.op].evaluate(16, 1234) == 1234
    assert bit.inputs == ("bit0",) and bit.output == "bit0"
    for value in (0, 1):
        assert OPERATIONS[bit.op].evaluate(16, bit.table, value, *bit.bit_constants[1:]) == value


def test_names_stay_unique():
    netlist = taps(0, 18)
    plan = plan_delays(netlist, hops(netlist), 16, 2, detours=False)
    once = insert_delays(netlist, plan)
    again = insert_delays(Netlist(once.nodes, netlist.edges, ()), plan)
    assert len(again.nodes) == len(once.nodes) + 1


def test_gaussian_with_the_oldest_row_first_shares_one_chain():
    netlist = gaussian(newest_first=False)
    plan = plan_delays(netlist, hops(netlist), 16, 2)
    assert set(plan.stages) <= {Pin("input", "out"), Pin("lines", "out0"), Pin("lines", "out1")}
    assert plan.count == 1


def test_a_slow_loop_is_not_a_matter_of_delay():
    b = Builder()
    b.stream_out("o", b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 3)))
    with pytest.raises(RecurrenceViolation):
        plan_delays(b.build(), hops(b.build(), 4), 16, 2)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 40), distance=st.integers(0, 40), count=st.integers(1, 3))
def test_a_plan_without_detours_closes(seed, pes, distance, count):
    """With as many hops between any two units as planned for, one plan is nearly always enough, three always."""
    netlist = random_netlist(seed, pes, distance=distance)
    for _ in range(3):
        netlist = insert_delays(netlist, plan_delays(netlist, hops(netlist, count), 16, 2, detours=False))
    retime(netlist, hops(netlist, count))

"""Recurrences of one operation: inside an element, in every cycle."""

from __future__ import annotations

import pytest
from local_feedback_programs import LOCAL, local

import compiler
from compiler.bind.cgra.local_feedback import fold_feedback, operand_pin
from compiler.bind.cgra.netlist import Edge, Netlist, Node, PeNode, Pin
from compiler.sched.static.schedule import UNIT_II
from hw.pe.config import PeConfig

SELECT = PeConfig("select", constants=(7, None, None))


def looped(config: PeConfig, *, distance: int = 1, port: str = "word1", others: tuple[Edge, ...] = ()) -> Netlist:
    """An element with its own result at a port, behind a select of a constant to begin with."""
    nodes: list[Node] = [PeNode(name, PeConfig("pass")) for name in ("x", "bit")]
    nodes += [PeNode("merge", SELECT), PeNode("sum", config)]
    edges = (Edge(Pin("bit", "bit0"), Pin("merge", "bit0"), "bit"),
             Edge(Pin("sum", "word0"), Pin("merge", "word1"), "word", distance),
             Edge(Pin("merge", "word0"), Pin("sum", port), "word"),
             Edge(Pin("x", "word0"), Pin("sum", "word0"), "word"), *others)
    return Netlist({node.name: node for node in nodes}, edges)


def folded(netlist: Netlist, *kept: Pin) -> PeConfig:
    """The element after folding."""
    node = fold_feedback(netlist, kept).netlist.nodes["sum"]
    assert isinstance(node, PeNode)
    return node.config


def test_a_select_before_an_operand_becomes_a_restart() -> None:
    local = fold_feedback(looped(PeConfig("add")), [])
    assert "merge" not in local.netlist.nodes
    assert local.netlist.nodes["sum"] == PeNode("sum", PeConfig("add", constants=(None, 7, None), feedback=1,
                                                                restart=True))
    assert Edge(Pin("bit", "bit0"), Pin("sum", "bit2"), "bit") in local.netlist.edges
    assert len(local.netlist.edges) == 2
    assert local.operand_of(Pin("merge", "word0"), "sum") == operand_pin("sum", 1)


def test_a_result_that_is_an_operand_alone_needs_no_wire() -> None:
    own = Edge(Pin("sum", "word0"), Pin("sum", "word1"), "word", 1)
    netlist = Netlist({"sum": PeNode("sum", PeConfig("add"))}, (own,))
    local = fold_feedback(netlist, [Pin("sum", "word0")])
    assert (local.netlist.nodes["sum"], local.netlist.edges) == (PeNode("sum", PeConfig("add", feedback=1)), ())
    assert local.operand_of(Pin("sum", "word0"), "sum") == operand_pin("sum", 1)
    assert local.operand_of(Pin("sum", "word0"), "other") is None


@pytest.mark.parametrize("distance", [0, 2, 6])
def test_another_distance_goes_over_wires(distance: int) -> None:
    assert folded(looped(PeConfig("add"), distance=distance)).feedback is None


def test_factors_go_over_wires() -> None:
    assert folded(looped(PeConfig("mul"))).feedback is None
    assert folded(looped(PeConfig("mad"), port="word2")).feedback == 2


def test_a_select_that_others_take_stays() -> None:
    taken = Edge(Pin("merge", "word0"), Pin("x", "word0"), "word")
    assert folded(looped(PeConfig("add"), others=(taken,))).feedback is None
    assert folded(looped(PeConfig("add")), Pin("merge", "word0")).feedback is None


@pytest.mark.parametrize("memory", ["pub", "dual-port", "dual-port-pe"])
@pytest.mark.parametrize("name", LOCAL)
def test_a_step_per_cycle(name: str, memory: str) -> None:
    """And no more cycles than the steps, the way through the array and what goes before and after."""
    design = compiler.compile(local(name), memory=memory, array="8x8")
    assert design.application.schedule.pace == UNIT_II
    steps = 24 if "i < 24" in LOCAL[name] else 48
    if steps == 24:
        assert any(isinstance(node, PeNode) and node.config.feedback is not None
                   for node in design.application.netlist.nodes.values())
    assert design.predicted_cycles <= steps + 40

"""Sums that come back soon, and words that a memory's output holds."""

from __future__ import annotations

import pytest

import compiler
from compiler.bind.cgra.netlist import PeNode, Pin
from compiler.frontend.apps import load
from compiler.sched.static.schedule import UNIT_II


@pytest.mark.parametrize(("memory", "size"), [("pub", 6), ("dual-port", 5)])
def test_a_sum_that_comes_back_soon_is_added_last(memory: str, size: int) -> None:
    """It comes back after `size` x `size` steps: enough for a merge, an addition and a memory, but not for a chain of
    four products in between. One step in every cycle, for a unit more."""
    program = load("resnet_layer", size=size, inputs=4, outputs=1, unroll_in=4, unroll_out=1)
    design = compiler.compile(program, memory=memory, array="8x8")
    assert design.application.schedule.pace == UNIT_II
    edges = design.application.netlist.edges
    (merge,) = (n for n in design.application.netlist.nodes if "merge" in n)
    (after,) = (edge.sink.node for edge in edges if edge.source.node == merge)
    node = design.application.netlist.nodes[after]
    assert isinstance(node, PeNode) and node.config.op == "add"
    assert design.application.results["Accumulate_0"].pin == Pin(after, node.config.output)
    assert design.application.units["Accumulate_0"] == 5


def test_a_sum_that_comes_back_late_starts_the_chain() -> None:
    program = load("resnet_layer", size=10, inputs=4, outputs=1, unroll_in=4, unroll_out=1)
    design = compiler.compile(program, memory="dual-port", array="8x8")
    assert design.application.units["Accumulate_0"] == 4


def test_weights_that_an_output_holds_are_proven() -> None:
    """Each is read once and used for a whole image; together they are one loop, as a delay line's words are."""
    program = load("resnet_layer", size=112, kernel=7, stride=2, inputs=2, outputs=2, unroll_in=2, unroll_out=2, rows=8,
                   height=16)
    design = compiler.compile(program, memory="dual-port", array="8x12", tile_depth=2)
    assert any(len(tile.buffers) == 2 for tile in design.application.memories)

"""From a netlist to its place on an array: placement, routing, retiming and delays until they agree.

Seed 001, section 5.7 and chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.cgra.check import check
from compiler.bind.cgra.delays import DelayPlan, insert_delays, plan_delays
from compiler.bind.cgra.netlist import Netlist, PeNode
from compiler.bind.cgra.place import Placement, place
from compiler.bind.cgra.retime import DelayShortage, Retiming, retime
from compiler.bind.cgra.route import Routes, Unroutable, route
from compiler.bind.cgra.sites import ArrayTooSmall, check_capacity
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec

__all__ = ["Physical", "implement"]

_TRIES = 5
_REPAIRS = 6
_USUAL_HOPS = 2
"""Hops of an edge, as a guess before placement."""


@dataclass(frozen=True)
class Physical:
    """A netlist (with the PEs that only delay), where its units are, their connections and their times."""

    netlist: Netlist
    placement: Placement
    routes: Routes
    retiming: Retiming

    def __str__(self) -> str:
        return "\n".join(map(str, (self.placement, self.routes, self.retiming)))


def implement(netlist: Netlist, spec: FabricSpec, seed: int = 0) -> Physical:
    """Place, route and retime; the same for the same arguments, and checked by `check`.

    Inserts PEs that only delay where the input stages cannot balance the paths. Raises `ArrayTooSmall`,
    `Unroutable`, `DelayShortage` or `TimingLoop` if a few tries with different seeds do not succeed.
    """
    netlist.verify()
    check_capacity(netlist, spec)
    padded = _anticipate(netlist, spec)
    failure: Unroutable | DelayShortage | ArrayTooSmall | None = None
    for attempt in range(_TRIES):
        try:
            physical = _close(padded, netlist, spec, seed + attempt)
            check(physical, spec)
            return physical
        except (Unroutable, DelayShortage, ArrayTooSmall) as error:
            failure = error
    assert failure is not None
    raise failure


def _anticipate(netlist: Netlist, spec: FabricSpec) -> Netlist:
    """The netlist with the delays that it will need with routes of the usual length, if there is room for them."""
    hops = {edge.sink: _USUAL_HOPS for edge in netlist.edges}
    plan = plan_delays(netlist, hops, spec.delay_depth, GLB_INPUT_LATENCY, detours=False)
    padded = insert_delays(netlist, plan)
    try:
        check_capacity(padded, spec)
    except ArrayTooSmall:
        return netlist
    return padded


def _close(netlist: Netlist, original: Netlist, spec: FabricSpec, seed: int) -> Physical:
    """One try: place afresh, then repair until the retiming succeeds."""
    placement = place(netlist, spec, seed)
    plan = DelayPlan({}, {})
    for _ in range(_REPAIRS):
        routes = route(netlist, placement, spec, plan.detours)
        try:
            return Physical(netlist, placement, routes, retime(netlist, routes.hops, spec.delay_depth))
        except DelayShortage:
            plan = plan_delays(netlist, routes.hops, spec.delay_depth, GLB_INPUT_LATENCY)
        if plan.count:
            netlist = insert_delays(netlist, plan)
            check_capacity(netlist, spec, netlist.count(PeNode) - original.count(PeNode))
            placement = place(netlist, spec, seed, start=placement)
            plan = DelayPlan({}, {})
    routes = route(netlist, placement, spec)
    return Physical(netlist, placement, routes, retime(netlist, routes.hops, spec.delay_depth))

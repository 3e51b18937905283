"""Placement by simulated annealing.

The cost of an edge is a function of the distance between its ends, one table per edge: wire length, and
beyond that what a hop too many or too few does to the retiming. Moves go to free sites and swap with occupied ones
of the same kind. Liu 2023, section 5.1.3; the annealing follows common practice (range limit, geometric cooling).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from compiler.bind.cgra.criticality import Target, targets
from compiler.bind.cgra.netlist import Edge, Netlist, Pin, StreamIn
from compiler.bind.cgra.sites import RESULT_ROW, ArrayTooSmall, Grid, Site, check_capacity, grid, kind_of, kinds
from hw.errors import SluiceError
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec

__all__ = ["ArrayTooSmall", "Placement", "PlacementError", "Site", "distance", "place"]

_EFFORT = 450
"""Moves of one annealing: this times units ** (4/3)."""
_HOT, _WARM, _COLD = 8.0, 1.0, 0.1
"""Temperatures: start of a fresh placement, start of a refinement, end. In hops."""
_STEPS = 40
_REVISE = 5
"""Steps between two revisions of the timing windows."""
_EARLY, _CRITICAL = 2.0, 3.0
"""Cost, beside 1 for wire, of a hop that an edge lacks for its delay, and of a hop on the critical path."""


_ANY = Target(0, 0.0)


class PlacementError(SluiceError):
    """A unit was fixed to a site that it cannot have."""


@dataclass(frozen=True)
class Placement:
    """Site of every unit by name."""

    sites: dict[str, Site]

    def __getitem__(self, name: str) -> Site:
        return self.sites[name]

    def __str__(self) -> str:
        return "\n".join(f"{name} at {site}" for name, site in sorted(self.sites.items()))


def distance(netlist: Netlist, edge: Edge, source: Site, sink: Site) -> int:
    """Least number of switch-box registers between two sites. An edge to the own tile goes out and around."""
    if edge.source.node == edge.sink.node:
        return 4
    span = abs(source.row - sink.row) + abs(source.column - sink.column)
    return span - 1 if isinstance(netlist.nodes[edge.source.node], StreamIn) or sink.row == RESULT_ROW else span


def place(
    netlist: Netlist,
    spec: FabricSpec,
    seed: int = 0,
    fixed: Mapping[str, Site] | None = None,
    start: Placement | None = None,
    spread: float = 1.5,
) -> Placement:
    """Sites for all units; the same for the same arguments.

    `fixed` units stay where they are told. `start` is a placement to refine: units that it does not know
    are put near what they connect to. A fresh placement takes a corner of the array with `spread` times as many
    sites as units, to leave room for routes near the banks. Raises `ArrayTooSmall`, or `PlacementError` for an
    impossible `fixed`.
    """
    check_capacity(netlist, spec)
    annealer = _Annealer(netlist, spec, Random(seed), dict(fixed or {}), start, spread)
    annealer.run(refine=start is not None)
    return Placement({name: annealer.site(i) for i, name in enumerate(netlist.nodes)})


class _Annealer:
    """State of one annealing. Units are numbered as in the netlist; `place_of` holds their site numbers by kind,
    `code` the numbers of their sites in the distance table, `holder` the unit at a site (-1 free, -2 closed)."""

    def __init__(
        self,
        netlist: Netlist,
        spec: FabricSpec,
        random: Random,
        fixed: dict[str, Site],
        start: Placement | None,
        spread: float,
    ):
        self.netlist, self.spec, self.random = netlist, spec, random
        self.names = list(netlist.nodes)
        self.number = {name: i for i, name in enumerate(self.names)}
        self.kinds = [kind_of(node, spec) for node in netlist.nodes.values()]
        self.grids = _region(netlist, spec, math.inf if fixed or start is not None else spread)
        self.edges = [e for e in netlist.edges if e.source.node != e.sink.node]
        self.movable = [i for i, name in enumerate(self.names) if name not in fixed]
        self.codes, self.spans = _distances(self.grids)
        self.neighbours: list[list[tuple[int, list[float]]]] = []
        self.place_of = [-1] * len(self.names)
        self.holder = [[-1] * len(g) for g in self.grids]
        self.reset(fixed, start)

    def reset(self, fixed: dict[str, Site], start: Placement | None) -> None:
        """Put fixed units on their sites, known ones where `start` has them, all others on free sites."""
        for name, site in fixed.items():
            self._fix(name, Site(*site))
        for i in self.movable:
            if start is not None and self.names[i] in start.sites:
                self._put(i, self.grids[self.kinds[i]].index(start[self.names[i]]))
        for kind, holder in enumerate(self.holder):
            homeless = [i for i in self.movable if self.kinds[i] == kind and self.place_of[i] < 0]
            free = [index for index, unit in enumerate(holder) if unit < 0]
            for i in homeless:
                self._put(i, self._nearest(i, free) if start else free[int(self.random.random() * len(free))])
                free.remove(self.place_of[i])

    def _fix(self, name: str, site: Site) -> None:
        if name not in self.number:
            raise PlacementError(f"there is no unit '{name}' to fix at {site}")
        kind = self.kinds[self.number[name]]
        try:
            index = self.grids[kind].index(site)
        except ValueError:
            named = kinds(self.spec)[kind]
            raise PlacementError(f"{name} cannot be at {site}: that is not one of the {named}") from None
        if self.holder[kind][index] != -1:
            raise PlacementError(f"two units are fixed at {site}, one of them {name}")
        self._put(self.number[name], index)

    def _put(self, unit: int, index: int) -> None:
        self.place_of[unit] = index
        self.holder[self.kinds[unit]][index] = unit

    def _nearest(self, unit: int, free: list[int]) -> int:
        """The free site nearest to the placed neighbours of a unit."""
        name, own = self.names[unit], self.grids[self.kinds[unit]]
        ends = [self.number[e.sink.node if e.source.node == name else e.source.node]
                for e in self.edges if name in (e.source.node, e.sink.node)]
        sites = [self.site(i) for i in ends if self.place_of[i] >= 0]
        return min(free, key=lambda index: sum(
            abs(own.site(index).row - s.row) + abs(own.site(index).column - s.column) for s in sites))

    def site(self, unit: int) -> Site:
        """Present site of a unit."""
        return self.grids[self.kinds[unit]].site(self.place_of[unit])

    def run(self, refine: bool) -> None:
        """Anneal from hot, or from warm to `refine` what is there."""
        if not self.movable:
            return
        hot = _WARM if refine else _HOT
        moves = int(_EFFORT * len(self.movable) ** (4 / 3)) // _STEPS + 1
        reach = max(max(len(g.rows), len(g.columns)) for g in self.grids)
        for step in range(_STEPS // 2 if refine else 0, _STEPS + 1):
            progress = step / _STEPS
            if step % _REVISE == 0:
                self.revise(progress)
            temperature = hot * (_COLD / hot) ** progress if step < _STEPS else 1e-9
            self.sweep(temperature, moves, max(1, round(reach * (1 - progress))))

    def revise(self, progress: float) -> None:
        """Derive the cost tables of the edges from the retiming that the present distances allow."""
        nodes, longest = self.netlist.nodes, max(map(max, self.spans)) + 1
        aims = targets(self.netlist, self.hops(), self.spec.delay_depth, GLB_INPUT_LATENCY) if progress else {}
        self.neighbours = [[] for _ in self.names]
        for edge in self.edges:
            offset = 1 if isinstance(nodes[edge.source.node], StreamIn) else 0
            table = _table(aims.get(edge.sink, _ANY), longest, offset, progress)
            u, v = self.number[edge.source.node], self.number[edge.sink.node]
            self.neighbours[u].append((v, table))
            self.neighbours[v].append((u, table))

    def hops(self) -> dict[Pin, int]:
        """Least hops of every edge at the present sites."""
        sites = {name: self.site(i) for i, name in enumerate(self.names)}
        edges = self.netlist.edges
        return {e.sink: distance(self.netlist, e, sites[e.source.node], sites[e.sink.node]) for e in edges}

    def sweep(self, temperature: float, moves: int, reach: int) -> None:
        """Try `moves` moves of at most `reach` sites' distance."""
        uniform, exp, spans, neighbours = self.random.random, math.exp, self.spans, self.neighbours
        movable, kinds, place_of = self.movable, self.kinds, self.place_of
        shapes = [(len(g.rows), len(g.columns)) for g in self.grids]
        fixed = set(range(len(kinds))).difference(movable)
        code = [self.codes[kind][index] for kind, index in zip(kinds, place_of, strict=True)]
        width = 2 * reach + 1
        for _ in range(moves):
            unit = movable[int(uniform() * len(movable))]
            kind, old = kinds[unit], place_of[unit]
            rows, columns = shapes[kind]
            row, column = divmod(old, columns)
            row = min(rows - 1, max(0, row - reach + int(uniform() * width)))
            column = min(columns - 1, max(0, column - reach + int(uniform() * width)))
            new = row * columns + column
            holder = self.holder[kind]
            other = holder[new]
            if new == old or other in fixed:
                continue
            here, there = code[unit], self.codes[kind][new]
            from_here, from_there = spans[here], spans[there]
            cost = 0.0
            for end, table in neighbours[unit]:
                cost -= table[from_here[code[end]]]
            if other >= 0:
                for end, table in neighbours[other]:
                    cost -= table[from_there[code[end]]]
                code[other] = here
            code[unit] = there
            for end, table in neighbours[unit]:
                cost += table[from_there[code[end]]]
            if other >= 0:
                for end, table in neighbours[other]:
                    cost += table[from_here[code[end]]]
            if cost <= 0 or uniform() < exp(-cost / temperature):
                place_of[unit], holder[new], holder[old] = new, unit, other
                if other >= 0:
                    place_of[other] = old
            else:
                code[unit] = here
                if other >= 0:
                    code[other] = there


def _table(target: Target, longest: int, offset: int, progress: float) -> list[float]:
    """Cost of an edge by the distance of its ends; hops are that distance less `offset`."""
    weight = 1 + progress * _CRITICAL * target.criticality
    hops = range(-offset, longest - offset)
    return [weight * h + progress * _EARLY * max(0, target.shortest - h) for h in hops]


def _region(netlist: Netlist, spec: FabricSpec, spread: float) -> list[Grid]:
    """Sites to anneal on: the smallest corner of the array with `spread` times the sites needed, or all of it."""
    used, names = [kind_of(node, spec) for node in netlist.nodes.values()], kinds(spec)
    needed = [used.count(kind) for kind in range(len(names))]
    whole_grids = [grid(spec, kind) for kind in range(len(names))]
    if math.isinf(spread):
        return whole_grids
    wanted = [min(len(g), math.ceil(spread * n)) for n, g in zip(needed, whole_grids, strict=True)]
    shapes = [(rows, columns) for rows in range(1, spec.rows + 1) for columns in range(1, spec.columns + 1)]
    for rows, columns in sorted(shapes, key=lambda shape: (sum(shape), abs(shape[0] - shape[1]))):
        grids = [grid(spec, kind, rows, columns) for kind in range(len(names))]
        if all(len(g) >= n for g, n in zip(grids, wanted, strict=True)):
            return grids
    return whole_grids


def _distances(grids: list[Grid]) -> tuple[list[list[int]], list[list[int]]]:
    """Numbers of the sites of each kind, and the Manhattan distance between any two numbers."""
    codes: list[list[int]] = []
    sites: list[Site] = []
    for g in grids:
        codes.append(list(range(len(sites), len(sites) + len(g))))
        sites += [g.site(index) for index in range(len(g))]
    places = np.array(sites).reshape(-1, 2)
    spans = np.abs(places[:, None, :] - places[None, :, :]).sum(axis=2)
    return codes, spans.tolist()

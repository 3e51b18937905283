"""The selection network of the median benchmark: ``python -m benchmarks.vector_median`` writes it as C.

The window of 5 x 5 is five rows, each sorted once for every position along it:

* a *pair* of sorted rows is merged into a list of ten; two such pairs hold the four rows that the windows of two
  neighbouring output rows share,
* of their twenty values only the middle six (ranks 8 to 13) can be the median of 25 with any five more,
* the median is the sixth of those six and the five of the row above, or below.

All merges are Batcher's odd-even merges; what does not reach an output is left out. A minimum and a maximum are one
instruction each. Cost per output: 16 to sort a row, 26 / 2 for the pair, 36 / 2 for the middle, 10 for the rest: 57.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hw.files import write_atomic

__all__ = ["HEADER", "OPERATIONS_PER_OUTPUT", "Network", "evaluate", "header_text", "networks"]

HEADER = Path(__file__).parent / "vector_c" / "median_network.h"
OPERATIONS_PER_OUTPUT = 57
WINDOW = 5

Node = str
"""Name of a value: an input ("a0"), or "n" and the number of the operation that makes it."""


@dataclass
class Network:
    """Minima and maxima of named inputs; `outputs` are nodes by plane name. Operations that do not matter are there
    until `pruned`."""

    inputs: tuple[Node, ...]
    operations: dict[Node, tuple[str, Node, Node]] = field(default_factory=dict)
    outputs: dict[str, Node] = field(default_factory=dict)

    def exchange(self, a: Node, b: Node) -> tuple[Node, Node]:
        """The smaller and the larger of two nodes."""
        low, high = f"n{len(self.operations)}", f"n{len(self.operations) + 1}"
        self.operations[low], self.operations[high] = ("VMIN", a, b), ("VMAX", a, b)
        return low, high

    def merge(self, a: Sequence[Node], b: Sequence[Node]) -> list[Node]:
        """Batcher's odd-even merge of two sorted lists."""
        if not a or not b:
            return [*a, *b]
        if len(a) == len(b) == 1:
            return list(self.exchange(a[0], b[0]))
        even, odd = self.merge(a[::2], b[::2]), self.merge(a[1::2], b[1::2])
        merged = [even[0]]
        for i in range(max(len(odd), len(even) - 1)):
            both = [*odd[i:i + 1], *even[i + 1:i + 2]]
            merged += self.exchange(*both) if len(both) == 2 else both
        return merged

    def pruned(self) -> Network:
        """Only the operations that an output needs, ordered by depth so that neighbours do not wait for each other."""
        needed: set[Node] = set()
        waiting = list(self.outputs.values())
        while waiting:
            node = waiting.pop()
            if node in self.operations and node not in needed:
                needed.add(node)
                waiting += self.operations[node][1:]
        depth = dict.fromkeys(self.inputs, 0)
        for node, (_, a, b) in self.operations.items():
            depth[node] = max(depth[a], depth[b]) + 1
        order = sorted(needed, key=lambda node: (depth[node], int(node[1:])))
        return Network(self.inputs, {node: self.operations[node] for node in order}, self.outputs)


def _names(letter: str, count: int) -> tuple[Node, ...]:
    return tuple(f"{letter}{i}" for i in range(count))


def _sort_row() -> Network:
    """The end of sorting five: the sorted pairs (x0 <= x1) of its first and of its next two values have been compared
    (e0 <= e1 smaller ones, o0 <= o1 larger ones), and the last value with e0: s0, the smallest of all, and c0."""
    network = Network(("s0", "c0", "e1", "o0", "o1"))
    middle = network.exchange("o0", "e1")
    # The merge of e0, middle, o1 with the last value, whose first exchange gave s0 and c0.
    even = ["s0", *network.exchange("c0", middle[1])]
    odd = [middle[0], "o1"]
    result = [even[0], *network.exchange(odd[0], even[1]), *network.exchange(odd[1], even[2])]
    network.outputs = {f"s{i}": node for i, node in enumerate(result)}
    return network.pruned()


def _merge_pair() -> Network:
    a, b = _names("a", WINDOW), _names("b", WINDOW)
    network = Network(a + b)
    network.outputs = {f"p{i}": node for i, node in enumerate(network.merge(a, b))}
    return network.pruned()


def _medians() -> Network:
    """Middle six of two merged pairs p and q, and the sixth of them with row a (above) and with row b (below)."""
    p, q, a, b = _names("p", 2 * WINDOW), _names("q", 2 * WINDOW), _names("a", WINDOW), _names("b", WINDOW)
    network = Network(p + q + a + b)
    middle = network.merge(p, q)[7:13]
    network.outputs = {"x0": network.merge(middle, a)[5], "y0": network.merge(middle, b)[5]}
    return network.pruned()


def networks() -> dict[str, Network]:
    """The three networks by the name of their C function."""
    return {"sort_row": _sort_row(), "merge_pair": _merge_pair(), "medians": _medians()}


def evaluate(network: Network, inputs: Mapping[Node, Any]) -> dict[str, Any]:
    """The outputs for numbers or numpy arrays."""
    values: dict[Node, Any] = {name: inputs[name] for name in network.inputs}
    for node, (op, a, b) in network.operations.items():
        values[node] = (np.minimum if op == "VMIN" else np.maximum)(values[a], values[b])
    return {name: values[node] for name, node in network.outputs.items()}


# --- C ----------------------------------------------------------------------------------------------------------------


def _places(network: Network) -> tuple[dict[Node, str], int]:
    """Where every value lies: an output in its own plane, the rest in temporary planes t that are used again."""
    last = {a: i for i, (_, *sources) in enumerate(network.operations.values()) for a in sources}
    final = {node: name for name, node in network.outputs.items()}
    free: list[int] = []
    count, places = 0, {name: name for name in network.inputs}
    for i, (node, (_, *sources)) in enumerate(network.operations.items()):
        for source in sources:
            if last[source] == i and places[source][0] == "t":
                free.append(int(places[source][1:]))
        # An output that is read again stays in its plane: planes of outputs are never planes of inputs.
        if node in final:
            places[node] = final[node]
        else:
            if not free:
                free.append(count)
                count += 1
            free.sort(reverse=True)
            places[node] = f"t{free.pop()}"
    return places, count


def _plane(place: str) -> str:
    return f"{place[0]} + {place[1:]} * PLANE"


def _function(name: str, network: Network) -> Iterable[str]:
    places, count = _places(network)
    letters = sorted({place[0] for place in places.values()})
    yield f"/* {len(network.operations)} operations, {count} temporary planes. */"
    yield f"#define {name.upper()}_TEMPORARIES {count}"
    yield f"static inline void {name}({', '.join(f'scratch {letter}' for letter in letters)})"
    yield "{"
    for node, (op, a, b) in network.operations.items():
        planes = ", ".join(_plane(places[x]) for x in (node, a, b))
        yield f"    {'RESULT' if places[node] in ('x0', 'y0') else 'COMPARE'}({op}, {planes});"
    yield "}"
    yield ""


def header_text() -> str:
    """`median_network.h`."""
    lines = ["/* Selection networks of median.c, written by `python -m benchmarks.vector_median`.",
             " * Letters are groups of planes; plane i of a group is i * PLANE bytes behind its start.",
             " * RESULT writes what leaves. */",
             "#ifndef MEDIAN_NETWORK_H", "#define MEDIAN_NETWORK_H", ""]
    for name, network in networks().items():
        lines += _function(name, network)
    return "\n".join([*lines, "#endif", ""])


if __name__ == "__main__":
    write_atomic(HEADER, header_text())

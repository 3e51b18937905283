"""The file form of process networks: JSON that holds the program, the schedule, and the channels that follow from them.

    {"format": "sluice process network 1", "sizes": 0, "program": "program ...",
     "nodes": [{"name": ..., "kind": ..., "schedule": "{ ... }"}, ...],
     "edges": [{"source": ..., "sink": ..., "read": ..., "array": ..., "origin": ..., "relation": "{ ... }",
                "kind": ..., "size": ...}, ...]}

Channels in a file are claims: `parse_network` derives them again and refuses a file that claims other ones.
"""

from __future__ import annotations

import json
from typing import Any

import islpy as isl

from compiler.ir.text import parse_program, print_program
from compiler.ir.verify import verify
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.network import Edge, ProcessNetwork, derive

__all__ = ["parse_network", "print_network"]

FORMAT = "sluice process network 1"


def print_network(network: ProcessNetwork) -> str:
    """The JSON text of `network`; `parse_network` gives an equal network back."""
    nodes = [{"name": n.name, "kind": n.kind.value, "schedule": str(n.schedule)} for n in network.nodes]
    content = {"format": FORMAT, "sizes": network.sizes, "program": print_program(network.program), "nodes": nodes,
               "edges": [_edge_entry(edge) for edge in network.edges]}
    return json.dumps(content, indent=1) + "\n"


def parse_network(text: str) -> ProcessNetwork:
    """The network whose JSON text is `text`.

    Raises `NetworkError` if it is no such text or its channels are not those of its program and schedule, and
    `ProgramError` for its program.
    """
    content = _content(text)
    program = parse_program(content["program"])
    if not content["sizes"]:  # a family of programs leaves the elements of no size unwritten
        verify(program)
    try:
        schedule = {entry["name"]: isl.Map(entry["schedule"]) for entry in content["nodes"]}
        claimed = [_claim(entry) for entry in content["edges"]]
    except (KeyError, TypeError, isl.Error):
        raise NetworkError("no process network: a node or an edge is incomplete or has a relation that isl cannot "
                           "read") from None
    network = derive(program, schedule, sizes=content["sizes"])
    _compare(network, claimed)
    return network


def _edge_entry(edge: Edge) -> dict[str, Any]:
    return {"source": edge.source, "sink": edge.sink, "read": edge.read, "array": edge.array,
            "origin": edge.origin, "part": edge.part, "relation": str(edge.relation),
            "kind": edge.kind.value, "size": edge.size}


def _claim(entry: dict[str, Any]) -> dict[str, Any]:
    """An edge's entry with its relation as a map."""
    return {**entry, "relation": isl.Map(entry["relation"]), "kind": entry["kind"], "size": entry["size"]}


def _content(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise NetworkError(f"no process network: line {error.lineno}, column {error.colno}: {error.msg}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NetworkError(f"no process network: its format is not '{FORMAT}'")
    kinds = {"sizes": int, "program": str, "nodes": list, "edges": list}
    for key, kind in kinds.items():
        if not isinstance(content.get(key), kind):
            raise NetworkError(f"no process network: it has no {key}")
    return content


def _compare(network: ProcessNetwork, claimed: list[dict[str, Any]]) -> None:
    if len(claimed) != len(network.edges):
        raise NetworkError(f"the text has {len(claimed)} edges, its program and schedule give {len(network.edges)}")
    for edge, claim in zip(network.edges, claimed, strict=True):
        derived = _edge_entry(edge)
        for key in ("source", "sink", "read", "array", "origin", "part", "kind", "size"):
            if claim.get(key) != derived[key]:
                raise NetworkError(f"edge {edge.name}: the text says {key} {claim.get(key)}, its program and schedule "
                                   f"give {derived[key]}")
        if not edge.relation.plain_is_equal(claim["relation"]) and not edge.relation.is_equal(claim["relation"]):
            raise NetworkError(f"edge {edge.name}: its relation is not that of its program and schedule")

"""What takes most of the units that an array has too few of: a statement, a buffer or an array of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compiler.bind.cgra.labels import asked_labels
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.netlist import MemNode, PeNode
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.passes.arrays.partition import Partition

__all__ = ["with_largest_user"]

_CHOICE = "the choice between several writers of one array"


def with_largest_user(error: ArrayTooSmall, application: Application, parts: Partition) -> ArrayTooSmall:
    """`error`, raised for the netlist of `application`, with what takes most of the kind that is short: of the first
    one in the order of processing elements, memories, streams."""
    pes, memories, *_ = (have < need for need, have in zip(error.needed, error.present, strict=True))
    units = error.needed[0] if pes else error.needed[1] if memories else sum(error.needed[2:])
    users = (_statements(application, parts) if pes else _buffers(application) if memories else
             _arrays(application, parts))
    counts = Counter(users)
    name, count = counts.most_common(1)[0]
    if count == 1:
        return error
    kind = "PE tiles" if pes else "memory tiles" if memories else "streams"
    return error.because(f"most, {count} of the {units} {kind}, are for {name}")


def _statements(application: Application, parts: Partition) -> Iterator[str]:
    """The statement that each processing element computes for; several that were made of one of the program count for
    that."""
    owners = asked_labels(parts, application.schedule.staged.program)
    for name, node in application.netlist.nodes.items():
        if isinstance(node, PeNode):
            owner = name.partition(".")[0]
            yield owners.get(owner, _CHOICE if owner in application.controls else "addresses")


def _buffers(application: Application) -> Iterator[str]:
    """The buffer or table that each memory tile holds."""
    for tile in application.memories:
        yield f"buffer {tile.buffers[0].traffic.title}" if tile.buffers else "a multiplexer"
    taken = {tile.name for tile in application.memories}
    for name, node in application.netlist.nodes.items():
        if isinstance(node, MemNode) and name not in taken:
            table = application.roms.get(name)
            yield f"table {table}" if table else _CHOICE


def _arrays(application: Application, parts: Partition) -> Iterator[str]:
    """The array of the program that each stream moves words of."""
    whole = {part.name: part.parent for part in parts.parts}
    halves = parts.words.halves if parts.words else {}
    wide = {half: array for array, both in halves.items() for half in both}
    for array in (*application.streams_in, *application.streams_out):
        name = whole.get(array, array)
        constant = array in parts.constants or name in parts.constants
        yield "values of iterators, which the host fills" if constant else f"array '{wide.get(name, name)}'"

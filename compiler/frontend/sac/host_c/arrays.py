"""Nodes of arrays in C."""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.sac.ddcf.graph import Node
from compiler.frontend.sac.host_c.lines import Lines, place, written_list
from compiler.frontend.sac.host_c.names import element_kind, kind_member
from compiler.frontend.sac.types import Type

__all__ = ["ARRAYS"]


def _reference(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    array = operands[0]
    emitter.assign(outputs[0], node.outputs[0], f"section(&{array}, {_section(node, array, operands[1:])})")


def _update(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    array, value, *rest = operands
    where = _section(node, array, rest)
    if types[1].is_array:
        emitter.lines.append(f"{outputs[0]} = update({place(node)}, &{array}, &{value}, {where});")
    else:
        number = f"of_{kind_member(types[1])}({value})"
        emitter.lines.append(f"{outputs[0]} = update_all(&{array}, {number}, {where});")


def _section(node: Node, array: str, rest: list[str]) -> str:
    """Arguments that say which elements: firsts, steps, counts, and which dimensions stay."""
    first, steps, counts, keep = [], [], [], []
    for d, slot in enumerate(str(node.attribute("pattern"))):
        extent = f"{array}.extents[{d}]"
        if slot == ".":
            index, rest = rest[0], rest[1:]
            first.append(f"check_index({place(node)}, {index}, {extent})")
            steps.append("1")
            counts.append("1")
        else:
            (lowest, highest, step), rest = rest[:3], rest[3:]
            first.append(lowest)
            steps.append(step)
            counts.append(f"section_count({place(node)}, {lowest}, {highest}, {step}, {extent})")
        keep.append(str(int(slot == ":")))
    lists = [*(written_list("int64_t", items) for items in (first, steps, counts)), written_list("int", keep)]
    return ", ".join(lists)


def _define(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    type_ = node.outputs[0]
    extents = written_list("int64_t", [str(extent) for extent in type_.extents])
    emitter.lines.append(f"{outputs[0]} = make('{element_kind(type_.scalar)}', {type_.rank}, {extents});")
    emitter.lines += [f"put(&{outputs[0]}, {n}, of_{kind_member(type_)}({value}));" for n, value in enumerate(operands)]


def _extents(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    emitter.lines += [f"{name} = {operands[0]}.extents[{d}];" for d, name in enumerate(outputs)]


def _check_extents(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    emitter.lines.append(f"{outputs[0]} = {operands[0]};")
    emitter.lines += [f"check_extent({place(node)}, &{outputs[0]}, {d}, {extent});"
                      for d, extent in enumerate(node.outputs[0].extents) if extent is not None]


def _concatenate(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    axis = 0 if node.kind.endswith("VERT") else types[0].rank - 1
    emitter.lines.append(f"{outputs[0]} = concatenate({place(node)}, &{operands[0]}, &{operands[1]}, {axis});")


def _perimeter(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    emitter.lines.append(f"{outputs[0]} = perimeter(&{operands[0]}, {operands[1]}, of_{kind_member(types[2])}"
                         f"({operands[2]}));")


def _fill(emitter: Lines, node: Node, operands: list[str], types: list[Type], outputs: list[str]) -> None:
    kind = element_kind(node.outputs[0].scalar)
    value = f"of_{kind_member(types[1])}({operands[1]})"
    emitter.lines.append(f"{outputs[0]} = fill_like(&{operands[0]}, '{kind}', {value});")


ARRAYS: dict[str, Callable[[Lines, Node, list[str], list[Type], list[str]], None]] = {
    "AREF": _reference, "ARR_UPDATE": _update, "ARR_DEF": _define, "EXTENTS": _extents, "CHECK_EXTENTS": _check_extents,
    "ARRAY_CONCAT": _concatenate, "ARRAY_CONCAT_VERT": _concatenate, "ARR_CONPERIM": _perimeter, "FILL_LIKE": _fill,
}

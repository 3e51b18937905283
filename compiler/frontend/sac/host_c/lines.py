"""Lines of C that grow, and what all of them are made with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Node, Operand
from compiler.frontend.sac.host_c.names import kind_member, literal
from compiler.frontend.sac.types import Type

__all__ = ["Lines", "place", "written_list"]


class Lines:
    """Lines of C; every variable has a number of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def new(self, prefix: str = "v") -> str:
        """A name that nothing else has."""
        self.count += 1
        return f"{prefix}{self.count}"

    def operand(self, operand: Operand, inputs: Sequence[str], done: Sequence[Sequence[str]]) -> str:
        if isinstance(operand, Constant):
            return literal(operand.value, operand.scalar)
        if isinstance(operand, Argument):
            return inputs[operand.number]
        return done[operand.number][operand.port]

    def assign(self, output: str, result: Type, found: str) -> None:
        """An array, or the only element of one, to a variable."""
        if result.is_array:
            self.lines.append(f"{output} = {found};")
        else:
            self.lines.append(f"{{ array whole = {found}; {output} = get(&whole, 0).{kind_member(result)}; }}")


def written_list(kind: str, items: Sequence[str]) -> str:
    """An array of C with these elements."""
    return f"({kind}[]){{{', '.join(items)}}}"


def place(node: Node) -> str:
    """The place of a node as a C string."""
    return json.dumps(str(node.place) if node.place else node.kind)

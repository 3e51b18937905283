"""What Halide prints and traces while it computes: values of hardware do not depend on it.

``print(v, ...)`` is the second of two values, behind a call that prints; ``print_when(c, v, ...)`` chooses between
that and `v`. Both are `v`.
"""

from __future__ import annotations

from compiler.frontend.halide.nodes import Func, Node, nodes_of

__all__ = ["debugging_remarks", "without_print"]

_PRINT = "halide_print"


def without_print(node: Node) -> Node:
    """The value that `node` shows, `node` itself if it shows none."""
    if node.op == "intrinsic" and node.name == "return_second" and node.args[0].name == _PRINT:
        return node.args[1]
    if node.op == "intrinsic" and node.name == "if_then_else" and without_print(node.args[1]) is not node.args[1]:
        return node.args[-1]
    return node


def debugging_remarks(func: Func) -> list[str]:
    """What a Func prints or traces, in the words of whoever wrote it."""
    printed = ["print"] if any(node.name == _PRINT for node in nodes_of(func)) else []
    return [*printed, *func.traced]

"""Multiplexers and enabled registers as expressions.

Under `m.If` and `m.Switch` they would become processes in Verilog. The meaning is the same, but a simulator can move
an expression into the one place where it is used, so nothing of a multiplexer is evaluated while the register behind
it holds; and an expression has its value from the start, where a process waits for an input to change, which in a
clock domain without reset leaves registers undefined.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Mux, Value

__all__ = ["hold", "multiplex"]


def multiplex(select: Value, choices: Sequence[Value]) -> Value:
    """The value among `choices` that `select` numbers, by a tree; some choice if there is none of that number."""
    level = list(choices)
    for bit in range((len(level) - 1).bit_length()):
        pairs = [level[index : index + 2] for index in range(0, len(level), 2)]
        level = [Mux(select[bit], pair[1], pair[0]) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def hold(register: Value, advance: Value, value: Value) -> Value:
    """The next value of a `register` that follows `value` while `advance` is 1 and holds otherwise."""
    return Mux(advance, value, register)

"""A multiplexer in the form that synthesis and simulation both like."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Mux, Value

__all__ = ["hold", "multiplex"]


def multiplex(select: Value, choices: Sequence[Value]) -> Value:
    """The value among `choices` that `select` numbers; some choice if there is none of that number.

    A tree by the bits of `select`: expressions, unlike a case statement, can be moved into the place where they are
    used, so a simulator evaluates none of it while the register behind it holds.
    """
    level = list(choices)
    for bit in range((len(level) - 1).bit_length()):
        pairs = [level[index : index + 2] for index in range(0, len(level), 2)]
        level = [Mux(select[bit], pair[1], pair[0]) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def hold(register: Value, advance: Value, value: Value) -> Value:
    """The next value of `register` that follows `value` while `advance` is 1 and holds otherwise.

    The same as an assignment under `m.If(advance)`, as one expression; see `multiplex` for the reason.
    """
    return Mux(advance, value, register)

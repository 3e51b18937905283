"""Products on the ECP5's multipliers, with the registers inside that yosys moves none into.

In a flow of yosys and nextpnr alone the registers around a product are flip-flops somewhere near, and the way through
the multiplier is the longest of a design. Here Verilog names the primitive, registers at both inputs and at its output
included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, Value

from hw.dataflow.operators import Unit
from hw.dataflow.spec import Operator, Word
from hw.lib.taps import Taps

__all__ = ["multiplier_units"]

_INPUT, _OUTPUT = 18, 36
"""Bits of either input and of the product."""

_INSIDE = 2
"""Ticks through both registers of a multiplier."""

_REGISTERS = ("INPUTA", "INPUTB", "OUTPUT")


def multiplier_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    """For `hw.dataflow.operators.build_operators`: products of at least 2 ticks, of two variables of at most 18 bits.
    Others stay what they are for every FPGA."""

    def product(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value | None:
        constant = any(isinstance(operand, Const) for operand in operands)
        if operator.latency < _INSIDE or constant or any(_bits(word, words) > _INPUT for word in words):
            return None
        result = Signal(operator.word.shape, name="product")
        m.d.comb += result.eq(_multiplied(m, taps, operands, any(word.signed for word in words)))
        return taps.delayed(result, operator.latency - _INSIDE, reset_less=True)

    return {"mul": product}


def _bits(word: Word, words: Sequence[Word]) -> int:
    """Of an input: one more for a word without sign beside one with a sign."""
    return word.width + (not word.signed and any(other.signed for other in words))


def _multiplied(m: Module, taps: Taps, operands: Sequence[Value], signed: bool) -> Value:
    """The product that was at the inputs two ticks ago, 36 bits."""
    product = Signal(_OUTPUT, name="multiplied")
    pins: dict[str, Any] = {f"o_P{bit}": product[bit] for bit in range(_OUTPUT)}
    for side, operand in zip("AB", operands, strict=True):
        wide = Signal(_INPUT, name=f"multiplied_{side.lower()}")
        m.d.comb += wide.eq(operand)
        pins |= {f"i_{side}{bit}": wide[bit] for bit in range(_INPUT)}
        pins |= {f"i_SIGNED{side}": Const(signed, 1), f"i_SOURCE{side}": Const(0, 1)}
    pins |= {f"i_C{bit}": Const(0, 1) for bit in range(_INPUT)}
    pins |= {"i_CLK0": ClockSignal(), "i_CE0": taps.enable, "i_RST0": Const(0, 1), "p_RESETMODE": "SYNC"}
    for register in _REGISTERS:
        pins |= {f"p_REG_{register}_CLK": "CLK0", f"p_REG_{register}_CE": "CE0", f"p_REG_{register}_RST": "RST0"}
    m.submodules += Instance("MULT18X18D", **pins)
    return product.as_signed() if signed else product

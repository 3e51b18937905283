"""How large operators are on an FPGA, without synthesis: registers and multipliers are counted, LUTs by a fitted model.

LUTs of four inputs are linear in functions of the format, for each kind of operation; registers are counted in the
operator, of which synthesis leaves about the same part out for each kind. The coefficients are fitted to yosys'
ECP5 cells by ``python -m benchmarks.float_areas`` and recorded in ``area_model.json``; its results have the errors,
also of formats that it was not fitted to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import log2
from pathlib import Path
from typing import Any

from amaranth.hdl import Signal, Value

from hw.float.operator import build_operator, step_delays
from hw.float.spec import Float, FloatError, FloatSpec, Integer
from hw.lib.placement import place_registers
from hw.lib.steps import Steps

__all__ = ["AREA_KINDS", "LUT_TERMS", "MODEL_FILE", "FloatArea", "area_kind", "count_registers", "float_area",
           "lut_terms"]

MODEL_FILE = Path(__file__).with_name("area_model.json")

LUT_TERMS = ("1", "exponent", "mantissa", "mantissa log", "mantissa squared")
"""What LUTs are linear in: 1, bits of the exponent, of the mantissa (of conversions with integers: of the wider one),
these times their logarithm to base 2, and their square."""

_KINDS: Mapping[str, str] = {
    "sub": "add", "max": "min", **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "compare"),
}
_CASTS = ("convert", "from integer", "to integer")

AREA_KINDS = ("add", "mul", "mad", "div", "sqrt", "min", "compare", *_CASTS)
"""Kinds of operators that have coefficients of their own; functions by table have none."""

_WIRES = ("neg", "abs")
"""Operations that are a bit, or none."""


@dataclass(frozen=True)
class FloatArea:
    """`luts` of four inputs (a carry cell is two), `flip_flops`, `multipliers` of 18 x 18 bits."""

    luts: int
    flip_flops: int
    multipliers: int


def area_kind(spec: FloatSpec) -> str:
    """Which of `AREA_KINDS` it is."""
    if spec.op != "cast":
        return _KINDS.get(spec.op, spec.op)
    if isinstance(spec.form, Integer):
        return "from integer"
    return "to integer" if isinstance(spec.to, Integer) else "convert"


def lut_terms(spec: FloatSpec) -> dict[str, float]:
    """The value of each of `LUT_TERMS`."""
    numbers = [form for form in (spec.form, spec.to) if isinstance(form, Float)]
    widths = [form.width for form in (spec.form, spec.to) if isinstance(form, Integer)]
    exponent = max(form.exponent for form in numbers)
    mantissa = max([form.mantissa for form in numbers] + widths)
    return dict(zip(LUT_TERMS, (1, exponent, mantissa, mantissa * log2(mantissa), mantissa**2), strict=True))


def count_registers(spec: FloatSpec) -> tuple[int, int]:
    """Bits of registers that the operator has as it is built, and multipliers."""
    bits: dict[tuple[int, int], int] = {}
    values: list[Value] = []

    def delayed(value: Value, cycles: int) -> Value:
        values.append(value)  # its identity stays its own
        bits[id(value), cycles] = len(value) * cycles
        return Signal(value.shape())

    steps = Steps(None, delayed, place_registers(step_delays(replace(spec, latency=0)), spec.latency))
    build_operator(steps, spec)
    return sum(bits.values()), steps.multipliers


@cache
def float_area(spec: FloatSpec) -> FloatArea:
    """The operator's area on an ECP5, or another FPGA with LUTs of four inputs. Raises `FloatError` for operations that
    the model does not have, and if it cannot be read."""
    if spec.op in _WIRES or spec.form == spec.to:
        return FloatArea(0, 0, 0)
    terms, model = lut_terms(spec), _model()
    kind = area_kind(spec)
    if kind not in AREA_KINDS:
        raise FloatError(f"the model of areas has no operator '{spec.op}' for floating-point numbers, only "
                         f"{', '.join(AREA_KINDS)}")
    registers, multipliers = count_registers(spec)
    luts = sum(model["luts"][kind][name] * value for name, value in terms.items())
    return FloatArea(round(luts), round(registers * model["registers"][kind]), multipliers)


@cache
def _model() -> dict[str, Any]:
    """``luts``: coefficients by kind and term; ``registers``: one by kind."""
    try:
        return json.loads(MODEL_FILE.read_text())["coefficients"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FloatError(f"the model of areas {MODEL_FILE.name} cannot be read: {error}") from None

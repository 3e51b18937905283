"""A node's computation as a pipeline: operators of any latency, operands delayed so that they arrive together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from amaranth.hdl import Array, Cat, Const, Module, Value, signed

from hw.dataflow.floating import float_units, is_floating
from hw.dataflow.spec import KernelError, Operator, Word
from hw.integer import INTEGER_OPERATIONS, build_integer
from hw.labels import Label
from hw.lib.product import is_wide, product_in_steps
from hw.lib.taps import Taps
from hw.ops import Datapath, Kind, operation

__all__ = ["Unit", "applied", "build_operators"]

Unit = Callable[[Operator, Sequence[Value], Sequence[Word]], Value | None]
"""What builds an operation: its result, `Operator.done` ticks after the firing, from operands of the tick of its start
and their words; None for one that it leaves as it is."""

_TAKEN = {"load": 1, "store": 3}
"""How many operands have values that matter; what comes after them is only waited for."""

_MIRRORED = {"gt": "lt", "le": "ge"}
"""The same comparison with its operands exchanged."""

_EQUALITIES = ("eq", "ne")
"""They ask whether the difference is zero, and so whether two words differ in any bit: no carry is needed."""


def build_operators(m: Module, taps: Taps, label: Label, operators: Sequence[Operator], reads: Sequence[Value],
                    indices: Sequence[Value], tables: Sequence[tuple[int, ...]],
                    units: Mapping[str, Unit] | None = None) -> Value:
    """The result of the last operator, `Operator.done` ticks after the firing. Operators of more than one tick have a
    register before them too, so that memories do not feed multipliers directly.

    `reads`: operands, each in the tick of its ``read`` operator's `start`; `indices`: values of the firing's tick.
    `label`: whose operators they are; signals are called after it and the operation. `units`: operations that are built
    otherwise. Raises `KernelError` for one that floating-point numbers do not have.
    """
    results: list[Value] = []
    floating = float_units(m, taps)
    whole = {"mul": _wide_product(taps, operators), **_integer_units(m, taps), **(units or {})}
    for number, operator in enumerate(operators):
        taken = operator.operands[: _TAKEN.get(operator.op)]
        words = [operators[k].word for k in taken]
        own = floating if is_floating(operator.op, (operator.word, *words)) else whole
        if own is floating or operator.op in own:
            arrived = [_at(taps, operators[k], results[k], operator.start) for k in taken]
            built = _unit(own, operator)(operator, arrived, words)
            if built is not None:
                result = label.signal(operator.word.shape, f"{operator.op}_{number}")
                m.d.comb += result.eq(built)
                results.append(result)
                continue
        early = int(operator.latency > 1)
        operands = [_at(taps, operators[k], results[k], operator.start + early) for k in taken]
        match operator.op:
            case "read":
                value = reads[operator.value]
            case "const":
                value = Const(operator.value, operator.word.shape)
            case "index":
                value = taps.delayed(indices[operator.value], operator.start)
            case "cast" if _contains(operator.word, words[0]):
                results.append(operands[0])
                continue
            case "cast":
                value = operands[0]
            case "table":
                value = _looked_up(tables[operator.value], operands[0])
            case _:
                value = applied(operator.op, operands, words)
        result = label.signal(operator.word.shape, f"{operator.op}_{number}")
        m.d.comb += result.eq(value)
        results.append(taps.delayed(result, operator.latency - early, f"{result.name}_stage", reset_less=True))
    return results[-1]


def _integer_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    """What takes many steps on integers."""
    delayed = partial(taps.delayed, name="step", reset_less=True)

    def built(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
        return build_integer(m, delayed, operator.op, operands, operator.latency)

    return dict.fromkeys(INTEGER_OPERATIONS, built)


def _wide_product(taps: Taps, operators: Sequence[Operator]) -> Unit:
    """Products of registers that take several multipliers, and nothing for others."""

    def built(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value | None:
        a, b = operands
        registers = all(_is_register(operators, k, operator.start) for k in operator.operands)
        if operator.latency < 2 or not registers or not is_wide(a, b):
            return None
        later = partial(taps.delayed, name="mul_stage", reset_less=True)
        product = product_in_steps(a, b, operator.word.width, partial(later, ticks=1))
        return later(product, operator.latency - 1)

    return built


def _unit(units: Mapping[str, Unit], operator: Operator) -> Unit:
    if operator.op not in units:
        raise KernelError(f"there is no operator '{operator.op}' for floating-point numbers, only {', '.join(units)}")
    return units[operator.op]


def _at(taps: Taps, operator: Operator, result: Value, tick: int) -> Value:
    """`result` in a later tick; constants need no registers."""
    return result if operator.op == "const" else taps.delayed(result, tick - operator.done, reset_less=True)


def _is_register(operators: Sequence[Operator], number: int, tick: int) -> bool:
    """Whether an operator's result comes out of a register in a `tick`."""
    operator = operators[number]
    if operator.op in ("const", "read", "index", "load") or tick > operator.done:
        return tick > operator.done
    if operator.op == "cast" and not operator.latency:
        return _is_register(operators, operator.operands[0], operator.start)
    return operator.latency > 0


def _contains(word: Word, narrower: Word) -> bool:
    """Whether a conversion to `word` changes no value; then it costs nothing, and products stay narrow."""
    return word.signed >= narrower.signed and word.width >= narrower.width + (word.signed - narrower.signed)


def _looked_up(table: tuple[int, ...], index: Value) -> Value:
    size = max(1, (len(table) - 1).bit_length())
    return Array(Const(entry) for entry in table)[index.as_unsigned()[:size]]


def applied(op: str, operands: list[Value], words: list[Word]) -> Value:
    """Operation `op` of `hw.ops`; operands keep their own sign and width, so products stay as narrow as they are."""
    if op in _MIRRORED:  # one subtraction says whether, without a look at whether its result is zero
        return applied(_MIRRORED[op], operands[::-1], words[::-1])
    entry = operation(op)
    table: Value = Const(0, 8)
    if op == "lut3":
        table, *operands = operands
        words = words[1:]
    kinds = entry.operands
    data = [value for value, kind in zip(operands, kinds, strict=True) if kind is Kind.WORD]
    bits = [value for value, kind in zip(operands, kinds, strict=True) if kind is Kind.BIT]
    width = max((word.width for word, kind in zip(words, kinds, strict=True) if kind is Kind.WORD), default=1)
    a, b, c = (_extended(value, width) for value in (*data, *[Const(0)] * (3 - len(data))))
    p, q, r = (*bits, *[Const(0, 1)] * (3 - len(bits)))
    product = data[0] * data[1] if len(data) > 1 else Const(0)
    return entry.build(Datapath(width=width, a=a, b=b, c=c, p=p, q=q, r=r, table=Cat(table), product=product,
                                difference=a ^ b if op in _EQUALITIES else a - b))


def _extended(value: Value, width: int) -> Value:
    """`value` as the ``signed(width + 1)`` that operations take: by its sign, or by zero."""
    return (value + Const(0, signed(width + 1)))[: width + 1].as_signed()

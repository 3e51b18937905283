"""Number formats: the one place where an array gets its arithmetic from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from amaranth.hdl import Module, Value

from hw.dataflow.floating import is_floating
from hw.dataflow.operators import Unit, build_operators
from hw.dataflow.spec import Operator, Word
from hw.labels import Label
from hw.lib.taps import Taps
from hw.systolic.spec import SystolicError

__all__ = ["FORMATS", "Floats", "Format", "Integers", "find_format"]


class Format(Protocol):
    """What an array needs of a number format."""

    def schedule(self, body: Sequence[Operator]) -> tuple[Operator, ...]:
        """`body` with the latency and start (cycles) of every operator."""
        ...

    def build(self, m: Module, taps: Taps, label: Label, body: Sequence[Operator], reads: Sequence[Value],
              units: Mapping[str, Unit] | None = None) -> Value:
        """The result of a scheduled body, `body[-1].done` cycles after its `reads`. `units`: operations that are built
        otherwise."""
        ...

    def combine(self, m: Module, label: Label, op: str, word: Word, a: Value, b: Value, latency: int = 0) -> Value:
        """``a op b``, wrapped to `word`, `latency` cycles later: integers in the same cycle."""
        ...

    def neutral(self, op: str, word: Word) -> int:
        """What changes nothing when combined by `op`."""
        ...

    def start(self, op: str, word: Word) -> int:
        """What accumulators start from where nothing is said: with the first word combined by `op` that word, except
        that floating-point sums start from positive zero, as programs do."""
        ...


_NATURAL = ("add", "sub", "mul", "min", "max")
_BLIND = (*_NATURAL, "select", "eq", "ne", "lt", "ge", "gt", "le", "cast", "and", "or", "xor")
"""Operations that give the same for a value in a narrower word."""


class Integers:
    """Integers that wrap. Intermediate words are no wider than their values: products of int8 have 16 bits."""

    def schedule(self, body: Sequence[Operator]) -> tuple[Operator, ...]:
        """See `Format`. A register behind each operation; multiplications have one more on either side, since an FPGA's
        multipliers can be far from what feeds them and from who reads them."""
        blind = [all(user.op in _BLIND for user in body if k in user.operands) for k in range(len(body))]
        done: list[Operator] = []
        for number, operator in enumerate(body):
            operands = [done[k] for k in operator.operands]
            word = _narrowed(operator, [o.word for o in operands]) if blind[number] else operator.word
            latency = _latency(operator)
            start = max((o.done for o in operands if o.op != "const"), default=0)
            done.append(replace(operator, word=word, latency=latency, start=start))
        return tuple(done)

    def build(self, m: Module, taps: Taps, label: Label, body: Sequence[Operator], reads: Sequence[Value],
              units: Mapping[str, Unit] | None = None) -> Value:
        """See `Format`."""
        return build_operators(m, taps, label, body, reads, (), (), units)

    def combine(self, m: Module, label: Label, op: str, word: Word, a: Value, b: Value, latency: int = 0) -> Value:
        """See `Format`."""
        reads = [Operator("read", (), word, value=k) for k in range(2)]
        operators = [*reads, Operator(op, (0, 1), word, latency)]
        return build_operators(m, Taps(m, Value.cast(1)), label, operators, [a, b], (), ())

    def neutral(self, op: str, word: Word) -> int:
        """See `Format`."""
        top = (1 << (word.width - word.signed)) - 1
        bottom = -top - 1 if word.signed else 0
        return {"mul": 1, "and": -1 if word.signed else top, "min": top, "max": bottom}.get(op, 0)

    def start(self, op: str, word: Word) -> int:
        """See `Format`."""
        return self.neutral(op, word)


class Floats(Integers):
    """Floating-point numbers, and integers beside them: operators on words with an exponent take the `latency` that
    they say, and round once each (`hw.float`). Sums are the one way in which they are combined."""

    def schedule(self, body: Sequence[Operator]) -> tuple[Operator, ...]:
        """See `Format`. Words stay as they are."""
        done: list[Operator] = []
        for operator in body:
            operands = [done[k] for k in operator.operands]
            floating = is_floating(operator.op, (operator.word, *(o.word for o in operands)))
            start = max((o.done for o in operands if o.op != "const"), default=0)
            done.append(replace(operator, latency=operator.latency if floating else _latency(operator), start=start))
        return tuple(done)

    def neutral(self, op: str, word: Word) -> int:
        """See `Format`: negative zero leaves every sum as it is."""
        if not word.exponent:
            return super().neutral(op, word)
        if op != "add":
            raise SystolicError(f"floating-point results are sums, and not combined with '{op}'")
        return 1 << (word.width - 1)

    def start(self, op: str, word: Word) -> int:
        """See `Format`."""
        return 0 if word.exponent else self.neutral(op, word)


def _latency(operator: Operator) -> int:
    if operator.op in ("read", "const", "cast", "pass"):
        return 0
    return 3 if operator.op.startswith(("mul", "mad")) else 1


def _narrowed(operator: Operator, words: Sequence[Word]) -> Word:
    """The narrowest word that holds every value of the operator, at most its own."""
    natural = _natural(operator, words)
    own = operator.word
    contained = natural is not None and own.signed >= natural.signed and \
        own.width >= natural.width + (own.signed - natural.signed)
    return natural if natural is not None and contained else own


def _natural(operator: Operator, words: Sequence[Word]) -> Word | None:
    """The word of the mathematical result, None where nothing is known."""
    match operator.op:
        case "const":
            value = operator.value
            return Word(max(1, value.bit_length()) if value >= 0 else (~value).bit_length() + 1, value < 0)
        case "cast":
            return words[0]
        case op if op in _NATURAL:
            signed = any(word.signed for word in words)
            wide = max(word.width + (signed and not word.signed) for word in words)
            if op == "mul":
                return Word(sum(word.width for word in words), signed)
            return Word(wide + (op in ("add", "sub")), signed or op == "sub")
    return None


FORMATS: Mapping[str, Format] = {"integer": Integers(), "float": Floats()}


def find_format(name: str) -> Format:
    """The format called `name`. Raises `SystolicError`."""
    try:
        return FORMATS[name]
    except KeyError:
        raise SystolicError(f"there is no number format '{name}', only {', '.join(FORMATS)}") from None

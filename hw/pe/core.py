"""The processing element: every operation of the table on one shared data path, with registered results."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.configuration import ConfigSignature, ConfigurationStore, passed_on
from hw.lib.multiplexer import hold, multiplex
from hw.ops import OPERATIONS, Datapath, Kind
from hw.pe.bfloat16 import Bfloat16Unit
from hw.pe.config import COUNT, OPERANDS, RESTART, PeSpec, pe_layout

__all__ = ["Pe"]


class Pe(wiring.Component):
    """One operation per cycle on `spec.width`-bit words and single bits. Liu 2023, sections 6.2 and 7.1.

    Operands are `i_word0` to `i_word2` and `i_bit0` to `i_bit2`, or the constants that are configured in their
    place; they are registered, so that choosing and extending them is no part of the way through the multiplier. The
    result is at `o_word` or `o_bit`, by the kind of the operation's result, `PeSpec.latency` cycles later; the other
    output is zero. Everything holds while `en` is 0 and while the processing element is off.

    A word operand can be the element's own result, straight from the result register to the operation: a sum, a
    minimum or a choice that goes on in every cycle has a recurrence latency of 1 (`PeConfig.feedback`). The multiplier
    takes the operand registers themselves, so the choice is no part of the way through it.

    With `spec.counter` there are the operation `hw.pe.config.COUNT`, whose value is on the outputs in the first cycle
    after `flush` and counts the cycles with `en` from then on, and the port `flush`.

    With `spec.bfloat16` there are the operations of `hw.pe.bfloat16`, pipelined, a result in every cycle.

    Configuration (`cfg`, a `hw.lib.configuration.ConfigSignature`, and `clear`) works whatever `en` is.
    """

    def __init__(self, spec: PeSpec, staged: bool = False):
        """`staged`: `en` is for the operand registers alone, `en_result` for the result registers."""
        self.spec = spec
        self.staged = staged
        super().__init__(
            {
                "en": In(1),
                "cfg": In(ConfigSignature()),
                "clear": In(1),
                **{f"i_word{index}": In(spec.width) for index in range(OPERANDS)},
                **{f"i_bit{index}": In(1) for index in range(OPERANDS)},
                "o_word": Out(spec.width),
                "o_bit": Out(1),
                **({"flush": In(1)} if spec.counter else {}),
                **({"en_result": In(1)} if staged else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = ConfigurationStore(pe_layout(self.spec))
        m.d.comb += [*passed_on(self.cfg, store.cfg), store.clear.eq(self.clear)]
        advance = Signal()
        m.d.comb += advance.eq(self.en & store.value("enable"))
        words = [self._word(m, store, advance, index) for index in range(OPERANDS)]
        datapath = self._datapath(m, store, advance, words)
        floats = Bfloat16Unit(m, self.spec, store.value("op"), advance, words) if self.spec.bfloat16 else None
        passing = self.en_result & store.value("enable") if self.staged else advance
        for output, kind in ((self.o_word, Kind.WORD), (self.o_bit, Kind.BIT)):
            results = self._results(m, datapath, kind)
            result = multiplex(store.value("op"), floats.with_results(results, kind) if floats else results)
            m.d.sync += output.eq(hold(output, passing, result))
        if self.spec.counter:
            self._count(m, store, advance)
        return m

    def _count(self, m: Module, store: ConfigurationStore, advance: Value) -> None:
        """The result registers are those of the counter where it is the operation."""
        first, stride, last = (store.value(f"constant{index}") for index in range(OPERANDS))
        following = Mux(self.o_word == last, 0, self.o_word + stride)[: self.spec.width]
        value = Signal(self.spec.width)
        m.d.comb += value.eq(Mux(self.flush, first, following))
        with m.If((store.value("op") == COUNT.code) & (self.flush | advance)):
            m.d.sync += [self.o_word.eq(value), self.o_bit.eq(value == last)]

    def _results(self, m: Module, datapath: Datapath, kind: Kind) -> list[Value]:
        """Results of one kind by the code of the operation; zero where the code means another kind or nothing."""
        width = self.spec.width if kind is Kind.WORD else 1
        results: list[Value] = [Const(0, width)] * (1 + max(entry.code for entry in OPERATIONS.values()))
        for entry in OPERATIONS.values():
            if entry.result is kind:
                results[entry.code] = Signal(width, name=f"{entry.name}_result")
                m.d.comb += results[entry.code].eq(entry.build(datapath))
        return results

    def _datapath(self, m: Module, store: ConfigurationStore, advance: Value, words: list[Value]) -> Datapath:
        """Behind the operand registers `words`, those of bits, the choice of the own result, and the one multiplier and
        one subtractor that all operations share."""
        p, q, r = (self._bit(m, store, advance, index) for index in range(OPERANDS))
        a, b, c = self._with_own_result(m, store, advance, words)
        product = Signal((words[0] * words[1]).shape())
        difference = Signal((a - b).shape())
        m.d.comb += [product.eq(words[0] * words[1]), difference.eq(a - b)]
        return Datapath(self.spec.width, a, b, c, p, q, r, store.value("table"), product, difference)

    def _word(self, m: Module, store: ConfigurationStore, advance: Value, index: int) -> Value:
        """A word operand with one more bit that extends it by its sign or by zero."""
        word = self._choice(store, f"constant{index}", f"i_word{index}")
        register = Signal(signed(self.spec.width + 1), name=f"word{index}")
        m.d.sync += register.eq(hold(register, advance, self._extend(store, word)))
        return register

    def _extend(self, store: ConfigurationStore, word: Value) -> Value:
        """A word with one more bit: its sign, or zero."""
        return Cat(word, word[-1] & store.value("signed")).as_signed()

    def _with_own_result(self, m: Module, store: ConfigurationStore, advance: Value, words: list[Value]) -> list[Value]:
        """The word operands, in place of one of which the own result comes, except where it restarts. That is decided
        where the operands are registered, so that the choice is all that the way through the operation gets longer."""
        own = self._extend(store, self.o_word)
        goes_on = ~(store.value("restart") & getattr(self, f"i_{RESTART}"))
        operands: list[Value] = []
        for index, word in enumerate(words):
            operands.append(operand := Signal(signed(self.spec.width + 1), name=f"operand{index}"))
            chosen = Signal(name=f"own{index}")
            m.d.sync += chosen.eq(hold(chosen, advance, store.value(f"feedback{index}") & goes_on))
            m.d.comb += operand.eq(Mux(chosen, own, word))
        return operands

    def _bit(self, m: Module, store: ConfigurationStore, advance: Value, index: int) -> Value:
        register = Signal(name=f"bit{index}")
        m.d.sync += register.eq(hold(register, advance, self._choice(store, f"bit_constant{index}", f"i_bit{index}")))
        return register

    def _choice(self, store: ConfigurationStore, constant: str, port: str) -> Value:
        """The constant if one is configured, else the input."""
        return Mux(store.value(f"{constant}_used"), store.value(constant), getattr(self, port))

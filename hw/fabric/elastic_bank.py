"""Banks of the global buffer beside a ready-valid array: they pass tokens, and count these instead of cycles."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from hw.fabric.bank import Bank
from hw.fabric.spec import FabricSpec
from hw.lib.configuration import ConfigurationStore

__all__ = ["ElasticBank", "build_bank"]


class ElasticBank(Bank):
    """A bank that sends or takes a stream of tokens, of which its controller says which ones carry words.

    Tokens of a tile are `period` in number, and `lead` tokens come before those of the first tile. They pass only after
    `begin`, of which some may come early; when there is nothing `more` to begin, tokens without words pass for ever.
    Ports besides those of `Bank`: `period`, `more`; `o_valid` and `i_ready` for `o_word`, `i_valid` and `o_ready` for
    `i_word`; `pending`: a tile has begun and none of its tokens has passed.
    """

    def pace(self, m: Module, store: ConfigurationStore) -> tuple[Value, Value]:
        """A token passes; the next one is the first of a tile."""
        step, opens, passing, free, goes = (
            Signal(name=name) for name in ("step", "opens", "passing", "free", "goes"))
        lead, rest, begun = store.value("lead"), Signal.like(self.period), Signal(2)
        last = step & (rest == 0) & ~free
        m.d.comb += [
            goes.eq(begun.any() | self.begin),
            step.eq(self.en & passing & self._room(m)),
            opens.eq(((self.flush & (lead == 0)) | (~self.flush & (last | (self.en & ~passing & self.enable)))) & goes),
            self.pending.eq(begun.any()),
        ]
        with m.If(self.flush):
            m.d.sync += [rest.eq(lead - 1), passing.eq(self.enable & (lead != 0)), free.eq(0)]
        with m.Elif(last | (self.en & ~passing & self.enable)):
            m.d.sync += [passing.eq(~self.more), free.eq(~self.more)]
        with m.Elif(step):
            m.d.sync += rest.eq(rest - 1)
        with m.If(opens):
            m.d.sync += [rest.eq(self.period - 1), passing.eq(1), free.eq(0)]
        m.d.sync += begun.eq((begun & ~self.flush.replicate(2)) + self.begin - opens)
        m.d.comb += self.o_ready.eq(passing & self.output)
        self._send(m, step)
        return step, opens

    def _room(self, m: Module) -> Value:
        """Whether a token can pass: a word can be sent, or there is one to take."""
        return (self.output & self.i_valid) | (~self.output & (~self.o_valid | self.i_ready))

    def _send(self, m: Module, step: Value) -> None:
        """A token that passes is there until the array takes it."""
        with m.If(self.flush):
            m.d.sync += self.o_valid.eq(0)
        with m.Elif(self.en & ~self.output):
            m.d.sync += self.o_valid.eq(step | (self.o_valid & ~self.i_ready))


def build_bank(spec: FabricSpec) -> Bank:
    """A bank for the protocol of an array."""
    return ElasticBank(spec) if spec.protocol == "ready-valid" else Bank(spec)

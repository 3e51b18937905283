"""The memories of a kernel whose addresses are data: loads and stores of nodes as operators, and traps.

Dynamic dataflow's I-structures and the tokens of handshaking hardware keep such accesses in order by waiting; here
everything that an access comes after is an operand, so ticks do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from amaranth.hdl import Const, Module, Signal, Value, signed

from hw.dataflow.operators import Unit
from hw.dataflow.spec import KernelSpec, Operator, Word
from hw.lib.addressed_memory import AddressedMemory
from hw.lib.taps import Taps
from hw.lib.trap import Outside, Trap

__all__ = ["INDEX_BITS", "MemoryAccesses"]

INDEX_BITS = 32
"""Bits of an index that is reported, and of the number of an access."""

_Port = tuple[int, AddressedMemory, int]
"""Number of an access among all, its memory, and its number among the loads, or the stores, of that."""


class MemoryAccesses:
    """The memories of `spec`, built in `m`, which step with `en`. ``fires(node, ticks)``: whether node number `node`
    fired `ticks` ago, by its operators' time. `begin`: a run begins after this cycle, which is no step.

    `trap`: an access was outside of its memory, the first one by number (`KernelSpec.accesses`) `trap_access` with
    `trap_index`.
    """

    def __init__(self, m: Module, spec: KernelSpec, en: Value, taps: Taps, fires: Callable[[int, int], Value],
                 begin: Value):
        self._m, self._spec, self._en, self._taps, self._fires, self._begin = m, spec, en, taps, fires, begin
        self.trap, self.trap_access, self.trap_index = Signal(), Signal(INDEX_BITS), Signal(signed(INDEX_BITS))
        self._ports: dict[int, list[_Port]] = {}
        self._outside: list[Outside] = []
        for memory in range(len(spec.memories)):
            self._memory(memory)

    def _memory(self, number: int) -> None:
        """One memory, with ports for all of its accesses; none if it is only loaded or only stored to."""
        spec = self._spec
        operators = [spec.nodes[node].operators[place] for node, place in spec.accesses]
        own = [k for k, operator in enumerate(operators) if operator.value == number]
        kinds = [[k for k in own if operators[k].op == kind] for kind in ("load", "store")]
        memory = spec.memories[number]
        made = AddressedMemory(memory.word.shape, memory.words, len(kinds[0]), max(1, len(kinds[1])),
                               forwarded=memory.forwarded, initial=memory.initial)
        self._m.submodules[f"memory{number}"] = made
        self._m.d.comb += made.en.eq(self._en)
        if memory.initial is not None:
            self._m.d.comb += made.clear.eq(self._begin)
        for k in own:
            port = next(kind.index(k) for kind in kinds if k in kind)
            self._ports.setdefault(spec.accesses[k][0], []).append((k, made, port))

    def units(self, node: int) -> Mapping[str, Unit]:
        """How the loads and stores of node number `node` are built, which has to be in their order."""
        left = sorted(self._ports.get(node, []), key=lambda port: port[0], reverse=True)

        def load(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
            return self._load(node, operator, operands, left.pop())

        def store(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
            return self._store(node, operator, operands, left.pop())

        return {"load": load, "store": store}

    def _load(self, node: int, operator: Operator, operands: Sequence[Value], port: _Port) -> Value:
        access, memory, place = port
        word = Signal(operator.word.shape, name=f"load{access}_word")
        self._m.d.comb += [memory.load_address[place].eq(Value.cast(operands[0]).as_unsigned()),
                           word.eq(memory.load_data[place])]
        self._watch(operator, operands[0], port, self._fires(node, operator.start))
        return self._taps.delayed(word, operator.latency - max(1, memory.forwarded), reset_less=True)

    def _store(self, node: int, operator: Operator, operands: Sequence[Value], port: _Port) -> Value:
        access, memory, place = port
        index, value, enable = operands
        fires = Signal(name=f"store{access}_fires")
        self._m.d.comb += [
            fires.eq(self._fires(node, operator.start) & Value.cast(enable)[0]),
            memory.store[place].eq(fires), memory.store_data[place].eq(value),
            memory.store_address[place].eq(Value.cast(index).as_unsigned()),
        ]
        self._watch(operator, index, port, fires)
        return self._taps.delayed(enable, operator.latency, reset_less=True)

    def _watch(self, operator: Operator, index: Value, port: _Port, happens: Value) -> None:
        """Keep the first access that is outside, if there can be any."""
        access, memory, _ = port
        if not self._spec.memories[operator.value].trap:
            return
        self._outside.append(Outside(access, index, memory.depth, happens))

    def finish(self, late: bool) -> Value:
        """Build the trap, when all units have been built; whether an access of the last ticks is still looked at."""
        trap = Trap(self.trap, self.trap_access, self.trap_index)
        if late:
            return trap.keep_first(self._m, self._en, self._outside)
        trap.stop_at_first(self._m, self._en, self._outside)
        return Const(0, 1)

"""The whole array: cells and chain stages by the module name of their kind, joined by streams between neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, ResetSignal, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dataflow.system import SYSTEM_MODULE, top_module
from hw.systolic.recurrence.cell import Cell
from hw.systolic.recurrence.edges import Buffer, DrainStage, Head, LoadStage, head_layout, tagged
from hw.systolic.recurrence.rows import chain_rows
from hw.systolic.recurrence.spec import ChainSpec, Place, RecurrenceSpec
from hw.verilog import convert_together

__all__ = ["RecurrenceArray", "emit_recurrence"]


@dataclass
class _Wires:
    """A stream between two instances, as signals."""

    payload: Signal
    valid: Signal
    ready: Signal


@dataclass
class _Modules:
    """Modules to emit, by name."""

    found: dict[str, wiring.Component] = field(default_factory=dict)

    def add(self, name: str, make: Callable[[], wiring.Component]) -> str:
        """`name`; its module is made once."""
        if name not in self.found:
            self.found[name] = make()
        return name


class RecurrenceArray(wiring.Component):
    """Ports as `hw.dataflow.kernel.Kernel`: `start` resets everything and begins a run; ``i_NAME`` and ``o_NAME`` are
    the streams of `spec`. `busy` until the last result has left; `moved`: a word comes in or goes out in this cycle;
    `ticks`: cycles of the run from the first word that comes in; `stalls`: those cycles of it in which none moved.

    Cells and stages are separate modules: `emit_recurrence`.
    """

    def __init__(self, spec: RecurrenceSpec):
        self.spec = spec
        self.modules = _Modules()
        super().__init__({
            "start": In(1), "busy": Out(1), "done": Out(1), "moved": Out(1), "ticks": Out(32), "stalls": Out(32),
            **{f"i_{s.name}": In(stream.Signature(s.word.shape)) for s in spec.inputs},
            **{f"o_{s.name}": Out(stream.Signature(s.word.shape)) for s in spec.outputs},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        self._reset = Signal()
        m.d.comb += self._reset.eq(ResetSignal() | self.start)
        self._count = 0
        self._inputs: list[dict[int, _Wires]] = [{} for _ in spec.cells]
        self._outputs: list[dict[int, _Wires]] = [{} for _ in spec.cells]
        for wire in spec.wires:
            word = spec.kinds[spec.cells[wire.sink].kind].ports[wire.port][1]
            self._inputs[wire.sink][wire.port] = self._outputs[wire.source][wire.queue] = self._wires(word.width)
        for chain in spec.loads:
            self._load(m, chain)
        for chain in spec.drains:
            self._drain(m, chain)
        for number in range(len(spec.cells)):
            self._cell(m, number)
        self._status(m)
        return m

    def _wires(self, shape: Any) -> _Wires:
        self._count += 1
        bits = Shape.cast(shape).width
        return _Wires(*(Signal(w, name=f"s{self._count}_{n}") for n, w in
                        (("payload", bits), ("valid", 1), ("ready", 1))))

    def _instance(self, m: Module, name: str, kind: str, constants: Mapping[str, tuple[int, int]],
                  sinks: Mapping[str, _Wires], sources: Mapping[str, _Wires]) -> None:
        """An instance of module `kind`: `constants` (value, bits) by port, streams it takes and gives."""
        ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": self._reset}
        ports |= {f"i_{port}": Const(value, bits) for port, (value, bits) in constants.items()}
        for port, wires in sinks.items():
            ports |= {f"i_{port}__payload": wires.payload, f"i_{port}__valid": wires.valid,
                      f"o_{port}__ready": wires.ready}
        for port, wires in sources.items():
            ports |= {f"o_{port}__payload": wires.payload, f"o_{port}__valid": wires.valid,
                      f"i_{port}__ready": wires.ready}
        m.submodules[name] = Instance(kind, **ports)

    # Cells.

    def _cell(self, m: Module, number: int) -> None:
        placed = self.spec.cells[number]
        kind = self.spec.kinds[placed.kind]
        name = self.modules.add(f"cell_{kind.name}", lambda: Cell(kind, self.spec.divider_bits))
        coordinates = {f"coordinate{k}": (value, kind.counters[k].shape.width) for k, value in enumerate(placed.place)}
        sinks = {f"i_{kind.ports[k][0]}": wires for k, wires in self._inputs[number].items()}
        sources = {f"o_{kind.queues[k].name}": wires for k, wires in self._outputs[number].items()}
        self._instance(m, f"cell_{_text(placed.place)}", name, coordinates, sinks, sources)

    # Chains.

    def _positions(self, chain: ChainSpec, rows: Mapping[int, Sequence[object]]) -> list[int]:
        """The counters that tell cells apart: of the major loop if there are several rows, of the other one if some row
        has several cells."""
        found = [chain.position[chain.major]] if len(rows) > 1 else []
        if any(len(row) > 1 for row in rows.values()):
            found.append(chain.position[1 - chain.major])
        return found

    def _load(self, m: Module, chain: ChainSpec) -> None:
        stream_spec = self.spec.inputs[chain.stream]
        port = getattr(self, f"i_{stream_spec.name}")
        width, rows = stream_spec.word.width, chain_rows(self.spec, chain)
        name = f"load_{stream_spec.name}"
        first = self._wires(width)
        m.d.comb += [first.payload.eq(port.payload), first.valid.eq(port.valid), port.ready.eq(first.ready)]
        positions = self._positions(chain, rows)
        kind = self.modules.add(f"{name}_head", lambda: Head(chain.counters, chain.at, positions, width))
        layout = head_layout(chain.counters, positions, width)
        words = self._wires(layout)
        self._instance(m, f"{name}_head", kind, {}, {"i": first}, {"o": words})
        for major, row in rows.items():
            mine = words
            if len(rows) > 1:
                mine, words = self._load_stage(m, f"{name}_{_text((major,))}", layout, 0, major, words)
            for minor, (cell, number) in row:
                here = mine
                if len(row) > 1:
                    where = f"{name}_{_text((major, minor))}"
                    here, mine = self._load_stage(m, where, layout, len(positions) - 1, minor, mine)
                self._inputs[cell][number] = self._buffered(m, f"{name}_{_text((major, minor))}_buffer", chain,
                                                            self._data_only(m, layout, here))
            if len(row) > 1:
                m.d.comb += mine.ready.eq(1)
        if len(rows) > 1:
            m.d.comb += words.ready.eq(1)

    def _buffered(self, m: Module, name: str, chain: ChainSpec, words: _Wires) -> _Wires:
        """The words of a cell, some of which wait there."""
        width, after = len(words.payload), self._wires(len(words.payload))
        kind = self.modules.add(f"buffer_{width}_{chain.leaf_words}", lambda: Buffer(width, chain.leaf_words))
        self._instance(m, name, kind, {}, {"i": words}, {"o": after})
        return after

    def _load_stage(self, m: Module, name: str, layout: data.StructLayout, tag: int, coordinate: int, words: _Wires
                    ) -> tuple[_Wires, _Wires]:
        kind = self.modules.add(f"load_stage{tag}_{_layout_text(layout)}", lambda: LoadStage(layout, tag))
        bits = Shape.cast(layout[f"tag{tag}"].shape).width
        mine, after = self._wires(layout), self._wires(layout)
        self._instance(m, name, kind, {"coordinate": (coordinate, bits)}, {"i": words},
                       {"o_mine": mine, "o_next": after})
        return mine, after

    def _data_only(self, m: Module, layout: data.StructLayout, words: _Wires) -> _Wires:
        """The stream without tags."""
        result = self._wires(layout["data"].shape)
        m.d.comb += [result.payload.eq(data.View(layout, words.payload).data), result.valid.eq(words.valid),
                     words.ready.eq(result.ready)]
        return result

    def _drain(self, m: Module, chain: ChainSpec) -> None:
        stream_spec = self.spec.outputs[chain.stream]
        port = getattr(self, f"o_{stream_spec.name}")
        width, rows = stream_spec.word.width, chain_rows(self.spec, chain)
        name = f"drain_{stream_spec.name}"
        results = {major: self._drain_row(m, chain, name, major, row, width, len(rows) == 1)
                   for major, row in rows.items()}
        words = next(iter(results.values()))
        if len(rows) > 1:
            position = chain.position[chain.major]
            kind = self.modules.add(f"{name}_head", lambda: Head(chain.counters, chain.at, [position], 0))
            words = self._collected(m, name, kind, chain.counters[position].shape.width, {}, results, width)
        m.d.comb += [port.payload.eq(words.payload), port.valid.eq(words.valid), words.ready.eq(port.ready)]

    def _drain_row(self, m: Module, chain: ChainSpec, name: str, major: int,
                   row: Sequence[tuple[int, tuple[int, int]]], width: int, alone: bool) -> _Wires:
        """The results of the cells with one value of the major loop."""
        leaves: dict[int, _Wires] = {}
        for minor, (cell, number) in row:
            leaves[minor] = self._outputs[cell][number] = self._wires(width)
        if len(row) == 1:
            return leaves[row[0][0]]
        here = f"{name}_{_text((major,))}"
        if alone:
            position = chain.position[1 - chain.major]
            kind = self.modules.add(f"{name}_head", lambda: Head(chain.counters, chain.at, [position], 0))
            return self._collected(m, here, kind, chain.counters[position].shape.width, {}, leaves, width)
        kind = self.modules.add(f"{name}_row_head",
                                lambda: Head(chain.row_counters, chain.row_at, [chain.row_position], 0, held=1))
        row_bits, bits = (chain.row_counters[k].shape.width for k in (0, chain.row_position))
        return self._collected(m, here, kind, bits, {"row": (major, row_bits)}, leaves, width)

    def _collected(self, m: Module, name: str, head: str, bits: int, constants: Mapping[str, tuple[int, int]],
                   leaves: Mapping[int, _Wires], width: int) -> _Wires:
        """One chain: slots with coordinates of `bits` bits from module `head` through a stage for each of `leaves`."""
        slot, layout = tagged(0, [bits]), tagged(width, [bits])
        slots = self._wires(slot)
        self._instance(m, f"{name}_head", head, constants, {}, {"o": slots})
        words = self._wires(layout)
        m.d.comb += [data.View(layout, words.payload).tag0.eq(data.View(slot, slots.payload).tag0),
                     words.valid.eq(slots.valid), slots.ready.eq(words.ready)]
        for coordinate, leaf in leaves.items():
            after = self._wires(layout)
            stage = self.modules.add(f"drain_stage_{_layout_text(layout)}", lambda: DrainStage(width, bits))
            self._instance(m, f"{name}_stage_{_text((coordinate,))}", stage, {"coordinate": (coordinate, bits)},
                           {"i": words, "word": leaf}, {"o": after})
            words = after
        return self._data_only(m, layout, words)

    # Status.

    def _status(self, m: Module) -> None:
        streams = [getattr(self, f"o_{s.name}") for s in self.spec.outputs]
        left = [Signal(range(s.words + 1), name=f"left_{s.name}") for s in self.spec.outputs]
        taken = [s.valid & s.ready for s in streams]
        sources = [getattr(self, f"i_{s.name}") for s in self.spec.inputs]
        given = [s.valid & s.ready for s in sources]
        moved: Value = Cat(*given).any() if given else Const(1, 1)
        begun = Signal()
        m.d.comb += self.moved.eq(Cat(*given, *taken).any())
        m.d.comb += self.busy.eq(Cat(*(n != 0 for n in left)).any())
        for count, one in zip(left, taken, strict=True):
            m.d.sync += count.eq(count - one)
        m.d.comb += self.done.eq(self.busy & Cat(*(n == one for n, one in zip(left, taken, strict=True))).all())
        with m.If(self.busy & (begun | moved)):
            m.d.sync += [begun.eq(1), self.ticks.eq(self.ticks + 1)]
            m.d.sync += self.stalls.eq(self.stalls + ~(moved | Cat(*taken).any()))
        with m.If(self.start):
            m.d.sync += [self.ticks.eq(0), self.stalls.eq(0), begun.eq(0)]
            m.d.sync += [count.eq(s.words) for count, s in zip(left, self.spec.outputs, strict=True)]


def _text(place: Place) -> str:
    """Coordinates as part of a name."""
    return "_".join(str(value).replace("-", "m") for value in place)


def _layout_text(layout: data.StructLayout) -> str:
    return "_".join(str(Shape.cast(layout[name].shape).width) for name, _ in layout)


def emit_recurrence(spec: RecurrenceSpec) -> dict[str, str]:
    """Verilog, by file name, of a system whose top module is `hw.dataflow.system.SYSTEM_MODULE`. Every kind of cell and
    stage is one module."""
    return {f"{SYSTEM_MODULE}.v": convert_together(_modules(spec))}


def _modules(spec: RecurrenceSpec) -> Iterator[tuple[str, Any, Any]]:
    """The top, whose elaboration finds the kinds of cells and stages, and then those."""
    array = RecurrenceArray(spec)
    yield SYSTEM_MODULE, *top_module(spec, array)
    yield from ((name, module, None) for name, module in array.modules.found.items())

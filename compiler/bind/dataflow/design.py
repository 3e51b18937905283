"""A program compiled for the dataflow target: predictions, simulation and emission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar

import numpy as np

from compiler.bind.bounds import Bounds, traffic_text
from compiler.bind.dataflow.bounds import TickBound, tick_bound
from compiler.bind.dataflow.host import kernel_interface
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.reorder import instance_ticks
from compiler.bind.dataflow.running import Executable, StreamPlace
from compiler.bind.dataflow.start_to_done import start_to_done
from compiler.bind.dataflow.stream_design import StreamDesign
from compiler.bind.dataflow.word_streams import KernelArrays
from compiler.bind.dataflow.word_ticks import CountedTicks, SymbolicTicks, live_values
from compiler.bind.design import BufferStorage, Run, check_inputs
from compiler.bind.jumps import Jumps
from compiler.bind.page import html_page, html_table, html_text
from compiler.ir.interpret import statement_values
from compiler.ir.program import Program
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.sched.process_network import derive, draw_network, print_network
from hw.drivers.interface import HostInterface
from hw.main_memory import MainMemory
from hw.ops import MULTIPLICATIONS

__all__ = ["DataflowDesign"]


@dataclass(repr=False)
class DataflowDesign(StreamDesign):
    """See `StreamDesign`. Cycles are ticks of the kernel. `sizes`: the values that the kernel's run-time sizes have in
    `program`."""

    target: ClassVar[str] = "dataflow"

    program: Program
    options: Options
    plan: Plan
    seconds: float
    sizes: tuple[int, ...] = ()
    stated: Program | None = None

    @cached_property
    def executable(self) -> Executable:
        """How it runs."""
        return Executable(self.program, self.plan, self.main_memory, self.sizes)

    @property
    def predicted_cycles(self) -> int:
        """Ticks of a run, from the first vector of the counters until the last word has left."""
        return self.plan.total_ticks(self.sizes)

    @property
    def least_cycles(self) -> int:
        """Ticks of a run that ends as early as it can."""
        return self.predicted_cycles - (self.plan.early.most_saved if self.plan.early else 0)

    def cycles_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Ticks of a run on `inputs`. Raises `InputError`, and `ProgramError` for what they may not be."""
        jumps = self._jumps(inputs)
        return self.predicted_cycles - (jumps.saved if jumps else 0)

    def start_to_done_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Clock cycles of a run on `inputs`; see `predicted_start_to_done`. Raises as `cycles_for` does."""
        return start_to_done(self.plan, self.executable.places, self.main_memory, self.sizes, self._jumps(inputs))

    def _jumps(self, inputs: Mapping[str, np.ndarray]) -> Jumps | None:
        """What a run on `inputs` leaves out."""
        early, network = self.plan.early, self.plan.network
        if early is None:
            return None
        values = statement_values(network.program, check_inputs(self.program, inputs), early.statement)
        return early.jumps(instance_ticks(network, network.node(early.statement), self.plan.clock), values)

    @cached_property
    def bound(self) -> TickBound:
        """Ticks that no schedule can do without."""
        network = derive(remove_dead_statements(self.program)) if self.sizes else self.plan.network
        return tick_bound(network, self.plan.pipelines)

    @property
    def main_memory(self) -> MainMemory:
        """The memory of the options."""
        return self.options.main_memory(self.options.bus_bits)

    @cached_property
    def predicted_start_to_done(self) -> int:
        """Streams and memory followed chunk by chunk (`compiler.bind.dataflow.start_to_done`): within 2 % of a run."""
        return start_to_done(self.plan, self.executable.places, self.main_memory, self.sizes)

    @property
    def array_traffic(self) -> dict[str, str]:
        """Of every array, through all of its streams: bytes moved over bytes of the array, beats over full beats."""
        bus = self.main_memory.port_bits
        streams: dict[str, list[StreamPlace]] = {}
        for place in chain(*self.executable.places):
            streams.setdefault(place.array.name, []).append(place)
        return {name: traffic_text(places[0].array, sum(p.bytes for p in places),
                                   sum(-(-8 * p.bytes // bus) for p in places), bus)
                for name, places in streams.items()}

    @cached_property
    def bounds(self) -> Bounds:
        """Operations: firings of the busiest node with the ticks before and after them. Dependences: the longest chain
        of operators."""
        bound = self.bound
        return Bounds(max(bound.busiest, bound.flow), self.traffic.cycles(self.main_memory), bound.path)

    @property
    def resources(self) -> dict[str, int]:
        """Operators by kind (multiplications apart from the others), channels by kind, words that they hold,
        streams."""
        kernel = self.plan.kernel
        operators = [o.op for node in kernel.nodes for o in node.operators]
        passive = ("read", "const", "index", "cast", "table", "pass", "load", "store")
        multipliers = sum(op in MULTIPLICATIONS for op in operators)
        kinds = {f"{kind} channels": sum(c.kind == kind and c.depth > 0 for c in kernel.channels)
                 for kind in ("delay", "register", "fifo", "reorder", "line")}
        memories = {"memories": len(kernel.memories)} if kernel.memories else {}
        return {
            "multipliers": multipliers, "other operators": sum(op not in passive for op in operators) - multipliers,
            **kinds, **memories, "input streams": len(kernel.inputs), "output streams": len(kernel.outputs),
        }

    @cached_property
    def storage(self) -> list[BufferStorage]:
        """Everything that holds words: delays of one value are a line, and the parts of a line are one."""
        channels = self.plan.kernel.channels
        groups: dict[tuple[int, int | None, str], list[int]] = {}
        for number, channel in enumerate(channels):
            alone = f"{channel.kind} {number}" if channel.kind not in ("delay", "line") else channel.kind
            groups.setdefault((channel.source, channel.operand, alone), []).append(number)
        found = []
        for numbers in groups.values():
            some = [channels[k] for k in numbers]
            words = max(c.depth for c in some) if some[0].kind == "delay" else sum(c.depth + c.later for c in some)
            if words:
                found.append(BufferStorage(some[-1].name, (some[0].kind,), self._live(numbers), words))
        return found

    def _live(self, numbers: Sequence[int]) -> int:
        """Most words of one value that wait in these channels at once."""
        entries = [(self.plan.kernel.channels[k], self.plan.carried[k]) for k in numbers]
        given = next(channel.written for channel, _ in entries if channel.after is None)
        if any(isinstance(item.words, SymbolicTicks) for _, item in entries):
            times = self.plan.network.times
            uses = [(item.edge.relation.apply_domain(times[item.edge.source]).apply_range(times[item.edge.sink]),
                     channel.read) for channel, item in entries]
            return live_values(uses, given, self.plan.clock.walk)
        ticks = [(item.words, channel.read) for channel, item in entries if isinstance(item.words, CountedTicks)]
        written, word = np.unique(np.concatenate([words.written for words, _ in ticks]), return_inverse=True)
        last = np.zeros(len(written), np.int64)
        np.maximum.at(last, word, np.concatenate([words.read + read for words, read in ticks]))
        return CountedTicks(written + given, last).high_water(0)

    @property
    def choices(self) -> dict[str, str]:
        """Options that were set and choices that were made."""
        options = self.options
        given = {"lanes": options.lanes, "interleave": options.interleave, "latency": options.latency,
                 "reorder": options.reorder, "transform": options.transform or None,
                 "exits": options.exits if options.exits != "early" else None}
        return {k: str(v) for k, v in given.items() if v is not None} | self.plan.choices

    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page: the network's picture, predictions and, if given, one run."""
        sections = [("Network", draw_network(self.plan.network)),
                    ("Result", html_table(self.summary(run, equal).items(), numbers=False)),
                    ("Processes and channels", html_text(str(self.plan.network)))]
        return html_page(f"{self.program.name} as a dataflow kernel", sections)

    @property
    def array_size(self) -> str:
        """One row, and a column for every lane."""
        return f"1x{self.options.lanes}"

    @cached_property
    def array_streams(self) -> KernelArrays:
        """See `Design`."""
        return KernelArrays(self)

    @property
    def host_interface(self) -> HostInterface:
        """See `Design`."""
        return kernel_interface(self.executable)

    def drawings(self) -> dict[str, str]:
        """The network, as JSON and as a picture."""
        return {"network.json": print_network(self.plan.network), "network.svg": draw_network(self.plan.network)}

"""Dataflow graphs run token by token (Hammes 2000, section 5.1).

Every input of a node has a queue without bound. A node fires as soon as each of its inputs has a token; generators fire
once for each iteration. The order in which nodes fire does not change what they compute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Operand, Word
from compiler.frontend.sac.dfg.kinds import COMPUTE, GENERATORS, RETURNS
from compiler.frontend.sac.dfg.memory import Memory
from compiler.frontend.sac.dfg.sources import generate
from compiler.frontend.sac.dfg.writers import Writer, open_writer
from compiler.ir.types import ProgramError

__all__ = ["Statistics", "simulate"]


@dataclass(frozen=True)
class Statistics:
    """What a run did: how often nodes fired, the longest queue, elements that were read from and written to memory."""

    firings: int
    longest_queue: int
    reads: int
    writes: int


def simulate(dfg: Dfg, memory: list[int]) -> Statistics:
    """Run `dfg` on `memory`, whose first words are its arguments; results are there afterwards.

    Raises `ProgramError` if no node can fire and the results are not complete.
    """
    return _Run(dfg, Memory(memory)).run()


class _Actor:
    """A node while it runs: queues of the inputs that have tokens of their own, fixed tokens of the others."""

    def __init__(self, node: DfgNode, tokens: list[int | None], widths: list[int]) -> None:
        self.node, self.tokens, self.widths = node, tokens, widths
        self.queues: list[deque[int] | None] = [deque() if token is None else None for token in tokens]
        self.waiting = [queue for queue in self.queues if queue is not None]
        self.successors: list[list[tuple[_Actor, deque[int]]]] = [[] for _ in node.widths]
        self.fire: Callable[[list[int]], Sequence[int] | None] = _never
        self.source: Iterator[Sequence[int]] | None = None
        self.queued = False

    def ready(self) -> bool:
        return all(self.waiting)

    def take(self) -> list[int]:
        """A token of each input."""
        return [queue.popleft() if queue is not None else token or 0
                for queue, token in zip(self.queues, self.tokens, strict=True)]


def _never(tokens: list[int]) -> None:
    raise AssertionError("a node without rule")


class _Run:
    """One run."""

    def __init__(self, dfg: Dfg, memory: Memory) -> None:
        self.dfg, self.memory = dfg, memory
        self.firings = self.longest = 0
        self.finished = False
        self.streams = dfg.streams()
        self.fixed: dict[Edge, int] = {}
        self.actors: dict[int, _Actor] = {}
        self.work: deque[_Actor] = deque()
        self.after: list[Callable[[], None]] = []
        for number, node in enumerate(dfg.nodes):
            self._fix(number, node)
        for number, node in enumerate(dfg.nodes):
            if Edge(number) not in self.fixed:
                self._open(number, node)
        for number, actor in self.actors.items():
            self._connect(dfg.nodes[number], actor)
        for start in self.after:
            start()

    def _fixed(self, operand: Operand) -> int | None:
        """The token of an operand that is the same in all iterations."""
        if isinstance(operand, Word):
            return operand.value
        if isinstance(operand, Argument):
            return self.memory.words[operand.number] % (1 << self.dfg.inputs[operand.number].width)
        return self.fixed.get(operand)

    def _fix(self, number: int, node: DfgNode) -> None:
        """Compute what is the same in all iterations."""
        if self.streams[number] or node.kind in RETURNS or self._awaits_triggers(node):
            return
        tokens = [self._fixed(operand) or 0 for operand in node.operands]
        self.fixed[Edge(number)] = self._compute(node)(tokens)[0]

    def _awaits_triggers(self, node: DfgNode) -> bool:
        return any(isinstance(o, Edge) and o not in self.fixed for o in node.operands)

    def _open(self, number: int, node: DfgNode) -> None:
        tokens = [self._fixed(operand) for operand in node.operands]
        widths = [self.dfg.width(operand) for operand in node.operands]
        actor = self.actors[number] = _Actor(node, tokens, widths)
        if node.kind in GENERATORS:
            actor.source = generate(node, [t or 0 for t in tokens], self.memory)
            self._enqueue(actor)
        elif node.kind == "CIRCULATE":
            self._circulate(actor)
        elif node.kind in RETURNS:
            self._write(actor)
        else:
            actor.fire = self._compute(node)

    def _compute(self, node: DfgNode) -> Callable[[list[int]], Sequence[int]]:
        widths = [self.dfg.width(operand) for operand in node.operands]
        if node.kind == "AREF":
            bits, rank = node.number("bits"), (len(node.operands) - 1) // 2
            return lambda tokens: [self.memory.read(tokens[0], tokens[1:1 + rank], tokens[1 + rank:], bits)]
        compute, width = COMPUTE[node.kind], node.widths[0]
        mask = (1 << width) - 1
        return lambda tokens: [compute(tokens, widths, width) & mask]

    def _circulate(self, actor: _Actor) -> None:
        """The first value, then as many as there are iterations but one; the last goes to the second output."""
        first, count = actor.tokens[0] or 0, actor.tokens[2] or 0
        left = count

        def fire(tokens: list[int]) -> Sequence[int] | None:
            nonlocal left
            left -= 1
            self._send(actor, 1 if left == 0 else 0, tokens[1])
            return None
        actor.fire = fire

        def start() -> None:
            self._send(actor, 0 if count else 1, first)
            if not actor.waiting:
                for _ in range(count):
                    fire(actor.take())
        self.after.append(start)

    def _write(self, actor: _Actor) -> None:
        writer = open_writer(actor.node, actor.tokens, actor.widths, self.memory)
        left = writer.count

        def fire(tokens: list[int]) -> Sequence[int] | None:
            nonlocal left
            writer.take(tokens)
            left -= 1
            return [1] if left == 0 and self._done(writer) else None
        actor.fire = fire
        self.after.append(lambda: self._start_writer(actor, writer))

    def _start_writer(self, actor: _Actor, writer: Writer) -> None:
        """What nothing enters but what is the same in all iterations fires at once, as often as there are any."""
        if not writer.count:
            self._done(writer)
            self._send(actor, 0, 1)
        elif not actor.waiting:
            for _ in range(writer.count):
                leaving = actor.fire(actor.take())
                self.firings += 1
            self._send(actor, 0, (leaving or [1])[0])

    def _done(self, writer: Writer) -> bool:
        writer.finish()
        return True

    def _connect(self, node: DfgNode, actor: _Actor) -> None:
        for operand, queue in zip(node.operands, actor.queues, strict=True):
            if isinstance(operand, Edge) and queue is not None:
                self.actors[operand.number].successors[operand.port].append((actor, queue))

    def _send(self, actor: _Actor, port: int, token: int) -> None:
        if isinstance(self.dfg.output, Edge) and self.actors.get(self.dfg.output.number) is actor:
            self.finished = True
        for successor, queue in actor.successors[port]:
            queue.append(token)
            self.longest = max(self.longest, len(queue))
            if not successor.queued and successor.ready():
                self._enqueue(successor)

    def _enqueue(self, actor: _Actor) -> None:
        actor.queued = True
        self.work.append(actor)

    def run(self) -> Statistics:
        """Fire until nothing can."""
        while self.work:
            actor = self.work.popleft()
            actor.queued = False
            leaving = next(actor.source, None) if actor.source is not None else actor.fire(actor.take())
            if actor.source is not None and leaving is not None:
                self._enqueue(actor)
            self.firings += 1
            for port, token in enumerate(leaving or ()):
                self._send(actor, port, token)
            if actor.source is None and not actor.queued and actor.waiting and actor.ready():
                self._enqueue(actor)
        if not self.finished:
            stuck = [f"%{n} {a.node.kind}" for n, a in self.actors.items() if a.waiting and any(a.waiting)]
            raise ProgramError(f"graph {self.dfg.name} stops before its results are complete: tokens wait at "
                               f"{', '.join(stuck) or 'no node'}")
        return Statistics(self.firings, self.longest, self.memory.reads, self.memory.writes)

"""Running a kernel in Amaranth's simulator: streams with random gaps, results against the interpreter."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.reorder import memory_array, stream_elements
from compiler.ir.program import Program
from compiler.sched.process_network import NodeKind
from hw.dataflow import Kernel

_LIMIT = 100_000


@dataclass
class KernelRun:
    """Output arrays by name, what the kernel counted, and the most words there were in each queue, by channel
    number."""

    outputs: dict[str, np.ndarray]
    ticks: int
    stalls: int
    peaks: dict[int, int]


def run_kernel(program: Program, plan: Plan, inputs: dict[str, np.ndarray], gap: float = 0.0,
               seed: int = 0, runs: int = 1) -> KernelRun:
    """The last of some runs, one after the other; in every cycle each stream pauses with probability `gap`. All words
    must be taken and given, no more."""
    kernel = Kernel(plan.kernel, observe=True)
    network = plan.network
    words = {n.name: inputs[memory_array(network, n)].ravel()[stream_elements(network, n)].tolist()
             for n in network.nodes if n.kind is NodeKind.INPUT}
    feeds: dict[str, list[int]] = {}
    drains: dict[str, list[int]] = {n.name: [] for n in network.nodes if n.kind is NodeKind.OUTPUT}
    queues = [k for k, c in enumerate(plan.kernel.channels) if c.queued]
    chance = random.Random(seed)
    seen: dict[str, Any] = {}

    async def bench(ctx: Any) -> None:
        for _ in range(runs):
            await one_run(ctx)

    async def one_run(ctx: Any) -> None:
        feeds.update({name: list(values) for name, values in words.items()})
        drains.update({name: [] for name in drains})
        ctx.set(kernel.start, 1)
        await ctx.tick()
        ctx.set(kernel.start, 0)
        idle = 0
        for _ in range(_LIMIT):
            _offer(ctx, kernel, feeds, drains, lambda: chance.random() >= gap)
            _move(ctx, kernel, feeds, drains)
            idle = 0 if ctx.get(kernel.busy) else idle + 1
            await ctx.tick()
            if idle > 40:
                break
        seen["ticks"], seen["stalls"] = ctx.get(kernel.ticks), ctx.get(kernel.stalls)
        seen["peaks"] = {k: ctx.get(getattr(kernel, f"peak_{k}")) for k in queues}

    simulator = Simulator(kernel)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert not any(feeds.values()), "words left at the inputs"
    outputs = {a.name: np.zeros(a.shape, np.int64) for a in program.outputs}
    for node in network.nodes:
        if node.kind is NodeKind.OUTPUT:
            assert len(drains[node.name]) == node.firings
            outputs[memory_array(network, node)].ravel()[stream_elements(network, node)] = drains[node.name]
    return KernelRun(outputs, seen["ticks"], seen["stalls"], seen["peaks"])


def _offer(ctx: Any, kernel: Any, feeds: dict[str, list[int]], drains: dict[str, list[int]], now: Any) -> None:
    for name, words in feeds.items():
        port = getattr(kernel, f"i_{name}")
        valid = bool(words) and now()
        ctx.set(port.valid, valid)
        if valid:
            ctx.set(port.payload, words[0])
    for name in drains:
        ctx.set(getattr(kernel, f"o_{name}").ready, now())


def _move(ctx: Any, kernel: Any, feeds: dict[str, list[int]], drains: dict[str, list[int]]) -> None:
    for name, words in feeds.items():
        port = getattr(kernel, f"i_{name}")
        if ctx.get(port.valid) and ctx.get(port.ready):
            words.pop(0)
    for name, words in drains.items():
        port = getattr(kernel, f"o_{name}")
        if ctx.get(port.valid) and ctx.get(port.ready):
            words.append(ctx.get(port.payload))

"""Validation of finished kernels: every kind of damage is found at compile time (row F33 of Bok 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from network_programs import kernel, matmul

from compiler.bind.dataflow import validate as validation
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan, make_plan
from compiler.bind.dataflow.validate import validate_kernel
from hw.dataflow.spec import ChannelSpec, KernelSpec, NodeSpec

PLANS = {
    "matmul": lambda: make_plan(matmul(5), Options()),
    "deep": lambda: make_plan(matmul(5), Options(latency={"add": 4})),
    "chip": lambda: make_plan(matmul(6, transposed=False), Options(reorder="chip")),
    "lanes": lambda: make_plan(matmul(5), Options(lanes=2)),
    "elimination": lambda: make_plan(kernel("elimination"), Options()),
    "triangular": lambda: make_plan(kernel("triangular"), Options()),
    "jacobi_1d": lambda: make_plan(kernel("jacobi_1d"), Options()),
}


@pytest.fixture(autouse=True, params=[1 << 15, 0], ids=["numbers", "relations"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to validate find the same damage."""
    monkeypatch.setattr(validation, "FEW_TICKS", request.param)


def validate(plan: Plan, damaged: KernelSpec) -> None:
    validate_kernel(damaged, plan.network.program, plan.network.times)


def damaged_channels(channel: ChannelSpec) -> Iterator[ChannelSpec]:
    """Ways in which a channel that is needed can be wrong."""
    if channel.kind == "delay":
        yield replace(channel, depth=channel.depth + 1)
        if channel.depth:
            yield replace(channel, depth=channel.depth - 1)
        return
    yield replace(channel, push=())
    yield replace(channel, written=channel.read + 10_000)
    if channel.kind == "fifo":
        yield replace(channel, pop=())
        if channel.depth > 1:
            yield replace(channel, depth=channel.depth - 1)
    if channel.kind == "reorder":
        yield replace(channel, depth=channel.depth // 2)
        yield replace(channel, read_address=channel.write_address)


@pytest.mark.parametrize("name", PLANS)
def test_f33_damaged_channels(name: str) -> None:
    plan = PLANS[name]()
    tried = 0
    for number, channel in enumerate(plan.kernel.channels):
        for wrong in damaged_channels(channel):
            channels = (*plan.kernel.channels[:number], wrong, *plan.kernel.channels[number + 1 :])
            with pytest.raises(DataflowError, match="kernel "):
                validate(plan, replace(plan.kernel, channels=channels))
            tried += 1
    assert tried >= len(plan.kernel.channels)


def test_f33_one_word_less_is_named() -> None:
    plan = PLANS["elimination"]()
    number = next(k for k, c in enumerate(plan.kernel.channels) if c.kind == "fifo" and c.depth > 1)
    channel = plan.kernel.channels[number]
    channels = list(plan.kernel.channels)
    channels[number] = replace(channel, depth=channel.depth - 1)
    message = f"channel {channel.name} of {channel.depth - 1} words overflows; it needs {channel.depth}"
    with pytest.raises(DataflowError, match=message.replace(".", r"\.")):
        validate(plan, replace(plan.kernel, channels=tuple(channels)))


def with_node(plan: Plan, name: str, **changes: object) -> KernelSpec:
    nodes: list[NodeSpec] = [replace(n, **changes) if n.name == name else n  # pyright: ignore[reportArgumentType]
                             for n in plan.kernel.nodes]
    return replace(plan.kernel, nodes=tuple(nodes))


def test_f21_a_wrong_select() -> None:
    plan = PLANS["matmul"]()
    comp = next(n for n in plan.kernel.nodes if n.name == "Comp")
    swapped = replace(comp.reads[0], sources=comp.reads[0].sources[::-1])
    with pytest.raises(DataflowError, match=r"Comp\[0, 0, 0\] gets a word that is not the one of 'InitC'|has no word"):
        validate(plan, with_node(plan, "Comp", reads=(replace(swapped, sources=tuple(
            replace(s, select=((),)) for s in swapped.sources)), *comp.reads[1:])))


def test_f11_a_wrong_predicate() -> None:
    plan = PLANS["matmul"]()
    with pytest.raises(DataflowError, match="node WriteC does not fire at the times of its statement"):
        validate(plan, with_node(plan, "WriteC", fires=((),)))


def test_f10_a_wrong_counter() -> None:
    plan = PLANS["matmul"]()
    counter = plan.kernel.counters[2]
    shorter = replace(counter, high=counter.low)
    with pytest.raises(DataflowError, match="its counters take 25 ticks, not 125"):
        validate(plan, replace(plan.kernel, counters=(*plan.kernel.counters[:2], shorter)))

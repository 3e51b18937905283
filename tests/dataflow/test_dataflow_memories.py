"""Accesses at places that depend on data, in kernels: rates, proofs from outside, refusals, and the memory itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest
from amaranth.hdl import Shape
from amaranth.sim import Simulator
from irregular_programs import program_of

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.bind.dataflow.validate import validate_kernel
from compiler.bind.dataflow.validate_memories import validate_access_order
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.expr import Store
from compiler.ir.program import Program
from compiler.sched.process_network import NetworkError, derive
from hw.dataflow.spec import KernelError, KernelSpec, Operator
from hw.lib.addressed_memory import AddressedMemory


@pytest.fixture(scope="module")
def equalise() -> DataflowDesign:
    design = compiler.compile(program_of("equalise"), target="dataflow")
    assert isinstance(design, DataflowDesign)
    return design


def accesses(kernel: KernelSpec, op: str) -> list[tuple[int, int]]:
    found = [(node, place) for node, place in kernel.accesses if kernel.nodes[node].operators[place].op == op]
    assert found
    return found


def changed(kernel: KernelSpec, node: int, place: int, **fields: object) -> KernelSpec:
    """`kernel` with one operator changed."""
    operators = list(kernel.nodes[node].operators)
    operators[place] = replace(operators[place], **fields)
    nodes = list(kernel.nodes)
    nodes[node] = replace(nodes[node], operators=tuple(operators))
    return replace(kernel, nodes=tuple(nodes))


def rejected(design: DataflowDesign, kernel: KernelSpec, message: str) -> None:
    with pytest.raises(DataflowError, match=message):
        validate_kernel(kernel, design.plan.network.program, design.plan.network.times)


# Rates.

def test_one_element_of_a_histogram_per_tick():
    design = compiler.compile(program_of("histogram"), target="dataflow")
    assert [memory.forwarded for memory in design.plan.kernel.memories] == [2]
    assert 64 + 128 - 2 <= design.predicted_cycles <= 64 + 128 + 10  # the bins begin with 0, and leave in pairs
    assert design.predicted_start_to_done <= 64 + 300


@pytest.mark.parametrize(("name", "ticks"), [("ellpack", 16 + 64 + 8), ("gamma_table", 256 + 64 + 8)])
def test_tables_give_one_word_per_tick(name, ticks):
    assert compiler.compile(program_of(name), target="dataflow").predicted_cycles <= ticks


# Validation.

def without_operand(operators: tuple[Operator, ...], place: int) -> Iterator[tuple[int, ...]]:
    """All that an access takes, but for one operand."""
    operands = operators[place].operands
    for k in range(len(operands)):
        yield (*operands[:k], *operands[k + 1 :])


@pytest.mark.parametrize("op", ["load", "store"])
def test_accesses_need_all_that_they_wait_for(equalise, op):
    kernel, count = equalise.plan.kernel, 0
    for node, place in accesses(kernel, op):
        for operands in without_operand(kernel.nodes[node].operators, place):
            rejected(equalise, changed(kernel, node, place, operands=operands),
                     "operands, not|not what the expression|begins in tick")
            count += 1
    assert count >= 5


@pytest.mark.parametrize("op", ["load", "store"])
def test_accesses_wait_for_the_right_values(equalise, op):
    kernel = equalise.plan.kernel
    for node, place in accesses(kernel, op):
        operands = kernel.nodes[node].operators[place].operands
        for k, own in enumerate(operands):
            for other in set(range(place)) - {own}:
                if kernel.nodes[node].operators[other] != kernel.nodes[node].operators[own]:
                    wrong = (*operands[:k], other, *operands[k + 1 :])
                    rejected(equalise, changed(kernel, node, place, operands=wrong), "kernel equalise")


@pytest.mark.parametrize("op", ["load", "store"])
def test_other_memories_are_rejected(equalise, op):
    kernel = equalise.plan.kernel
    assert len(kernel.memories) == 2
    for node, place in accesses(kernel, op):
        other = 1 - kernel.nodes[node].operators[place].value
        if kernel.memories[other].forwarded <= kernel.nodes[node].operators[place].latency:
            rejected(equalise, changed(kernel, node, place, value=other),
                     "not what the expression|begins in tick")


def test_loads_do_not_begin_before_the_memory_can_follow(equalise):
    kernel = equalise.plan.kernel
    assert kernel.memories[0].forwarded == 2
    slower = replace(kernel.memories[0], forwarded=1)
    rejected(equalise, replace(kernel, memories=(slower, *kernel.memories[1:])), "begins in tick .*, its operands")


def test_accesses_do_not_begin_at_other_times(equalise):
    kernel = equalise.plan.kernel
    for node, place in kernel.accesses:
        start = kernel.nodes[node].operators[place].start
        for wrong in (start - 1, start + 1):
            rejected(equalise, changed(kernel, node, place, start=wrong), "kernel equalise")


@pytest.mark.parametrize("change", [
    lambda memory: replace(memory, words=memory.words - 1), lambda memory: replace(memory, trap=not memory.trap),
    lambda memory: replace(memory, word=replace(memory.word, width=31)), lambda memory: replace(memory, initial=1)])
def test_the_memories_are_those_of_the_program(equalise, change: Callable):
    kernel = equalise.plan.kernel
    memories = (change(kernel.memories[0]), *kernel.memories[1:])
    rejected(equalise, replace(kernel, memories=memories), "its memories are not those of the program")


def test_stores_keep_the_order_of_the_program(equalise):
    network = equalise.plan.network
    fill = next(s for s in network.program.statements if isinstance(s.value, Store))
    times = dict(network.times)
    times[fill.name] = times[fill.name].neg()
    with pytest.raises(DataflowError, match=f"node {fill.name} accesses a memory in another order than its statement"):
        validate_access_order(equalise.plan.kernel, network.program, times)


SCATTER = """void f(const int x[8], int y[10]) {
#pragma scop
    for (int i = 0; i < 8; i++) y[x[i]] = i;
#pragma endscop
}"""


def test_schedules_that_change_the_order_of_stores_are_not_legal():
    network = derive(parse_scop(SCATTER, "f.c"))
    times = {name: time if name != "S0" else time.neg() for name, time in network.times.items()}
    last = max(time.range().dim_max_val(0).to_python() for time in times.values())
    for name in ("y_drained", "Write_y"):
        times[name] = times[name].apply_range(later(times[name], last + 100))
    for name in ("Read_x", "Read_y_in", "y_filled"):
        times[name] = times[name].apply_range(later(times[name], -last - 100))
    with pytest.raises(NetworkError, match=r"statement 'S0' \(f.c:3\): the schedule changes the order of its accesses"):
        derive(network.program, times)


def later(time: isl.Map, by: int) -> isl.Map:
    """{time -> that `by` later in the first dimension}."""
    count = time.dim(isl.dim_type.out)
    names = [f"t{k}" for k in range(count)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join([f'{names[0]} + {by}', *names[1:]])}] }}")


def test_kernels_have_the_memories_and_latencies_of_their_accesses(equalise):
    kernel = equalise.plan.kernel
    (node, place), (_, _) = accesses(kernel, "load")[:2]
    for fields in ({"latency": 3}, {"latency": 0}, {"value": 2}, {"value": -1}):
        with pytest.raises(KernelError, match=rf"operator {place} of node .* is a load of memory"):
            changed(kernel, node, place, **fields)
    node, place = accesses(kernel, "store")[0]
    with pytest.raises(KernelError, match="is a store of memory 0 of 2 in 2 ticks"):
        changed(kernel, node, place, latency=2)


# Refusals.

def test_lanes_are_refused():
    with pytest.raises(DataflowError, match=r"statement .* accesses '.*' at places that depend on data, which "
                                            r"lanes side by side would reorder; compile it with lanes=1"):
        compiler.compile(program_of("ellpack"), target="dataflow", lanes=2)


def test_run_time_sizes_are_refused():
    def sized(**sizes: int) -> Program:
        return load_c("apps/irregular/gamma_table.c", **sizes)

    with pytest.raises(DataflowError, match=r"statement .* accesses '.*' at places that depend on data, which kernels "
                                            "for many sizes do not; compile one kernel for each size"):
        compile_sizes(sized, {"N": (8, 9)})


# The memory.

def followed(forwarded: int, cycles: int, seed: int, initial: int | None = None,
             depth: int = 40) -> tuple[list[int], list[int]]:
    """What loads of a small memory give with random gaps, and what they have to give, in the second of two runs where
    it begins with `initial`."""
    random = np.random.default_rng(seed)
    places = random.integers(0, depth, 4)
    loads = random.choice(places, cycles).tolist()
    stores = [(int(random.choice(places)), int(random.integers(0, 256)), bool(random.random() < 0.7))
              for _ in range(cycles)]
    ticks = max(1, forwarded)
    memory = AddressedMemory(Shape(8), depth, 1, 1, forwarded=forwarded, initial=initial)
    found: list[int] = []

    async def bench(context):
        if initial is not None:
            context.set(memory.en, 1)
            context.set(memory.store, 1)
            for address in range(depth):
                context.set(memory.store_address[0], address)
                context.set(memory.store_data[0], 99)
                await context.tick()
            context.set(memory.en, 0)
            context.set(memory.clear, 1)
            await context.tick()
            context.set(memory.clear, 0)
        for cycle in range(cycles):
            while random.random() < 0.3:
                context.set(memory.en, 0)
                context.set(memory.store, 1)
                await context.tick()
            context.set(memory.en, 1)
            context.set(memory.load_address[0], loads[cycle])
            context.set(memory.store_address[0], stores[cycle][0])
            context.set(memory.store_data[0], stores[cycle][1])
            context.set(memory.store, stores[cycle][2])
            if cycle >= ticks:
                found.append(context.get(memory.load_data[0]))
            await context.tick()

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    wanted = []
    for cycle in range(cycles - ticks):
        before = [value for address, value, on in stores[: cycle + forwarded] if on and address == loads[cycle]]
        wanted.append(before[-1] if before else initial or 0)
    return found, wanted


@pytest.mark.parametrize("forwarded", [1, 2])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("depth", [20, 40])
def test_words_begin_with_a_constant_in_every_run(forwarded, seed, depth):
    found, wanted = followed(forwarded, 40, seed, initial=7, depth=depth)
    assert found == wanted and 7 in found


@pytest.mark.parametrize(("forwarded", "depth"), [(0, 40), (1, 40), (2, 40), (1, 20), (2, 20), (1, 32), (1, 33)])
def test_loads_see_the_stores_that_begin_in_time(forwarded, depth):
    found, wanted = followed(forwarded, 300, 5, depth=depth)
    if forwarded == 0:  # a word that is stored in the same cycle may be the old one or the new one
        same, _ = followed(1, 300, 5)
        assert all(f in (w, s) for f, w, s in zip(found, wanted, same, strict=True))
    else:
        assert found == wanted



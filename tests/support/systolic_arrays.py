"""Hand-written systolic arrays, and runs of them on random tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from systolic_emulator import run_array

from hw.dataflow.spec import Operator, Word
from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job
from hw.systolic.layout import operand_shape, pack_tile, unpack_tile
from hw.systolic.registers import RunSettings, run_writes, systolic_registers
from hw.systolic.spec import EAST, SOUTH, Address, ArraySpec, OperandSpec, ResultSpec, TileLoop, TimeLoop
from hw.systolic.system import SYSTEM_MODULE, emit_system

__all__ = ["MAC", "RandomRun", "execute", "matmul", "random_run", "sources"]

INT8, INT32 = Word(8, True), Word(32, True)

MAC = (
    Operator("read", (), INT8, value=0), Operator("read", (), INT8, value=1),
    Operator("cast", (0,), INT32), Operator("cast", (1,), INT32), Operator("mul", (2, 3), INT32),
)


def matmul(rows: int, columns: int, *, steps: int, block: tuple[int, int] = (1, 1), lanes: int = 1, pack: int = 1,
           result_pack: int = 1, bus_bits: int = 64, double: bool = True, word: Word = INT8,
           row_pack: int = 1) -> ArraySpec:
    """Matrix product, space loops i and j: a tile is ``rows * block[0]`` by ``columns * block[1]`` results and
    ``steps * lanes`` products each. Time loops k, i, j; tile loops i, j, k."""
    high, wide = block
    a = OperandSpec("a", word, EAST, high * steps, Address((high, 1, 0)), (0, 2), lanes > 1, pack=pack,
                    double_buffered=double)
    b = OperandSpec("b", word, SOUTH, wide * steps, Address((wide, 0, 1)), (1, 2), lanes > 1, pack=pack,
                    double_buffered=double)
    body = tuple(Operator(o.op, o.operands, word if o.op == "read" else o.word, value=o.value) for o in MAC)
    return ArraySpec(
        "matmul", rows, columns, (TileLoop("i"), TileLoop("j"), TileLoop("k", True)),
        (TimeLoop("k", steps, True), TimeLoop("i", high), TimeLoop("j", wide)), (a, b), body,
        ResultSpec(INT32, high * wide, Address((0, wide, 1)), pack=result_pack, double_buffered=double,
                   row_pack=row_pack), lanes, bus_bits=bus_bits)


@dataclass(frozen=True)
class RandomRun:
    """A run: its settings, memory to load, where results will be and what they are: [tiles, exits, words, elements]."""

    settings: RunSettings
    loads: tuple[tuple[int, bytes], ...]
    result: int
    expected: np.ndarray
    memory: int


def random_run(spec: ArraySpec, extents: tuple[int, ...], bounds: tuple[int, ...] = (), seed: int = 1) -> RandomRun:
    """Random tiles for every operand, one after the other in memory, the last of an operand's tile loops fastest."""
    rng = np.random.default_rng(seed)
    place, loads, places, tiles = 0x1000, [], [], []
    for operand in spec.operands:
        loops, size = sorted(operand.tile_loops), spec.operand_bytes(operand)
        count = prod(extents[k] for k in loops)
        word = operand.in_memory.word
        low = -(1 << (word.width - 1)) if word.signed else 0
        content = rng.integers(low, low + (1 << word.width), (count, *operand_shape(spec, operand)))
        loads.append((place, b"".join(pack_tile(spec, operand, tile) for tile in content)))
        places.append((place, _strides(spec, extents, loops, size)))
        tiles.append(content)
        place += -(-count * size // 256) * 256 + 64
    expected = run_array(spec, extents, tiles, list(bounds))
    strides = _strides(spec, extents, list(spec.result_loops), spec.result_bytes)
    settings = RunSettings(extents, tuple(places), (place, strides), bounds)
    return RandomRun(settings, tuple(loads), place, expected, place + len(expected) * spec.result_bytes + 4096)


def _strides(spec: ArraySpec, extents: tuple[int, ...], loops: list[int], size: int) -> tuple[int, ...]:
    strides = [0] * len(spec.tile_loops)
    for k in reversed(loops):
        strides[k] = size
        size *= extents[k]
    return tuple(strides)


@cache
def sources(spec: ArraySpec) -> dict[str, str]:
    """The Verilog of `spec`."""
    return emit_system(spec)


def execute(spec: ArraySpec, run: RandomRun, simulator: str, *, seed: int = 1, stall: StallProfile = NO_STALLS,
            latency: int = 2, limit: int = 100_000) -> tuple[np.ndarray, dict[str, int], JobResult]:
    """Results as in `RandomRun.expected`, registers by name, and the simulation."""
    registers = systolic_registers(spec)
    names = [name for name in registers.addresses if registers.register(name).access == "read"]
    size = spec.result_bytes
    result = run_job(Job(
        sources(spec), SYSTEM_MODULE, run.memory, loads=run.loads, writes=run_writes(spec, run.settings),
        reads=[registers.address(name) for name in names], dumps=[(run.result, len(run.expected) * size)], seed=seed,
        stall=stall, latency=latency, simulator=simulator, cycle_limit=limit,
        status={name: registers.address(name) for name in names},
    ))
    content = result.dumps[0]
    found = np.stack([unpack_tile(spec, content[k : k + size]) for k in range(0, len(content), size)])
    return found, {name: result.registers[registers.address(name)] for name in names}, result

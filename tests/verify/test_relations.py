"""Values that a program means, last writes, and the two analyses of a memory tile against its software model."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.analysis.points import all_points, values_at
from compiler.bind.cgra.validate.memory import MemoryProof
from compiler.bind.cgra.validate.memory_enumerated import MemoryNumbers, last_write
from compiler.bind.cgra.validate.nests import Events, increasing
from compiler.frontend.loop_nest import load
from compiler.ir.types import Int
from compiler.sched.verify import (
    Source,
    ValidationError,
    Writes,
    difference,
    final_origins,
    latest,
    operand_vectors,
    read_origins,
)
from hw.memtile import (
    Affine,
    AffineNest,
    DualPortConfig,
    DualPortInput,
    DualPortOutput,
    MemTileSpec,
    PubConfig,
    PubInput,
    PubOutput,
)
from hw.memtile.affine import strides
from hw.memtile.model import simulate


def test_values_of_reads_are_the_last_writes():
    program = load("brighten_blur", tiles=2, size=5)
    blur = program.statement("Blur")
    origins = read_origins(program, blur, 3)
    assert list(origins) == [Source("Brighten", computed=True)]
    expected = isl.Map("{ Blur[t, y, x] -> Brighten[t, y + 1, x + 1] }").intersect_domain(blur.domain)
    assert origins[Source("Brighten", computed=True)].is_equal(expected)
    brighten = read_origins(program, program.statement("Brighten"), 0)
    assert list(brighten) == [Source("input", computed=False)]


def test_values_of_outputs_are_the_last_writes_of_the_program():
    program = load("gaussian", width=6, height=5)
    origins = final_origins(program, "output")
    assert origins[Source("Gaussian", computed=True)].is_equal(
        isl.Map("{ output[y, x] -> Gaussian[y, x] : 0 <= y < 3 and 0 <= x < 4 }"))


def test_difference_finds_the_first_wrong_point():
    right = isl.Map("{ S[i] -> [2*i] : 0 <= i < 10 }")
    assert difference(right, right) is None
    wrong = difference(isl.Map("{ S[i] -> [2*i + floor(i/7)] : 0 <= i < 10 }"), right)
    assert wrong is not None
    assert (wrong.point, wrong.actual, wrong.expected) == ((7,), (15,), (14,))
    missing = difference(isl.Map("{ S[i] -> [2*i] : 0 <= i < 9 }"), right)
    assert missing is not None
    assert (missing.point, missing.actual, missing.expected) == ((9,), None, (18,))


def test_last_write_of_several_sources():
    reads = isl.Map("{ R[i] -> [0] : 0 <= i < 10 }")
    cycles = isl.Map("{ R[i] -> [i] : 0 <= i < 10 }")
    first = Writes(isl.Map("{ A[i] -> [0] : 0 <= i < 3 }"), isl.Map("{ A[i] -> [4*i] : 0 <= i < 3 }"))
    second = Writes(isl.Map("{ B[i] -> [0] : 0 <= i < 1 }"), isl.Map("{ B[i] -> [6] : 0 <= i < 1 }"))
    from_first, from_second = latest(reads, [first, second], cycles, delay=1)
    assert from_first.is_equal(isl.Map("{ R[i] -> A[0] : 1 <= i <= 4; R[i] -> A[1] : 5 <= i <= 6; "
                                       "R[i] -> A[2] : i = 9 }"))
    assert from_second.is_equal(isl.Map("{ R[i] -> B[0] : 7 <= i <= 8 }"))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_last_write_in_numbers(writes, reads):
    place, time = np.array(writes), np.arange(len(writes)) * 2
    found = last_write(np.array(reads), np.arange(len(reads)), place, time)
    for k, wanted in enumerate(reads):
        candidates = [w for w, p in enumerate(writes) if p == wanted and 2 * w <= k]
        assert found[k] == (candidates[-1] if candidates else -1)


def test_points_and_values():
    function = isl.Map("{ S[i, j] -> [floor(i/2) + 3*j, i mod 3] : 0 <= i < 7 and 0 <= j <= i; "
                       "S[i, j] -> [0, i] : i = 9 and j = 2 }")
    points = all_points(function.domain())
    assert len(points) == 29
    defined, values = values_at(function, np.array([[4, 1], [9, 2], [0, 1]]))
    assert defined.tolist() == [True, True, False]
    assert values[:2].tolist() == [[5, 1], [0, 9]]


def test_operand_vectors_have_corners_and_are_reproducible():
    types = [Int(16, False), Int(8, True)]
    first, second = operand_vectors(types), operand_vectors(types)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert {0, 1, 65535, 32768} <= set(first[0].tolist())
    assert {-128, 127, 0, -1} <= set(first[1].tolist())
    assert first[1].min() >= -128 and first[1].max() <= 127


def test_time_that_does_not_advance():
    assert increasing(AffineNest((4, 3), (1, 4), 0, ()))
    bad = object.__new__(AffineNest)
    object.__setattr__(bad, "ranges", (4, 3))
    object.__setattr__(bad, "time", (1, 3))
    assert not increasing(bad)


@pytest.mark.parametrize(("ranges", "steps", "offset", "fills"), [
    ((4, 3), (1, 4), 0, True), ((4, 3), (3, 1), 0, True), ((4, 3), (1, 5), 0, False), ((4, 3), (1, 3), 0, False),
    ((4, 3), (1, 4), 1, False), ((4, 3), (2, 8), 0, False), ((12,), (1,), 0, True), ((4, 3), (-1, 4), 3, True),
])
def test_addresses_that_fill_a_box(ranges, steps, offset, fills):
    nest = AffineNest(ranges, strides(ranges, (1,) * len(ranges)), 0, (Affine(steps, offset),))
    assert Events("e", nest, (10,)).fills(0, 12) is fills


# Memory tiles: relations, numbers and the model of the hardware agree on random configurations.

LENGTH = 60


@st.composite
def nests(draw: st.DrawFn, addresses: int, start: int = 0, loops: int = 2) -> AffineNest:
    count = draw(st.integers(1, loops))
    ranges = tuple(draw(st.integers(1, 4)) for _ in range(count))
    time = strides(ranges, [draw(st.integers(1, 5)) for _ in ranges])
    offset = draw(st.integers(start, start + 20))
    functions = tuple(Affine(tuple(draw(st.integers(-2, 8)) for _ in ranges), draw(st.integers(0, 9)))
                      for _ in range(addresses))
    return AffineNest(ranges, time, offset, functions).trimmed()


REGIONS = st.sampled_from([(0, 7), (8, 7), (0, 3), (0, 15), (4, 3), (0, 0xFFFF)])
CHAINS = st.sampled_from([None, None, 0, 1])


@st.composite
def dual_port(draw: st.DrawFn) -> DualPortConfig:
    chain = draw(CHAINS)
    inputs = tuple(DualPortInput(draw(nests(1)), *draw(REGIONS)) for _ in range(draw(st.integers(1, 2))))
    outputs = tuple(DualPortOutput(draw(nests(1, 1)), *draw(REGIONS), chained=chain is not None and draw(st.booleans()))
                    for _ in range(draw(st.integers(1, 2))))
    return DualPortConfig(inputs, outputs, chain)


@st.composite
def wide_fetch(draw: st.DrawFn) -> PubConfig:
    chain = draw(CHAINS)
    inputs = (PubInput(draw(nests(1)), draw(nests(2, 3)), *draw(REGIONS)),)
    outputs = (PubOutput(draw(nests(2, 5)), draw(nests(1, 8)), *draw(REGIONS),
                         chained=chain is not None and draw(st.booleans())),)
    return PubConfig(inputs, outputs, chain)


def tagged(ports: int, first: int) -> np.ndarray:
    """Words that name the port and the cycle in which they are there."""
    return np.array([[1000 * (first + port) + cycle for cycle in range(LENGTH)] for port in range(ports)])


def check_against_model(config: PubConfig | DualPortConfig, spec: MemTileSpec) -> None:
    trace = simulate(config, spec, tagged(2, 1), tagged(2, 3))
    assume(trace.conflict is None)
    try:
        proof = MemoryProof("m", config, spec, LENGTH)
    except ValidationError:
        pytest.fail("the model saw no conflict")
    numbers = MemoryNumbers(config, spec)
    for output in range(len(config.outputs)):
        times = config.outputs[output].read.times()
        visible = times[times < LENGTH - 1] + 1
        seen = numbers.seen(output, visible)
        words = 1000 * (seen.port + 1) + seen.cycle
        assert words[seen.found].tolist() == trace.data_out[output, visible][seen.found].tolist()
        by_relation = relations_at(proof, output)
        assert {c: by_relation[c] for c in visible.tolist() if c in by_relation} == dict(
            zip(visible[seen.found].tolist(), words[seen.found].tolist(), strict=True))


def relations_at(proof: MemoryProof, output: int) -> dict[int, int]:
    """Visible cycle -> tagged word, by the relations."""
    found: dict[int, int] = {}
    for port, relation in proof.shown(output):
        base = int(port.removeprefix("in")) + 1 if port.startswith("in") else int(port.removeprefix("chain")) + 3
        for c, w in all_points(relation.wrap().flatten()).tolist():
            assert c not in found
            found[c] = 1000 * base + w
    return found


@settings(max_examples=60, deadline=None)
@given(dual_port())
def test_dual_port_memories_by_relations_numbers_and_model(config):
    check_against_model(config, MemTileSpec(kind="dual-port", depth=8))


@settings(max_examples=60, deadline=None)
@given(wide_fetch())
def test_wide_fetch_memories_by_relations_numbers_and_model(config):
    check_against_model(config, MemTileSpec(kind="pub", depth=16))

"""The software model of the memory cores, against what Liu 2023 says the buffers do."""

from __future__ import annotations

import numpy as np
import pytest

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
from hw.memtile.model import DualPortModel, WideFetchModel, simulate

PUB = MemTileSpec()
DUAL = MemTileSpec(kind="dual-port")
DATA = np.arange(1, 241, dtype=np.int64).repeat(2).reshape(-1, 2).T


def stream(count: int, time: int, offset: int, *addresses: int) -> AffineNest:
    return AffineNest((count,), (time,), offset, tuple(Affine((stride,)) for stride in addresses))


def pub(fetch: int = 62, read: int = 64, mask: int = 15) -> PubConfig:
    """Liu 2023, figure 5.5: a delay of one row of 64 words, in a circular buffer of 64 words."""
    sink = PubInput(stream(160, 1, 0, 1), stream(40, 4, 4, 1, 1), mask=mask)
    return PubConfig((sink,), (PubOutput(stream(40, 4, fetch, 1, 1), stream(160, 1, read, 1), mask=mask),))


def dual(read: int = 64, mask: int = 63) -> DualPortConfig:
    sink = DualPortInput(stream(160, 1, 0, 1), mask=mask)
    return DualPortConfig((sink,), (DualPortOutput(stream(160, 1, read, 1), mask=mask),))


def late(data: np.ndarray, delay: int) -> list[int]:
    """Words 0 to 159 of the stream on output 0, `delay` cycles after the input, then one more for the register."""
    return data[delay + 1 : delay + 161].tolist()


def test_wide_fetch_delay_line() -> None:
    trace = simulate(pub(), PUB, DATA)
    assert late(trace.data_out[0], 64) == list(range(1, 161))
    assert trace.conflict is None
    assert not trace.data_out[1].any()


def test_dual_port_delay_line() -> None:
    assert late(simulate(dual(), DUAL, DATA).data_out[0], 64) == list(range(1, 161))


def test_shortest_delays() -> None:
    """Wide fetch: 4 words, store, fetch, and 2 cycles to the transpose buffer. Dual port: the next cycle."""
    assert late(simulate(pub(fetch=5, read=7), PUB, DATA).data_out[0], 7) == list(range(1, 161))
    assert late(simulate(dual(read=1), DUAL, DATA).data_out[0], 1) == list(range(1, 161))


@pytest.mark.parametrize(
    ("config", "delay"),
    [(pub(fetch=5, read=6), 6), (pub(fetch=3, read=7), 7), (pub(mask=7), 64), (pub(fetch=57, read=64), 64)],
    ids=["read too early", "fetched before it is stored", "buffer too small", "block overwritten"],
)
def test_what_violates_the_timing_is_wrong(config: PubConfig, delay: int) -> None:
    assert late(simulate(config, PUB, DATA).data_out[0], delay) != list(range(1, 161))


def test_dual_port_buffer_that_is_too_small_is_wrong() -> None:
    assert late(simulate(dual(mask=31), DUAL, DATA).data_out[0], 64) != list(range(1, 161))


def test_conflict_names_the_first_cycle_and_the_store_wins() -> None:
    trace = simulate(pub(fetch=60), PUB, DATA)
    assert trace.conflict == 60
    assert late(trace.data_out[0], 64) == [0] * 104 + list(range(105, 161))  # stores end in cycle 160
    both = DualPortConfig((dual().inputs[0],) * 2)
    assert simulate(both, DUAL, DATA).conflict == 0


def test_inputs_and_outputs_with_a_port_each_never_wait() -> None:
    """Two lines at full rate, with different delays, in two regions; of two writes to one place the second counts."""
    quad = MemTileSpec(kind="dual-port", sram_ports=2)
    other = DualPortInput(stream(160, 1, 0, 1), 64, 63)
    outputs = (dual().outputs[0], DualPortOutput(stream(160, 1, 40, 1), 64, 63))
    trace = simulate(DualPortConfig((dual().inputs[0], other), outputs), quad, DATA)
    assert trace.conflict is None
    assert late(trace.data_out[0], 64) == list(range(1, 161)) == late(trace.data_out[1], 40)
    both = DualPortConfig((dual().inputs[0],) * 2, (dual().outputs[0],))
    assert late(simulate(both, quad, np.stack([0 * DATA[0], DATA[1]])).data_out[0], 64) == list(range(1, 161))


def test_memories_keep_their_words_and_the_rest_starts_again() -> None:
    for model, config in ((WideFetchModel(PUB), pub()), (DualPortModel(DUAL), dual())):
        model.configure(config)
        first, second = model.run(DATA[:, :100]), model.run(DATA)
        assert late(second.data_out[0], 64) == list(range(1, 161))
        assert second.data_out[0, 0] == first.data_out[0, -1] + 1

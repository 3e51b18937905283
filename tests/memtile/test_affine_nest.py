"""Affine nests: events, encoding and the errors of both directions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from random_configurations import nests

from hw.memtile import Affine, AffineNest, AffineSpec, ConfigurationError, decode_nest, encode_nest
from hw.memtile.affine import deltas, strides

SPEC = AffineSpec((3, 16))


@given(nests(SPEC))
def test_events_are_the_nest(nest: AffineNest) -> None:
    """Events against nested loops, outermost first."""
    expected = []
    for vector in itertools.product(*(range(n) for n in reversed(nest.ranges))):
        inner = tuple(reversed(vector))
        time, *addresses = (
            offset + sum(i * s for i, s in zip(inner, steps, strict=True))
            for steps, offset in [(nest.time, nest.time_offset), *((a.strides, a.offset) for a in nest.addresses)]
        )
        expected.append((time, tuple(addresses)))
    assert list(nest.events()) == expected
    assert nest.count == len(expected)
    assert nest.last_time == expected[-1][0]
    assert nest.times().tolist() == [time for time, _ in expected]


@given(nests(SPEC))
def test_decode_is_the_inverse_of_encode(nest: AffineNest) -> None:
    registers = encode_nest(nest, SPEC)
    decoded = decode_nest(registers, SPEC)
    assert decoded == nest.canonical(SPEC)
    assert encode_nest(decoded, SPEC) == registers
    wrapped = [(time, (a % 8, b % 65536)) for time, (a, b) in nest.events()]
    assert [(time, (a % 8, b % 65536)) for time, (a, b) in decoded.events()] == wrapped


def test_deltas_of_the_seeds_downsampling_example() -> None:
    """Liu 2023, figure 6.3: every second pixel of every second row of an 8x8 image."""
    assert deltas((4, 4), (2, 16)) == (2, 10)
    assert strides((4, 4), (2, 10)) == (2, 16)


def test_registers_of_a_nest() -> None:
    nest = AffineNest((4, 1, 3), (2, 0, 10), 5, (Affine((1, 0, 4), 6), Affine((-1, 9, 16), 100)))
    assert encode_nest(nest, SPEC) == {
        0x00: 0x8000003C,
        0x10: 2, 0x11: 1,
        0x20: 1, 0x21: 3, 0x2F: 5,
        0x30: 1, 0x31: 1, 0x3F: 6,
        0x40: 0xFFFF, 0x41: 19, 0x4F: 100,
    }  # fmt: skip


ONE = (Affine((0,)), Affine((0,)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), (), 0, ()), "nest has no dimensions"),
        (((4, 2), (1,), 0, ()), "time has 1 strides for 2 dimensions"),
        (((4,), (1,), 0, (Affine((1,)), Affine((1, 2)))), "address 1 has 2 strides for 1 dimensions"),
        (((4, 0), (1, 4), 0, ()), "dimension 1 has 0 iterations"),
        (((4, 2), (1, 3), 0, ()), "incrementing dimension 1 takes 0 cycles, at least 1 is needed"),
        (((4,), (0,), 0, ()), "incrementing dimension 0 takes 0 cycles, at least 1 is needed"),
        (((4,), (1,), -1, ()), "first event is in cycle -1, before the start"),
        (((4,), (1.5,), 0, ()), "nest holds 1.5, which is not an integer"),
    ],
)
def test_impossible_nests(arguments: tuple, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        AffineNest(*arguments)
    assert str(error.value) == message


def test_an_address_must_be_integer() -> None:
    with pytest.raises(ConfigurationError) as error:
        Affine((1,), "2")  # type: ignore[arg-type]
    assert str(error.value) == "address holds '2', which is not an integer"


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        (AffineNest((1,), (0,), 0, ONE[:1]), "1 addresses for 2 generators"),
        (
            AffineNest((2,) * 7, tuple(2**d for d in range(7)), 0, (Affine((0,) * 7),) * 2),
            "7 dimensions with several iterations, at most 6 fit",
        ),
        (AffineNest((65537,), (1,), 0, ONE), "dimension 0 has 65537 iterations, at most 65536 fit"),
        (AffineNest((1,), (0,), 1 << 24, ONE), "first event is in cycle 16777216, at most 16777215 fits"),
        (
            AffineNest((2,), ((1 << 24) + 1,), 0, ONE),
            "incrementing dimension 0 takes 16777217 cycles, at most 16777216 fit",
        ),
    ],
)
def test_nests_that_do_not_fit(nest: AffineNest, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        encode_nest(nest, SPEC)
    assert str(error.value) == message


def test_dimensions_with_one_iteration_cost_nothing() -> None:
    nest = AffineNest((1,) * 9 + (5,), (0,) * 9 + (3,), 2, (Affine((7,) * 10),) * 2)
    assert decode_nest(encode_nest(nest, SPEC), SPEC) == AffineNest((5,), (3,), 2, (Affine((7,)),) * 2)


def test_a_controller_without_registers_is_disabled() -> None:
    assert decode_nest({}, SPEC) is None


GOOD = encode_nest(AffineNest((4,), (2,), 0, (Affine((1,)), Affine((1,)))), SPEC)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0x16: 0}, "controller has no register 0x16"),
        ({0x1F: 0}, "controller has no register 0x1f"),
        ({0x50: 0}, "controller has no register 0x50"),
        ({0x10: 1 << 16}, "controller register 0x10: 0x10000 exceeds 16 bits"),
        ({0x20: 1 << 24}, "controller register 0x20: 0x1000000 exceeds 24 bits"),
        ({0x30: 8}, "controller register 0x30: 0x8 exceeds 3 bits"),
        ({0x00: 0x80000040}, "controller register 0x00: 0x40 exceeds 6 bits"),
        ({0x00: 0x8000003C}, "enabled controller lacks register 0x11"),
        ({0x00: 0x8000003D}, "dimension 1 has several iterations, one inside it has a single one"),
    ],
)
def test_registers_that_mean_nothing(change: dict[int, int], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        decode_nest(GOOD | change, SPEC)
    assert str(error.value) == message

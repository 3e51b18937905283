"""Products in parts: equal to those in one, and every sum fits 32 bits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_models import ModelBuilder, require_runtime_results

from compiler.bind.networks import place_network
from compiler.frontend.onnx.limbs import Limbs, cut, split

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


def quotient(accumulator, factor, offset, shift, limbs):
    """As the statements compute it."""
    parts = zip(split(accumulator, limbs), split(offset, limbs), strict=True)
    carry = 0
    for number, (low, added) in enumerate(parts):
        total = low * factor + added + carry
        assert _LEAST <= total <= _MOST
        carry = total >> limbs.width if number < limbs.count - 1 else total
    return carry >> shift - limbs.width * (limbs.count - 1)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 1 << 24), st.integers(0, 1 << 26), st.integers(-(1 << 45), 1 << 45), st.integers(0, 40),
       st.randoms(use_true_random=False))
def test_parts_compute_the_whole(largest, factor, offset, shift, random):
    limbs = cut(largest, [factor], [offset], shift)
    if limbs is not None:
        for accumulator in (-largest, largest, 0, -1, *(random.randint(-largest, largest) for _ in range(20))):
            assert quotient(accumulator, factor, offset, shift, limbs) == (accumulator * factor + offset) >> shift


@pytest.mark.parametrize(("largest", "factor", "shift", "limbs"), [
    (1 << 14, 1 << 15, 20, Limbs(1, 0)), (1 << 14, 1 << 20, 25, Limbs(2, 11)), (1 << 22, 1 << 22, 30, Limbs(3, 9)),
    (1 << 22, 1 << 31, 30, None), (1 << 22, 1 << 20, 3, None)])
def test_as_few_parts_as_do(largest, factor, shift, limbs):
    assert cut(largest, [factor], [1 << shift >> 1], shift) == limbs


def test_a_quantised_layer_is_an_array_of_processing_elements():
    """Products of 64 bits were refused there."""
    made = ModelBuilder(9)
    image = made.input("image", (1, 2, 3, 3))
    result = made.convolution(image, made.levels(0.03, 119), (1, 2, 2, 2), made.levels(0.05, 40))
    placed = place_network(require_runtime_results(made.bytes(result)), "cgra")
    assert placed.predicted_start_to_done < 500

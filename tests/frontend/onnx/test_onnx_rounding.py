"""What onnxruntime computes in float32, and the integer forms of it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_models import ModelBuilder, run_reference

from compiler.frontend.onnx.rounding import NoForm, fit
from compiler.frontend.onnx.runtime import Levels, added, requantized
from compiler.frontend.onnx.sums import fit_sum

ACTIVATIONS = [np.uint8, np.int8]


def levels(activation, zero, scale):
    ends = np.iinfo(activation)
    return Levels(int(ends.min), int(ends.max), int(zero), np.float32(scale))


def runtime_results(accumulators, scales, y):
    """What a convolution gives for accumulators, which are its bias: one channel each."""
    made = ModelBuilder(0, np.uint8 if y.low == 0 else np.int8)
    image = made.input("image", (1, 1, 1, 1))
    zero = y.low + 10
    count = len(accumulators)
    weights = [made.constant(np.ones((count, 1, 1, 1)), np.int8), made.constant(scales, np.float32),
               made.constant(np.zeros(count), np.int8)]
    result = made.add("QLinearConv", [image, *made.levels(1.0, zero), *weights, *made.levels(y.scale, y.zero),
                                      made.constant(accumulators, np.int32)])
    inputs = {"image": np.full((1, 1, 1, 1), zero, made.activation)}
    return run_reference(made.bytes(result), inputs)[result].ravel()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("scale", [0.5, 3e-2, 1e-3, 4e-5, 2e-6])
def test_requantization_is_the_runtimes(activation, scale):
    random = np.random.default_rng(5)
    y = levels(activation, random.integers(np.iinfo(activation).min, np.iinfo(activation).max), 0.37)
    scales = (scale * random.uniform(0.3, 3, 4096)).astype(np.float32)
    accumulators = (random.uniform(-200, 200, 4096) / scale).astype(np.int32)
    wanted = requantized(y, accumulators.astype(np.int64), scales / y.scale)
    assert np.array_equal(runtime_results(accumulators, scales, y), wanted)
    assert np.unique(wanted).size > 100


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("same", [False, True])
def test_sums_are_the_runtimes_and_have_integer_forms(activation, same):
    random = np.random.default_rng(7)
    ends = np.iinfo(activation)
    a, b, y = (levels(activation, random.integers(ends.min, ends.max), random.uniform(0.01, 0.1)) for _ in range(3))
    if same:  # halves are ties
        b, y = levels(activation, b.zero, a.scale), levels(activation, y.zero, 2 * a.scale)
    left, right = (part.ravel() for part in np.meshgrid(*[np.arange(ends.min, ends.max + 1)] * 2))
    made = ModelBuilder(0, activation)
    operands = [made.input(name, (left.size,)) for name in ("a", "b")]
    result = made.add("QLinearAdd", [operands[0], *made.levels(a.scale, a.zero), operands[1],
                                     *made.levels(b.scale, b.zero), *made.levels(y.scale, y.zero)], "com.microsoft")
    found = run_reference(made.bytes(result, rank=1), {"a": left.astype(activation), "b": right.astype(activation)})
    assert np.array_equal(found[result], added(a, b, y)(left, right))
    assert np.array_equal(found[result], fit_sum(a, b, y).apply(left, right))


@pytest.mark.parametrize(("scale", "kind"), [(0.25, "table"), (0.0213, "line"), (1e-3, "table"), (1e-4, "table"),
                                             (0.0317, "line")])
def test_forms_equal_the_runtimes_rounding(scale, kind):
    random = np.random.default_rng(1)
    y, limit = levels(np.int8, 7, 1), int(300 / scale)
    scales = [np.float32(scale), np.float32(scale * 0.7317)]
    form = fit(scales, [(-limit, limit)] * 2, y)
    assert ("table" if form.bounds else "line") == kind
    accumulators = np.unique(np.concatenate([random.integers(-limit, limit + 1, 20000), np.arange(-999, 999)]))
    accumulators = accumulators[abs(accumulators) <= limit]
    for channel, value in enumerate(scales):
        assert np.array_equal(form.apply(accumulators, channel), requantized(y, accumulators, value))


def test_every_form_is_proven_at_all_steps():
    """All accumulators of a range, one by one, which the proof looks at in a few places alone."""
    random = np.random.default_rng(2)
    for _ in range(10):
        y = levels(np.uint8, random.integers(0, 256), 1)
        scale = np.float32(10 ** random.uniform(-3, 0))
        whole = np.arange(-30000, 30001)
        form = fit([scale], [(-30000, 30000)], y)
        assert np.array_equal(form.apply(whole, 0), requantized(y, whole, scale))


def test_accumulators_that_float32_cannot_hold_are_refused():
    with pytest.raises(NoForm, match="rounds its accumulators, up to 100000000, to 24 bits before it scales them"):
        fit([np.float32(2e-6)], [(-10 ** 8, 10 ** 8)], levels(np.int8, 0, 1))

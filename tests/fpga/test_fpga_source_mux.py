"""Which source instances take for which a closed guard leaves it open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from compiler.bind.fpga.source_mux import _best_cut, _continued


@pytest.mark.parametrize(("taken", "found"), [
    ([[0, -1, 1], [-1, -1, -1]], [[0, 0, 1], [0, 0, 1]]),
    ([[-1, -1, 2], [3, -1, -1]], [[2, 2, 2], [3, 3, 3]]),
    ([[-1, 5]], [[5, 5]]),
])
def test_they_take_that_of_one_beside_them(taken, found):
    assert _continued(np.array(taken)).tolist() == found


SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, SHAPES, elements=st.integers(-1, 2)))
def test_both_sides_of_a_cut_have_some_that_are_not_open(taken):
    """Else a decision would lead to values that nobody reads."""
    if (taken == -1).all():
        return
    found = _continued(taken)
    assert (found >= 0).all()
    assert (found == taken)[taken >= 0].all()
    if (found != found.flat[0]).any():
        axis, cut = _best_cut(found, [np.ones(size, np.int64) for size in found.shape])
        for side in np.split(taken, [cut], axis=axis):
            assert (side >= 0).any()

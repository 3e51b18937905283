"""Triangles and diagonals of sources, by cuts."""

from __future__ import annotations

import numpy as np

from compiler.bind.fpga.half_spaces import ANY, Cut, cut_sources


def sources(cuts, taken):
    """The source of every instance by the cuts, where it counts."""
    if isinstance(cuts, Cut):
        low = cuts.numbers.values().reshape(taken.shape) < cuts.cut
        assert cuts.numbers.least >= 0 and cuts.numbers.most < cuts.size
        return np.where(low, sources(cuts.below, taken), sources(cuts.above, taken))
    number, where = cuts
    assert (taken[where] == number).all()
    return np.full(taken.shape, number)


def test_cuts_of_triangles_diagonals_and_faces():
    i, j, k = np.indices((9, 7, 5))
    taken = np.select([k == 0, i > j, i + j == 8, i == j], [0, 1, 2, 3], 4)
    taken[(i > 6) & (k == 3)] = ANY
    found = cut_sources(taken)
    assert found is not None
    assert (sources(found, taken) == taken)[taken != ANY].all()


def test_too_many_cuts():
    assert cut_sources(np.arange(64).reshape(8, 8) * 7 % 5) is None

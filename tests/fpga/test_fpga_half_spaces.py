"""Triangles and diagonals of sources, by cuts."""

from __future__ import annotations

import islpy as isl
import numpy as np

from compiler.bind.fpga.half_spaces import ANY, Cut, cut_domains, cut_sources


def sources(cuts, taken):
    """The source of every instance by the cuts, where it counts."""
    if isinstance(cuts, Cut):
        low = cuts.numbers.values().reshape(taken.shape) < cuts.cut
        assert cuts.numbers.least >= 0 and cuts.numbers.most < cuts.size
        return np.where(low, sources(cuts.below, taken), sources(cuts.above, taken))
    inside = np.zeros(taken.shape, bool)
    inside[cuts.box] = True
    return np.where(inside, cuts.source, ANY)


def test_cuts_of_triangles_diagonals_and_faces():
    i, j, k = np.indices((9, 7, 5))
    taken = np.select([k == 0, i > j, i + j == 8, i == j], [0, 1, 2, 3], 4)
    taken[(i > 6) & (k == 3)] = ANY
    found = cut_sources(taken)
    assert found is not None
    assert (sources(found, taken) == taken)[taken != ANY].all()


def test_too_many_cuts():
    assert cut_sources(np.arange(64).reshape(8, 8) * 7 % 5) is None


def test_cuts_of_sets_are_not_listed():
    domains = [isl.Set(f"{{ [k, i, j] : 2 <= k, i, j <= 9 and {text} }}") for text in (
        "k = 2", "k > 2 and j > k and i + j < 15", "k > 2 and j <= k", "k > 2 and j > k and i + j >= 15")]
    found = cut_domains(domains, (2, 2, 2), (8, 8, 8))
    assert found is not None
    k, i, j = np.indices((8, 8, 8)) + 2
    taken = np.select([k == 2, (j > k) & (i + j < 15), j <= k], [0, 1, 2], 3)
    assert (sources(found, taken) == taken).all()
    turns = [isl.Set(f"{{ [i] : 0 <= i < 100 and i mod 2 = {k} }}") for k in (0, 1)]
    assert cut_domains(turns, (0,), (100,)) is None

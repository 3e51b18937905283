"""SA-C programs of image processing on a photograph, equal to numpy: as written, and after all passes."""

import numpy as np
import pytest
from sac_references import PROGRAMS

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_photograph(name, passes):
    reference, inputs = PROGRAMS[name]
    program = load_sac(sac_applications()[f"sac/{name}"])
    if passes:
        program = program.optimised()[0]
    found = program.run(inputs)
    for output, wanted in reference(*inputs.values()).items():
        assert np.array_equal(found[output], wanted), output


def test_the_transform_is_near_numpys():
    _, inputs = PROGRAMS["fft"]
    found = load_sac(sac_applications()["sac/fft"]).run(inputs)["result"]
    assert np.abs(found - np.fft.fft(inputs["Signal"]) / 64).max() < 6 / 2**14


def test_canny_finds_edges_of_both_strengths():
    reference, inputs = PROGRAMS["canny"]
    assert all((reference(*inputs.values())["edges"] == kind).sum() > 50 for kind in range(3))


def test_the_tracker_finds_where_the_pattern_was_cut_out():
    _, inputs = PROGRAMS["tracker"]
    found = load_sac(sac_applications()["sac/tracker"]).run(inputs)
    assert found["Place"].tolist() == [33, 47] and found["least"] == 0

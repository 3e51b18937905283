"""Short C programs of many kinds, each on some targets, against gcc."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from c_targets import MODELS, Data, require_gcc_results

from compiler.frontend.c_scop import parse_scop

FOLDER = Path(__file__).parent / "c_programs"

TARGETS: dict[str, tuple[str, ...]] = {
    "bilinear_warp": ("fpga", "vector"), "compaction": ("dataflow", "fpga"), "distance_transform": ("dataflow", "fpga"),
    "goertzel": ("fpga",), "gray_code": ("cgra", "fpga", "vector"), "hough": ("dataflow", "vector"),
    "int4_matvec": ("fpga", "vector"), "kmeans": ("fpga",), "lms": ("dataflow", "fpga"),
    "match_lengths": ("fpga", "vector"), "mixcolumns": ("fpga",), "non_maximum": ("fpga", "vector"),
    "polyphase": ("dataflow", "fpga"), "popcount_matmul": ("dataflow", "fpga", "vector"),
    "saturating_bins": ("fpga",), "sha256": ("fpga",), "syndromes": ("dataflow", "fpga"), "tree": ("dataflow", "fpga"),
    "zigzag": ("dataflow",),
}


def _data(text: str, name: str) -> Data:
    """Random numbers of the full range for the arrays of the function, in the order of its parameters."""
    arrays = {array.name.removesuffix("_in"): array for array in parse_scop(text, function=name).arrays}
    generator = np.random.default_rng(len(text))
    (head,) = re.findall(rf"^void {name}\((.*)\) {{$", text, re.MULTILINE)
    data = {}
    for parameter in re.findall(r"(\w+)(?:\[[^\]]*\])+(?:, |$)", head):
        limits = np.iinfo(arrays[parameter].type.dtype)
        shape = arrays[parameter].shape
        data[parameter] = generator.integers(limits.min, limits.max, shape, limits.dtype, endpoint=True)
    return data


@pytest.mark.parametrize(("name", "target"), [(name, target) for name in TARGETS for target in TARGETS[name]])
def test_a_program_computes_what_that_of_gcc_does(name: str, target: str):
    text = (FOLDER / f"{name}.c").read_text()
    require_gcc_results(text, name, _data(text, name), MODELS[target])

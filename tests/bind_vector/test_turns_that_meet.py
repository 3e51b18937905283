"""Loops in which statements need each other's results in some turns only: those in between are looked at, too."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

LOOP = """void f(const unsigned char x[16], int h[16])
{{
#pragma scop
for (int i = 0; i < {trips}; i++) {{
{body}
}}
#pragma endscop
}}
"""
BODIES = {
    "before": "h[3] ^= 1;\nh[i] -= x[i];", "behind": "h[i] -= x[i];\nh[3] ^= 1;", "sums": "h[3] += 2;\nh[i] ^= x[i];",
    "late": "h[{last}] = h[{last}] / 2 + x[i];\nh[i] = h[i] * 3 - x[i];",
    "early": "h[2] ^= x[i];\nh[i] = h[i] / 3 + 1;",
}


@pytest.mark.parametrize("trips", [5, 12])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_turns_in_between_are_as_the_program_says(body: str, trips: int) -> None:
    text = LOOP.format(trips=trips, body=body.format(last=trips - 2))
    data = {"x": np.arange(16).astype(np.uint8) * 7, "h": np.arange(16).astype(np.int32) * 11 - 30}
    require_gcc_results(text, "f", data, MODELS["vector"], {})

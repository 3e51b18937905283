"""Random options of every target: each option that it has, with values that it takes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

__all__ = ["array_options", "rtl_options", "target_options"]

_SMALL_ARRAY = str(Path(__file__).with_name("small_banks.toml"))
_LIMITED = (None, None, None, 0, 1)
_MEMORY: dict[str, tuple[Any, ...]] = {"memory_latency": (20, 20, 2, 60), "memory_bursts": (16, 16, 1, 2)}
"""What all targets are told of main memory."""

_WORD_PASSES = ("shorten-recurrences,normalize-loops,pad-domains,narrow-iterator-values,legalize-tables,"
                "legalize-arrays,static-form,materialize-iterator-values")
"""A pipeline of the array that leaves out what its own has to make programs faster."""

_VALUES: dict[str, dict[str, tuple[Any, ...]]] = {
    "cgra": {
        "memory": ("pub", "dual-port", "dual-port-pe", "buffet"),
        "counter": (True, False),
        "array": ("8x8", "16x8", "16x16", "6x12", "24x8"),
        "fusion_level": _LIMITED,
        "tile_depth": (*[None] * 9, 0, 1),
        "half_words": (32768, 32768, 32768, 1024, 64),
        "share": ("asked", "auto"),
        "loops": ("auto", "asked"),
        "schedule": ("pipelined", "pipelined", "sequential"),
        "sums": ("auto", "chain"),
        "passes": (*[""] * 9, _WORD_PASSES),
        "bfloat16": (False, False, False, True),
    },
    "fpga": {
        "fusion_level": _LIMITED,
        "tile_depth": (*[None] * 9, 0, 1),
        "operator_latency": (1, 1, 2, 3, 4),
        "multiplier_latency": (1, 2, 2, 5, 8),
        "register_gap": (1, 2, 12, 12, 64),
        "clock_mhz": (120, 120, 60, 200, 500),
        "bus_bits": (64, 64, 32, 128, 512),
        "lanes": (1, 0, 0, 2),
        "loops": ("auto", "auto", "asked"),
        "buffer_bits": (1 << 21, 1 << 21, 0, 4096),
        "passes": (*[""] * 9, "shorten-recurrences,normalize-loops,pad-domains,static-form",
                   "normalize-loops,pad-domains,copy-borders,split-by-access,static-form"),
        "exits": ("early", "early", "maximum"),
        "reassociate": (False, False, True),
    },
    "dataflow": {
        "lanes": (1, 1, 1, 2, 4),
        "interleave": (None, None, 1, 2, 5),
        "reassociate": (False, False, True),
        "latency": (None, None, {"add": 3, "mul": 5}, {"sub": 2, "select": 2, "lt": 4}, {"shr": 7, "and": 3}),
        "reorder": ("host", "host", "chip"),
        "clock_mhz": (120, 120, 60, 200, 500),
        "exits": ("early", "early", "maximum"),
        "bus_bits": (64, 64, 32, 128, 512),
    },
    "systolic": {
        "array": (None, "2x2", "2x3", "4x4", "3", "1x5"),
        "simd": (None, None, "off"),
        "pack": (None, None, 1, 2, 4),
        "double_buffering": (True, True, False),
        "bus_bits": (64, 64, 128, 512),
        "latency": (None, None, {"add": 3, "mul": 5}, {"sub": 1, "mul": 2}),
        "reassociate": (False, True),
        "partial_sums": (*[None] * 9, 2),
    },
    "vector": {
        "lanes": (1, 2, 4, 4, 8, 16, 64),
        "scratchpad": (None, None, 1024, 4096),
        "float32": (False, False, True),
        "bfloat16": (False, False, False, True),
        "fma": (False, False, True),
        "float_latency": (12, 12, 2, 24),
        "segment": (*[None] * 6, (1,), (3,), (8,)),
        "search": (True, False),
    },
}

_RTL: dict[str, dict[str, tuple[Any, ...]]] = {
    "cgra": {"bfloat16": (False,), "memory": ("pub",), "counter": (True,), "array": ("8x8",), "half_words": (32768,),
             "hardware": (_SMALL_ARRAY,)},
    "vector": {"lanes": (4, 4, 1), "scratchpad": (None,), "float32": (False,), "bfloat16": (False,),
               "fma": (False,), "float_latency": (12,)},
}
"""Where the hardware is one circuit for all programs: options that choose another one are left as they are, so that one
build serves all runs."""


def target_options(target: str, random: Random) -> dict[str, Any]:
    """Options of one compile: every option at random, or a few, or none. A program may have too few loops or too many
    words for some of them."""
    return _drawn(_VALUES[target], target, random)


def rtl_options(target: str, random: Random) -> dict[str, Any]:
    """The same for a compile whose RTL is simulated."""
    fixed = _RTL.get(target, {})
    drawn = _drawn({name: v for name, v in _VALUES[target].items() if name not in fixed}, target, random)
    return drawn | {name: random.choice(values) for name, values in fixed.items()}


def array_options(random: Random) -> dict[str, Any]:
    """All options of the array."""
    return _all(_VALUES["cgra"], "cgra", random)


def _drawn(values: dict[str, tuple[Any, ...]], target: str, random: Random) -> dict[str, Any]:
    share = random.choice((0.0, 0.3, 1.0))
    return {name: value for name, value in _all(values, target, random).items() if random.random() < share}


def _all(values: dict[str, tuple[Any, ...]], target: str, random: Random) -> dict[str, Any]:
    seed = {"seed": random.randrange(4)} if target == "cgra" else {}
    found = seed | {name: random.choice(choices) for name, choices in (values | _MEMORY).items()}
    if found.get("memory") == "buffet":  # whose elements take integers only
        found["bfloat16"] = False
    return found

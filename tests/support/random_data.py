"""Random numbers for the arrays of a C function, by the types and extents in its head."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["function_data", "parameters_of"]

_NAMES = {"char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16", "int": "int32",
          "unsigned": "uint32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64",
          "float": "float32", "double": "float64", "_Float16": "float16"}


def parameters_of(text: str, name: str) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Types and extents of the parameters of the function `name`, in their order; all of them are arrays."""
    head = re.search(rf"\bvoid {name}\(([^)]*)\)", text)
    assert head is not None, f"there is no function {name}"
    found = {}
    for parameter in head[1].split(","):
        declared = re.fullmatch(r"\s*(?:const )?([\w ]+?) (\w+)((?:\[\d+\])+)\s*", parameter)
        assert declared is not None, f"'{parameter}' is no array"
        kind = _NAMES.get(declared[1], declared[1].removesuffix("_t"))
        found[declared[2]] = np.dtype(kind), tuple(map(int, re.findall(r"\d+", declared[3])))
    return found


def function_data(text: str, name: str, seed: int) -> dict[str, np.ndarray]:
    """Arrays for the parameters of the function `name`: random, small and extreme numbers."""
    generator = np.random.default_rng(seed)
    return {array: _numbers(generator, kind, shape) for array, (kind, shape) in parameters_of(text, name).items()}


def _numbers(generator: np.random.Generator, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if kind == np.bool_:
        return generator.integers(0, 2, shape).astype(kind)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            usual = (generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 6, shape)).astype(kind)
        limits = np.finfo(kind)
        extreme = generator.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, -limits.tiny,
                                             limits.smallest_subnormal, -3 * limits.smallest_subnormal], kind), shape)
        return np.where(generator.random(shape) < 0.15, extreme, usual)
    limits = np.iinfo(kind)
    words = generator.integers(limits.min, limits.max, shape, kind, endpoint=True)
    small = generator.integers(-3 if kind.kind == "i" else 0, 9, shape).astype(kind)
    chosen = generator.random(shape)
    words = np.where(chosen < 0.25, small, np.where(chosen < 0.35, limits.max, words))
    return np.where(chosen > 0.9, limits.min, words).astype(kind)

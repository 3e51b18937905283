"""Addresses of buffets as numbers that go on: configurations hold them, and their steps, modulo 2^16."""

from __future__ import annotations

import numpy as np

from hw.memtile import AffineNest

__all__ = ["unwrapped"]


def unwrapped(nest: AffineNest) -> np.ndarray:
    """Addresses of a decoded nest, one after the other; steps between them are less than half of 2^16."""
    address = nest.evaluate(nest.addresses[0]) % (1 << 16)
    steps = (np.diff(address, prepend=address[:1]) + (1 << 15)) % (1 << 16) - (1 << 15)
    return address[0] + np.cumsum(steps)

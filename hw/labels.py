"""What hardware that computes a user's statement is called in the emitted Verilog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ShapeLike, Signal

__all__ = ["Label"]

_NO_WORD = re.compile(r"\W", re.ASCII)


@dataclass(frozen=True)
class Label:
    """`name` of a statement (or array), and `source`, its place in the user's program: ``file:line``, the file without
    its folder, "" where nothing is known. Verilog shows the place as the attribute ``src``."""

    name: str
    source: str = ""

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes of all its signals."""
        return {"src": self.source} if self.source else {}

    def of(self, part: str) -> Label:
        """The label of a part."""
        return Label(f"{self.name}_{part}", self.source)

    def signal(self, shape: ShapeLike, part: str, **options: Any) -> Signal:
        """A new signal ``name_part``; `options` are those of `Signal`."""
        return Signal(shape, name=f"{_NO_WORD.sub('_', self.name)}_{part}", attrs=dict(self.attributes), **options)

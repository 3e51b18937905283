"""How long the search for a mapping may take before it is given up."""

from __future__ import annotations

import math
import os
import time

from compiler.bind.cgra.options import OptionsError
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec

__all__ = ["VARIABLE", "Budget", "OutOfTime"]

VARIABLE = "SLUICE_MAX_SEARCH_SECONDS"
"""Variable of the environment that takes the place of the usual budget."""

_LEAST, _PER_TILE = 60.0, 0.5
"""Processor seconds for any array, and for each tile of a large one, whose placement takes longer."""


class OutOfTime(SluiceError):
    """A search has used up its time."""


class Budget:
    """Processor seconds, which do not depend on what else the machine does, from now on. An attempt that has begun may
    go on after them unless they are `strict`; then the first design will do, too."""

    def __init__(self, seconds: float, strict: bool = False) -> None:
        self.seconds, self.strict = seconds, strict
        self._end = time.process_time() + seconds

    @classmethod
    def of_array(cls, spec: FabricSpec) -> Budget:
        """The usual one for an array, or what `VARIABLE` says. Raises `OptionsError` if that is no positive number."""
        given = os.environ.get(VARIABLE)
        if given is None:
            return cls(max(_LEAST, _PER_TILE * spec.rows * spec.columns))
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not seconds > 0:
            raise OptionsError(f"{VARIABLE}={given!r} is not a positive number of seconds")
        return cls(seconds)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return time.process_time() > self._end

    def require(self) -> None:
        """Raise `OutOfTime` in the middle of an attempt if nothing is left of a strict budget."""
        if self.strict and self.spent:
            raise OutOfTime(f"the search took more than {self.seconds:g} s of processor time")

    def out_of_time(self, failure: SluiceError) -> OutOfTime:
        """The error of a search that ended with `failure` so far: how to go on."""
        return OutOfTime(f"{failure}; the search ended after {self.seconds:g} s of processor time (set {VARIABLE} "
                         "higher to go on)")

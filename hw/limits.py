"""Budgets of resources, each checked before the work that it bounds; variables of the environment change them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["LimitError", "Limits"]


class LimitError(SluiceError):
    """Something takes more of a resource than its budget, or a budget is no number."""


@dataclass(frozen=True)
class Limits:
    """Budgets by resource: that of ``statements`` is changed by ``SLUICE_MAX_STATEMENTS=1000``.

    `error` is raised if the environment gives no positive number.
    """

    defaults: Mapping[str, int]
    error: type[SluiceError] = LimitError

    def of(self, resource: str) -> int:
        """The budget of a resource."""
        given = os.environ.get(_variable(resource))
        if given is None:
            return self.defaults[resource]
        if not (given.isascii() and given.isdigit() and int(given) > 0):
            raise self.error(f"{_variable(resource)}={given!r} is not a positive integer")
        return int(given)

    def note(self, resource: str) -> str:
        """How a message says which budget it is, and how to raise it."""
        return f"(set {_variable(resource)} above {self.of(resource)} to go on)"


def _variable(resource: str) -> str:
    return f"SLUICE_MAX_{resource.upper()}"

"""A bound on the steps that isl takes for a question whose answer can be done without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

__all__ = ["EffortError", "bounded_operations"]


class EffortError(Exception):
    """isl has taken as many steps as it may, or could not answer; its message is the argument."""


@contextmanager
def bounded_operations(steps: int) -> Iterator[None]:
    """Let isl take so many steps, which are the same on every run. Raises `EffortError` beyond them: whatever isl is
    doing when it runs out of steps reports an error of its own."""
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(steps)
    try:
        yield
    except isl.Error as error:
        raise EffortError(str(error)) from error
    finally:
        context.set_max_operations(0)
        context.reset_operations()

"""What a user is told about a slow design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Cause", "Hint", "Remedy"]


@dataclass(frozen=True)
class Hint:
    """`cause`: why the design is slow. `statement`: which one waits, with its source line, None if it is no single one.
    `advice`: what to try; None if nothing that was tried helps."""

    cause: str
    statement: str | None = None
    advice: str | None = None

    def __str__(self) -> str:
        where = f"{self.statement}: " if self.statement else ""
        return f"{where}{self.cause}{f'; try {self.advice}' if self.advice else ''}"


@dataclass(frozen=True)
class Remedy:
    """`advice` that may help. `cycles`: of the design that follows it, by its prediction; raises a `SluiceError` if it
    is refused. `limit`: with no more cycles than that it helps."""

    advice: str
    cycles: Callable[[], int]
    limit: float


@dataclass(frozen=True)
class Cause:
    """A hint whose `remedies` have not been tried, the best first."""

    text: str
    statement: str | None = None
    remedies: tuple[Remedy, ...] = ()

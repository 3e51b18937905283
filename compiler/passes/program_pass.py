"""A pass: one step from program to program, an object that has a name, options and preconditions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from compiler.passes.state import State

__all__ = ["ProgramPass"]


@dataclass(frozen=True)
class ProgramPass(ABC):
    """One step of a pipeline; a subclass is a frozen dataclass, its options are its fields, with defaults.

    Every pass keeps the values of all outputs. `name`: in kebab case, as users write it. `follows`: passes that come
    before this one wherever both are used, because this one needs what they establish. `witness`: the field of `State`
    in which the host finds how to convert arrays; a pass that has one changes arrays once.
    """

    name: ClassVar[str]
    follows: ClassVar[tuple[str, ...]] = ()
    witness: ClassVar[str] = ""

    @abstractmethod
    def apply(self, state: State) -> State:
        """The state after the pass; `state` itself if there is nothing to do. Raises `SluiceError` for programs that it
        cannot take."""

    def options(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def __str__(self) -> str:
        """The pass as `PassPipeline.parse` reads it."""
        given = ", ".join(f"{key}={_text(value)}" for key, value in self.options().items())
        return f"{self.name}{{{given}}}" if given else self.name


def _text(value: object) -> str:
    """A value of an option as the text form has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{value}"'

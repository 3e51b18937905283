"""Pipelines: lists of passes that run one after the other, with observers between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError

from compiler.passes.program_pass import ProgramPass
from compiler.passes.registry import PASSES
from compiler.passes.state import State
from hw.errors import SluiceError

__all__ = ["Observer", "PassPipeline", "PipelineError", "observe_passes", "pass_class"]

Observer = Callable[[ProgramPass, State, State, float], None]
"""Is told each pass, the states before and after it, and its seconds."""

_OBSERVERS: ContextVar[tuple[Observer, ...]] = ContextVar("observers", default=())


class PipelineError(SluiceError):
    """A list of passes names one that does not exist, an option that it has not, or an order that cannot be."""


@contextmanager
def observe_passes(observer: Observer) -> Iterator[None]:
    """Inside, `observer` is called after every pass of every pipeline."""
    token = _OBSERVERS.set((*_OBSERVERS.get(), observer))
    try:
        yield
    finally:
        _OBSERVERS.reset(token)


def pass_class(name: str) -> type[ProgramPass]:
    """The class of pass `name`. Raises `PipelineError` if there is none."""
    if name not in PASSES:
        raise PipelineError(f"there is no pass '{name}'; there are: {', '.join(PASSES)}")
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(module), attribute)


@dataclass(frozen=True)
class PassPipeline:
    """`passes` in their order. Raises `PipelineError` where one comes before another that it follows."""

    passes: tuple[ProgramPass, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.passes]
        for place, one in enumerate(self.passes):
            late = [name for name in one.follows if name in names[place + 1:]]
            if late:
                raise PipelineError(f"pass {one.name} follows {late[0]}, which comes after it: write {late[0]} first")

    def run(self, state: State) -> State:
        """The state after all passes. Raises `PipelineError` for a second change of arrays by one pass, and what the
        passes raise."""
        for one in self.passes:
            if one.witness and getattr(state, one.witness) is not None:
                raise PipelineError(f"pass {one.name} has changed the arrays already: name it once, and "
                                    "partition-arrays not at all, which every target runs last")
            before, start = state, time.perf_counter()
            state = one.apply(before)
            seconds = time.perf_counter() - start
            for observer in _OBSERVERS.get():
                observer(one, before, state, seconds)
        return state

    def __str__(self) -> str:
        """The pipeline as `parse` reads it."""
        return ",".join(map(str, self.passes))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The pipeline that `text` describes, e.g. ``normalize-loops,pad-domains{everywhere=true}``. Raises
        `PipelineError`."""
        try:
            named = _Named().transform(_grammar().parse(text))
        except LarkError as error:
            line = str(error).splitlines()[0]
            raise PipelineError(f"'{text}' is no list of passes such as normalize-loops,static-form: {line}") from None
        return cls(tuple(_made(name, options) for name, options in named))


@lru_cache
def _grammar() -> Lark:
    return Lark(Path(__file__).with_name("pipeline.lark").read_text(), parser="lalr")


class _Named(Transformer):
    """Turns the parse tree into names with their options, one method per rule of the grammar."""

    def start(self, items: list[Any]) -> list[Any]:
        return items

    def step(self, items: list[Any]) -> tuple[str, list[tuple[str, Any]]]:
        return str(items[0]), [item for item in items[1:] if item is not None]

    def option(self, items: list[Any]) -> tuple[str, Any]:
        return str(items[0]), items[1]

    def integer(self, items: list[Token]) -> int:
        return int(items[0])

    def yes(self, _: list[Token]) -> bool:
        return True

    def no(self, _: list[Token]) -> bool:
        return False

    def string(self, items: list[Token]) -> str:
        return items[0][1:-1]


def _made(name: str, given: Sequence[tuple[str, Any]]) -> ProgramPass:
    """The pass with these options."""
    kind = pass_class(name)
    known: Mapping[str, Any] = {f.name: f.default for f in fields(kind)}
    for key, value in given:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise PipelineError(f"pass {name} has no option '{key}'; it has: {listed}")
        if type(value) is not type(known[key]):
            raise PipelineError(f"option {key} of pass {name} is {value!r}, which is no {type(known[key]).__name__}")
    if len({key for key, _ in given}) < len(given):
        raise PipelineError(f"an option of pass {name} is given twice")
    return kind(**dict(given))

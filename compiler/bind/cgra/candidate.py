"""Every decision that the array's compiler takes, as data: what its search tries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from compiler.bind.cgra.memories import BufferKey
from compiler.bind.cgra.pipeline import Preparation
from compiler.bind.cgra.relaxation import Relaxation

__all__ = ["Candidate"]

_PLAIN, _TIGHT = Preparation(), Relaxation()


@dataclass(frozen=True)
class Candidate:
    """One choice; with the fields that later stages read at their defaults, a partial one.

    The program: whether its tile loops are `coalesced`, and recurrences
    within an iteration `distributed`; `directives` that it goes through, those of the options among
    them; whether it is `one_tile`, larger than the global buffer; how many loops over tiles it has, `tile_loops`, None
    for as many as the options say; its `preparation`; whether statements are `sharing`
    units where that costs no throughput.
    The schedule: its `relaxation`, and `slack`: cycles that the way through shared units gets, None for the usual ones.
    The mapping: buffers that are `apart`, each in a memory tile of its own; and whether long sums are `balanced`, in
    as few levels as there can be, or chained. `added`: words for the directives that the search has added.
    """

    coalesced: bool = False
    distributed: bool = False
    directives: str = ""
    one_tile: bool = False
    tile_loops: int | None = None
    preparation: Preparation = _PLAIN
    sharing: bool = False
    relaxation: Relaxation = _TIGHT
    slack: int | None = None
    apart: frozenset[BufferKey] = frozenset()
    balanced: bool = True
    added: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        """What is chosen, in words."""
        return ", ".join([str(self.relaxation), *self._mapping(), *self.added, *self._program()])

    def _program(self) -> list[str]:
        words = {"tile loops coalesced": self.coalesced, "recurrences distributed": self.distributed,
                 "one tile": self.one_tile, "statements share units": self.sharing}
        return [*(word for word, used in words.items() if used), *filter(None, [str(self.preparation)])]

    def _mapping(self) -> list[str]:
        words = {f"{self.slack} cycles through shared units": self.slack is not None,
                 "apart: " + ", ".join(sorted({key[0] for key in self.apart})): bool(self.apart),
                 "chained sums": not self.balanced}
        return [word for word, used in words.items() if used]

    @property
    def prepared(self) -> Self:
        """The partial choice that the prepared program depends on."""
        return replace(self, sharing=False, relaxation=_TIGHT, slack=None, apart=frozenset(), balanced=True)

    @property
    def shared(self) -> Self:
        """The partial choice that the program without dead statements, with its shared units, depends on."""
        return replace(self.prepared, sharing=self.sharing)

    @property
    def scheduled(self) -> Self:
        """The partial choice that the schedule depends on."""
        relaxation = self.relaxation
        timing = Relaxation(relaxation.alignment, relaxation.pace, in_step=relaxation.in_step,
                            windows=relaxation.windows, in_turns=relaxation.in_turns)
        return replace(self.shared, relaxation=timing, slack=self.slack)

    def with_directives(self, script: str, word: str) -> Self:
        """The same with further directives after those that it has; `word`: what they do."""
        joined = "; ".join(filter(None, (self.directives, script)))
        return replace(self, directives=joined, added=(*self.added, f"{word}: {script}"))

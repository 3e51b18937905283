"""What passes did and what they left, loop by loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend.sac.syntax import Place

__all__ = ["Note", "Report"]


@dataclass(frozen=True)
class Note:
    """One thing that a pass did at `place`, or, if not `done`, why it left what stands there."""

    name: str
    place: Place | None
    text: str
    done: bool

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.name}: {'' if self.done else 'not done: '}{self.text}"


@dataclass
class Report:
    """Notes in the order in which they were made, each once."""

    notes: list[Note] = field(default_factory=list)

    def done(self, name: str, place: Place | None, text: str) -> None:
        """The pass `name` changed what stands at `place`."""
        self.notes.append(Note(name, place, text, True))

    def refused(self, name: str, place: Place | None, reason: str) -> None:
        """The pass `name` leaves what stands at `place` for this reason."""
        note = Note(name, place, reason, False)
        if note not in self.notes:
            self.notes.append(note)

    def of(self, name: str, done: bool = True) -> list[Note]:
        """The notes of one pass."""
        return [note for note in self.notes if note.name == name and note.done == done]

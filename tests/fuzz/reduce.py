"""Smaller programs that still fail: what stands in parentheses is replaced by something simpler while that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["reduce_text"]

_SIMPLE = ("0", "1", "a[i]")


def reduce_text(text: str, fails: Callable[[str], bool], attempts: int = 200) -> str:
    """The shortest text found for which ``fails`` still holds, after at most `attempts` calls of it."""
    for _ in range(attempts):
        shorter = next((t for t in _candidates(text) if (attempts := attempts - 1) >= 0 and fails(t)), None)
        if shorter is None:
            return text
        text = shorter
    return text


def _candidates(text: str) -> Iterator[str]:
    """`text` with one group in parentheses simplified, largest groups first."""
    for first, last in sorted(_groups(text), key=lambda group: group[0] - group[1]):
        for simple in (*_SIMPLE, *(text[a + 1 : b] for a, b in _groups(text) if first < a and b < last)):
            if len(simple) < last - first - 1:
                yield f"{text[:first]}({simple}){text[last + 1 :]}"


def _groups(text: str) -> list[tuple[int, int]]:
    """Places of matching parentheses in lines that end in a semicolon."""
    opened: list[int] = []
    found = []
    start = text.find("#pragma scop")
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")" and opened:
            first = opened.pop()
            statement = text[text.rfind("\n", 0, first) + 1 : text.find("\n", place)]
            if first > start and not statement.lstrip().startswith("for"):
                found.append((first, place))
    return found

"""Smaller programs that still fail: lines and blocks are left out, and what stands in parentheses is replaced by
something simpler, while that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["reduce_text"]

_SIMPLE = ("0", "1", "a[i]")


def reduce_text(text: str, fails: Callable[[str], bool], attempts: int = 300) -> str:
    """The shortest text found for which ``fails`` still holds, after at most `attempts` calls of it."""
    known = ""
    while text != known:
        known = text
        for candidates in (_without_lines, _simplified):
            text, attempts = _reduced(text, candidates, fails, attempts)
    return text


def _reduced(text: str, candidates: Callable[[str], Iterator[str]], fails: Callable[[str], bool],
             attempts: int) -> tuple[str, int]:
    """What is left of `text`, and of the attempts. Candidates that did not fail before are not tried again."""
    position = 0
    while True:
        for number, shorter in enumerate(list(candidates(text))[position:]):
            if attempts == 0:
                return text, 0
            attempts -= 1
            if fails(shorter):
                text, position = shorter, position + number
                break
        else:
            return text, attempts


def _without_lines(text: str) -> Iterator[str]:
    """`text` without a line, or without a block from the line that opens it to the one that closes it; the scop's
    pragmas and the headers stay."""
    lines = text.splitlines(keepends=True)
    blocks = [(first, _end(lines, first)) for first in range(len(lines)) if not lines[first].startswith("#")]
    for first, last in sorted(blocks, key=lambda block: block[0] - block[1]):
        if first <= last and not any("#pragma" in line for line in lines[first : last + 1]):
            yield "".join([*lines[:first], *lines[last + 1 :]])


def _end(lines: list[str], first: int) -> int:
    """The line with which the braces that line `first` opens are closed; one less than `first` if none does."""
    depth = 0
    for number in range(first, len(lines)):
        depth += lines[number].count("{") - lines[number].count("}")
        if depth <= 0:
            return number if depth == 0 else first - 1
    return first - 1


def _simplified(text: str) -> Iterator[str]:
    """`text` with one group in parentheses simplified, largest groups first. Divisors and amounts of shifts stay in
    their range."""
    for first, last in sorted(_groups(text), key=lambda group: group[0] - group[1]):
        operator = text[:first].rstrip()[-2:]
        simple = (*_SIMPLE, *(text[a + 1 : b] for a, b in _groups(text) if first < a and b < last))
        if operator[-1:] in ("/", "%"):
            simple = ("1",)
        elif operator in ("<<", ">>"):
            simple = ("0", "1")
        for part in simple:
            if len(part) < last - first - 1:
                yield f"{text[:first]}({part}){text[last + 1 :]}"


def _groups(text: str) -> list[tuple[int, int]]:
    """Places of matching parentheses behind the head of a function, but for those of heads of loops."""
    opened: list[int] = []
    found = []
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")" and opened:
            first = opened.pop()
            line = text[text.rfind("\n", 0, first) + 1 : text.find("\n", place)].lstrip()
            if not line.startswith(("for ", "static ", "void ", "#")):
                found.append((first, place))
    return found

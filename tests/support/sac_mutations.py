"""SA-C programs with mistakes: words removed, repeated, replaced, types and numbers changed."""

from __future__ import annotations

import random
import re

_WORD = re.compile(r"[A-Za-z_]\w*(?:\.\d+)?|\d+(?:\.\d+)?|<<|>>|[<>=!]=|&&|\|\||//[^\n]*\n|\s+|.", re.DOTALL)
_TYPES = ("bool", "bits4", "uint8", "int12", "uint33", "fix16.4", "ufix8.9", "double", "complex int8", "uint32")
_NUMBERS = ("0", "1", "-1", "3", "255", "4294967296", "0.5", "0b11", "1000")


def mutate(text: str, chance: random.Random) -> str:
    """`text` with one to three changes."""
    words = _WORD.findall(text)
    for _ in range(chance.randint(1, 3)):
        places = [n for n, word in enumerate(words) if not word.isspace()]
        if not places:
            break
        _change(words, chance.choice(places), chance)
    return "".join(words)


def _change(words: list[str], place: int, chance: random.Random) -> None:
    """One change at a word: what often stands for it, or anything."""
    word = words[place]
    if re.fullmatch(r"(u?int|bits|u?fix)[\d.]+|bool|double", word) and chance.random() < 0.7:
        words[place] = chance.choice(_TYPES)
    elif word.isdigit() and chance.random() < 0.7:
        words[place] = chance.choice(_NUMBERS)
    elif chance.random() < 0.6:
        words[place] = chance.choice([each for each in words if _form(each) == _form(word)])
    else:
        other = chance.choice([each for each in words if not each.isspace()])
        words[place:place + 1] = chance.choice([[], [other], [word, " ", other], [word, word], [word[1:] or ";"]])


def _form(word: str) -> str:
    """Words of one form can often stand for each other."""
    if word.isidentifier():
        return "name"
    return "number" if word[0].isdigit() else "operator" if word in "+-*/%&|^<<>>==!=<=>=&&||" else word

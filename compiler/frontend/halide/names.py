"""Names of Funcs, inputs and variables that are legal, and unique, in a program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.ir.names import fresh_name, legal_name

__all__ = ["legal_names", "plain"]


def plain(name: str) -> str:
    """A name as the user wrote it: Halide numbers names that are used twice in a process behind a dollar sign."""
    return re.sub(r"\$\d+$", "", name)


def legal_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A legal name for each of `names`, all different, and none of `taken`."""
    used = set(taken)
    found: dict[str, str] = {}
    for name in names:
        found[name] = fresh_name(legal_name(plain(name)), used)
        used.add(found[name])
    return found


"""The first words of memories in Verilog text: equal ones in loops.

The back end of Amaranth assigns each word for itself. A memory of 16384 words that starts with zeros is 500 kB of text
then, which simulators and synthesisers read, copy for every instance, and assign one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

__all__ = ["fill_memories"]

_MEMORY = re.compile(r"^  initial begin\n((?:    (\S+ ?)\[\d+\] = [^\n]*;\n)+)  end\n", re.MULTILINE)
_WORD = re.compile(r"^    \S+ ?\[(\d+)\] = ([^\n]*);\n", re.MULTILINE)
_MANY_WORDS = 16
# Synthesisers unroll loops, and refuse those that are longer: one of them has a limit of 5000 iterations.
_MOST_ITERATIONS = 4096


def fill_memories(module: str) -> str:
    """The text of one `module` with a loop for each run of at least 16 equal words that a memory starts with."""
    taken: set[str] = set()

    def fill(memory: re.Match[str]) -> str:
        words = [(int(address), value) for address, value in _WORD.findall(memory[1])]
        runs = list(_runs(words))
        if all(count < _MANY_WORDS for _, count, _ in runs):
            return memory[0]
        label = _free_name("fill_" + re.sub(r"\W", "_", memory[2].strip().lstrip("\\")), module, taken)
        index = _free_name("index", module, set())
        width = (len(words) - 1).bit_length()
        body = "".join(_assignments(memory[2], index, width, *run) for run in runs)
        return f"  initial begin : {label}\n    integer {index};\n{body}  end\n"

    return _MEMORY.sub(fill, module)


def _runs(words: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Words (address, value) as runs of equal ones: first address, count, value."""
    for value, group in groupby(words, key=itemgetter(1)):
        addresses = [address for address, _ in group]
        for position in range(0, len(addresses), _MOST_ITERATIONS):
            part = addresses[position : position + _MOST_ITERATIONS]
            yield part[0], len(part), value


def _assignments(memory: str, index: str, width: int, first: int, count: int, value: str) -> str:
    """Statements that put `value` into `count` words of `memory`, whose addresses have `width` bits."""
    if count < _MANY_WORDS:
        return "".join(f"    {memory}[{address}] = {value};\n" for address in range(first, first + count))
    loop = f"for ({index} = {first}; {index} < {first + count}; {index} = {index} + 1)"
    return f"    {loop}\n      {memory}[{index}[{width - 1}:0]] = {value};\n"


def _free_name(name: str, module: str, taken: set[str]) -> str:
    """`name`, with underscores behind it until neither the text of `module` nor `taken` has it, which it joins."""
    while name in taken or re.search(rf"\b{re.escape(name)}\b", module):
        name += "_"
    taken.add(name)
    return name

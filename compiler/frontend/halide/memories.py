"""Arrays at places that data decide: loads and stores of memories (`compiler.ir.program.Memory`).

A stored Func or an input that is read so is copied, once it is complete, into a memory of the elements that may be
asked for; each read is a statement of its own before the one that uses it. An update that writes so, or that reads its
own Func so, works on a memory: filled before, written back after. What an access waits for are bits that stores give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import islpy as isl

from compiler.frontend.affine_functions import Space, hull
from compiler.frontend.c_scop import building
from compiler.frontend.halide import arithmetic
from compiler.frontend.halide.drafts import Draft, Element, Key, Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Evaluator, Value
from compiler.frontend.halide.names import plain
from compiler.frontend.halide.types import INDEX, Number
from compiler.ir.expr import Const, Expr, Iterator, Load, Read, Store
from compiler.ir.types import BIT

__all__ = ["Words", "drain", "fill", "first_token", "flat_index", "load", "needed_box", "token_place"]

_MOST_WORDS = 1 << 20


@dataclass(frozen=True)
class Words:
    """A memory of the elements `box` of the array `key`. `filled` and `stored` are arrays of one bit: that it has been
    filled, and what the last store to it gave ("" if there is none but the filling)."""

    name: str
    key: Key
    type: Number
    box: tuple[tuple[int, int], ...]
    filled: str
    stored: str = ""
    loads: dict[tuple, Expr] = field(default_factory=dict, compare=False)

    @property
    def words(self) -> int:
        """How many there are."""
        return prod(last - first + 1 for first, last in self.box)

    @property
    def tokens(self) -> tuple[str, ...]:
        """What a load waits for."""
        return (self.filled, self.stored) if self.stored else (self.filled,)


def needed_box(name: str, args: Sequence[Value], reader: Evaluator) -> Region:
    """Between which coordinates an access is. Raises `PipelineError` if data could be anything."""
    box: Region = []
    for position, arg in enumerate(args):
        if arg.index is not None:
            ends = hull(isl.Map.from_pw_aff(arg.index).intersect_domain(reader.domain).range())
            assert ends is not None
            box += ends
            continue
        low, high = reader.range(arg.expr)
        if high - low >= _MOST_WORDS:
            raise PipelineError(f"it accesses '{plain(name)}' where data says, at {low} to {high} (argument "
                                f"{position + 1}): say between which numbers that is, with clamp")
        box.append((low, high))
    if prod(last - first + 1 for first, last in box) > _MOST_WORDS:
        raise PipelineError(f"it accesses '{plain(name)}' where data says, in a box of more than {_MOST_WORDS} "
                            "elements")
    return box


def flat_index(args: Sequence[Expr], box: Sequence[tuple[int, int]]) -> Expr:
    """The number of an element in a box, in numpy's order of dimensions."""
    index: Expr = Const(0, INDEX)
    for arg, (first, last) in reversed(list(zip(args, box, strict=True))):
        here = building.cast(arg, INDEX)
        if first:
            here = building.apply("sub", here, arithmetic.constant(first, INDEX))
        if index != Const(0, INDEX):
            index = building.apply("mul", index, arithmetic.constant(last - first + 1, INDEX))
            here = building.apply("add", index, here)
        index = here
    return index


def token_place(space: Space) -> tuple[isl.PwAff, ...]:
    """The only element of an array of one bit."""
    return (space.constant(0),)


def load(words: Words, args: Sequence[Value], reader: Evaluator, temporary: str) -> Expr:
    """The element of a memory for each iteration of the reader's stage, by a statement of its own, whose results are in
    the array `temporary`."""
    after = tuple(reader.read((token, 0), token_place(reader.space), BIT) for token in words.tokens)
    index = flat_index([arg.expr for arg in args], words.box)
    place = Element((temporary, 0), tuple(reader.space.iterator(name) for name in reversed(reader.space.iterators)))
    reader.loads.append((place, Load(words.name, index, after, words.type)))
    return reader.read(place.key, place.index, words.type)


# Statements around a stage.


def first_token(words: Words) -> Draft:
    """No store has been: the first load does not wait for one."""
    space = Space(())
    return Draft((f"{words.name}.first", 0), f"{words.name}_first", (), space.universe, (),
                 Element((words.stored, 0), token_place(space)), building.bit(False))


def fill(words: Words) -> Draft:
    """Every word from its array."""
    space, domain, place, index = _whole(words)
    value = Store(words.name, index, Read(0, words.type), building.bit(True), ())
    return Draft((f"{words.name}.fill", 0), f"{words.name}_filled", space.iterators, domain, (place,),
                 Element((words.filled, 0), token_place(space)), value)


def drain(words: Words) -> Draft:
    """Every element of the array from its word."""
    space, domain, place, index = _whole(words)
    tokens = tuple(Element((token, 0), token_place(space)) for token in words.tokens)
    after = tuple(Read(number, BIT) for number in range(len(tokens)))
    return Draft((f"{words.name}.drain", 0), f"{words.name}_drained", space.iterators, domain, tokens, place,
                 Load(words.name, index, after, words.type))


def _whole(words: Words) -> tuple[Space, isl.Set, Element, Expr]:
    """Loops over all elements, and the element and its number."""
    names = tuple(f"d{k}" for k in range(len(words.box)))
    space = Space(tuple(reversed(names)))
    domain = space.box(dict(zip(names, words.box, strict=True)))
    place = Element(words.key, tuple(space.iterator(name) for name in names))
    return space, domain, place, flat_index([Iterator(name, INDEX) for name in names], words.box)

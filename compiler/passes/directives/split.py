"""Directives that replace an iterator by two: split (strip-mining) and tile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import islpy as isl

from compiler.ir.names import check_name
from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.iterator_values import split_iterator
from compiler.passes.directives.loops import reorder
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import chosen, depth_of, rewritten, unchanged

__all__ = ["split", "tile"]


def split(program: Program, iterator: str, factor: int, names: tuple[str, str] | None = None,
          statements: Iterable[str] | None = None) -> Program:
    """Strip-mining: ``iterator = first + factor * outer + inner``, inner in 0..factor-1.

    `first` is the smallest value of the iterator in the statements chosen, so that they stay aligned. The last
    strip is shorter if `factor` does not divide the extent. `names` of the new iterators: ``x_o`` and ``x_i`` for x if
    not given. The order of instances stays as it was. Raises `TransformError`.
    """
    if factor < 1:
        raise TransformError(f"'{iterator}' cannot be split by {factor}; a factor is at least 1")
    picked = chosen(program, (iterator,), statements)
    first = min(s.domain.dim_min_val(s.iterators.index(iterator)).to_python() for s in picked)
    where, images, result = places(program), unchanged(program), []
    for statement in program.statements:
        if statement in picked:
            cut = _Cut(statement, iterator, factor, first, names or (f"{iterator}_o", f"{iterator}_i"))
            images[statement.name] = [cut.renaming.image]
            where[statement.name] = cut.place(where[statement.name])
            statement = cut.statement()
        result.append(statement)
    return rewritten(program, tuple(result), where, images, f"split of '{iterator}' by {factor}")


def tile(program: Program, factors: Mapping[str, int], statements: Iterable[str] | None = None) -> Program:
    """Rectangular tiles: every iterator of `factors` split, the loops over tiles outside those inside a tile.

    The iterators come in the order of `factors`, from outermost. Raises `TransformError` if dependent instances
    would change places.
    """
    kept = [s.name for s in chosen(program, factors, statements)]
    for iterator, factor in factors.items():
        program = split(program, iterator, factor, statements=kept)
    return reorder(program, [f"{name}{part}" for part in ("_o", "_i") for name in factors], kept)


class _Cut:
    """One statement with `iterator` replaced by the two called `names`."""

    def __init__(self, statement: Statement, iterator: str, factor: int, first: int, names: tuple[str, str]) -> None:
        self._old, self._iterator = statement, iterator
        self._factor, self._first = factor, first
        self._names = names
        number = statement.iterators.index(iterator)
        iterators = (*statement.iterators[:number], *names, *statement.iterators[number + 1 :])
        _check_names(statement, names, iterators)
        values = [f"n{k}" for k in range(number)] + [f"{first} + {factor} n{number} + n{number + 1}"]
        values += [f"n{k}" for k in range(number + 2, len(iterators))]
        inside = f"0 <= n{number + 1} < {factor}"
        self.renaming = Renaming(statement, statement.name, iterators, values, inside)

    def statement(self) -> Statement:
        """The new statement: the same instances under other names."""
        step = split_iterator(self._old, self._iterator, self._names, self._factor, self._first)
        return self.renaming.statement(step)

    def place(self, place: Place) -> Place:
        """The loop over `iterator` becomes two, the inner one directly inside the outer one."""
        depth = depth_of(self._old, place, self._iterator)
        plain = _variable(self._old.domain, self._old.iterators.index(self._iterator))
        if not isl.PwAff.from_aff(place.loops[depth]).is_equal(isl.PwAff.from_aff(plain)):
            raise TransformError(f"{self._old}: its loop over '{self._iterator}' is shifted or reversed already")
        new = [_variable(self.renaming.domain, self.renaming.iterators.index(name)) for name in self._names]
        loops = [self.renaming.time(loop) for loop in place.loops]
        return Place((*place.positions[: depth + 1], 0, *place.positions[depth + 1 :]),
                     (*loops[:depth], *new, *loops[depth + 1 :]))


def _check_names(statement: Statement, names: tuple[str, str], iterators: tuple[str, ...]) -> None:
    for name in names:
        check_name(name, f"{statement}: new iterator '{name}'")
        if iterators.count(name) > 1:
            raise TransformError(f"{statement} would have two iterators '{name}'")


def _variable(domain: isl.Set, number: int) -> isl.Aff:
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(domain.get_space()), isl.dim_type.set, number)

"""Maps between the instances of an old statement and those of the statement that replaces it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from compiler.ir.expr import Expr, fold
from compiler.ir.program import Access, Statement

__all__ = ["Renaming", "name_inputs"]


@dataclass(frozen=True)
class Renaming:
    """Instances of `old` become those of a statement `name` over `iterators`.

    `old_values`: the old iterators as functions of the new ones, which are written n0, n1, …; `condition` limits the
    new instances beyond the old domain.
    """

    old: Statement
    name: str
    iterators: tuple[str, ...]
    old_values: Sequence[str]
    condition: str = ""

    @cached_property
    def back(self) -> isl.Map:
        """{new instance -> old instance}, one affine function."""
        new = ", ".join(f"n{k}" for k in range(len(self.iterators)))
        mapping = isl.Map(f"{{ {self.name}[{new}] -> {self.old.name}[{', '.join(self.old_values)}] }}")
        return name_inputs(mapping, self.iterators)

    @cached_property
    def image(self) -> isl.Map:
        """{old instance -> new instance} on the old domain."""
        new = ", ".join(f"n{k}" for k in range(len(self.iterators)))
        condition = isl.Set(f"{{ {self.name}[{new}]{f' : {self.condition}' if self.condition else ''} }}")
        return self.back.intersect_domain(condition).reverse().intersect_domain(self.old.domain).coalesce()

    @cached_property
    def domain(self) -> isl.Set:
        """The new iteration domain, its dimensions named."""
        domain = self.image.range().coalesce()
        for position, name in enumerate(self.iterators):
            domain = domain.set_dim_name(isl.dim_type.set, position, name)
        return domain

    def access(self, access: Access) -> Access:
        """`access` from the new instances."""
        mapping = self.back.apply_range(access.map).intersect_domain(self.domain)
        return replace(access, map=name_inputs(mapping, self.iterators))

    def statement(self, step: Callable[[Expr, list[Expr]], Expr]) -> Statement:
        """The old statement over the new instances; `step` rebuilds its value from below, as for `fold`."""
        return replace(
            self.old, name=self.name, iterators=self.iterators, domain=self.domain,
            reads=tuple(map(self.access, self.old.reads)), write=self.access(self.old.write),
            value=fold(self.old.value, step),
        )  # fmt: skip

    def time(self, time: isl.Aff) -> isl.Aff:
        """A function of the old iterators as one of the new iterators."""
        return time.pullback_multi_aff(isl.PwMultiAff.from_map(self.back).as_multi_aff())


def name_inputs(mapping: isl.Map, names: Sequence[str]) -> isl.Map:
    """A relation whose instances have these iterators."""
    for position, name in enumerate(names):
        mapping = mapping.set_dim_name(isl.dim_type.in_, position, name)
    return mapping

"""Statements and accesses before the places of arrays are known."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from compiler.ir.expr import Expr

__all__ = ["Draft", "Element", "Key", "Region"]

Key = tuple[str, int]
"""A stored array: the name of its Func or input, and the component of a Tuple."""

Region = list[tuple[int, int]]
"""First and last coordinate, in Halide's order of dimensions."""


@dataclass(frozen=True)
class Element:
    """An access to an array: its coordinates in Halide's order, not yet shifted to start at 0."""

    key: Key
    index: tuple[isl.PwAff, ...]


@dataclass(frozen=True)
class Draft:
    """A statement whose arrays have no origin yet. `iterators`: outermost first. Statements with the same `nest`, next
    to each other, share their loops; `name` is what the statement is to be called;
    `variables`: the pipeline's for each iterator, none for statements that no stage has."""

    nest: tuple[str, int]
    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    reads: tuple[Element, ...]
    write: Element
    value: Expr
    variables: tuple[str, ...] = ()

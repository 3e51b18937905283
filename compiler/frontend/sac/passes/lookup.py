"""Functions of few bits become tables (Hammes 2000, section 4.1.5)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Function, Graph, Module, Node, Operand
from compiler.frontend.sac.ddcf.interpret import interpret_rows
from compiler.frontend.sac.errors import SacError, SacRunError
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import Kind, Scalar, Type

__all__ = ["make_tables"]

MOST_BITS = 14
"""Bits of all parameters together."""


def make_tables(module: Module, main: str, report: Report) -> Module:
    """Functions with the pragma ``lookup`` become references to an array of their values.

    Raises `SacError` at the pragma for a function that calls others, has several results, an array or a floating-point
    number among parameters and results, or more than 14 bits of parameters; and for one that has no value somewhere.
    """
    for each in filter(_is_lookup, module.functions):
        report.done("tables", each.place, f"'{each.name}'")
    return Module(tuple(_table(module, each) if _is_lookup(each) else each for each in module.functions))


def _is_lookup(function: Function) -> bool:
    return any(pragma.name == "lookup" for pragma in function.pragmas)


def _table(module: Module, function: Function) -> Function:
    _check(function)
    scalars = [type_.scalar for type_ in function.graph.inputs]
    counts = [1 << scalar.width for scalar in scalars]
    rows = [_numbers(scalar, part.ravel()) for scalar, part in zip(scalars, np.indices(counts), strict=True)]
    try:
        (values,) = interpret_rows(module, function.name, rows, prod(counts))
    except SacRunError as error:
        reason = f"it has no value everywhere ({error})"
        raise SacError(_place(function), f"'{function.name}' is no table: {reason}") from None
    pragmas = tuple(pragma for pragma in function.pragmas if pragma.name != "lookup")
    result = function.result_types[0].scalar
    graph = _reference(function.graph, [int(v) for v in values], counts, result)
    return replace(function, graph=graph, pragmas=pragmas)


def _numbers(scalar: Scalar, bits: np.ndarray) -> np.ndarray:
    """Numbers of the type in the order of their bits."""
    return np.where(bits > scalar.maximum, bits - (1 << scalar.width), bits)


def _reference(graph: Graph, values: list[int], counts: list[int], result: Scalar) -> Graph:
    """The table, and the element whose indices are the bits of the parameters."""
    out = Rebuilt(graph.inputs)
    operands = tuple(Constant(value, result) for value in values)
    (table,) = out.add(Node("ARR_DEF", operands, (Type(result, tuple(counts)),)))
    indices: list[Operand] = []
    for number, type_ in enumerate(graph.inputs):
        bits, index = (Type(Scalar(kind, type_.scalar.width)) for kind in (Kind.BITS, Kind.UINT))
        (held,) = out.add(Node("CAST", (Argument(number),), (bits,)))
        indices += out.add(Node("CAST", (held,), (index,)))
    pattern = (("pattern", "." * len(counts)),)
    return out.finish(out.add(Node("AREF", (table, *indices), (Type(result),), pattern)))


def _place(function: Function) -> Place:
    return next(pragma.place for pragma in function.pragmas if pragma.name == "lookup")


def _check(function: Function) -> None:
    types = (*function.graph.inputs, *function.result_types)
    bits = sum(type_.scalar.width for type_ in function.graph.inputs)
    reasons = {
        "it has no parameter": not function.graph.inputs,
        f"it has {len(function.result_types)} results, and a table has one": len(function.result_types) != 1,
        "a parameter or result is an array": any(type_.is_array for type_ in types),
        "a parameter or result is a floating-point number": any(type_.scalar.floating for type_ in types),
        f"its parameters have {bits} bits; a table has at most {MOST_BITS}": bits > MOST_BITS,
        "it calls a function that is not inlined": any(node.kind == "FCALL" for node in function.graph.walk()),
    }
    for reason, holds in reasons.items():
        if holds:
            raise SacError(_place(function), f"'{function.name}' is no table: {reason}")

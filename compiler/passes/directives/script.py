"""Directives as text, for command lines and options: ``"tile(i=4, j=4); reverse(k, on=[S1])"``.

Every directive is a call; several are separated by semicolons and apply one after the other. Iterators and statements
are written as bare names. `on` chooses statements, as `statements` of the functions in `compiler.passes.directives`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from compiler.ir.program import Program
from compiler.passes.directives.batch import batch
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.fold import fold
from compiler.passes.directives.loops import reorder, reverse, shift
from compiler.passes.directives.nests import distribute, fuse
from compiler.passes.directives.overlap import overlap
from compiler.passes.directives.parallel import parallelize
from compiler.passes.directives.partial import partial, reassociate
from compiler.passes.directives.right_looking import right_looking
from compiler.passes.directives.share import share
from compiler.passes.directives.split import split, tile
from compiler.passes.directives.store import store
from compiler.passes.directives.unroll import unroll
from compiler.passes.directives.unroll_outer import unroll_outer

__all__ = ["apply_script"]


def _tile(program: Program, statements: list[str] | None, **factors: int) -> Program:
    return tile(program, factors, statements)


def _overlap(program: Program, **sizes: int) -> Program:
    return overlap(program, sizes)


def _reorder(program: Program, *iterators: str, statements: list[str] | None) -> Program:
    return reorder(program, iterators, statements)


_DIRECTIVES: Mapping[str, Callable[..., Program]] = {
    "batch": batch, "distribute": distribute, "fold": fold, "fuse": fuse, "overlap": _overlap,
    "parallelize": parallelize, "partial": partial, "reassociate": reassociate, "reorder": _reorder,
    "reverse": reverse, "right_looking": right_looking, "share": share, "shift": shift, "split": split, "store": store,
    "tile": _tile, "unroll": unroll, "unroll_outer": unroll_outer,
}
_FORMS: Mapping[str, tuple[type, ...]] = {
    "batch": (int,), "distribute": (str, int), "fold": (str, int, int), "fuse": (str, str, int),
    "overlap": (), "parallelize": (str, int), "partial": (str, str, int), "reassociate": (str, str, int),
    "reverse": (str,), "right_looking": (str,), "shift": (str, int),
    "split": (str, int), "store": (str, str), "tile": (), "unroll": (str, int),
    "unroll_outer": (str,),
}
"""Kinds of the arguments; trailing ones may be left out where the directive has a default."""

_LEAST = {"distribute": 1, "fold": 2, "fuse": 2, "unroll": 1}
_WITHOUT_CHOICE = ("batch", "distribute", "fold", "fuse", "overlap", "partial", "reassociate", "right_looking", "share",
                   "store", "unroll_outer")


def apply_script(program: Program, text: str) -> Program:
    """`program` after the directives of `text`. Raises `TransformError` for a directive that cannot be read, with its
    text, and what the directives raise."""
    for part in filter(None, map(str.strip, text.split(";"))):
        program = _apply(program, part)
    return program


def _apply(program: Program, text: str) -> Program:
    name, arguments, options = _parsed(text)
    chosen = options.pop("on", None)
    if name in _WITHOUT_CHOICE:
        if chosen is not None:
            raise TransformError(f"directive '{text}': {name} names its statements itself, without 'on'")
    else:
        options["statements"] = chosen
    _check(text, name, arguments, options)
    return _DIRECTIVES[name](program, *arguments, **options)


def _parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise TransformError(f"directive '{text}' is not of the form name(argument, ...)")
    if call.func.id not in _DIRECTIVES:
        raise TransformError(f"there is no directive '{call.func.id}'; there are: {', '.join(_DIRECTIVES)}")
    options = {keyword.arg or "**": _value(text, keyword.value) for keyword in call.keywords}
    return call.func.id, [_value(text, argument) for argument in call.args], options


def _value(text: str, node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | str() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(text, item) for item in items]
    raise TransformError(f"directive '{text}': an argument is a name, a number or a list of names")


def _check(text: str, name: str, arguments: list[Any], options: dict[str, Any]) -> None:
    """That the directive can be called so."""
    statements = options.get("statements")
    if statements is not None and not (isinstance(statements, list) and all(isinstance(s, str) for s in statements)):
        raise TransformError(f"directive '{text}': 'on' takes a list of statements")
    named = {key: value for key, value in options.items() if key != "statements"}
    if name in ("tile", "overlap"):
        good = bool(named) and all(isinstance(value, int) for value in named.values()) and not arguments
    elif name in ("reorder", "share"):
        good = len(arguments) > (name == "share") and all(isinstance(a, str) for a in arguments) and not named
    else:
        form = _FORMS[name]
        kinds = zip(arguments, form, strict=False)
        good = _LEAST.get(name, len(form)) <= len(arguments) <= len(form) and not named
        good = good and all(isinstance(a, kind) for a, kind in kinds)
    if not good:
        raise TransformError(f"directive '{text}': {name} is used as {_USES[name]}")


_USES: Mapping[str, str] = {
    "batch": "batch(2)", "distribute": "distribute(statement, 1)", "fold": "fold(statement, 2)",
    "fuse": "fuse(first, second, 1)", "overlap": "overlap(i=64, j=64)", "parallelize": "parallelize(i, 4)",
    "partial": "partial(statement, i, 8)", "reassociate": "reassociate(statement, i, 8)",
    "reorder": "reorder(j, i)", "reverse": "reverse(i)", "right_looking": "right_looking(statement)",
    "share": "share(first, second)", "shift": "shift(i, 1)", "split": "split(i, 4)",
    "store": "store(array, registers)", "tile": "tile(i=4, j=4)", "unroll": "unroll(i, 4)",
    "unroll_outer": "unroll_outer(t)",
}

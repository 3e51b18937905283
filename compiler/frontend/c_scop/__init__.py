"""C front end: the part of a C function between ``#pragma scop`` and ``#pragma endscop`` as a `Program`.

    void mm(const int16_t A[16][16], const int16_t B[16][16], int32_t C[16][16]) {
    #pragma scop
      for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
          C[i][j] = 0;
          for (int k = 0; k < 16; k++)
            C[i][j] += A[i][k] * B[k][j];
        }
    #pragma endscop
    }

The file is ordinary C that any compiler takes, and the program computes what the compiled function computes.

* **Control**: ``for`` loops with affine bounds and constant steps, other counted loops, ``switch`` and ``continue``
  (`compiler.frontend.c_scop.normalize`), ``if`` with affine conditions (exact, any nesting) or conditions on data
  (they select), blocks, declarations, labels (they name the statement).
* **Data**: arrays and scalars of integer types from 8 to 64 bits and of float; parameters, globals, locals. What
  becomes an input or an output: `compiler.frontend.c_scop.assemble`. The data of the function's other statements does
  not count.
* **Expressions**: all integer operators, with C's promotions and conversions on a 64-bit machine with signed char.
  Signed overflow wraps (as with ``-fwrapv``), right shifts of negative numbers are arithmetic, and division by zero
  is defined (`hw.ops.DIVISIONS`). On floats: arithmetic, comparisons, ``?:`` and conversions, one rounding each, in the
  order of the source, as ``gcc -ffp-contract=off`` does it (`compiler.ir.floating`); nothing computes in double.
* **Parameters**: object-like macros and scalar integer parameters of the function get values by name.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import islpy as isl

from compiler.frontend.c_scop.assemble import Surroundings, assemble
from compiler.frontend.c_scop.data_addresses import DataAddress, DataArrays
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.inline import Inliner
from compiler.frontend.c_scop.normalize import normalize
from compiler.frontend.c_scop.parse import Scop, find_scop, functions_with_scops, parse_c
from compiler.frontend.c_scop.source import Source, preprocess
from compiler.frontend.c_scop.walk import Walker
from compiler.ir.constant_division import without_divisions
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.narrow import narrow
from compiler.ir.program import Program
from compiler.ir.verify import verify

__all__ = ["ScopError", "list_functions", "load_c", "parse_scop"]

_RECURSION_LIMIT = 5000
_ROOT = Path(__file__).resolve().parents[3]


def load_c(path: str | Path, /, *, function: Any = None, folders: Any = (),
           **parameters: int) -> Program:
    """The verified program of the scop in a C file, with `parameters` as values of macros and scalar parameters.

    `function` names the function if several have a scop, or none has one: then its whole body is the scop. `folders`
    are where included files are looked for, after that of the file itself.

    Raises `ScopError` (file, line, column and reason), or `ProgramError` for subscripts outside their array.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise ScopError(path, f"cannot be read: {error.strerror}") from None
    return parse_scop(text, _shown(path), path.parent, path.stem, narrowed=True, function=function,
                      folders=folders, **parameters)


def list_functions(path: str | Path, folders: Sequence[str | Path] = ()) -> tuple[str, ...]:
    """Names of the functions of a C file that `load_c` can be asked for. Raises `ScopError`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise ScopError(path, f"cannot be read: {error.strerror}") from None
    source = preprocess(text, _shown(path), (path.parent, *map(Path, folders)), {})
    return functions_with_scops(parse_c(source, _shown(path)), source)


def parse_scop(text: str, file: str = "scop.c", folder: Path = Path(), name: str = "scop", /, *,
               narrowed: bool = True, function: Any = None, folders: Any = (),
               **parameters: int) -> Program:
    """As `load_c`, for C in `text`; `file` is what messages call it.

    With ``narrowed=False`` all arithmetic keeps C's width of at least 32 bits.
    """
    try:
        with _deep_recursion():
            program = _program(text, file, (folder, *map(Path, folders)), name, parameters, function)
            return with_bounds(narrow(program) if narrowed else _without_divisions(program))
    except RecursionError:
        raise ScopError(file, "an expression or a nest is too deep") from None
    except isl.Error as error:
        raise ScopError(file, f"the polyhedral library gives up on this scop: {error}") from None


def _without_divisions(program: Program) -> Program:
    """`program` with divisions by constants in operations of their own width."""
    return replace(program, statements=tuple(replace(s, value=without_divisions(s.value)) for s in program.statements))


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Expressions of some hundred terms, which unrolled kernels have, nest deeper than Python's default allows."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _program(text: str, file: str, folders: tuple[Path, ...], name: str, parameters: dict[str, int],
             function: str | None) -> Program:
    """The verified program before narrowing."""
    values = {key: _integer(file, key, value) for key, value in parameters.items()}
    source = preprocess(text, file, folders, {key: f"({value})" for key, value in values.items()})
    arrays: frozenset[str] = frozenset()
    while True:
        scop = find_scop(parse_c(source, file), source, file, values, function)
        _check_parameters(file, source, scop, values)
        try:
            program = _assembled(name, source, scop, DataArrays(arrays))
        except DataAddress as found:  # known only once a subscript has been looked at, when others have been before
            arrays |= {found.array}
            continue
        verify(program)
        return program


def _assembled(name: str, source: Source, scop: Scop, data: DataArrays) -> Program:
    """The program of a scop. Raises `DataAddress` for an array beside those of `data` that is accessed at places which
    depend on data."""
    inliner = Inliner(source, scop.functions, scop.taken)
    walker = Walker(source, data)
    walker.run(normalize(inliner.items(scop.items), source, scop.scope.free_name), scop.scope)
    around = Surroundings(scop.scope, scop.before, scop.after, scop.place)
    return assemble(name, walker.statements, around, data)


def _integer(file: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ScopError(file, f"parameter {name}={value!r} is not an integer") from None


def _check_parameters(file: str, source: Source, scop: Scop, parameters: dict[str, int]) -> None:
    scalars = {v.name for v in scop.scope.everything() if v.storage == "parameter" and v.scalar}
    known = sorted(source.settable | scalars)
    for name in parameters:
        if name not in known:
            names = ", ".join(known) or "none"
            raise ScopError(file, f"there is no macro or scalar parameter '{name}'; there are: {names}")


@cache
def _shown(path: Path) -> str:
    """`path`, named from the project's root if it is inside, so that text forms do not depend on where that is."""
    full = path.resolve()
    return str(full.relative_to(_ROOT)) if full.is_relative_to(_ROOT) else str(path)

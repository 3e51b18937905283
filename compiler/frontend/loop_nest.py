"""The loop-nest language of Liu 2023, section 4.1: loops and operations added to a tree, as in its figure 4.1.

    prg = prog("br-bl")
    prg.add_input("input")
    prg.add_output("blur")
    t = prg.add_loop("t", 0, 16)

    y_br = t.add_loop("y_br", 0, 64)
    x_br = y_br.add_loop("x_br", 0, 64)
    brighten_op = x_br.add_op("Brighten")
    brighten_op.add_function(brighten_kernel)
    brighten_op.add_load("input", "x_br", "y_br", "t")
    brighten_op.add_store("brighten", "x_br", "y_br")
    ...
    program = prg.build()

* ``add_loop(name, start, bound)``: `bound` is the number of iterations, so the last one is ``start + bound - 1``.
* Addresses come **fastest coordinate first**, as in Liu 2023; the `Program` holds them reversed, in numpy order, so
  ``add_load("input", "x", "y", "t")`` reads ``input[t, y, x]``. Given shapes are in numpy order. An address is text
  (`compiler.frontend.address`) or an int.
* A function is a Python function over typed values (`compiler.frontend.kernel`); its parameters are the loaded
  words in the order of the `add_load` calls. An operation with one load and no function copies.
* An address may use elements of integer arrays, fastest coordinate first: ``add_load("table", "pixel[x, y] % 16")``. An
  array with such an access has a declared shape and is a memory on the chip: it is filled from an input before the
  program, else with zeros, and an output is written from it at the end; all accesses to it take place in their order.
  Which targets take it, and what becomes of an index outside, is as in C.
* Arrays that are stored and not declared are intermediates. Types default to the `type` of `prog`, shapes to the
  bounding box of all accesses.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import index
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import islpy as isl

from compiler.frontend import kernel
from compiler.frontend.apps import load
from compiler.frontend.kernel import Typed
from compiler.frontend.nest_accesses import DataAccesses, Nest, Request, data_arrays
from compiler.frontend.nest_memories import TimedStatement, order_of, with_memories
from compiler.ir.expr import Const, Expr, Read
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.names import check_name
from compiler.ir.program import Access, Array, Location, Program, Role, Statement, Table
from compiler.ir.types import BIT, UINT16, Float, ProgramError, Type, element_type
from compiler.ir.verify import verify
from hw.ops import OPERATIONS

__all__ = ["LoopNode", "OpNode", "Prog", "load", "prog"]

Function = Callable[..., Any]
TypeLike = Any
"""What names a type: one of `compiler.ir.types`, its name, or a numpy dtype."""
T = TypeVar("T")
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class _Declaration:
    type: Type
    role: Role
    shape: tuple[int, ...] | None
    location: Location


class _Scope:
    """A node that has children: the program itself or a loop."""

    def __init__(self, program: Prog, loops: tuple[LoopNode, ...], position: tuple[int, ...]) -> None:
        self._program = program
        self._loops = loops
        self._position = position
        self._children = 0

    def add_loop(self, name: str, start: int, bound: int) -> LoopNode:
        """A loop over `name` = `start`, ..., `start + bound - 1` inside this node, after its earlier children."""
        location = _caller()
        label = f"loop '{name}' ({location})"
        check_name(name, label)
        if any(loop.name == name for loop in self._loops):
            raise ProgramError(f"{label}: a loop around it has the same name")
        first, count = _integers(f"{label}: start and bound", (start, bound))
        if count < 1:
            raise ProgramError(f"{label}: bound {count} must be at least 1")
        return LoopNode(self, name, first, count)

    def add_op(self, name: str) -> OpNode:
        """An operation inside this node, after its earlier children. `name` becomes the statement's name."""
        location = _caller()
        check_name(name, f"statement '{name}' ({location})")
        op = OpNode(self._program, self._loops, self._next(), name, location)
        self._program._add(op)
        return op

    def _next(self) -> tuple[int, ...]:
        self._children += 1
        return (*self._position, self._children - 1)


class LoopNode(_Scope):
    """One loop of the tree."""

    def __init__(self, parent: _Scope, name: str, start: int, bound: int) -> None:
        super().__init__(parent._program, (*parent._loops, self), parent._next())
        self.name = name
        self.start = start
        self.bound = bound


@dataclass(eq=False)
class OpNode:
    """One operation: loads, a function of the loaded words, one store of its result."""

    _program: Prog
    _loops: tuple[LoopNode, ...]
    _position: tuple[int, ...]
    name: str
    location: Location
    _loads: list[Request] = field(default_factory=list)
    _store: Request | None = None
    _function: Function | None = None

    def add_load(self, name: str, *addr: str | int) -> None:
        """Load one word of array `name`; the next parameter of the function."""
        self._loads.append(Request(name, tuple(map(str, addr)), _caller()))

    def add_store(self, name: str, *addr: str | int) -> None:
        """Store the function's result to array `name`. One store per operation."""
        request = Request(name, tuple(map(str, addr)), _caller())
        if self._store is not None:
            raise ProgramError(f"{self._label(request.location)} has a second store; an operation stores one word")
        self._store = request

    def add_function(self, function: Function | str) -> None:
        """The function to apply: a Python callable, or the name of one in the caller's scope or in `hw.ops`."""
        if isinstance(function, str):
            function = self._find(function, sys._getframe(1))
        self._function = function

    def _find(self, name: str, frame: FrameType) -> Function:
        for scope in (frame.f_locals, frame.f_globals):
            if callable(scope.get(name)):
                return scope[name]
        if name in OPERATIONS:
            return lambda *args: kernel.apply(name, *args)
        raise ProgramError(f"{self._label(_location(frame))}: there is no function or operation '{name}'")

    def _label(self, location: Location | None = None) -> str:
        return f"statement '{self.name}' ({location or self.location})"

    @property
    def _order(self) -> tuple[int | str, ...]:
        """The 2d+1 time vector: positions among siblings and loop names, alternating."""
        vector: list[int | str] = []
        for position, loop in zip(self._position, self._loops, strict=False):
            vector += [position, loop.name]
        return (*vector, self._position[-1])

    def _domain(self) -> isl.Set:
        names = ", ".join(loop.name for loop in self._loops)
        bounds = " and ".join(f"{loop.start} <= {loop.name} < {loop.start + loop.bound}" for loop in self._loops)
        return isl.Set(f"{{ {self.name}[{names}] : {bounds} }}" if bounds else f"{{ {self.name}[] }}")

    def _located(self, request: Request, build: Callable[..., T], *args: Any) -> T:
        """`build(*args)`; its errors name the statement and the access."""
        try:
            return build(*args)
        except ProgramError as error:
            raise ProgramError(f"{self._label(request.location)}: access to '{request.array}': {error}") from None

    def _requests(self) -> list[Request]:
        if self._store is None:
            raise ProgramError(f"{self._label()} has no store")
        return [*self._loads, self._store]

    def _statements(self, nest: Nest) -> list[TimedStatement]:
        """The operation, after the loads from memories that it needs."""
        *loads, store = self._requests()
        domain, nowhere = self._domain(), Access(store.array, isl.Map("{ [] -> [] }"), store.location)
        iterators = tuple(loop.name for loop in self._loops)
        frame = Statement(self.name, iterators, domain, (), nowhere, Const(0, BIT), self.location)
        accesses = DataAccesses(frame, nest)
        reads = tuple(self._located(load, accesses.load, load) for load in loads)
        value = self._value([nest.types[load.array] for load in loads], nest.types[store.array])
        whole = self._located(store, accesses.complete, reads, value, store)
        loops = tuple(map(id, self._loops))
        timed = enumerate([*accesses.loads, whole])
        return [TimedStatement(statement, (*self._order, *nest.rank(k)), loops) for k, statement in timed]

    def _value(self, read_types: list[Type], result_type: Type) -> Expr:
        """The function's result for symbolic loads, of `result_type`; a Python number becomes a constant."""
        args = [Typed(Read(index, type)) for index, type in enumerate(read_types)]
        result = self._call(args)
        if isinstance(result, int) or (isinstance(result, float) and isinstance(result_type, Float)):
            result = self._checked(kernel.constant, result_type, result)
        if not isinstance(result, Typed):
            raise ProgramError(f"{self._label()}: its function returned {result!r}, not a typed value")
        return result.expr

    def _call(self, args: list[Typed]) -> Any:
        if self._function is None:
            if len(args) != 1:
                raise ProgramError(f"{self._label()} has {len(args)} loads and no function")
            return args[0]
        self._check_arity(self._function, len(args))
        return self._checked(self._function, *args)

    def _check_arity(self, function: Function, count: int) -> None:
        try:
            inspect.signature(function).bind(*range(count))
        except TypeError:
            name = getattr(function, "__name__", repr(function))
            message = f"{self._label()}: function '{name}' does not take {count} arguments, one per load"
            raise ProgramError(message) from None

    def _checked(self, function: Function, *args: Any) -> Any:
        """`function(*args)`; whatever it raises becomes one line that names the statement."""
        try:
            return function(*args)
        except ProgramError as error:
            raise ProgramError(f"{self._label()}: {error}") from None
        except Exception as error:
            raise ProgramError(f"{self._label()}: its function failed: {type(error).__name__}: {error}") from error


class Prog(_Scope):
    """The root of a loop nest. `type` is the type of arrays, tables and constants that name none. Types are those of
    `compiler.ir.types`, their names (``"bfloat16"``, ``"uint8"``) or numpy's dtypes."""

    def __init__(self, name: str, type: TypeLike = UINT16) -> None:
        super().__init__(self, (), ())
        self.name = name
        self.type: Type = element_type(type, f"type of '{name}' ({_caller()})")
        self._ops: dict[str, OpNode] = {}
        self._declarations: dict[str, _Declaration] = {}
        self._tables: dict[str, Table] = {}
        self._constants: dict[str, int] = {}

    def add_input(self, name: str, shape: tuple[int, ...] | None = None, type: TypeLike = None) -> None:
        """An array that is read from memory. `shape` in numpy order; the bounding box of the loads if not given."""
        self._declare(name, shape, type, "input")

    def add_output(self, name: str, shape: tuple[int, ...] | None = None, type: TypeLike = None) -> None:
        """An array that is written to memory."""
        self._declare(name, shape, type, "output")

    def add_intermediate(self, name: str, shape: tuple[int, ...] | None = None, type: TypeLike = None) -> None:
        """An array inside the hardware; only needed to give a type or a shape."""
        self._declare(name, shape, type, "intermediate")

    def add_table(self, name: str, values: Sequence[float], type: TypeLike = None) -> Table:
        """Constants for ``lookup(table, index)``; of a floating-point type the nearest numbers."""
        self._new_name(name)
        label = f"table '{name}' ({_caller()})"
        kind = self._type(type, label)
        entries = _nearest(label, kind, values) if isinstance(kind, Float) else _integers(label, values)
        self._tables[name] = Table(name, entries, kind)
        return self._tables[name]

    def add_constant(self, name: str, value: int, type: TypeLike = None) -> Typed:
        """A named integer that addresses may use; returned as a typed value for functions."""
        self._new_name(name)
        typed = kernel.constant(self._type(type, f"constant '{name}' ({_caller()})"), value)
        self._constants[name] = index(value)
        return typed

    def build(self) -> Program:
        """The verified `Program`. Raises `ProgramError`."""
        for op in self._ops.values():
            self._check_arrays(op)
        types = {name: declaration.type for name, declaration in self._declarations.items()}
        types |= {name: self.type for name in self._stored() if name not in types}
        nest = self._nest(types)
        timed = [statement for op in self._ops.values() for statement in op._statements(nest)]
        statements = tuple(each.statement for each in timed)
        arrays = tuple(self._array(name, statements) for name in types)
        program = Program(self.name, arrays, tuple(self._tables.values()), statements, order_of(timed))
        if nest.memories:
            program = with_memories(program, timed, nest)
        verify(program)
        return with_bounds(program)

    def _nest(self, types: dict[str, Type]) -> Nest:
        """What all operations share; arrays with accesses at places that depend on data are memories."""
        data: dict[str, Request] = {}
        for op in self._ops.values():
            for request in op._requests():
                data |= dict.fromkeys(op._located(request, data_arrays, request), request)
        nest = Nest(types, self._constants, {*types, *self._tables, *self._constants, *self._ops})
        for array, request in data.items():
            declaration = self._declarations.get(array)
            if array not in types:
                continue
            if declaration is None or declaration.shape is None:
                raise ProgramError(f"array '{array}' ({request.location}) is accessed at places that depend on data, "
                                   "and has no shape; declare it with one, as in add_intermediate(name, shape=(100,))")
            nest.add_memory(Array(array, declaration.shape, declaration.type, declaration.role), declaration.location)
        return nest

    def _add(self, op: OpNode) -> None:
        if op.name in self._ops:
            raise ProgramError(f"{op._label()}: the name is taken by the statement at {self._ops[op.name].location}")
        self._ops[op.name] = op

    def _declare(self, name: str, shape: tuple[int, ...] | None, type: TypeLike, role: Role) -> None:
        self._new_name(name, 4)
        location = _caller(3)
        shape = None if shape is None else _integers(f"shape of '{name}' ({location})", shape)
        self._declarations[name] = _Declaration(self._type(type, f"type of '{name}' ({location})"), role, shape,
                                                  location)

    def _type(self, given: TypeLike, where: str) -> Type:
        return self.type if given is None else element_type(given, where)

    def _new_name(self, name: str, depth: int = 3) -> None:
        label = f"'{name}' ({_caller(depth)})"
        check_name(name, label)
        if name in self._declarations or name in self._tables or name in self._constants:
            raise ProgramError(f"{label} is declared twice")

    def _stored(self) -> list[str]:
        return list(dict.fromkeys(op._requests()[-1].array for op in self._ops.values()))

    def _check_arrays(self, op: OpNode) -> None:
        known = [*self._declarations, *(name for name in self._stored() if name not in self._declarations)]
        for request in op._requests():
            if request.array not in known:
                label = op._label(request.location)
                raise ProgramError(f"{label}: there is no array '{request.array}'; there are: {', '.join(known)}")

    def _array(self, name: str, statements: tuple[Statement, ...]) -> Array:
        declaration = self._declarations.get(name)
        role: Role = declaration.role if declaration else "intermediate"
        type = declaration.type if declaration else self.type
        if declaration and declaration.shape is not None:
            return Array(name, declaration.shape, type, role)
        return Array(name, self._bounding_box(name, statements), type, role)

    def _bounding_box(self, name: str, statements: tuple[Statement, ...]) -> tuple[int, ...]:
        """One more than the largest index in every dimension, over all accesses."""
        extents: list[tuple[int, ...]] = []
        for statement in statements:
            for access in (*statement.reads, statement.write):
                if access.array == name:
                    touched = access.map.intersect_domain(statement.domain).range()
                    extents.append(_extent(touched))
        if not extents:
            place = self._declarations[name].location
            raise ProgramError(f"array '{name}' ({place}) has no shape and no access that would tell it")
        if len({len(extent) for extent in extents}) > 1:
            counts = " and ".join(str(count) for count in sorted({len(extent) for extent in extents}))
            raise ProgramError(f"array '{name}' is accessed with {counts} coordinates")
        return tuple(map(max, zip(*extents, strict=True)))


prog = Prog
"""The seed's name of the root."""


def _integers(label: str, values: Iterable[Any]) -> tuple[int, ...]:
    """`values` as Python ints; numpy's integers count, floats do not."""
    values = tuple(values)
    try:
        return tuple(index(value) for value in values)
    except TypeError:
        raise ProgramError(f"{label}: {values} must be integers") from None


def _nearest(label: str, type: Float, values: Iterable[Any]) -> tuple[int, ...]:
    """`values` as bit patterns of `type`."""
    try:
        return tuple(kernel.nearest(type, value) for value in values)
    except ProgramError as error:
        raise ProgramError(f"{label}: {error}") from None


def _extent(touched: isl.Set) -> tuple[int, ...]:
    dims = range(touched.dim(isl.dim_type.set))
    return tuple(max(0, touched.dim_max_val(dim).to_python()) + 1 for dim in dims)


def _caller(depth: int = 2) -> Location:
    """The source line that called the function which calls this, `depth` frames up."""
    return _location(sys._getframe(depth))


def _location(frame: FrameType) -> Location:
    return Location(_shown(frame.f_code.co_filename), frame.f_lineno)


@cache
def _shown(file: str) -> str:
    """`file`, named from the project's root if it is inside, so that text forms do not depend on where that is."""
    path = Path(file).resolve()
    return str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else file

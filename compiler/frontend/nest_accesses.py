"""Accesses of loop nests at places that elements of arrays decide: ``"keys[i] % 16"``.

An array with such an access is a memory (`compiler.ir.program.Memory`), and all accesses to it go there. A load is a
statement of its own before the operation that uses its word; a store is the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod

import islpy as isl
import lark

from compiler.frontend import kernel
from compiler.frontend.address import affine_map, parse_address
from compiler.frontend.kernel import Typed
from compiler.ir.expr import Const, Expr, Load, Read, Store
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Location, Memory, Statement
from compiler.ir.types import BIT, Int, ProgramError, Type

__all__ = ["INDEX", "DataAccesses", "Nest", "Request", "array_index", "cell", "data_arrays"]

INDEX = Int(32)
"""The type of an index while it is computed."""

_OPERATIONS: Mapping[str, Callable[[Typed, Typed], Typed]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b}


@dataclass(frozen=True)
class Request:
    """One `add_load` or `add_store` call; addresses fastest first."""

    array: str
    addresses: tuple[str, ...]
    location: Location

    def trees(self) -> list[tuple[str, lark.Tree]]:
        """Addresses with their trees, in numpy order. Raises `ProgramError`."""
        return [(text, parse_address(text)) for text in reversed(self.addresses)]


def elements(request: Request) -> list[lark.Tree]:
    """The elements of arrays that the addresses of a request use."""
    return [element for _, tree in request.trees() for element in tree.find_data("element")]


def data_arrays(request: Request) -> list[str]:
    """The arrays that a request accesses at places that depend on data. Raises `ProgramError`."""
    used = elements(request)
    inside = [str(element.children[0]) for element in used
              if any(True for index in element.children[1:] for _ in index.find_data("element"))]
    return [request.array, *inside] if used else []


@dataclass
class Nest:
    """What all operations of a program share: `types` of arrays, `constants` of addresses, the names that are `used`,
    and the arrays that are memories, with the place of each."""

    types: Mapping[str, Type]
    constants: Mapping[str, int]
    used: set[str]
    memories: dict[str, tuple[Array, Memory, Location]] = field(default_factory=dict)
    scalars: dict[str, Type] = field(default_factory=dict)

    def add_memory(self, array: Array, place: Location) -> None:
        """`array` is a memory."""
        memory = Memory(self.new_name(f"{array.name}_memory"), prod(array.shape), array.type, array.name)
        self.memories[array.name] = array, memory, place

    def add_scalar(self, name: str, type: Type) -> str:
        """A new array of one element: its name."""
        name = self.new_name(name)
        self.scalars[name] = type
        return name

    def new_name(self, name: str) -> str:
        """`name`, or what follows it if that is taken."""
        name = fresh_name(name, self.used)
        self.used.add(name)
        return name

    def rank(self, number: int) -> tuple[int, ...]:
        """The last part of the time of statement `number` of an operation."""
        return (number,) if self.memories else ()


def array_index(subscripts: Sequence[Typed], shape: Sequence[int]) -> Expr:
    """The number of an element in row-major order."""
    if len(subscripts) != len(shape):
        raise ProgramError(f"it has {len(shape)} dimensions and is accessed with {len(subscripts)}")
    pairs = list(zip(subscripts, shape, strict=True))
    return reduce(lambda index, pair: index * pair[1] + pair[0], pairs[1:], pairs[0][0]).expr


@dataclass
class DataAccesses:
    """The accesses of one operation, `op`, which has neither accesses nor its value yet. `loads` become the statements
    before it."""

    op: Statement
    nest: Nest
    loads: list[Statement] = field(default_factory=list)

    def load(self, request: Request) -> Access:
        """What delivers the word of a request, after the loads that it needs. Raises `ProgramError`, without naming
        the statement."""
        return self._load(request.array, request.trees(), request.location)

    def complete(self, reads: Sequence[Access], value: Expr, request: Request) -> Statement:
        """The operation with its reads, which stores its value where `request` says. Raises `ProgramError`."""
        every = list(reads)
        if request.array not in self.nest.memories:
            write = self._load(request.array, request.trees(), request.location)
            return replace(self.op, reads=tuple(reads), write=write, value=value)
        array, memory, _ = self.nest.memories[request.array]
        if array.role == "input":
            raise ProgramError(f"'{request.array}' is an input, which nothing stores to")
        index = self._index(request.array, request.trees(), request.location, every)
        if value.type != memory.type:
            raise ProgramError(f"{value.type} is stored to an array of {memory.type}")
        token = self.nest.add_scalar(f"{self.op.name}_stored", BIT)
        store = Store(memory.name, index, value, Const(1, BIT), ())
        return replace(self.op, reads=tuple(every), value=store, write=cell(self.op, token, request.location))

    def _load(self, array: str, trees: Sequence[tuple[str, lark.Tree]], location: Location) -> Access:
        if array not in self.nest.memories:
            return Access(array, affine_map(self.op.domain.get_space(), array, trees, self.nest.constants), location)
        reads: list[Access] = []
        index = self._index(array, trees, location, reads)
        memory = self.nest.memories[array][1]
        name = self.nest.new_name(f"{self.op.name}_load")
        word = self.nest.add_scalar(f"{name}ed", memory.type)
        before = Statement(name, self.op.iterators, self.op.domain.set_tuple_name(name), tuple(reads),
                           cell(self.op, word, location), Load(memory.name, index, (), memory.type), location)
        self.loads.append(_renamed(before, name))
        return cell(self.op, word, location)

    def _index(self, array: str, trees: Sequence[tuple[str, lark.Tree]], location: Location,
               reads: list[Access]) -> Expr:
        """The number of the element at an address, whose own elements `reads` gets."""
        subscripts = [self._value(text, tree, location, reads) for text, tree in trees]
        return array_index(subscripts, self.nest.memories[array][0].shape)

    def _value(self, text: str, tree: lark.Tree, location: Location, reads: list[Access]) -> Typed:
        if tree.data == "element":
            return self._element(text, tree, location, reads)
        if tree.data == "number":
            return kernel.constant(INDEX, int(str(tree.children[0])))
        if tree.data == "name":
            return self._named(text, str(tree.children[0]))
        parts = [self._value(text, child, location, reads) for child in tree.children if isinstance(child, lark.Tree)]
        if tree.data == "negate":
            return 0 - parts[0]
        if tree.data in _OPERATIONS:
            return _OPERATIONS[tree.data](*parts)
        divisor = parts[1].expr
        if not isinstance(divisor, Const) or divisor.value < 1:
            raise ProgramError(f"address '{text}' divides by something else than a positive constant")
        return parts[0] // divisor.value if tree.data == "floor_divide" else parts[0] % divisor.value

    def _named(self, text: str, name: str) -> Typed:
        if name in self.op.iterators:
            return kernel.iterator(name, INDEX)
        if name in self.nest.constants:
            return kernel.constant(INDEX, self.nest.constants[name])
        known = ", ".join([*self.op.iterators, *self.nest.constants]) or "none"
        raise ProgramError(f"address '{text}' names '{name}', no loop around it and no constant; there are: {known}")

    def _element(self, text: str, tree: lark.Tree, location: Location, reads: list[Access]) -> Typed:
        array, *indices = tree.children
        if array not in self.nest.types:
            known = ", ".join(self.nest.types)
            raise ProgramError(f"address '{text}' reads '{array}', which is no array; there are: {known}")
        type = self.nest.types[str(array)]
        if not isinstance(type, Int):
            raise ProgramError(f"address '{text}' reads '{array}' of {type}; an index is an integer")
        trees = [(text, index) for index in reversed(indices) if isinstance(index, lark.Tree)]
        reads.append(self._load(str(array), trees, location))
        return kernel.cast(INDEX, Typed(Read(len(reads) - 1, type)))


def cell(op: Statement, scalar: str, location: Location) -> Access:
    """The only element of an array for every iteration of `op`."""
    cell = isl.Set(f"{{ {scalar}[0] }}")
    return Access(scalar, isl.Map.from_domain_and_range(isl.Set.universe(op.domain.get_space()), cell), location)


def _renamed(statement: Statement, name: str) -> Statement:
    """`statement`, whose accesses are maps from the iterations of `name`."""
    def access(old: Access) -> Access:
        return replace(old, map=old.map.set_tuple_name(isl.dim_type.in_, name))

    return replace(statement, reads=tuple(map(access, statement.reads)), write=access(statement.write))

"""The verifier of programs: what every front end, transform and target may rely on.

A program that passes has known names, exact types, bounded domains, accesses inside their arrays, an order that gives
every statement instance its own time, no read of an element that was never written, and completely written outputs.
Elements may be written several times; the order says which value a read sees.
"""

from __future__ import annotations

from itertools import combinations

import islpy as isl

from compiler.ir import expr
from compiler.ir.check_data import check_bounds, check_initialised, check_outputs
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Lookup, Read, Store, postorder
from compiler.ir.isomorphism import check_shared
from compiler.ir.limits import check_array_bytes
from compiler.ir.memory_order import check_memories
from compiler.ir.names import check_name
from compiler.ir.program import ROLES, Access, Array, Program, Statement
from compiler.ir.types import BIT, Fixed, Float, Int, ProgramError, Type

__all__ = ["verify"]

def verify(program: Program, guarded: bool = False) -> None:
    """Raise `ProgramError` with the first fault of `program`. `guarded`: reads may be without an element where a guard
    of the value is closed, as the compiler makes them.

    Faults of a statement name it and its source line; faults of its data name the first offending iteration in
    execution order.
    """
    _check_declarations(program)
    for statement in program.statements:
        _check_domain(statement)
        for access in (*statement.reads, statement.write):
            _check_access(program, statement, access, guarded and access is not statement.write)
        _check_write(program, statement)
        _check_value(program, statement)
    check_shared(program)
    check_memories(program, guarded)
    _check_order(program)
    check_bounds(program)
    check_initialised(program)
    check_outputs(program)


def _check_declarations(program: Program) -> None:
    _check_unique([item.name for item in (*program.arrays, *program.tables, *program.memories)],
                  "array, table or memory")
    _check_unique([statement.name for statement in program.statements], "statement")
    for array in program.arrays:
        _check_array(array)
    check_array_bytes({array.name: (array.shape, array.type.width) for array in program.arrays
                       if array.role != "intermediate"})
    check_array_bytes({memory.name: ((memory.words,), memory.type.width) for memory in program.memories})
    for memory in program.memories:
        if memory.initial is not None and not _holds(memory.type, memory.initial):
            raise ProgramError(f"memory '{memory.name}' begins with {memory.initial}, which does not fit {memory.type}")
    for table in program.tables:
        _check_table(table.name, table.values, table.type)
    if not program.outputs:
        raise ProgramError(f"program '{program.name}' has no output")


def _check_unique(names: list[str], kind: str) -> None:
    for name in names:
        check_name(name, f"{kind} '{name}'")
        if names.count(name) > 1:
            raise ProgramError(f"{kind} '{name}' is declared twice")


def _check_array(array: Array) -> None:
    if array.role not in ROLES:
        raise ProgramError(f"array '{array.name}' has role '{array.role}', not one of {', '.join(ROLES)}")
    if any(size < 1 for size in array.shape):
        raise ProgramError(f"array '{array.name}' of shape {list(array.shape)} has no elements")


def _check_table(name: str, values: tuple[int, ...], type: Type) -> None:
    if not values:
        raise ProgramError(f"table '{name}' is empty")
    for index, value in enumerate(values):
        if not _holds(type, value):
            raise ProgramError(f"table '{name}': entry {index}, {value}, does not fit {type}")


def _holds(type: Type, value: int) -> bool:
    """Whether words of a type can be given as constants, and `value` is one of them."""
    return not isinstance(type, Fixed) and type.contains(value)


def _check_domain(statement: Statement) -> None:
    for name in statement.iterators:
        check_name(name, str(statement))
    if len(set(statement.iterators)) != len(statement.iterators):
        raise ProgramError(f"{statement} has two iterators of the same name")
    domain = statement.domain
    if domain.dim(isl.dim_type.param):
        raise ProgramError(f"{statement}: its domain has parameters; sizes must be numbers")
    if _tuple_name(domain) != statement.name or domain.dim(isl.dim_type.set) != len(statement.iterators):
        raise ProgramError(f"{statement}: its domain is over {_space_text(domain)}, not its own iterators")
    if domain.is_empty():
        raise ProgramError(f"{statement} has an empty domain")
    if not domain.is_bounded():
        raise ProgramError(f"{statement} has an unbounded domain")


def _tuple_name(domain: isl.Set) -> str:
    return domain.get_tuple_name() if domain.has_tuple_name() else ""


def _space_text(domain: isl.Set) -> str:
    return f"{_tuple_name(domain)}[{domain.dim(isl.dim_type.set)} dimensions]"


def _check_access(program: Program, statement: Statement, access: Access, partial: bool) -> None:
    label = statement.label(access)
    if all(array.name != access.array for array in program.arrays):
        known = ", ".join(array.name for array in program.arrays)
        raise ProgramError(f"{label}: there is no array '{access.array}'; there are: {known}")
    array = program.array(access.array)
    target = access.map.get_tuple_name(isl.dim_type.out) if access.map.has_tuple_name(isl.dim_type.out) else ""
    if target != array.name:
        raise ProgramError(f"{label}: the access to '{array.name}' maps to '{target}'")
    if access.map.dim(isl.dim_type.out) != len(array.shape):
        count = access.map.dim(isl.dim_type.out)
        raise ProgramError(f"{label}: '{array.name}' has {len(array.shape)} dimensions and is accessed with {count}")
    if access.map.domain().get_space() != statement.domain.get_space():
        raise ProgramError(f"{label}: the access to '{array.name}' is not a map from the statement's iterations")
    used = access.map.intersect_domain(statement.domain)
    everywhere = partial or statement.domain.is_subset(used.domain())
    if not everywhere or not used.is_single_valued():
        raise ProgramError(f"{label}: the access to '{array.name}' does not give every iteration exactly one element")


def _check_write(program: Program, statement: Statement) -> None:
    name = statement.write.array
    if program.array(name).role == "input":
        raise ProgramError(f"{statement.label(statement.write)} writes '{name}', which is an input")


def _check_value(program: Program, statement: Statement) -> None:
    try:
        for node in postorder(statement.value):
            _check_node(program, statement, node)
    except ProgramError as error:
        raise ProgramError(f"{statement}: {error}") from None
    target = program.array(statement.write.array)
    if statement.value.type != target.type:
        raise ProgramError(f"{statement} computes {statement.value.type} for '{target.name}' of {target.type}; "
                           f"cast({target.type}, value) converts, or declare the array as {statement.value.type}")


def _check_node(program: Program, statement: Statement, node: Expr) -> None:
    """Raise `ProgramError`, without naming the statement, if `node` is ill-typed; its operands are checked already."""
    match node:
        case Const(value, type):
            if isinstance(type, Fixed) or not type.contains(value):
                raise ProgramError(f"constant {value} does not fit {type}")
        case Read(index, type):
            _check_read(program, statement, index, type)
        case expr.Iterator(name, type):
            if name not in statement.iterators:
                known = ", ".join(statement.iterators) or "none"
                raise ProgramError(f"'{name}' is no iterator of it; there are: {known}")
            _check_integers("the value of an iterator", type)
        case Apply(op, args, type):
            _check_apply(op, args, type)
        case Cast(arg, type):
            _check_numbers("a conversion", arg.type, type)
        case Lookup(name, index, type):
            _check_integers("a table lookup", index.type)
            _check_numbers("a table lookup", type)
            if program.table(name).type != type:
                raise ProgramError(f"table '{name}' holds {program.table(name).type}, not {type}")
        case Load(name, index, _, type):
            _check_memory(program, name, index, type)
        case Store(name, index, stored, enable, _):
            _check_memory(program, name, index, stored.type)
            if enable.type != BIT:
                raise ProgramError(f"a store to '{name}' is enabled by {enable.type}, not by a bit")


def _check_memory(program: Program, name: str, index: Expr, type: Type) -> None:
    _check_integers("an access to a memory", index.type)
    _check_numbers("an access to a memory", type)
    if program.memory(name).type != type:
        raise ProgramError(f"memory '{name}' holds {program.memory(name).type}, not {type}")


def _check_read(program: Program, statement: Statement, index: int, type: Type) -> None:
    if not 0 <= index < len(statement.reads):
        raise ProgramError(f"its value uses read {index}; it has {len(statement.reads)} reads")
    array = program.array(statement.reads[index].array)
    if array.type != type:
        raise ProgramError(f"read {index} delivers {array.type} from '{array.name}', not {type}")


def _check_apply(op: str, args: tuple[Expr, ...], type: Type) -> None:
    result = expr.result_type(op, [arg.type for arg in args])
    if result != type:
        raise ProgramError(f"operation '{op}' gives {result}, not {type}")
    if op == "lut3" and not isinstance(args[0], Const):
        raise ProgramError("the truth table of 'lut3' must be a constant")


def _check_integers(what: str, *types: Type) -> None:
    for type in types:
        if not isinstance(type, Int):
            raise ProgramError(f"{what} with {type}: only integers are supported")


def _check_numbers(what: str, *types: Type) -> None:
    for type in types:
        if isinstance(type, Fixed) or (isinstance(type, Float) and not type.computable):
            raise ProgramError(f"{what} with {type}: only integers and floating-point numbers within float8.23 are "
                               "supported")


def _check_order(program: Program) -> None:
    times: list[tuple[Statement, isl.Set]] = []
    for statement in program.statements:
        order = program.order_of(statement.name).intersect_domain(statement.domain)
        if not statement.domain.is_subset(order.domain()) or not order.is_single_valued() or not order.is_injective():
            raise ProgramError(f"{statement}: the order does not give every iteration its own time")
        times.append((statement, order.range()))
    if len({time.dim(isl.dim_type.set) for _, time in times}) > 1:
        raise ProgramError(f"program '{program.name}': the order has time vectors of different lengths")
    for (first, first_times), (second, second_times) in combinations(times, 2):
        if not first_times.is_disjoint(second_times):
            raise ProgramError(f"{second}: the order puts an iteration of it at the time of one of '{first.name}'")

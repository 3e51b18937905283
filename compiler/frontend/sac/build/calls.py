"""Calls: functions of the program, C's mathematical functions, and operations on whole arrays (Hammes 2000, sections
2.3 and 2.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.frontend.sac.arithmetic import INTRINSICS, SEVERAL
from compiler.frontend.sac.build.braces import build_record
from compiler.frontend.sac.build.bundles import complex_of
from compiler.frontend.sac.build.reductions import REDUCTIONS, RETURNS, check_label, check_reduced
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import (
    Value,
    assign,
    constant_value,
    convert,
    imaginary_zero,
    known_integer,
    take_value,
)
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Call, Captures, Expression, Function, Place
from compiler.frontend.sac.types import BOOL, DOUBLE, SIZE, Kind, Type

__all__ = ["build_call"]


def build_call(node: Call, scope: Scope) -> tuple[Value, ...]:
    """The values of a call. Raises `SacError` for a name that means nothing here."""
    for argument in node.arguments:
        if isinstance(argument, Captures) and node.function not in scope.records.bundles:
            raise SacError(argument.place, f"{node.function}(...) takes no values in braces")
    if node.function in scope.functions:
        return _function(node, scope.functions[node.function], scope)
    if node.function in scope.records.bundles:
        return (build_record(node.function, node.arguments, scope, node.place),)
    builder = _BUILT_IN.get(node.function)
    if builder is not None:
        return builder(node, scope)
    if node.function in INTRINSICS:
        return (_intrinsic(node, scope),)
    if node.function in SEVERAL:
        return tuple(_intrinsic(replace(node, function=part), scope) for part in SEVERAL[node.function])
    reduced = node.function.removeprefix("array_accum_").removeprefix("array_")
    if node.function.startswith("array_") and reduced in REDUCTIONS:
        return (_array_reduction(node, reduced, scope),)
    if node.function in RETURNS:
        other = f"; array_{node.function}(...) reduces an array" if node.function in REDUCTIONS else ""
        raise SacError(node.place, f"{node.function}(...) is what a loop returns, directly behind its return{other}")
    raise SacError(node.place, f"there is no function '{node.function}'")


def _function(node: Call, function: Function, scope: Scope) -> tuple[Value, ...]:
    if len(node.arguments) != len(function.parameters):
        raise SacError(node.place, f"'{function.name}' takes {len(function.parameters)} arguments, not "
                                   f"{len(node.arguments)}")
    wires: list[Wire] = []
    for written, parameter in zip(_expressions(node), function.parameters, strict=True):
        what = f"parameter '{parameter.name}' of '{function.name}'" if parameter.name else "the argument"
        value = assign(scope.graph, scope.value(written), scope.records.meant(parameter.type), written.place, what)
        wires += value.wires
    meants = [scope.records.meant(result) for result in function.results]
    types = [t for meant in meants for t in meant.types]
    if function.body is None:
        parts = tuple(len(scope.records.meant(parameter.type).types) for parameter in function.parameters)
        leaving = iter(scope.graph.add("FOREIGN", wires, types, node.place, function=function.name, parameters=parts,
                                       results=tuple(len(meant.types) for meant in meants)))
    else:
        leaving = iter(scope.graph.add("FCALL", wires, types, node.place, function=function.name))
    return tuple(take_value(meant, leaving) for meant in meants)


def _intrinsic(node: Call, scope: Scope) -> Value:
    """A function of C's library on `double`."""
    count, _ = INTRINSICS[node.function]
    wires = [convert(scope.graph, _number(v, node), DOUBLE, node.place).wire for v in _values(node, scope, count)]
    return Value(tuple(scope.graph.add("INTRINSIC", wires, [Type(DOUBLE)], node.place, function=node.function)))


def _number(value: Value, node: Call) -> Value:
    if value.bundle or value.type.is_array or not value.type.scalar.numeric:
        raise SacError(node.place, f"{node.function}(...) is of numbers, not {value}")
    return value


def _values(node: Call, scope: Scope, least: int, most: int | None = None) -> list[Value]:
    count = len(node.arguments)
    if not least <= count <= (most or least):
        wanted = str(least) if most in (None, least) else f"{least} to {most}"
        raise SacError(node.place, f"{node.function}(...) takes {wanted} arguments, not {count}")
    return [scope.value(argument) for argument in _expressions(node)]


def _expressions(node: Call) -> list[Expression]:
    return [argument for argument in node.arguments if not isinstance(argument, Captures)]


def _extents(node: Call, scope: Scope) -> tuple[Value, ...]:
    (array,) = _values(node, scope, 1)
    _needs_array(array, node)
    wires = scope.graph.add("EXTENTS", [array.wire], [Type(SIZE)] * array.wire.type.rank, node.place)
    return tuple(Value((wire,)) for wire in wires[:array.type.rank])


def _needs_array(value: Value, node: Call) -> None:
    if not value.type.is_array:
        raise SacError(node.place, f"{node.function}(...) is of arrays, not of {value}")


def _concatenation(node: Call, scope: Scope) -> tuple[Value, ...]:
    left, right = _values(node, scope, 2)
    same = left.element == right.element and not left.is_nested
    if not left.type.is_array or left.type.rank != right.type.rank or not same:
        flat = "whose fields are no arrays, " if left.is_nested else ""
        raise SacError(node.place, f"array_concat(...) joins arrays of one type and rank, {flat}not {left} and {right}")
    pairs = list(zip(left.type.extents, right.type.extents, strict=True))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs[:-1]):
        raise SacError(node.place, f"array_concat({left}, {right}): extents but the last are equal")
    last = None if None in pairs[-1] else sum(e for e in pairs[-1] if e is not None)
    extents = (*(a if b is None else b for a, b in pairs[:-1]), last)
    others = iter(right.wires)
    return (left.map(lambda wire: scope.graph.add("ARRAY_CONCAT", [wire, next(others)],
                                                  [Type(wire.type.scalar, extents)], node.place)[0]),)


def _perimeter(node: Call, scope: Scope) -> tuple[Value, ...]:
    """``array_conperim (A, width, value)``: a border of a constant around an array."""
    array, width, border = _values(node, scope, 3)
    _needs_array(array, node)
    if array.bundle or width.bundle or border.bundle or width.type.scalar.kind not in (Kind.INT, Kind.UINT) or (
            border.type.is_array):
        raise SacError(node.place, f"array_conperim({array}, {width}, {border}): an array of real numbers, an integer "
                                   "width and a scalar are needed")
    known = known_integer(width)
    result = Type(array.type.scalar, tuple(None if e is None or known is None else e + 2 * known
                                           for e in array.type.extents))
    wires = [array.wire, convert(scope.graph, width, SIZE, node.place).wire,
             convert(scope.graph, border, array.type.scalar, node.place).wire]
    return (Value(tuple(scope.graph.add("ARR_CONPERIM", wires, [result], node.place))),)


def _loop_indices(node: Call, scope: Scope) -> tuple[Value, ...]:
    """The indices of the iteration, of the loop around this."""
    _values(node, scope, 0)
    found: Scope | None = scope
    while found is not None and found.rank is None:
        found = found.parent
    if found is None or found.rank is None:
        raise SacError(node.place, "loop_indices() is for bodies of loops")
    wires = found.graph.add("LOOP_INDICES", [], [Type(SIZE)] * found.rank, node.place)
    return tuple(Value((wire,)) for wire in wires)


def _real(node: Call, scope: Scope) -> tuple[Value, ...]:
    value = _plain(node, scope)
    return (Value(value.wires[:1]),)


def _plain(node: Call, scope: Scope) -> Value:
    """The only argument, which is no record."""
    (value,) = _values(node, scope, 1)
    if value.is_record:
        raise SacError(node.place, f"{node.function}(...) is of numbers, not {value}")
    return value


def _imaginary(node: Call, scope: Scope) -> tuple[Value, ...]:
    value = _plain(node, scope)
    wire = value.wires[1] if value.is_complex else imaginary_zero(scope.graph, value.wire, node.place)
    return (Value((wire,)),)


def _complex(node: Call, scope: Scope) -> tuple[Value, ...]:
    """``make_complex (re, im)``: both of one type with a sign."""
    real, imaginary = _values(node, scope, 2)
    scalar = real.type.scalar
    parts = real.bundle or imaginary.bundle
    if parts or real.type != imaginary.type or not (scalar.signed or scalar.floating):
        raise SacError(node.place, f"make_complex({real}, {imaginary}): both parts have one type with a sign; cast "
                                   "them")
    return (Value((real.wire, imaginary.wire), complex_of(scalar)),)


def _array_reduction(node: Call, name: str, scope: Scope) -> Value:
    """``array_sum (A, mask)``, ``array_accum_sum (A, labels, extent, mask)``: a loop over the elements."""
    accumulates, sized = node.function.startswith("array_accum_"), name == "histogram"
    fixed = 1 + 2 * accumulates + sized
    values = _values(node, scope, fixed, fixed + 1)
    sizes = values[1 + accumulates:fixed]
    arrays = [values[0], *values[1:1 + accumulates], *values[fixed:]]
    for array in arrays:
        _needs_array(array, node)
    if values[0].is_record or any(array.bundle for array in arrays[1:]):
        raise SacError(node.place, f"{node.function}({', '.join(map(str, values))}): the arrays hold numbers; take a "
                                   "field of records")
    if any(array.type.rank != values[0].type.rank for array in arrays):
        raise SacError(node.place, f"{node.function}({', '.join(map(str, values))}): the arrays have equal shapes")
    known = [_size_wire(size, node, scope) for size in sizes]
    return _element_loop(node.place, scope, arrays, known, name, accumulates)


def _size_wire(size: Value, node: Call, scope: Scope) -> Wire:
    if size.bundle or size.type.is_array or size.type.scalar.kind not in (Kind.INT, Kind.UINT):
        raise SacError(node.place, f"an extent of {node.function}(...) is an integer, not {size}")
    return convert(scope.graph, size, SIZE, node.place).wire


def _element_loop(place: Place, scope: Scope, arrays: list[Value], sizes: list[Wire], name: str, accumulates: bool
                  ) -> Value:
    graph = GraphBuilder(scope.graph)
    dot = GraphBuilder(graph)
    pattern = "~" * arrays[0].type.rank
    one = [constant_value(1, SIZE).wire] * len(pattern)
    wires = [dot.add("ELEGEN", [wire, *one], [Type(wire.type.scalar), *[Type(SIZE)] * len(pattern)], place,
                     pattern=pattern)[0] for array in arrays for wire in array.wires]
    elements = graph.add("DOT", dot.sources, [w.type for w in wires], place, (dot.finish(wires),))
    count = len(arrays[0].wires)
    value, others = Value(tuple(elements[:count]), arrays[0].bundle), elements[count:]
    check_reduced(value, name, place)
    if accumulates:
        check_label(Value((others[0],)), place)
    labels, masks = others[:accumulates], [convert(graph, Value((w,)), BOOL, place).wire for w in others[accumulates:]]
    # An accumulation's extents are the labels', then the histogram's.
    known = tuple(known_integer(Value((w,))) for w in sizes)
    result = Type(SIZE if name == "histogram" else value.type.scalar, known)
    kind = f"{'ACCUM_' if accumulates else ''}{REDUCTIONS[name]}"
    leaving = [graph.add(kind, [wire, *labels, *sizes, *masks], [result], place)[0] for wire in value.wires]
    return Value(tuple(scope.graph.add("FORALL", graph.sources, [result] * len(leaving), place,
                                       (graph.finish(leaving),))), arrays[0].bundle)


_BUILT_IN: dict[str, Callable[[Call, Scope], tuple[Value, ...]]] = {
    "extents": _extents, "array_concat": _concatenation, "array_conperim": _perimeter, "loop_indices": _loop_indices,
    "real": _real, "imag": _imaginary, "make_complex": _complex,
}

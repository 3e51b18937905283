"""`Array`: what the user handles. Numpy's operators, methods and names, building expressions.

    x = input("x", (480, 640), "uint8")
    y = (x[1:, :].astype("uint16") + x[:-1, :]) >> 1
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Union

import numpy as np

from compiler.frontend.parallel_array.element_types import (
    BOOL,
    FLOAT32,
    FLOATS,
    bounds,
    common_type,
    element_type,
    fit_scalar,
    sum_type,
)
from compiler.frontend.parallel_array.expression import (
    Apply,
    Boundary,
    Expression,
    Input,
    Literal,
    Reduce,
)
from compiler.frontend.parallel_array.location import ArrayError, Location, here
from compiler.frontend.parallel_array.reference import FLOAT_OPERATIONS, OF_FLOATS
from compiler.frontend.parallel_array.views import (
    MOST_DIMENSIONS,
    broadcast,
    broadcast_shape,
    permuted,
    section_of,
    sliced,
)

__all__ = ["Array", "ArrayLike", "apply", "array", "array_constant", "as_array", "input", "reduce", "unsupported"]

ArrayLike = Union["Array", np.ndarray, np.generic, int, float, bool]

_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class Array:
    """A lazily evaluated array of integers, float32 or bfloat16: an expression with operators.

    All operators and methods give new arrays and raise `ArrayError` naming the source line. Arithmetic wraps at the
    element type as in numpy; the rules for mixed types are those of `element_types`.
    """

    __slots__ = ("expression",)
    expression: Expression

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per dimension."""
        return self.expression.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self.expression.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise here().error("a scalar has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Array({'x'.join(map(str, self.shape)) or 'scalar'} {self.dtype} at {self.expression.location})"

    def __bool__(self) -> bool:
        raise here().error("the elements are not known yet: use where(), any() or all(), not if")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise here().error("the elements are not known yet; take(table, indices) looks them up in an array of numpy's")

    def __iter__(self) -> Any:
        if not self.shape:
            raise here().error("a scalar cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from compiler.frontend.parallel_array.named import method_of

        found = method_of(name)
        if found is None:
            raise unsupported(name, here())
        return partial(found, self)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        """From now on this array has other elements in a section with steps of 1 or -1. Expressions that were made of
        it before, sections too, keep the old ones."""
        from compiler.frontend.parallel_array.rearranging import with_section

        self.expression = with_section(self, index, as_array(value)).expression

    # Numpy's own functions.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from compiler.frontend.parallel_array.named import call_method, call_numpy

        if method != "__call__":
            return call_method(ufunc.__name__, method, inputs, options)
        return call_numpy(ufunc, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        from compiler.frontend.parallel_array.named import call_numpy

        return call_numpy(function, arguments, options)

    # Arithmetic.

    def __add__(self, other: ArrayLike) -> Array:
        return apply("add", self, other)

    def __radd__(self, other: ArrayLike) -> Array:
        return apply("add", other, self)

    def __sub__(self, other: ArrayLike) -> Array:
        return apply("subtract", self, other)

    def __rsub__(self, other: ArrayLike) -> Array:
        return apply("subtract", other, self)

    def __mul__(self, other: ArrayLike) -> Array:
        return apply("multiply", self, other)

    def __rmul__(self, other: ArrayLike) -> Array:
        return apply("multiply", other, self)

    def __floordiv__(self, other: ArrayLike) -> Array:
        return apply("floor_divide", self, other)

    def __mod__(self, other: ArrayLike) -> Array:
        return apply("remainder", self, other)

    def __divmod__(self, other: ArrayLike) -> tuple[Array, Array]:
        return self // other, self % other

    def __truediv__(self, other: ArrayLike) -> Array:
        return apply("divide", self, other)

    def __rtruediv__(self, other: ArrayLike) -> Array:
        return apply("divide", other, self)

    def __rfloordiv__(self, other: ArrayLike) -> Array:
        return apply("floor_divide", other, self)

    def __rmod__(self, other: ArrayLike) -> Array:
        return apply("remainder", other, self)

    def __pow__(self, exponent: int) -> Array:
        from compiler.frontend.parallel_array.named import power

        return power(self, exponent)

    def __lshift__(self, other: ArrayLike) -> Array:
        return apply("left_shift", self, other)

    def __rlshift__(self, other: ArrayLike) -> Array:
        return apply("left_shift", other, self)

    def __rshift__(self, other: ArrayLike) -> Array:
        return apply("right_shift", self, other)

    def __rrshift__(self, other: ArrayLike) -> Array:
        return apply("right_shift", other, self)

    def __and__(self, other: ArrayLike) -> Array:
        return apply("bitwise_and", self, other)

    def __rand__(self, other: ArrayLike) -> Array:
        return apply("bitwise_and", other, self)

    def __or__(self, other: ArrayLike) -> Array:
        return apply("bitwise_or", self, other)

    def __ror__(self, other: ArrayLike) -> Array:
        return apply("bitwise_or", other, self)

    def __xor__(self, other: ArrayLike) -> Array:
        return apply("bitwise_xor", self, other)

    def __rxor__(self, other: ArrayLike) -> Array:
        return apply("bitwise_xor", other, self)

    def __invert__(self) -> Array:
        if self.dtype == BOOL:
            return apply("bitwise_xor", self, True)
        return apply("bitwise_xor", self, -1 if self.dtype.kind == "i" else bounds(self.dtype)[1])

    def __neg__(self) -> Array:
        return apply("negative", self) if self.dtype in FLOATS else apply("subtract", 0, self)

    def __pos__(self) -> Array:
        return self

    def __abs__(self) -> Array:
        return self if self.dtype.kind not in "if" else apply("absolute", self)

    def __matmul__(self, other: ArrayLike) -> Array:
        from compiler.frontend.parallel_array.products import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        from compiler.frontend.parallel_array.products import matmul

        return matmul(other, self)

    # Comparisons give bool.

    def __eq__(self, other: ArrayLike) -> Array:
        return apply("equal", self, other)

    def __ne__(self, other: ArrayLike) -> Array:
        return apply("not_equal", self, other)

    def __lt__(self, other: ArrayLike) -> Array:
        return apply("less", self, other)

    def __le__(self, other: ArrayLike) -> Array:
        return apply("less_equal", self, other)

    def __gt__(self, other: ArrayLike) -> Array:
        return apply("greater", self, other)

    def __ge__(self, other: ArrayLike) -> Array:
        return apply("greater_equal", self, other)

    # Types and shapes.

    def astype(self, dtype: Any) -> Array:
        """Elements converted to `dtype`: cut to its bits, as in numpy; to bool: whether not 0. Fractions are cut off;
        what then does not fit is as in C compiled by gcc for x86-64."""
        location = here()
        wanted = element_type(dtype, location)
        if wanted == self.dtype:
            return self
        if wanted == BOOL:
            return self != 0
        if self.dtype in FLOATS and wanted not in FLOATS and wanted.itemsize < 4:
            return self.astype(np.int32).astype(wanted)
        return Array(Apply(self.shape, wanted, location, "convert", (self.expression,), wanted))

    def __getitem__(self, index: Any) -> Array:
        """Basic indexing: integers, slices with steps of either sign, ``...`` and ``None``; or, of a 1-D array, the
        entries at an array of indices (`functions.take`)."""
        if isinstance(index, Array | np.ndarray | list):
            return self.take(index)
        return Array(sliced(self.expression, index, here()))

    def section(self, starts: int | Sequence[int], shape: int | Sequence[int], steps: int | Sequence[int] = 1,
                boundary: Boundary | Sequence[Boundary] | None = None) -> Array:
        """`shape` elements from `starts` on, every `steps`-th. Indices outside follow `boundary`; without one they
        are an error."""
        return Array(section_of(self.expression, starts, shape, steps, boundary, here()))

    @property
    def T(self) -> Array:  # noqa: N802 (numpy's name)
        """Dimensions in reverse order."""
        return self.transpose()

    def transpose(self, *axes: int) -> Array:
        """Dimensions in the order of `axes` (reversed if none are given)."""
        order = axes if axes else tuple(reversed(range(self.ndim)))
        return Array(permuted(self.expression, order, here()))

    # Reductions.

    def sum(self, axis: int | Sequence[int] | None = None, dtype: Any = None, keepdims: bool = False) -> Array:
        """Sum over `axis` (all axes by default), in 32 bits or in `dtype`, wrapping."""
        location = here()
        kind = sum_type(self.dtype) if dtype is None else element_type(dtype, location)
        return reduce("add", self.astype(kind), axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        """Least element along `axis`."""
        return reduce("minimum", self, axis, keepdims)

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        """Greatest element along `axis`."""
        return reduce("maximum", self, axis, keepdims)

    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        """Whether some element along `axis` is not 0."""
        return reduce("maximum", self.astype(BOOL), axis, keepdims)

    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        """Whether no element along `axis` is 0."""
        return reduce("minimum", self.astype(BOOL), axis, keepdims)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
        """Elements limited to `min`..`max`."""
        result = self if min is None else apply("maximum", self, min)
        return result if max is None else apply("minimum", result, max)

    def reshape(self, *shape: Any) -> Array:
        """The same elements in another shape (`reshaping.reshape`)."""
        from compiler.frontend.parallel_array.reshaping import reshape

        return reshape(self, *shape)

    def take(self, indices: ArrayLike | Sequence[int], axis: int | None = None, mode: str = "raise") -> Array:
        """Entries of this 1-D array at `indices`: `functions.take`."""
        from compiler.frontend.parallel_array.functions import take

        return take(self, indices, axis, mode)

    def dot(self, other: ArrayLike) -> Array:
        """Inner product with `other` (1-D), or matrix product."""
        from compiler.frontend.parallel_array.products import dot

        return dot(self, other)


def input(name: str, shape: int | Sequence[int], dtype: Any, low: int | None = None, high: int | None = None) -> Array:
    """An array that is given at evaluation. `low` and `high` promise a narrower range than the type's; evaluation
    checks the promise, and the compiler uses it."""
    location = here()
    if not name.isidentifier():
        raise location.error(f"'{name}' is no name for an input: use a Python identifier")
    kind = element_type(dtype, location)
    least, greatest = bounds(kind)
    range_ = (least if low is None else low, greatest if high is None else high)
    if not least <= range_[0] <= range_[1] <= greatest:
        raise location.error(f"the range {range_[0]} to {range_[1]} does not lie in {kind} ({least} to {greatest})")
    return Array(Input(_shape(shape, location), kind, location, name, *range_))


def array(data: Any, name: str, dtype: Any = None) -> Array:
    """An input with its data: `evaluate` needs nothing more for it."""
    location = here()
    values = np.asarray(data)
    kind = element_type(values.dtype if dtype is None else dtype, location)
    typed = values.astype(kind)
    if not ((typed == values) | (typed != typed)).all():
        raise location.error(f"the data do not fit {kind}")
    least, greatest = bounds(kind)
    return Array(Input(_shape(values.shape, location), kind, location, name, least, greatest, typed))


def _shape(shape: int | Sequence[int], location: Location) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if len(sizes) > MOST_DIMENSIONS or any(size < 1 for size in sizes):
        raise location.error(f"unsupported shape {sizes}: arrays have up to {MOST_DIMENSIONS} dimensions of at least "
                             "one element")
    return tuple(int(size) for size in sizes)


def unsupported(name: str, location: Location) -> ArrayError:
    """The error that there is no operation of that name."""
    instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
    return MissingOperation(f"{location}: unsupported operation: there is no {name} for parallel arrays{instead}")


_COUNTED = "(x.ravel()[:, None] == np.arange(n)).sum(axis=0) counts elements from 0 to n - 1"
_INSTEAD = {
    "median": "np.sort(x, axis=-1)[..., n // 2] is the one of an odd number n of elements",
    "bincount": _COUNTED, "histogram": _COUNTED,
    "copy": "x itself does: assignments change no expression made before",
    "flatten": "ravel()", "var": "means of squares less squares of means", "std": "the root of means of squares",
    "view": "astype() converts", "cumprod": "prod() of sections", "floor": "// rounds integers down",
    "round": "integers have (x + n // 2) // n",
}
"""How to write what is not there."""


class MissingOperation(ArrayError, AttributeError):
    """An attribute of numpy's arrays that parallel arrays do not have."""


def as_array(value: ArrayLike, location: Location | None = None) -> Array:
    """`value` as an expression: numbers and numpy arrays become constants. Raises `ArrayError` for anything else."""
    place = location or here()
    if isinstance(value, Array):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return Array(Literal((), FLOAT32, place, np.array(value, np.float64), True))
    if isinstance(value, bool | int) and not isinstance(value, np.generic):
        kind = BOOL if isinstance(value, bool) else np.dtype(np.int32 if value < 2**31 else np.uint32)
        if not -(2**31) <= value < 2**32:
            raise place.error(f"the number {value} does not fit 32 bits")
        return Array(Literal((), kind, place, np.array(value, kind), not isinstance(value, bool)))
    if not isinstance(value, np.ndarray | np.generic):
        raise place.error(f"unsupported operand of type {type(value).__name__}: arrays and numbers are possible")
    data = np.asarray(value)
    return array_constant(_in_words(data) if data.dtype in (np.int64, np.uint64) else data)


def _in_words(data: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits in 32, where they fit: what numpy makes of Python's integers, and `arange`."""
    for kind in (np.int32, np.uint32):
        if ((typed := data.astype(kind)) == data).all():
            return typed
    return data


def array_constant(data: np.ndarray) -> Array:
    """Numbers that are part of the program, of exactly the type that `data` has."""
    location = here()
    return Array(Literal(data.shape, element_type(data.dtype, location), location, data))


def apply(operation: str, *operands: ArrayLike, select: bool = False) -> Array:
    """An elementwise operation by its numpy name. With `select` the first operand is a condition, apart from types."""
    location = here()
    expressions = [as_array(operand, location).expression for operand in operands]
    valued = expressions[1:] if select else expressions
    kind = _compute_type(operation, valued, location)
    if kind in FLOATS and operation not in (*FLOAT_OPERATIONS, "where"):
        raise location.error(f"unsupported operation: there is no {operation} of {kind}")
    if kind not in FLOATS and operation in OF_FLOATS:
        raise location.error(f"unsupported operation: {operation} of {kind}, whose results are fractions: // rounds "
                             "quotients down, astype('float32') makes other numbers of it")
    if operation in _COMPARISONS:
        operation, valued = _in_range(operation, valued, kind)
    valued = [_typed(e, kind, location) for e in valued]
    shape = broadcast_shape([e.shape for e in expressions], location)
    conditions = expressions[:1] if select else []
    parts = tuple(e if e.shape == () else broadcast(e, shape, location) for e in (*conditions, *valued))
    _check(operation, parts, location)
    result = BOOL if operation in _COMPARISONS else kind
    return Array(Apply(shape, result, location, operation, parts, kind))


def _compute_type(operation: str, operands: list[Expression], location: Location) -> np.dtype:
    strong = tuple(e.dtype for e in operands if not (isinstance(e, Literal) and e.weak))
    fractions = [e for e in operands if isinstance(e, Literal) and e.weak and e.dtype == FLOAT32]
    if fractions and all(kind not in FLOATS for kind in strong):
        if strong:
            fit_scalar(float(fractions[0].value), strong[0], location)
        return FLOAT32
    if strong and all(kind == BOOL for kind in strong):
        numbers = [int(e.value) for e in operands if isinstance(e, Literal) and e.weak]
        logical = operation.startswith("bitwise") or operation in ("where", "minimum", "maximum", *_COMPARISONS)
        if not numbers and logical:
            return BOOL
        strong = (np.dtype(np.uint8 if not numbers else np.int32),)
    if not strong:
        strong = (np.dtype(np.int32),)
    return common_type(strong, location)


def _typed(expression: Expression, kind: np.dtype, location: Location) -> Expression:
    """Python integers take the type of the other operands."""
    if not (isinstance(expression, Literal) and expression.weak):
        return expression
    number = float(expression.value) if expression.dtype == FLOAT32 else int(expression.value)
    value = fit_scalar(number, kind, location)
    return Literal((), kind, location, np.array(value, kind))


def _in_range(operation: str, operands: list[Expression], kind: np.dtype) -> tuple[str, list[Expression]]:
    """A comparison with a number that the type does not hold, as one with the least number, of the same answer."""
    if kind in FLOATS:
        return operation, operands
    low, high = bounds(kind)
    for place, operand in enumerate(operands):
        if isinstance(operand, Literal) and operand.weak and not low <= int(operand.value) <= high:
            known = [int(operand.value) if i == place else low for i in range(2)]
            other = operands[1 - place]
            least = Literal((), kind, operand.location, np.array(low, kind))
            return "greater_equal" if getattr(np, operation)(*known) else "less", [other, least]
    return operation, operands


def _check(operation: str, operands: tuple[Expression, ...], location: Location) -> None:
    if operation in ("floor_divide", "remainder"):
        divisor = operands[1]
        if isinstance(divisor, Literal) and not divisor.value.all():
            raise location.error("unsupported operation: a division by 0")


def reduce(operation: str, source: Array, axis: int | Sequence[int] | None, keepdims: bool) -> Array:
    """`operation` along `axis`: those dimensions are moved to the end and reduced."""
    location = here()
    axes = _axes(axis, source.ndim, location)
    if not axes:
        return source
    kept = tuple(i for i in range(source.ndim) if i not in axes)
    moved = permuted(source.expression, (*kept, *axes), location)
    shape = tuple(source.shape[i] for i in kept)
    result = Array(Reduce(shape, source.dtype, location, operation, moved, len(axes)))
    if keepdims:
        return result[tuple(None if i in axes else slice(None) for i in range(source.ndim))]
    return result


def _axes(axis: int | Sequence[int] | None, ndim: int, location: Location) -> tuple[int, ...]:
    wanted = range(ndim) if axis is None else (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    for a in wanted:
        if not -ndim <= a < ndim:
            raise location.error(f"there is no axis {a} in an array of {ndim} dimensions")
    axes = tuple(sorted({a % ndim for a in wanted}))
    if len(axes) != len(wanted):
        raise location.error(f"an axis is named twice in {tuple(wanted)}")
    return axes



"""Sums of products: numpy's products of matrices, contractions and convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters

from compiler.frontend.parallel_array.array import Array, ArrayLike, as_array
from compiler.frontend.parallel_array.functions import sliding_window_view, stretch
from compiler.frontend.parallel_array.location import Location, here
from compiler.frontend.parallel_array.rearranging import diagonal, flip, pad, tile
from compiler.frontend.parallel_array.views import broadcast, broadcast_shape, viewed

__all__ = ["convolve", "correlate", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "trace"]


def dot(a: ArrayLike, b: ArrayLike) -> Array:
    """Inner product of 1-D arrays (wrapping in their common type, as numpy's), matrix product of others."""
    x, y = as_array(a), as_array(b)
    if x.ndim == 1 and y.ndim == 1:
        if x.shape != y.shape:
            raise here().error(f"shapes {x.shape} and {y.shape} do not fit: an inner product needs equal lengths")
        product = x * y
        return product.sum(dtype=product.dtype)
    return matmul(x, y)


def matmul(a: ArrayLike, b: ArrayLike) -> Array:
    """Product of matrices (or of one and a vector), wrapping in their common type; of more than two dimensions those of
    the last two, for all others as they broadcast."""
    x, y = as_array(a), as_array(b)
    if x.ndim == 1 and y.ndim == 1:
        return dot(x, y)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        raise here().error(f"shapes {x.shape} and {y.shape} do not fit: columns of the first, rows of the second")
    if x.ndim > 2 or y.ndim > 2:
        return _batched(x, y)
    rows = x[:, None, :] if x.ndim == 2 and y.ndim == 2 else x
    product = rows * (y.T if y.ndim == 2 else y)
    return product.sum(axis=-1, dtype=product.dtype)


def _batched(x: Array, y: Array) -> Array:
    location = here()
    left, right = (x[None, :] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)
    batch = broadcast_shape([left.shape[:-2], right.shape[:-2]], location)
    left, right = (Array(broadcast(m.expression, (*batch, *m.shape[-2:]), location)) for m in (left, right))
    names = ascii_letters[3: 3 + len(batch)]
    product = einsum(f"{names}ab,{names}bc->{names}ac", left, right)
    if x.ndim == 1:
        return product[..., 0, :]
    return product[..., 0] if y.ndim == 1 else product


def einsum(subscripts: str, *operands: ArrayLike) -> Array:
    """Products of elements summed up, named by letters as in numpy (``"ij,jk->ik"``), without ``...``. Sums wrap in
    the operands' common type."""
    location = here()
    arrays = [as_array(operand, location) for operand in operands]
    labels, kept = _labels(subscripts, location)
    if len(labels) != len(arrays):
        raise location.error(f"'{subscripts}' names {len(labels)} arrays, and there are {len(arrays)}")
    sizes = _sizes(subscripts, labels, arrays, location)
    order = [*kept, *(label for label in sizes if label not in kept)]
    product = _labelled(arrays[0], labels[0], order, sizes, location)
    for array, names in zip(arrays[1:], labels[1:], strict=True):
        product = product * _labelled(array, names, order, sizes, location)
    summed = range(len(kept), len(order))
    return product.sum(axis=tuple(summed), dtype=product.dtype) if summed else product


def _labels(subscripts: str, location: Location) -> tuple[list[str], str]:
    """Those of each array, and those of the result."""
    text = subscripts.replace(" ", "")
    given, arrow, result = text.partition("->")
    labels = given.split(",")
    if not all(part.isalpha() for part in labels) or (result and not result.isalpha()):
        raise location.error(f"unsupported subscripts '{subscripts}': letters, commas and -> are possible")
    every = "".join(labels)
    kept = result if arrow else "".join(sorted(label for label in set(every) if every.count(label) == 1))
    if len(set(kept)) != len(kept) or not set(kept) <= set(every):
        raise location.error(f"subscripts '{subscripts}': the result has letters twice, or such that no array has")
    return labels, kept


def _sizes(subscripts: str, labels: Sequence[str], arrays: Sequence[Array], location: Location) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, array in zip(labels, arrays, strict=True):
        if len(names) != array.ndim:
            raise location.error(f"subscripts '{subscripts}': '{names}' for an array of shape {array.shape}")
        for name, size in zip(names, array.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise location.error(f"subscripts '{subscripts}': '{name}' is {sizes[name]} and {size}")
    return sizes


def _labelled(array: Array, names: str, order: Sequence[str], sizes: Mapping[str, int], location: Location) -> Array:
    """`array` as one with a dimension for every label of `order`."""
    matrix = tuple(tuple(int(label == name) for label in order) for name in names)
    shape = tuple(sizes[label] for label in order)
    return Array(viewed(array.expression, shape, matrix, (0,) * array.ndim, None, location))


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[int | Sequence[int]] = 2) -> Array:
    """Products summed over the last `axes` dimensions of `a` and the first of `b`, or over a pair of lists of them."""
    x, y = as_array(a), as_array(b)
    if isinstance(axes, int):
        first, second = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        first, second = ([part] if isinstance(part, int) else list(part) for part in axes)
    if len(first) != len(second) or len(first) > min(x.ndim, y.ndim):
        raise here().error(f"axes {axes} do not fit shapes {x.shape} and {y.shape}")
    names, others = list(ascii_letters[: x.ndim]), list(ascii_letters[x.ndim: x.ndim + y.ndim])
    for one, other in zip(first, second, strict=True):
        others[other] = names[one]
    kept = [name for name in (*names, *others) if (name in names) != (name in others)]
    return einsum(f"{''.join(names)},{''.join(others)}->{''.join(kept)}", x, y)


def outer(a: Array, b: Array) -> Array:
    """Products of every element of one 1-D array with every one of the other."""
    if a.ndim != 1 or b.ndim != 1:
        raise here().error(f"an outer product of shapes {a.shape} and {b.shape} is unsupported: 1-D only")
    return a[:, None] * b[None, :]


def inner(a: Array, b: Array) -> Array:
    """Inner product of 1-D arrays."""
    if a.ndim != 1 or b.ndim != 1:
        raise here().error(f"an inner product of shapes {a.shape} and {b.shape} is unsupported: 1-D only")
    return dot(a, b)


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product of arrays with equally many dimensions."""
    x, y = as_array(a), as_array(b)
    if x.ndim != y.ndim:
        raise here().error(f"a Kronecker product of shapes {x.shape} and {y.shape} is unsupported: give them equally "
                           "many dimensions")
    return stretch(x, y.shape) * tile(y, x.shape)


def trace(a: Array, offset: int = 0) -> Array:
    """Sum of a diagonal, in 32 bits."""
    return diagonal(a, offset).sum()


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Array:
    """Sums of products of `v` with `a`, along which it moves; see `convolve`."""
    return convolve(a, flip(as_array(v)), mode)


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Array:
    """Convolution of 1-D arrays, the second not longer than the first: where they overlap ("full"), as many elements as
    the first ("same"), or where they overlap completely ("valid"). Sums wrap in their common type."""
    x, y = as_array(a), as_array(v)
    if x.ndim != 1 or y.ndim != 1 or len(y) > len(x):
        raise here().error(f"a convolution of shapes {x.shape} and {y.shape} is unsupported: 1-D, the longer one first")
    before = {"full": len(y) - 1, "same": len(y) // 2, "valid": 0}
    behind = {"full": len(y) - 1, "same": (len(y) - 1) // 2, "valid": 0}
    if mode not in before:
        raise here().error(f"there is no mode '{mode}' of convolutions: {', '.join(before)}")
    padded = pad(x, [(before[mode], behind[mode])])
    return matmul(sliding_window_view(padded, len(y)), flip(y))

"""Median of every window: out[l, k] is the middle element of in[l:l + size, k:k + size].

Columns are sorted, then merged in pairs, pairs of pairs and so on, all by networks of minimum and maximum (Batcher's
merge). Neighbouring windows have most of it in common: the sorted columns k and k + 1 of one window are columns
k - 1 and k of the next, so a compiler that knows shifted subexpressions to be equal computes each once.
"""

from collections.abc import Sequence

from compiler.frontend import parallel_array as pa


def merge(a: Sequence[pa.Array], b: Sequence[pa.Array]) -> list[pa.Array]:
    """Elementwise merge of two sorted sequences of arrays (odd-even merge)."""
    if not a or not b:
        return [*a, *b]
    if len(a) == len(b) == 1:
        return [pa.minimum(a[0], b[0]), pa.maximum(a[0], b[0])]
    even, odd = merge(a[::2], b[::2]), merge(a[1::2], b[1::2])
    result = [even[0]]
    for low, high in zip(odd, even[1:], strict=False):
        result += [pa.minimum(low, high), pa.maximum(low, high)]
    return result + odd[len(even) - 1:] + even[len(odd) + 1:]


def merge_all(parts: Sequence[Sequence[pa.Array]]) -> list[pa.Array]:
    """Merge of any number of sorted sequences, in a tree whose subtrees hold powers of two of them."""
    if len(parts) == 1:
        return list(parts[0])
    half = 1 << (len(parts) - 1).bit_length() - 1
    return merge(merge_all(parts[:half]), merge_all(parts[half:]))


def build(rows: int = 128, columns: int = 128, size: int = 5, dtype: str = "uint32") -> pa.ArrayProgram:
    """`rows` x `columns` medians from an image that is size - 1 larger in both directions; `size` is odd, 3 or more."""
    image = pa.input("image", (rows + size - 1, columns + size - 1), dtype)
    ranked = merge_all([[image[j:j + rows]] for j in range(size)])
    sorted_columns = [[rank[:, i:i + columns] for rank in ranked] for i in range(size)]
    half = 1 << (size - 1).bit_length() - 1
    first, last = merge_all(sorted_columns[:half]), merge_all(sorted_columns[half:])
    middle = size * size // 2
    # Of either half only those ranks can be the median that the other half can complete.
    low_first, low_last = max(0, middle - len(last)), max(0, middle - len(first))
    merged = merge(first[low_first:middle + 1], last[low_last:middle + 1])
    return pa.program("median", median=merged[middle - low_first - low_last])

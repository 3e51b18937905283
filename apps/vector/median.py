"""Median of every window: out[l, k] is the middle element of in[l:l + size, k:k + size].

Rows of windows are sorted, then merged in pairs, pairs of pairs and so on, all by networks of minimum and maximum
(Batcher's merge). Windows have most of it in common: a row is sorted once for all windows that it belongs to, and two
windows above each other share all their rows but one, so even and odd rows of the result are computed together.
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
    if len(parts) <= 1:
        return [value for part in parts for value in part]
    half = 1 << (len(parts) - 1).bit_length() - 1
    return merge(merge_all(parts[:half]), merge_all(parts[half:]))


def rank_of(a: Sequence[pa.Array], b: Sequence[pa.Array], first: int, last: int) -> list[pa.Array]:
    """Ranks `first` to `last` of two sorted sequences. Of either only those are merged that the other can complete."""
    low_a, low_b = max(0, first - len(b)), max(0, first - len(a))
    merged = merge(a[low_a:last + 1], b[low_b:last + 1])
    return merged[first - low_a - low_b:last - low_a - low_b + 1]


def sorted_rows(image: pa.Array, columns: int, size: int) -> list[pa.Array]:
    """Ranks of the `size` elements from each place of a row on."""
    return merge_all([[image[:, i:i + columns]] for i in range(size)])


def build(rows: int = 128, columns: int = 128, size: int = 5, dtype: str = "uint32") -> pa.ArrayProgram:
    """`rows` x `columns` medians from an image that is size - 1 larger in both directions; `size` is odd, 3 or more.
    With an odd number of rows one more is computed, and left out."""
    if size % 2 == 0 or size < 3:
        raise pa.ArrayError(f"median takes an odd size from 3 on, not {size}")
    image = pa.input("image", (rows + size - 1, columns + size - 1), dtype)
    if rows % 2:
        larger = pa.pad(image, ((0, 1), (0, 0)), "edge")
        return pa.program("median", median=medians(larger, rows + 1, columns, size)[:-1])
    return pa.program("median", median=medians(image, rows, columns, size))


def medians(image: pa.Array, rows: int, columns: int, size: int) -> pa.Array:
    """An even number of rows of medians."""
    half, pairs, middle = rows // 2, size // 2, size * size // 2
    even, odd = sorted_rows(image[::2], columns, size), sorted_rows(image[1::2], columns, size)
    # The rows that windows 2m and 2m + 1 share: odd m, even m + 1, odd m + 1, ...; in pairs.
    shared = [merge([r[j:j + half] for r in odd], [r[j + 1:j + 1 + half] for r in even]) for j in range(pairs)]
    ranks = merge_all(shared[:-1])
    candidates = rank_of(ranks, shared[-1], middle - size, middle)
    above, below = [r[:half] for r in even], [r[pairs:pairs + half] for r in odd]
    return pa.interleave([rank_of(candidates, row, size, size)[0] for row in (above, below)])

"""Motion estimation: the sum of absolute differences of a block with every window of a search area."""

from compiler.frontend import parallel_array as pa


def build(block: int = 16, search: int = 16, dtype: str = "uint32") -> pa.ArrayProgram:
    """`search` x `search` positions of a block of `block` x `block` pixels (0 to 255) in an area of block + search."""
    pixels = {"low": 0, "high": 127 if dtype == "int8" else 255}
    reference = pa.input("block", (block, block), dtype, **pixels)
    area = pa.input("area", (block + search, block + search), dtype, **pixels)
    windows = pa.sliding_window_view(area, (block, block))[:search, :search]
    return pa.program("motest", sad=pa.abs_difference(reference, windows).sum(axis=(2, 3), dtype="uint32"))

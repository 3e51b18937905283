"""Blending of two images: out = (alpha * p + (256 - alpha) * q) >> 8."""

from compiler.frontend import parallel_array as pa


def build(rows: int = 240, columns: int = 320, alpha: int = 26, dtype: str = "uint32") -> pa.ArrayProgram:
    """Pixels of 8 bits are blended in 16; wider ones at their own width."""
    wide = "uint16" if dtype == "uint8" else dtype
    p = pa.input("p", (rows, columns), dtype).astype(wide)
    q = pa.input("q", (rows, columns), dtype).astype(wide)
    return pa.program("imgblend", blended=((alpha * p + (256 - alpha) * q) >> 8).astype(dtype))

"""Halide front end: an unmodified pipeline of the package `halide` as a `Program`.

    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    blur = hl.Func("blur")
    blur[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), image[x, y]) + image[x + 1, y]) / 2)
    program = from_pipeline(blur, [64, 64])

What is read is the serialised form of the pipeline (`compiler.frontend.halide.schema`), before Halide lowers it.

* **Funcs** with ``compute_root``, ``compute_at`` or updates, and the outputs, are arrays; others are evaluated where
  they are called. Splits of loops are undone; the order of loops, and of updates, is kept.
* **Regions** are inferred (`compiler.frontend.halide.translate`).
* **Expressions** compute what Halide does: integers wrap, division is Euclidean and gives 0 by 0, shifts by negative
  amounts go the other way. Overflow of int32 and int64, which has no meaning in Halide, wraps.
"""

from __future__ import annotations

from compiler.frontend.halide.api import HalideProgram, from_bytes, from_pipeline, load_pipeline
from compiler.frontend.halide.errors import PipelineError

__all__ = ["HalideProgram", "PipelineError", "from_bytes", "from_pipeline", "load_pipeline"]

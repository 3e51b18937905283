"""ONNX front end: models of quantised layers as programs, integer for integer what onnxruntime computes.

    network = load_network("model.onnx")
    network.program                    # one `Program`, with weights as tables
    network.steps()                    # or a chain of them, a layer each, with weights as inputs

Layers are sums of products of bytes, scaled and rounded to bytes again. onnxruntime scales in float32; here it is an
integer product and a shift, or with a table of bounds, proven equal for every sum that there can be
(`compiler.frontend.onnx.rounding`, `compiler.frontend.onnx.sums`).
"""

from __future__ import annotations

from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.network import Network, Step, load_network, run_steps

__all__ = ["ModelError", "Network", "Step", "load_network", "run_steps"]

"""A quantised convolution layer: int8 images and weights, an int32 sum, bias, ReLU, and a rounding shift to int8.

`size` x `size` outputs of `features` feature maps from `channels` input channels, 3x3 weights, one pixel of zeros
around the image.
"""

import halide as hl

INT32 = hl.Int(32)


def build(size: int = 8, channels: int = 4, features: int = 4) -> hl.Func:
    x, y, k = hl.Var("x"), hl.Var("y"), hl.Var("k")
    image = hl.ImageParam(hl.Int(8), 3, "image")
    weights = hl.ImageParam(hl.Int(8), 4, "weights")
    bias = hl.ImageParam(INT32, 1, "bias")
    for dimension, extent in enumerate((size, size, channels)):
        image.dim(dimension).set_bounds(0, extent)
    around = hl.BoundaryConditions.constant_exterior(image, hl.cast(hl.Int(8), 0), [(0, size), (0, size)])
    window = hl.RDom([(0, channels), (0, 3), (0, 3)], "window")
    total, output = hl.Func("total"), hl.Func("output")
    total[x, y, k] = bias[k]
    pixel = around[x + window.y - 1, y + window.z - 1, window.x]
    total[x, y, k] += hl.cast(INT32, pixel) * hl.cast(INT32, weights[window.x, window.y, window.z, k])
    rounded = hl.rounding_shift_right(hl.max(total[x, y, k], 0), hl.cast(hl.UInt(32), 7))
    output[x, y, k] = hl.saturating_cast(hl.Int(8), rounded)
    total.compute_root()
    output.bound(x, 0, size).bound(y, 0, size).bound(k, 0, features)
    return output

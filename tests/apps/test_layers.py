"""The layers and the camera pipeline against numpy formulas written independently of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler.frontend.loop_nest import load
from compiler.ir.interpret import interpret
from compiler.ir.program import Program, ProgramError


def signed(values: np.ndarray) -> np.ndarray:
    """The low 16 bits as signed numbers."""
    return (np.asarray(values) + 2**15) % 2**16 - 2**15


def random_words(program: Program, high: int = 2**15) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    return {a.name: generator.integers(-high, high, a.shape) for a in program.inputs}


def convolution(image: np.ndarray, kernel: np.ndarray, stride: int) -> np.ndarray:
    """kernel[ry, rx, w, z]; sums over all windows of z, y, x."""
    side = kernel.shape[0]
    windows = np.lib.stride_tricks.sliding_window_view(image, (side, side), (1, 2))[:, ::stride, ::stride]
    return np.einsum("zyxji,jiwz->wyx", windows.astype(np.int64), kernel)


@pytest.mark.parametrize("parameters", [{"size": 16, "unroll": 4}, {"size": 6, "unroll": 1}, {"size": 8},
                                        {"size": 6, "unroll": 3, "products": 2}])
def test_gemm(parameters: dict[str, int]) -> None:
    program = load("gemm", **parameters)
    data = random_words(program)
    np.testing.assert_array_equal(interpret(program, data)["c"], signed(data["a"] @ data["b"]))


@pytest.mark.parametrize("parameters", [
    {"size": 5}, {"size": 4, "stride": 2, "inputs": 4, "outputs": 6, "unroll_in": 2, "unroll_out": 3},
    {"size": 6, "height": 4, "rows": 2, "blocks": 2, "inputs": 4, "outputs": 4, "unroll_in": 2, "unroll_out": 1},
    {"size": 3, "kernel": 5, "inputs": 3, "outputs": 2, "unroll_in": 3, "unroll_out": 1}, {"size": 4, "kernel": 1},
])  # fmt: skip
def test_resnet_layer(parameters: dict[str, int]) -> None:
    program = load("resnet_layer", **parameters)
    data = random_words(program)
    expected = signed(convolution(data["input"], data["kernel"], parameters.get("stride", 1)))
    np.testing.assert_array_equal(interpret(program, data)["output"], expected)


def test_mobilenet_layer() -> None:
    program = load("mobilenet_layer", size=7)
    data = random_words(program)
    windows = np.lib.stride_tricks.sliding_window_view(data["input"], (3, 3), (1, 2)).astype(np.int64)
    separate = signed(np.einsum("cyxji,jic->cyx", windows, data["depthwise"]))
    expected = signed(np.einsum("cyx,ck->kyx", separate, data["pointwise"]))
    np.testing.assert_array_equal(interpret(program, data)["output"], expected)


@pytest.mark.parametrize(("name", "parameters", "message"), [
    ("gemm", {"size": 10, "unroll": 4}, "gemm: 4 columns at a time do not divide a matrix of 10"),
    ("gemm", {"size": 8, "products": 3}, "gemm: 3 products at a time do not divide a matrix of 8"),
    ("resnet_layer", {"rows": 5}, "resnet_layer: 5 rows at a time do not divide 28"),
    ("resnet_layer", {"outputs": 24, "blocks": 2},
     "resnet_layer: 2 blocks at a time do not divide 3 blocks of 8 channels"),
    ("resnet_layer", {"inputs": 12}, "resnet_layer: 8 channels at a time do not divide 12"),
    ("resnet_layer", {"outputs": 4}, "resnet_layer: 8 channels at a time do not divide 4"),
])  # fmt: skip
def test_unrolled_loops_must_fill_the_layer(name: str, parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        load(name, **parameters)
    assert str(error.value) == message


def moved(plane: np.ndarray, x: int, y: int) -> np.ndarray:
    """The plane whose element (0, 0) is element (x, y) of `plane`; the border is not used."""
    return np.roll(np.roll(plane, -x, 1), -y, 0)


def mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a + b) % 2**16 >> 1


def demosaic(gr: np.ndarray, r: np.ndarray, b: np.ndarray, gb: np.ndarray) -> dict[tuple[int, int], list[np.ndarray]]:
    """Red, green and blue of the pixels (row, column) of every block."""

    def flatter(p: np.ndarray, q: np.ndarray, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.where(abs(p - q) < abs(s - t), mean(p, q), mean(s, t))

    def fix(at: np.ndarray, p: np.ndarray, green: np.ndarray, *shift: int) -> np.ndarray:
        first = moved(p, *shift[2:]) if len(shift) > 2 else p
        green_first = moved(green, *shift[2:]) if len(shift) > 2 else green
        return (at + mean(first, moved(p, *shift[:2])) - mean(green_first, moved(green, *shift[:2]))) % 2**16

    g_r = flatter(moved(gr, 1, 0), gr, moved(gb, 0, -1), gb)
    g_b = flatter(moved(gb, -1, 0), gb, moved(gr, 0, 1), gr)
    r_b = np.where(abs(r - moved(r, -1, 1)) < abs(moved(r, -1, 0) - moved(r, 0, 1)),
                   fix(g_b, r, g_r, -1, 1), fix(g_b, r, g_r, 0, 1, -1, 0))
    b_r = np.where(abs(b - moved(b, 1, -1)) < abs(moved(b, 1, 0) - moved(b, 0, -1)),
                   fix(g_r, b, g_b, 1, -1), fix(g_r, b, g_b, 0, -1, 1, 0))
    return {(0, 0): [fix(gr, r, g_r, -1, 0), gr, fix(gr, b, g_b, 0, -1)], (0, 1): [r, g_r, b_r],
            (1, 0): [r_b, g_b, b], (1, 1): [fix(gb, r, g_r, 0, 1), gb, fix(gb, b, g_b, 1, 0)]}


def camera(raw: np.ndarray, width: int, height: int) -> np.ndarray:
    """From its definition; the curve in double precision."""

    def unhot(p: np.ndarray) -> np.ndarray:
        around = np.max([p[1:-1, :-2], p[1:-1, 2:], p[:-2, 1:-1], p[2:, 1:-1]], axis=0)
        return np.pad(np.minimum(p[1:-1, 1:-1], around), 3)

    planes = [unhot(raw[:, row, :, column]) for row, column in ((0, 0), (0, 1), (1, 0), (1, 1))]
    matrix, offsets = [[549, -103, 7], [-96, 373, 62], [-31, -261, 883]], [-40, -29, -22]
    b = 2 - math.sqrt(2)
    a = 2 - 2 * b
    roots = [math.sqrt(n / 1024) for n in range(1024)]
    tone = [1 - (a * (1 - u) ** 2 + b * (1 - u)) if u > 0.5 else a * u * u + b * u for u in roots]
    table = np.array([int(min(max(256 * t, 0), 255)) for t in tone])
    out = np.zeros((3, height, 2, width, 2), np.int64)
    for (row, column), colours in demosaic(*planes).items():
        limited = [np.minimum(c, 10000) for c in colours]
        for k in range(3):
            products = [signed(weight * v >> 8) for weight, v in zip(matrix[k], limited, strict=True)]
            total = np.sum(products, axis=0) + offsets[k]
            out[k, :, row, :, column] = table[np.clip(signed(total), 0, 1023)][4:4 + height, 4:4 + width]
    return out


@pytest.mark.parametrize("high", [1024, 65536])
def test_camera_pipeline(high: int) -> None:
    """With 10-bit pixels, and with 16-bit ones that make sums wrap."""
    program = load("camera_pipeline", width=12, height=6)
    raw = np.random.default_rng(2).integers(0, high, (10, 2, 16, 2))
    np.testing.assert_array_equal(interpret(program, {"input": raw})["output"], camera(raw, 12, 6))

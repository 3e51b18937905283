"""The applications against numpy formulas written independently of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.frontend.apps import applications
from compiler.frontend.loop_nest import load
from compiler.ir.interpret import interpret
from compiler.ir.program import ProgramError
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import UINT16

GAUSSIAN = [[24, 30, 24], [30, 37, 30], [24, 30, 24]]


def correlate(image: np.ndarray, weights: list[list[int]]) -> np.ndarray:
    """Weighted sums of all 3x3 windows that lie inside `image`, exact."""
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int64), (3, 3))
    return np.einsum("yxji,ji->yx", windows, np.array(weights))


def brighten_blur(image: np.ndarray) -> np.ndarray:
    bright = (image.astype(np.int64) * 2) % 2**16
    total = bright[:, :-1, :-1] + bright[:, :-1, 1:] + bright[:, 1:, :-1] + bright[:, 1:, 1:]
    return total % 2**16 // 4


def cascade(image: np.ndarray) -> np.ndarray:
    weights = [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    return correlate(correlate(image, weights) % 2**16, weights) % 2**16


def unsharp(image: np.ndarray) -> np.ndarray:
    """The 7x7 variant, from its definition; 16-bit words wrap."""
    half = [[0, 1, 2, 2, 2, 1, 0], [1, 3, 6, 7, 6, 3, 1], [2, 6, 12, 15, 12, 6, 2], [2, 7, 15, 18, 15, 7, 2]]
    kernel = np.array(half + half[2::-1])
    red, green, blue = image.astype(np.int64)
    grey = (77 * red + 150 * green + 29 * blue) % 2**16 // 256
    windows = np.lib.stride_tricks.sliding_window_view(grey, (7, 7))
    blurred = np.einsum("yxji,ji->yx", windows, kernel) % 2**16 // 256 % 256
    centre = grey[3:-3, 3:-3]
    sharp = np.clip(2 * centre - blurred, 0, 255)
    ratio = sharp * (256 // np.maximum(centre, 1)) % 2**16
    return ratio * image[:, 3:-3, 3:-3] // 256 % 2**16


def laplacian_pyramid(image: np.ndarray) -> np.ndarray:
    """Coordinates -7 to size + 4 in both directions; every level is computed wherever its window fits."""
    kernel = [[3, 21, 3], [21, 158, 21], [3, 21, 3]]

    def blur(level: np.ndarray) -> np.ndarray:
        return correlate(level, kernel) % 2**16 // 256

    def larger(level: np.ndarray, first: int, low: int, high: int) -> np.ndarray:
        """Element (x >> 1) for x in low..high of a level that begins at `first`."""
        index = (np.arange(low, high + 1) >> 1) - first
        return level[np.ix_(index, index)]

    size = len(image) - 12
    full = image.astype(np.int64)
    low0 = blur(full)[:-1, :-1]  # from -6 to size + 2
    level1 = low0[::2, ::2]  # from -3
    low1 = blur(level1)  # from -2
    detail1 = level1[2:-1, 2:-1] - low1[1:, 1:]  # from -1
    level2 = low1[::2, ::2]  # from -1
    built1 = (blur(larger(level2, -1, -2, size // 2 + 1)) + detail1) % 2**16  # from -1
    detail0 = full[7 : 7 + size, 7 : 7 + size] - low0[6 : 6 + size, 6 : 6 + size]
    return (blur(larger(built1, -1, -1, size)) + detail0) % 2**16


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "brighten_blur": brighten_blur,
    "gaussian": lambda image: correlate(image, GAUSSIAN) % 2**16 // 256,
    "gaussian_tiled": lambda image: correlate(image, GAUSSIAN) % 2**16 // 256,
    "conv_3_3": lambda image: correlate(image, [[11, 14, 17], [12, 0, 18], [13, 16, 19]]) % 2**16,
    "cascade": cascade,
    "laplacian_pyramid": laplacian_pyramid,
    "unsharp": unsharp,
    "upsample": lambda image: image.repeat(2, axis=0).repeat(2, axis=1),
}

SIZES: list[tuple[str, dict[str, int], tuple[int, ...], tuple[int, ...]]] = [
    ("brighten_blur", {}, (16, 64, 64), (16, 63, 63)),
    ("brighten_blur", {"tiles": 3, "size": 5}, (3, 5, 5), (3, 4, 4)),
    ("gaussian", {}, (64, 64), (62, 62)),
    ("gaussian", {"width": 9, "height": 5}, (5, 9), (3, 7)),
    ("conv_3_3", {}, (64, 64), (62, 62)),
    ("conv_3_3", {"width": 4, "height": 8}, (8, 4), (6, 2)),
    ("cascade", {}, (64, 64), (60, 60)),
    ("cascade", {"width": 11, "height": 6}, (6, 11), (2, 7)),
    ("upsample", {}, (64, 64), (128, 128)),
    ("upsample", {"width": 3, "height": 5}, (5, 3), (10, 6)),
    ("laplacian_pyramid", {}, (76, 76), (64, 64)),
    ("laplacian_pyramid", {"size": 8}, (20, 20), (8, 8)),
    ("unsharp", {}, (3, 64, 64), (3, 58, 58)),
    ("unsharp", {"width": 9, "height": 7}, (3, 7, 9), (3, 1, 3)),
    ("gaussian_tiled", {}, (256, 256), (254, 254)),
    ("gaussian_tiled", {"width": 32, "tile": 15}, (32, 32), (30, 30)),
    ("gaussian_tiled", {"width": 14, "height": 8, "tile": 3}, (8, 14), (6, 12)),
]


def test_every_application_has_a_formula() -> None:
    assert set(FORMULAS) == {name for name, *_ in SIZES} <= set(applications())


@pytest.mark.parametrize("high", [256, 65536])
@pytest.mark.parametrize(("name", "parameters", "input_shape", "output_shape"), SIZES)
def test_the_program_computes_the_formula(
    name: str, parameters: dict[str, int], input_shape: tuple[int, ...], output_shape: tuple[int, ...], high: int
) -> None:
    """With 8-bit pixels, and with 16-bit ones that make sums wrap."""
    program = load(name, **parameters)
    image = program.image_input
    (output,) = program.outputs
    assert (image.shape, image.type, output.shape, output.type) == (input_shape, UINT16, output_shape, UINT16)
    data = np.random.default_rng(7).integers(0, high, input_shape).astype(np.uint16)
    result = interpret(program, {image.name: data})[output.name]
    assert result.dtype == np.uint16
    assert (result == FORMULAS[name](data)).all()


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_the_text_form_keeps_the_program(name: str) -> None:
    program = load(name)
    assert parse_program(print_program(program)) == program


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_building_takes_less_than_a_fifth_of_a_second(name: str) -> None:
    load(name)
    start = time.process_time()
    load(name)
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize(
    ("name", "operations"), [("gaussian", 18), ("conv_3_3", 15), ("cascade", 26), ("brighten_blur", 5)]
)
def test_the_number_of_operations_is_at_most_the_published_one(name: str, operations: int) -> None:
    """Published PE counts: gaussian 19, conv_3_3 18, cascade 28, brighten-blur 5 (they add 0 to every sum)."""
    text = print_program(load(name))
    values = [line for line in text.splitlines() if line.strip().startswith("value")]
    assert sum(line.count("(") for line in values) == operations


def test_pyramids_need_multiples_of_their_steps() -> None:
    with pytest.raises(ProgramError, match=r"^laplacian_pyramid: size 6 is not a multiple of 4$"):
        load("laplacian_pyramid", size=6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tile": 100}, "gaussian_tiled: tiles of 100 do not fill the 254 outputs from a side of 256"),
        ({"width": 5, "height": 6, "tile": 3}, "gaussian_tiled: tiles of 3 do not fill the 4 outputs from a side of 6"),
        ({"width": 2, "tile": 1}, "gaussian_tiled: tiles of 1 do not fill the 0 outputs from a side of 2"),
    ],
)
def test_tiles_must_fill_the_image(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        load("gaussian_tiled", **parameters)
    assert str(error.value) == message

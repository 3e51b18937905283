"""What the SA-C programs of `apps/sac` compute, in numpy: inputs from a photograph, and the results that they give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.cli.images import sample_image

PICTURE = sample_image()[60:156, 90:196].astype(np.int64)
COLOUR = sample_image(colour=True)[60:120, 90:160].astype(np.int64)

Results = dict[str, np.ndarray]


def windows(array: np.ndarray, *shape: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(array, shape)


def convolution(image: np.ndarray) -> Results:
    row = np.array([1, 4, 6, 4, 1])
    return {"R": (windows(image, 5, 5) * np.outer(row, row)).sum(axis=(2, 3)) >> 8}


def cross(array: np.ndarray) -> np.ndarray:
    taps = windows(array, 3, 3)
    return np.stack([taps[..., i, j] for i, j in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))])


def morphology(image: np.ndarray) -> Results:
    white = (image >= 128).astype(np.int64)
    eroded = cross(white).min(axis=0)
    return {"dilated": cross(white).max(axis=0), "eroded": eroded, "opened": cross(eroded).max(axis=0)}


def half(array: np.ndarray) -> np.ndarray:
    row = np.array([1, 4, 6, 4, 1])
    return (windows(array, 5, 5)[::2, ::2] * np.outer(row, row)).sum(axis=(2, 3)) >> 8


def gaussian_pyramid(image: np.ndarray) -> Results:
    first = half(image)
    return {"half": first, "quarter": half(first)}


def wavelet(image: np.ndarray) -> Results:
    a, b, c, d = image[::2, ::2], image[::2, 1::2], image[1::2, ::2], image[1::2, 1::2]
    return {"average": (a + b + c + d) // 4, "across": (a + c - b - d) // 2, "down": (a + b - c - d) // 2,
            "diagonal": (a + d - b - c) // 2}


def motion(before: np.ndarray, after: np.ndarray, threshold: int) -> Results:
    changed = np.abs(before - after) > threshold
    taps = windows(changed, 3, 3)
    moved = taps[..., 1, 1] & (taps.sum(axis=(2, 3)) > 4)
    i, j = (index[moved] for index in np.indices(moved.shape))
    return {"moved": moved, "count": moved.sum(), "top": i.min(), "bottom": i.max(), "left": j.min(), "right": j.max()}


def canny(image: np.ndarray, low: int, high: int) -> Results:
    smooth = (windows(image, 3, 3) * np.outer([1, 2, 1], [1, 2, 1])).sum(axis=(2, 3)) >> 4
    taps = windows(smooth, 3, 3)
    x = (taps * np.outer([1, 2, 1], [-1, 0, 1])).sum(axis=(2, 3))
    y = (taps * np.outer([-1, 0, 1], [1, 2, 1])).sum(axis=(2, 3))
    size = np.floor(np.hypot(x, y)).astype(np.int64)
    flat, steep = np.abs(y) * 12 < np.abs(x) * 5, np.abs(x) * 12 < np.abs(y) * 5
    same = (x < 0) == (y < 0)
    s = windows(size, 3, 3)
    here = s[..., 1, 1]
    found = np.zeros(here.shape, dtype=np.int64)
    inner = (slice(1, -1), slice(1, -1))
    for chosen, before, behind in ((flat, (1, 0), (1, 2)), (~flat & steep, (0, 1), (2, 1)),
                                   (~flat & ~steep & same, (0, 0), (2, 2)), (~flat & ~steep & ~same, (0, 2), (2, 0))):
        crest = chosen[inner] & (here >= s[..., before[0], before[1]]) & (here > s[..., behind[0], behind[1]])
        found[crest & (here >= low)] = 1
        found[crest & (here >= high)] = 2
    return {"edges": found}


def fft(signal: np.ndarray) -> Results:
    """In 64ths of the transform, with the program's roundings: products and halves are rounded down."""
    order = [int(f"{n:06b}"[::-1], 2) for n in range(64)]
    re, im = (np.floor(part[order] * 2**14).astype(np.int64) for part in (signal.real, signal.imag))
    span = 1
    while span < 64:
        i = np.arange(64)
        within = i % (2 * span)
        first = within < span
        top = np.where(first, i, i - span)
        angle = np.pi * np.where(first, within, within - span) / span
        c, s = np.trunc(np.cos(angle) * 2**14).astype(int), np.trunc(-np.sin(angle) * 2**14).astype(int)
        b_re, b_im = re[top + span], im[top + span]
        t_re, t_im = (b_re * c - b_im * s) >> 14, (b_re * s + b_im * c) >> 14
        sign = np.where(first, 1, -1)
        re, im = (re[top] + sign * t_re) >> 1, (im[top] + sign * t_im) >> 1
        span *= 2
    return {"result": (re + 1j * im) / 2**14}


def tracker(image: np.ndarray, pattern: np.ndarray) -> Results:
    difference = np.abs(windows(image, 8, 8) - pattern).sum(axis=(2, 3))
    place = np.unravel_index(np.argmin(difference), difference.shape)
    return {"Place": np.array(place), "least": difference.min()}


def threshold(image: np.ndarray, level: int) -> Results:
    weights = np.floor(np.array([0.299, 0.587, 0.114]) * 2**16).astype(np.int64)
    grey = (image * weights).sum(axis=2) >> 16
    return {"grey": grey, "white": grey >= level}


def dot_product(a: np.ndarray, b: np.ndarray) -> Results:
    return {"product": a @ b}


_MOVED = PICTURE.copy()
_MOVED[20:40, 30:50] = PICTURE[25:45, 38:58]
_WAVE = PICTURE[10, :64] / 256 + 1j * PICTURE[20, :64] / 512

def bounding_box(image: np.ndarray, least: int) -> Results:
    rows, columns = np.nonzero(image >= least)
    box = {"first.row": rows.min(), "first.column": columns.min(), "last.row": rows.max(), "last.column": columns.max(),
           "pixels": rows.size, "sums": np.array([rows.sum(), columns.sum()])}
    return {**{f"found.{name}": value for name, value in box.items()},
            "centre.row": rows.sum() // rows.size, "centre.column": columns.sum() // rows.size}


PROGRAMS: dict[str, tuple[Callable[..., Results], dict]] = {
    "bounding_box": (bounding_box, {"Image": PICTURE, "least": 200}),
    "canny": (canny, {"Image": PICTURE, "low": 40, "high": 110}),
    "convolution": (convolution, {"Image": PICTURE}),
    "dot_product": (dot_product, {"A": PICTURE[5] - 128, "B": PICTURE[6] * 8}),
    "fft": (fft, {"Signal": _WAVE}),
    "gaussian_pyramid": (gaussian_pyramid, {"Image": PICTURE}),
    "morphology": (morphology, {"Image": PICTURE}),
    "motion": (motion, {"Before": PICTURE, "After": _MOVED, "threshold": 20}),
    "strip_max": (lambda image: {"R": windows(image, 1, 3).max(axis=(2, 3))}, {"Image": PICTURE}),
    "threshold": (threshold, {"Image": COLOUR, "level": 120}),
    "tracker": (tracker, {"Image": PICTURE, "Pattern": PICTURE[33:41, 47:55]}),
    "wavelet": (wavelet, {"Image": PICTURE}),
}
"""For each program what it computes, called with its inputs in order, and inputs."""

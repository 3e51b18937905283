"""Pictures in and out: any image file as a program's input array, output arrays as image files."""

from __future__ import annotations

import io
from math import isqrt
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from compiler.bind.design import InputError
from compiler.ir.program import Array
from compiler.ir.types import Int
from hw.files import write_atomic

__all__ = [
    "comparison_picture",
    "image_format",
    "image_to_array",
    "load_image",
    "sample_image",
    "save_image",
    "to_picture",
]


_CHANNELS = 3


def sample_image(*, colour: bool = False) -> np.ndarray:
    """A real photograph in grey or colour, 8 bits, 320 x 320 pixels: the face of the portrait that matplotlib
    carries."""
    from matplotlib import cbook

    path = str(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB" if colour else "L"))[30:350, 100:420]


def is_colour(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape is taken as a colour image: (height, width, 3), red, green, blue."""
    return len(shape) == 3 and shape[2] == _CHANNELS


def load_image(path: Path, *, colour: bool = False) -> np.ndarray:
    """An image file as a (height, width) array of grey values, 8 or 16 bits; with `colour`, a file that is not grey
    as a (height, width, 3) array of red, green and blue, 8 bits. Raises `InputError`."""
    try:
        with Image.open(path) as image:
            if colour and len(image.getbands()) >= _CHANNELS:
                return np.asarray(image.convert("RGB")).astype(np.int64)
            grey = image if image.mode.startswith("I") else image.convert("L")
            return np.asarray(grey).astype(np.int64)
    except FileNotFoundError:
        raise InputError(f"there is no image {path}") from None
    except UnidentifiedImageError:
        raise InputError(f"{path} is not an image") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"image {path} cannot be read: {reason}") from None


def _grid(count: int) -> tuple[int, int]:
    """Rows and columns of the most nearly square arrangement of `count` tiles."""
    rows = max(r for r in range(1, isqrt(count) + 1) if count % r == 0)
    return rows, count // rows


def image_to_array(image: np.ndarray, array: Array, name: str = "image") -> np.ndarray:
    """The middle of `image` as input `array` of shape (height, width), (height, width, 3) for a colour image, or
    (tiles, height, width) cut row by row.

    Raises `InputError` if the image is too small or a pixel does not fit the array's type.
    """
    colour = image.ndim == _CHANNELS
    *tiles, height, width = array.shape[:-1] if colour else array.shape
    rows, columns = _grid(tiles[0]) if tiles else (1, 1)
    needed = rows * height, columns * width
    if image.shape[0] < needed[0] or image.shape[1] < needed[1]:
        raise InputError(f"{name} has {image.shape[1]}x{image.shape[0]} pixels; input {array.name} needs at least "
                         f"{needed[1]}x{needed[0]}")
    if not isinstance(array.type, Int):
        raise InputError(f"input {array.name} has elements of type {array.type}; the pixels of an image are integers")
    if image.max(initial=0) > array.type.maximum:
        raise InputError(f"{name} has pixels up to {image.max()}, outside the range of {array.type}")
    top, left = ((have - need) // 2 for have, need in zip(image.shape[:2], needed, strict=True))
    middle = image[top: top + needed[0], left: left + needed[1]]
    if not tiles:
        return middle.reshape(array.shape)
    return middle.reshape(rows, height, columns, width).swapaxes(1, 2).reshape(array.shape)


def to_picture(data: np.ndarray) -> np.ndarray:
    """An array as one (height, width) or (height, width, 3) picture: tiles are put together again, other dimensions
    side by side."""
    if is_colour(data.shape):
        return data
    if data.ndim < 2:
        return np.atleast_2d(data)
    stacked = data.reshape(-1, *data.shape[-2:])
    rows, columns = _grid(len(stacked))
    height, width = stacked.shape[1:]
    return stacked.reshape(rows, columns, height, width).swapaxes(1, 2).reshape(rows * height, columns * width)


def save_image(path: Path, data: np.ndarray) -> None:
    """Write an array as a grey image, 8 bits if all values fit, else 16 bits, or as a colour image of 8 bits. The
    format follows the name.

    Negative values are written as their 16-bit patterns. Raises `InputError` for a format that cannot be written,
    `OutputError` if the place cannot.
    """
    picture = to_picture(data).astype(np.int64)
    fits = picture.max(initial=0) < 256 and picture.min(initial=0) >= 0
    depth = np.uint8 if fits else np.uint16
    name = image_format(path)
    if picture.ndim == _CHANNELS and not fits:
        raise InputError(f"cannot write {path}: the channels of a colour image have 8 bits, and the output has values "
                         f"from {picture.min()} to {picture.max()}; take a .npy file")
    buffer = io.BytesIO()
    try:
        Image.fromarray((picture & 0xFFFF).astype(depth)).save(buffer, format=name)
    except (KeyError, OSError, ValueError):
        bits = np.dtype(depth).itemsize * 8
        raise InputError(f"cannot write grey values of {bits} bits as {name} image {path}; take a .png") from None
    write_atomic(path, buffer.getvalue())


def image_format(path: Path) -> str:
    """The image format that the suffix of `path` stands for. Raises `InputError` if it can be none to write."""
    Image.init()
    name = Image.EXTENSION.get(path.suffix.lower())
    if name not in Image.SAVE:
        raise InputError(f"cannot write an image as {path}: its suffix is none of an image format; take a .png")
    return name


def comparison_picture(given: np.ndarray, result: np.ndarray, reference: np.ndarray, title: str) -> bytes:
    """A PNG that shows input, output of the hardware, and its difference from the reference side by side."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    kind = np.float64 if result.dtype.kind == "f" else np.int64
    with np.errstate(invalid="ignore"):
        difference = np.nan_to_num(np.abs(to_picture(result).astype(kind) - to_picture(reference).astype(kind)))
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4))
    difference = difference.max(axis=2) if difference.ndim == _CHANNELS else difference
    worst = difference.max(initial=0).item()
    panels = [("input", to_picture(given), None), ("hardware output", to_picture(result), None),
              (f"difference from reference (largest {worst})", difference, max(1, worst))]
    for axis, (name, picture, limit) in zip(axes, panels, strict=True):
        axis.imshow(picture, cmap="gray", vmin=0 if limit else None, vmax=limit)
        axis.set_title(name)
        axis.set_axis_off()
    figure.suptitle(title)
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    return buffer.getvalue()

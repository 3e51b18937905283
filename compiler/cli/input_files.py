"""A program's inputs from files that a command line names: images, and arrays in numpy's .npy format."""

from __future__ import annotations

import sys
import tokenize
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compiler.bind.design import InputError, check_inputs
from compiler.cli import images
from compiler.ir.floating import rounded
from compiler.ir.program import Array, Program
from compiler.ir.types import Float, Int

__all__ = ["load_array", "random_inputs", "read_inputs"]

_DAMAGE = (ValueError, OSError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError, tokenize.TokenError)
"""What numpy's reader raises for files that are not what they say."""


def read_inputs(program: Program, given: Sequence[str], seed: int | None = None) -> dict[str, np.ndarray]:
    """All inputs of `program`, checked. `given` are the texts ``NAME=FILE`` and ``FILE``.

    With a `seed`, inputs that no text names are random numbers over the whole range of their types.

    A ``.npy`` file holds an array of exactly the input's shape; any other file is an image, for an input of 2 or 3
    dimensions. ``FILE`` alone is for the only input of that kind, which is a sample photograph if no file is given
    for it. A path with an equals sign and no slash before it is written ``./PATH``.

    Raises `InputError`, naming the inputs, for one that is unknown, missing or given twice, and for data that do
    not fit.
    """
    files: dict[str, Path] = {}
    for text in given:
        name, path = _parse(program, text)
        if name in files:
            raise InputError(f"input {name} is given twice: {files[name]} and {path}")
        files[name] = path
    found = {name: _load(path, _input(program, name)) for name, path in files.items()}
    if seed is not None:
        found = random_inputs(program, seed) | found
    only = _image_inputs(program)
    if len(only) == 1 and only[0].name not in found:
        sample = images.sample_image(colour=images.is_colour(only[0].shape))
        found[only[0].name] = images.image_to_array(sample, only[0], "the sample photograph")
    _require_all(program, found)
    return check_inputs(program, found)


def random_inputs(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Random numbers over the whole range of its type for every input; floating-point ones are normally distributed.
    Raises `InputError` for other numbers."""
    generator = np.random.default_rng(seed)
    found = {}
    for array in program.inputs:
        if isinstance(array.type, Float):
            found[array.name] = rounded(array.type, generator.standard_normal(array.shape))
            continue
        if not isinstance(array.type, Int):
            raise InputError(f"input {array.name} has elements of type {array.type}; only integers and floating-point "
                             "numbers can be drawn")
        least, greatest = array.type.minimum, array.type.maximum
        dtype = np.int64 if array.type.width < 64 else array.type.dtype
        found[array.name] = generator.integers(least, greatest, array.shape, dtype, endpoint=True)
    return found


def load_array(path: Path) -> np.ndarray:
    """The array in a ``.npy`` file, as it is. Raises `InputError` if the file is damaged or holds objects."""
    try:
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except _DAMAGE as error:
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read as a .npy array: {reason}") from None


def _parse(program: Program, text: str) -> tuple[str, Path]:
    """Name of the input, and the file."""
    name, equals, path = text.partition("=")
    if equals and name.isidentifier():
        _input(program, name)
        if not path:
            raise InputError(f"input {name} needs the name of a file: {name}=FILE")
        return name, Path(path)
    only = _image_inputs(program)
    if len(only) != 1:
        raise InputError(f"which input is {text}? Write NAME=FILE; program {program.name} has: "
                         f"{_describe(program.inputs)}")
    return only[0].name, Path(text)


def _input(program: Program, name: str) -> Array:
    for array in program.inputs:
        if array.name == name:
            return array
    raise InputError(f"program {program.name} has no input '{name}'; it has: {_describe(program.inputs)}")


def _image_inputs(program: Program) -> list[Array]:
    return [array for array in program.inputs if len(array.shape) in (2, 3) and isinstance(array.type, Int)]


def _describe(arrays: Sequence[Array]) -> str:
    return ", ".join(f"{a.name} ({'x'.join(map(str, a.shape))} {a.type})" for a in arrays) or "none"


def _load(path: Path, array: Array) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return load_array(path)
    if isinstance(array.type, Float):
        raise InputError(f"input {array.name} has elements of type {array.type} and cannot be an image such as {path}; "
                         "give a .npy file")
    if len(array.shape) not in (2, 3):
        raise InputError(f"input {array.name} has {len(array.shape)} dimensions and cannot be an image such as {path}; "
                         "give a .npy file")
    image = images.load_image(path, colour=images.is_colour(array.shape))
    taken = images.image_to_array(image, array, str(path))
    if taken.size < image.size:
        whole, part = (f"{pixels.shape[1]}x{pixels.shape[0]}" for pixels in (image, images.to_picture(taken)))
        print(f"note: of the {whole} pixels of {path} input {array.name} is the middle {part}", file=sys.stderr)
    return taken


def _require_all(program: Program, found: dict[str, np.ndarray]) -> None:
    missing = [array for array in program.inputs if array.name not in found]
    if missing:
        options = " ".join(f"--input {array.name}=FILE" for array in missing)
        raise InputError(f"program {program.name} needs more inputs: {_describe(missing)}; add {options}, "
                         "or --random SEED")

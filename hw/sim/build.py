"""Compiling Verilog for a simulator, once: builds are cached by the content of everything that goes into them.

A build's key is the SHA-256 of its sources, top module, parameters, options and of the toolchain. The product
lives in a folder of that name below the cache folder (`cache_folder`), which processes share: a build happens in
a temporary folder and appears under its name by one rename, and a lock per key lets a second process wait for the
first one's result instead of compiling the same thing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hw.errors import SluiceError
from hw.sim.ports import module_ports
from hw.sim.toolchain import Toolchain, find_simulator, waveform_kind

__all__ = ["Build", "BuildError", "BuildRequest", "build", "cache_folder"]

# The way of building is part of what a build depends on: an edit of this module makes all builds new.
_RECIPE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
_UNUSED_SECONDS = 30 * 24 * 3600
_EXECUTABLE = {"verilator": "simulation", "icarus": "simulation.vvp"}
_TIMESCALE = "1ns/1ps"
_WAVES_MODULE = "sluice_waves"


class BuildError(SluiceError):
    """The simulator rejected the sources, or the cache folder cannot be written."""


@dataclass(frozen=True)
class BuildRequest:
    """What to compile.

    `sources` maps file names to Verilog text; `parameters` are those of the module `top`. `public` lists the
    signals below the top that a bench touches under Verilator, as ``"module.signal"`` patterns (``*`` matches
    anything): each one costs simulation speed, so the default is none besides the ports of the top. Icarus shows
    every signal. `timing` allows delays in the sources (Verilator only; cycle-based designs do not need it).
    """

    sources: Mapping[str, str]
    top: str
    simulator: str = "verilator"
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    waves: bool = False
    public: tuple[str, ...] = ()
    timing: bool = False


@dataclass(frozen=True)
class Build:
    """A simulation ready to run: `executable`, the seconds it took now (0.0 if `cached`), and its waveform kind."""

    executable: Path
    simulator: str
    top: str
    waves: str | None
    seconds: float
    cached: bool


def cache_folder() -> Path:
    """Where builds are kept: ``$SLUICE_CACHE``, else ``$XDG_CACHE_HOME/sluice``, else ``~/.cache/sluice``."""
    if chosen := os.environ.get("SLUICE_CACHE"):
        return Path(chosen).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "sluice"
    return Path.home() / ".cache" / "sluice"


def build(request: BuildRequest) -> Build:
    """Compile `request`, or find it in the cache. Raises `SimulatorMissing`, `BuildError`."""
    _check(request)
    toolchain = find_simulator(request.simulator)
    waves = waveform_kind(request.simulator) if request.waves else None
    key = _key(request, toolchain, waves)
    began = time.perf_counter()
    try:
        with _locked(key) as folder:
            cached = (folder / "build.json").is_file()
            if cached:
                os.utime(folder)
            else:
                _compile_into(folder, request, toolchain, waves)
    except OSError as error:
        raise BuildError(f"cannot use the build cache {cache_folder()}: {error.strerror}") from error
    return Build(
        executable=folder / _EXECUTABLE[request.simulator],
        simulator=request.simulator,
        top=request.top,
        waves=waves,
        seconds=0.0 if cached else time.perf_counter() - began,
        cached=cached,
    )


def _check(request: BuildRequest) -> None:
    if module_ports(request.sources.values(), request.top) is None:
        raise BuildError(f"no module '{request.top}' in the sources ({', '.join(sorted(request.sources)) or 'none'})")
    for name in request.sources:
        if Path(name).name != name:
            raise BuildError(f"source file name '{name}' must not contain a folder")


def _key(request: BuildRequest, toolchain: Toolchain, waves: str | None) -> str:
    described = json.dumps(_description(request, toolchain, waves) | {"sources": dict(request.sources)}, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:40]


def _description(request: BuildRequest, toolchain: Toolchain, waves: str | None) -> dict[str, object]:
    """Everything but the sources that a build depends on; kept beside it as ``build.json``."""
    return {
        "recipe": _RECIPE,
        "top": request.top,
        "parameters": dict(request.parameters),
        "public": list(request.public),
        "timing": request.timing,
        "waves": waves,
        "toolchain": list(toolchain.identity),
        "cocotb": str(_cocotb_libraries()),
    }


@contextmanager
def _locked(key: str) -> Iterator[Path]:
    """Hold the lock of `key` and yield its folder, which need not exist yet."""
    root = cache_folder() / "simulations"
    (root / "locks").mkdir(parents=True, exist_ok=True)
    with (root / "locks" / key).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield root / key


def _compile_into(folder: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None) -> None:
    _discard_unused(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="sluice-build-") as work:
        product = _compile(Path(work), request, toolchain, waves)
        staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=folder.parent))
        shutil.copy2(product, staging / product.name)
        description = json.dumps(_description(request, toolchain, waves), indent=1, sort_keys=True)
        (staging / "build.json").write_text(description + "\n")
        staging.chmod(0o755)
        staging.rename(folder)


def _discard_unused(root: Path) -> None:
    """Forget builds that nobody used for a month, so that the cache does not grow for ever."""
    limit = time.time() - _UNUSED_SECONDS
    for entry in root.iterdir():
        if entry.name != "locks" and entry.stat().st_mtime < limit:
            shutil.rmtree(entry, ignore_errors=True)


def _compile(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None) -> Path:
    for name, text in request.sources.items():
        (work / name).write_text(text)
    if request.simulator == "icarus":
        return _compile_icarus(work, request, toolchain, waves)
    return _compile_verilator(work, request, toolchain, waves)


def _compile_icarus(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None) -> Path:
    (work / "options.f").write_text(f"+timescale+{_TIMESCALE}\n")
    command = [*toolchain.compile, "-g2012", "-o", _EXECUTABLE["icarus"], "-f", "options.f", "-s", request.top]
    command += [f"-P{request.top}.{name}={_literal(value)}" for name, value in request.parameters.items()]
    files = sorted(request.sources)
    if waves:
        (work / f"{_WAVES_MODULE}.v").write_text(_waves_module(request.top))
        command += ["-s", _WAVES_MODULE]
        files.append(f"{_WAVES_MODULE}.v")
    _run([*command, *files], work, toolchain, "Icarus Verilog")
    return work / _EXECUTABLE["icarus"]


def _waves_module(top: str) -> str:
    return f'module {_WAVES_MODULE};\n  initial begin\n    $dumpfile("dump.vcd");\n    $dumpvars(0, {top});\n  end\nendmodule\n'


def _compile_verilator(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None) -> Path:
    libraries = _cocotb_libraries()
    (work / "public.vlt").write_text(_public_signals(request))
    command = [*toolchain.compile, "--cc", "--exe", "--vpi", "--prefix", "Vtop", "-Mdir", "."]
    command += ["-o", _EXECUTABLE["verilator"], "--top-module", request.top, "--timescale", _TIMESCALE]
    command += ["-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--quiet"]
    command += ["--timing" if request.timing else "--no-timing"]
    command += [f"--trace-{waves}"] if waves else []
    command += ["-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"]
    command += [f"-G{name}={_literal(value)}" for name, value in request.parameters.items()]
    harness = libraries.parent / "share" / "lib" / "verilator" / "verilator.cpp"
    _run([*command, str(harness), "public.vlt", *sorted(request.sources)], work, toolchain, "Verilator")
    variables = [f"{name}={value}" for name, value in toolchain.make_variables.items()]
    _run(["make", "-j", "2", "-f", "Vtop.mk", *variables], work, toolchain, "the C++ compiler")
    return work / _EXECUTABLE["verilator"]


def _public_signals(request: BuildRequest) -> str:
    """Verilator configuration that shows the top's ports, and what the request names, to cocotb."""
    ports = module_ports(request.sources.values(), request.top) or ()
    lines = ["`verilator_config"]
    for pattern in [*(f"{request.top}.{port.name}" for port in ports), *request.public]:
        module, _, signal = pattern.partition(".")
        lines.append(f'public_flat_rw -module "{module}" -var "{signal or "*"}"')
    return "\n".join(lines) + "\n"


def _literal(value: int | str) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def _cocotb_libraries() -> Path:
    from cocotb_tools.config import libs_dir

    return Path(libs_dir)


def _run(command: list[str], work: Path, toolchain: Toolchain, what: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    result = subprocess.run(
        command, cwd=work, env=environment | dict(toolchain.environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if result.returncode:
        raise BuildError(f"{what} rejected the sources: {_first_error(result.stdout)}")


def _first_error(output: str) -> str:
    """The first line of a tool's output that reports an error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"%error|\berror\b", line, re.IGNORECASE)]
    return (marked or lines[-1:] or ["no message"])[0]

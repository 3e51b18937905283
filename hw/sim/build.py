"""Compiling Verilog for a simulator, once: builds are cached by the content of everything that goes into them.

A build's key is the SHA-256 of its sources, top module, parameters, options and of the toolchain. The product
lives in a folder of that name below the cache folder (`cache_folder`), which processes share: a build happens in
a temporary folder and appears under its name by one rename, and a lock per key lets a second process wait for the
first one's result instead of compiling the same thing. ``build.json`` beside a product has its SHA-256: one that is
damaged is built again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import hw.sim.compile as recipe
from hw.cache import CACHE_HINT, cache_folder
from hw.sim.compile import EXECUTABLES, BuildError, BuildRequest, cocotb_libraries, compile_sources
from hw.sim.ports import module_ports
from hw.sim.toolchain import Toolchain, find_simulator, waveform_kind

__all__ = ["Build", "BuildError", "BuildRequest", "build", "cache_folder"]

# The way of building is part of what a build depends on: an edit of that module makes all builds new.
_RECIPE_FILES = [Path(recipe.__file__).with_name(name) for name in ("compile.py", "runtime.py", "launch.cpp")]
_RECIPE = hashlib.sha256(b"".join(path.read_bytes() for path in _RECIPE_FILES)).hexdigest()
_UNUSED_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Build:
    """A simulation ready to run: `executable`, the seconds it took now (0.0 if `cached`), and its waveform kind."""

    executable: Path
    simulator: str
    top: str
    waves: str | None
    seconds: float
    cached: bool


def build(request: BuildRequest) -> Build:
    """Compile `request`, or find it in the cache. Raises `SimulatorMissing`, `BuildError`."""
    _check(request)
    toolchain = find_simulator(request.simulator)
    waves = waveform_kind(request.simulator) if request.waves else None
    description = _description(request, toolchain, waves)
    began = time.perf_counter()
    try:
        with _locked(_key(request, description)) as folder:
            cached = _is_whole(folder, EXECUTABLES[request.simulator])
            if cached:
                os.utime(folder)
            else:
                _compile_into(folder, request, toolchain, waves, description)
    except OSError as error:
        reason = error.strerror or error
        raise BuildError(f"cannot use the build cache {cache_folder()}: {reason}; {CACHE_HINT}") from error
    return Build(
        executable=folder / EXECUTABLES[request.simulator],
        simulator=request.simulator,
        top=request.top,
        waves=waves,
        seconds=0.0 if cached else time.perf_counter() - began,
        cached=cached,
    )


def _check(request: BuildRequest) -> None:
    if module_ports(request.sources.values(), request.top) is None:
        names = ", ".join(sorted(request.sources)) or "none"
        raise BuildError(f"no module '{request.top}' in the sources ({names})")
    for name in request.sources:
        if Path(name).name != name:
            raise BuildError(f"source file name '{name}' must not contain a folder")


def _description(request: BuildRequest, toolchain: Toolchain, waves: str | None) -> dict[str, object]:
    """Everything but the sources that a build depends on; kept beside it as ``build.json``."""
    return {
        "recipe": _RECIPE,
        "top": request.top,
        "parameters": dict(request.parameters),
        "public": list(request.public),
        "visible": list(request.visible),
        "fast": request.fast,
        "short": request.short,
        "language": request.language,
        "waves": waves,
        "toolchain": list(toolchain.identity),
        "cocotb": str(cocotb_libraries()),
    }


def _key(request: BuildRequest, description: dict[str, object]) -> str:
    content = json.dumps([description, dict(request.sources)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:40]


@contextmanager
def _locked(key: str) -> Iterator[Path]:
    """Hold the lock of `key` and yield its folder, which need not exist yet."""
    root = cache_folder() / "simulations"
    (root / "locks").mkdir(parents=True, exist_ok=True)
    with (root / "locks" / key).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield root / key


def _is_whole(folder: Path, product: str) -> bool:
    """Whether the build in `folder` is there and as it was made."""
    try:
        return json.loads((folder / "build.json").read_bytes())["sha256"] == _digest(folder / product)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _digest(product: Path) -> str:
    with product.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _compile_into(
    folder: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None, description: dict[str, object]
) -> None:
    runtimes = cache_folder() / "runtimes"
    for kept in (folder.parent, runtimes):
        _discard_unused(kept)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="sluice-build-") as work:
        product = compile_sources(Path(work), request, toolchain, waves, runtimes)
        staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=folder.parent))
        shutil.copy2(product, staging / product.name)
    described = {**description, "sha256": _digest(staging / product.name)}
    (staging / "build.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    staging.chmod(0o755)
    staging.rename(folder)


def _discard_unused(root: Path) -> None:
    """Forget what nobody used for a month, so that the cache does not grow for ever."""
    limit = time.time() - _UNUSED_SECONDS
    for entry in root.iterdir() if root.is_dir() else ():
        with suppress(FileNotFoundError):  # another process may have finished or removed it meanwhile
            if entry.name != "locks" and entry.stat().st_mtime < limit:
                shutil.rmtree(entry, ignore_errors=True)

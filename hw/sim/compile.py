"""The command lines that turn Verilog into a simulation, one function per simulator."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hw.errors import SluiceError
from hw.sim.ports import module_ports
from hw.sim.runtime import Runtime
from hw.sim.toolchain import Toolchain

__all__ = ["EXECUTABLES", "BuildError", "BuildRequest", "cocotb_libraries", "compile_sources"]

EXECUTABLES = {"verilator": "simulation.so", "icarus": "simulation.vvp"}
# The simulation is a shared object (see launch.py); these keep its calls as direct as in a program.
_SHARED = "-fPIC -fno-semantic-interposition"
_HERE = Path(__file__).parent
# A module in a file of its own name and at least this many characters keeps its own functions when it is used at
# least twice, and shares them among all its instances from the second number on (`_hierarchy`).
_LARGE_FILE = 20_000
_MANY_INSTANCES = 64
# Characters of sources from which on what takes time with the square of the length of functions is left out: Verilator
# does not gather conditions (`_verilator_options`; in a short build it never does), and the compiler does not look for
# values that it knows already.
_VERY_LARGE = 1_500_000
_SQUARE = "-fno-tree-fre -fno-tree-dse"
# Characters of generated C++ up to which a short build compiles it as one file, and above as `_JOBS` files. Each file
# takes 0.4 s of processor time for the headers, precompiled as they are: the nine files that Verilator writes for a
# pipeline of 500 kB take 6 s, together they take 2 s.
_ONE_FILE = 4_000_000
_TIMESCALE = "1ns/1ps"
_JOBS = 2
_PART = "sluice_part"
_WAVES_MODULE = "sluice_waves"
_WAVES = """\
module {module};
  initial begin
    $dumpfile("dump.vcd");
    $dumpvars(0, {top});
  end
endmodule
"""
_MAKE_INHERITANCE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES")


class BuildError(SluiceError):
    """The simulator rejected the sources, or the cache folder cannot be written."""


@dataclass(frozen=True)
class BuildRequest:
    """What to compile.

    `sources` maps file names to Verilog text; `parameters` are those of the module `top`. `public` lists the
    signals below the top that a bench writes under Verilator, as ``"module.signal"`` patterns (``*`` matches
    anything), `visible` those that it only reads. Each one costs simulation speed, and a public one has the logic
    behind it up to the next registers compiled once more, so the default is none besides the ports of the top. Icarus
    shows every signal. `fast` spends more time on the build for a faster simulation, `short` less time for a slower
    one (Verilator only). `language` is an edition of the language as the simulator calls it: "2005" or "2012" (Icarus),
    "1364-2005" or "1800-2017" (Verilator); empty: the simulator's own choice. Emitted sources mean the same in all.
    """

    sources: Mapping[str, str]
    top: str
    simulator: str = "verilator"
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    waves: bool = False
    public: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    fast: bool = False
    short: bool = False
    language: str = ""


def compile_sources(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None, runtimes: Path) -> Path:
    """Compile `request` in the empty folder `work`, tracing to a file of kind `waves`; returns the executable.

    `runtimes` is where what all Verilator builds have in common is kept (`Runtime`). Raises `BuildError`.
    """
    for name, text in request.sources.items():
        (work / name).write_text(text)
    if request.simulator == "icarus":
        return _icarus(work, request, toolchain, waves)
    return _verilator(work, request, toolchain, waves, runtimes)


def cocotb_libraries() -> Path:
    """The folder of cocotb's shared libraries, which Verilator simulations are linked to."""
    from cocotb_tools.config import libs_dir

    return Path(libs_dir)


def _icarus(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None) -> Path:
    (work / "options.f").write_text(f"+timescale+{_TIMESCALE}\n")
    command = [*toolchain.compile, "-o", EXECUTABLES["icarus"], "-f", "options.f", "-s", request.top]
    command += [f"-g{request.language}"] if request.language else []
    command += [f"-P{request.top}.{name}={_literal(value)}" for name, value in request.parameters.items()]
    files = sorted(request.sources)
    if waves:
        (work / f"{_WAVES_MODULE}.v").write_text(_WAVES.format(module=_WAVES_MODULE, top=request.top))
        command += ["-s", _WAVES_MODULE]
        files.append(f"{_WAVES_MODULE}.v")
    _run([*command, *files], work, toolchain, "Icarus Verilog")
    return work / EXECUTABLES["icarus"]


def _verilator(work: Path, request: BuildRequest, toolchain: Toolchain, waves: str | None, runtimes: Path) -> Path:
    hierarchy, options = _hierarchy(request)
    (work / "public.vlt").write_text(_public_signals(request) + hierarchy)
    programs = (cocotb_libraries().parent / "share" / "lib" / "verilator" / "verilator.cpp", _HERE / "launch.cpp")
    command = [*toolchain.compile, *_verilator_options(request, waves), *options, *map(str, programs), "public.vlt"]
    _run([*command, *sorted(request.sources)], work, toolchain, "Verilator")
    variables = _optimisation(request) | _partition(work, request) | dict(toolchain.make_variables)
    runtime = Runtime(runtimes, work, toolchain, variables, programs)
    settings = [f"{name}={value}" for name, value in (variables | runtime.reuse()).items()]
    _run(["make", "-j", str(_JOBS), "-f", runtime.makefile, *settings], work, toolchain, "The C++ compiler")
    runtime.keep()
    return work / EXECUTABLES["verilator"]


def _optimisation(request: BuildRequest) -> dict[str, str]:
    """Compiler options by what they apply to: code that runs every cycle, code that runs once, Verilator's library.

    On an emitted 4x4 array -O1 takes 25 s of processor time to compile and -O2 43 s, and simulates 10 % slower. -O0
    takes half the time of -O1 for a design of one program, and a few thousand cycles are a moment in any case.
    """
    usual = f"-O1 {_SQUARE}" if _very_large(request) else "-O1"
    cycles = "-O2" if request.fast else "-O0" if _is_short(request) else usual
    return {
        "OPT_FAST": f"{cycles} {_SHARED}",
        "OPT_SLOW": f"-O0 {_SHARED}",
        "OPT_GLOBAL": f"-O2 {_SHARED}",
    }


def _partition(work: Path, request: BuildRequest) -> dict[str, str]:
    """Put what Verilator wrote to `work` together in as few files as are worth it, for a short build, whose code that
    runs once has the options of the other: the variables that name them to Verilator's makefile."""
    if not _is_short(request):
        return {}
    sizes = {path.name: path.stat().st_size for path in work.glob("Vtop*.cpp")}
    parts: list[list[str]] = [[] for _ in range(1 if sum(sizes.values()) <= _ONE_FILE else _JOBS)]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        min(parts, key=lambda part: sum(sizes[other] for other in part)).append(name)
    names = [f"{_PART}{number}" for number in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        (work / f"{name}.cpp").write_text("".join(f'#include "{file}"\n' for file in part))
    return {"VM_PARALLEL_BUILDS": "1", "VM_FAST": " ".join(names), "VM_SLOW": ""}


def _verilator_options(request: BuildRequest, waves: str | None) -> list[str]:
    """Verilator's command line.

    What it writes is put together in as many files as are compiled at a time (here, or by `_partition`): reading the
    same headers for every small file takes half of the compiler's time.

    Statements under the same condition are gathered, which makes simulation half as fast again. The time for that is
    the square of the length of a function: for the modules of a system that is dissolved in one, it grows to most of
    the build (35 of 45 s of processor time for a kernel of 1.4 MB of Verilog), which a short run does not win back.
    """
    libraries = cocotb_libraries()
    options = ["--cc", "--exe", "--vpi", "--prefix", "Vtop", "-Mdir", ".", "-o", EXECUTABLES["verilator"]]
    options += ["--top-module", request.top, "--timescale", _TIMESCALE]
    options += ["--language", request.language] if request.language else []
    options += ["-O3", "--x-assign", "fast", "--x-initial", "fast"]
    options += ["-Wno-fatal", "-Wno-lint", "-Wno-style", "--timing", "--quiet"]
    options += ["--output-groups", "0" if _is_short(request) else str(_JOBS)]
    gathers = request.fast or not (request.short or _very_large(request))
    options += [] if gathers else ["-fno-merge-cond-motion"]
    options += [f"--trace-{waves}"] if waves else []
    options += ["-LDFLAGS", f"-shared -Wl,-Bsymbolic -Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"]
    return options + [f"-G{name}={_literal(value)}" for name, value in request.parameters.items()]


def _public_signals(request: BuildRequest) -> str:
    """Verilator configuration that shows the top's ports, and what the request names, to cocotb."""
    ports = module_ports(request.sources.values(), request.top) or ()
    inputs, outputs = ([f"{request.top}.{port.name}" for port in ports if (port.direction == "output") is read]
                       for read in (False, True))
    lines = ["`verilator_config"]
    for kind, patterns in (("rw", [*inputs, *request.public]), ("rd", [*outputs, *request.visible])):
        for module, _, signal in (pattern.partition(".") for pattern in patterns):
            lines.append(f'public_flat_{kind} -module "{module}" -var "{signal or "*"}"')
    return "\n".join(lines) + "\n"


def _hierarchy(request: BuildRequest) -> tuple[str, list[str]]:
    """Verilator configuration and options for large modules that are used often, such as the tiles of an array.

    Verilator dissolves modules by default, so code and build time grow with the number of instances. A module that is
    kept simulates a little faster already. For very many instances its inputs are kept apart from what drives them and
    the data flow optimiser is off, which would specialise each instance: then all of them run the same functions. A
    16x32 array takes a quarter of the code and of the build time that way; an 8x8 array would gain nothing.
    """
    lines: list[str] = []
    options: list[str] = []
    for module, count in _large_modules(request.sources).items():
        lines += [f'no_inline -module "{module}"'] if count >= 2 else []
        if count >= _MANY_INSTANCES:
            options = ["-fno-dfg"]
            ports = module_ports(request.sources.values(), module) or ()
            inputs = [port.name for port in ports if port.direction == "input" and port.name not in ("clk", "rst")]
            lines += [f'public_flat_rw -module "{module}" -var "{name}"' for name in inputs]
    return "".join(f"{line}\n" for line in lines), options


def _is_short(request: BuildRequest) -> bool:
    return request.short and not request.fast


def _very_large(request: BuildRequest) -> bool:
    """Whether the modules that are dissolved make very long functions."""
    kept = {f"{module}.v" for module, count in _large_modules(request.sources).items() if count >= 2}
    return sum(len(text) for file, text in request.sources.items() if file not in kept) >= _VERY_LARGE


def _large_modules(sources: Mapping[str, str]) -> dict[str, int]:
    """How often each large module is instantiated, for modules with a file of their own name."""
    names = [Path(file).stem for file, text in sources.items() if len(text) >= _LARGE_FILE]
    counts: dict[str, int] = {}
    for name in names:
        instance = re.compile(rf"^\s*{re.escape(name)}\s+(?:#\s*\([^;]*?\)\s*)?\\?[\w.$\[\]]+\s*\(", re.MULTILINE)
        counts[name] = sum(len(instance.findall(text)) for text in sources.values())
    return counts


def _literal(value: int | str) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def _run(command: list[str], work: Path, toolchain: Toolchain, what: str) -> None:
    # A make that runs us must not hand its options to the make that we run.
    inherited = {name: value for name, value in os.environ.items() if name not in _MAKE_INHERITANCE}
    result = subprocess.run(
        command, cwd=work, env=inherited | dict(toolchain.environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if result.returncode:
        raise BuildError(f"{what} rejected the sources: {_first_error(result.stdout)}")


def _first_error(output: str) -> str:
    """The first line of a tool's output that reports an error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"%error|\berror\b", line, re.IGNORECASE)]
    return (marked or lines[-1:] or ["no message"])[0]

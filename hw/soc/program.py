"""C programs for the scalar core: compiling, linking, and what is where in the result."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hw.soc.errors import FirmwareError
from hw.soc.registers import PERIPHERAL_BASE, PERIPHERALS
from hw.vector_lanes.header import c_header
from hw.vector_lanes.spec import VectorSpec

__all__ = [
    "DEFAULT_MEMORY_BYTES", "DEFAULT_STACK_BYTES", "TRAP_EXIT_CODE", "Firmware", "Sources", "Symbol", "build_program",
    "header_texts",
]  # fmt: skip

DEFAULT_MEMORY_BYTES = 1 << 21
"""Main memory that programs run in unless they ask for another size."""

DEFAULT_STACK_BYTES = 8192
"""Room that is left for the stack at least."""

TRAP_EXIT_CODE = 0x100
"""A trap's exit code is this and its cause."""

Sources = Mapping[str, str] | Path | Sequence[Path]
"""Texts by file name, or files. C (``.c``) and assembler (``.S``) are compiled, the rest (``.h``) is there."""

_PREFIX = "riscv64-unknown-elf-"
_INSTALL = "type `apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf` as root"
_FOLDER = Path(__file__).parent / "firmware"
_FLAGS = (
    "--specs=picolibc.specs", "-DPICOLIBC_INTEGER_PRINTF_SCANF", "-march=rv32im", "-mabi=ilp32", "-std=gnu11", "-g0",
    "-nostartfiles", "-ffunction-sections", "-fdata-sections", "-fno-common", "-Wl,--gc-sections",
    "-Wl,--no-warn-rwx-segments",
)  # fmt: skip
_SYMBOL = re.compile(r"([0-9a-f]+) ([0-9a-f]+) ([A-Za-z]) (\S+)")


@dataclass(frozen=True)
class Symbol:
    """A function or a variable: byte address and size in bytes."""

    address: int
    size: int


@dataclass(frozen=True)
class Firmware:
    """A linked program.

    `image`: contents of main memory from address 0, where it begins; what it leaves out (.bss) is zero.
    `symbols`: by C name. `assembly`: the disassembled program. `memory_bytes`: main memory it was linked for.
    """

    image: bytes
    symbols: Mapping[str, Symbol]
    assembly: str
    memory_bytes: int

    def symbol(self, name: str) -> Symbol:
        """The variable or function called `name`. Raises `FirmwareError`."""
        try:
            return self.symbols[name]
        except KeyError:
            raise FirmwareError(f"the program has no variable '{name}' (static, unused or misspelt?)") from None


def build_program(
    sources: Sources,
    spec: VectorSpec | None = None,
    *,
    defines: Mapping[str, int | str] | None = None,
    options: Sequence[str] = ("-O2",),
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    stack_bytes: int = DEFAULT_STACK_BYTES,
) -> Firmware:
    """Compile and link `sources` with Debian's RISC-V gcc and picolibc.

    On the include path are ``vector.h`` (for `spec`, or one that asks the hardware) and ``soc.h``. `options` go to the
    compiler. The stack has `stack_bytes` at least. Raises `FirmwareError` with the compiler's first complaint, or with
    what to install.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-firmware-") as name:
        folder = Path(name)
        units = _write_sources(folder, sources, spec)
        macros = [f"-D{macro}={value}" for macro, value in (defines or {}).items()]
        _compile(folder, [*options, *macros, *units], memory_bytes, stack_bytes)
        return _linked(folder, memory_bytes)


def header_texts() -> list[str]:
    """The C text that is compiled with every program: no program may define a name of it again."""
    own = [path.read_text() for path in _FOLDER.iterdir() if path.suffix in (".c", ".h", ".S")]
    return [*own, c_header(None), _peripherals_header()]


def _write_sources(folder: Path, sources: Sources, spec: VectorSpec | None) -> list[str]:
    """Put everything that the compiler reads into `folder`; the result are the names of what it compiles."""
    own = {path.name: path.read_text() for path in _FOLDER.iterdir() if path.suffix in (".S", ".c", ".h", ".ld")}
    own |= {"vector.h": c_header(spec), "peripherals.h": _peripherals_header()}
    texts = _texts(sources)
    if clash := sorted(set(own) & set(texts)):
        raise FirmwareError(f"the file name {clash[0]} is taken by the start-up code")
    for name, text in {**own, **texts}.items():
        (folder / name).write_text(text)
    units = [name for name in texts if Path(name).suffix in (".c", ".S")]
    if not units:
        raise FirmwareError("a program needs at least one .c or .S file")
    return ["crt0.S", "console.c", *units]


def _texts(sources: Sources) -> dict[str, str]:
    if isinstance(sources, Mapping):
        if wrong := [name for name in sources if Path(name).name != name]:
            raise FirmwareError(f"'{wrong[0]}' is not a plain file name")
        return dict(sources)
    texts: dict[str, str] = {}
    for path in [sources] if isinstance(sources, Path) else sources:
        try:
            text = path.read_bytes().decode()
        except OSError as error:
            raise FirmwareError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise FirmwareError(f"{path}: not a text file") from error
        if path.name in texts:
            raise FirmwareError(f"two files are called {path.name}")
        texts[path.name] = text
    return texts


def _peripherals_header() -> str:
    return PERIPHERALS.c_header().replace("\n#endif\n", "\n".join([
        f"\n#define PERIPHERAL_BASE {PERIPHERAL_BASE:#x}",
        f"#define TRAP_EXIT_CODE {TRAP_EXIT_CODE:#x}",
        "\n#endif\n",
    ]))


def _compile(folder: Path, arguments: Sequence[str], memory_bytes: int, stack_bytes: int) -> None:
    symbols = {"__memory_bytes": memory_bytes, "__stack_bytes": stack_bytes}
    linking = ["-T", "link.ld", *(f"-Wl,--defsym={name}={value}" for name, value in symbols.items())]
    outcome = _tool("gcc", [*_FLAGS, *arguments, *linking, "-o", "program.elf"], folder)
    if outcome.returncode:
        raise FirmwareError(_complaint(outcome.stderr, memory_bytes, stack_bytes))


def _tool(name: str, arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = shutil.which(_PREFIX + name)
    if path is None:
        raise FirmwareError(f"the RISC-V compiler is missing ({_PREFIX}{name}): {_INSTALL}")
    return subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def _complaint(text: str, memory_bytes: int, stack_bytes: int) -> str:
    """The compiler's or the linker's first complaint, in a line."""
    if "picolibc.specs" in text:
        return f"the C library picolibc is missing: {_INSTALL}"
    if found := re.search(r"region `main' overflowed by (\d+) bytes", text):
        return (f"the program with its arrays and {stack_bytes} bytes of stack needs {found[1]} bytes more than "
                f"the main memory of {memory_bytes} bytes")
    if found := re.search(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", text, re.MULTILINE | re.IGNORECASE):
        return f"{found[1]}, line {found[2]}: {found[3]}"
    if found := re.search(r"(undefined reference to|multiple definition of) `(.*?)'", text):
        return f"{found[1]} '{found[2]}'"
    lines = [line for line in text.splitlines() if line.strip()] or ["no message"]
    return f"the compiler failed: {lines[0]}"


def _linked(folder: Path, memory_bytes: int) -> Firmware:
    _check_tool("objcopy", ["-O", "binary", "program.elf", "image.bin"], folder)
    names = _check_tool("nm", ["-S", "--defined-only", "program.elf"], folder)
    symbols = {found[4]: Symbol(int(found[1], 16), int(found[2], 16)) for found in _SYMBOL.finditer(names)}
    assembly = _check_tool("objdump", ["-d", "--no-show-raw-insn", "program.elf"], folder)
    return Firmware((folder / "image.bin").read_bytes(), symbols, assembly, memory_bytes)


def _check_tool(name: str, arguments: Sequence[str], folder: Path) -> str:
    outcome = _tool(name, arguments, folder)
    if outcome.returncode:
        raise FirmwareError(f"{_PREFIX}{name} failed: {' '.join(outcome.stderr.split())}")
    return outcome.stdout

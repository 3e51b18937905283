"""The design directory: what the compiler hands to the hardware build, as three plain files.

A directory holds

``manifest.json``
    ``format`` (the string ``"sluice-design"``), ``version`` (1), ``name``, ``array`` (``"RxC"``), ``parameters``
    (an object: the other fields of the array's ``FabricSpec``, nested specs as nested objects; a field that is left
    out has its default), ``memory_bytes`` (main memory that the design needs, starting at address 0), ``plan`` (a
    list of ``[register, value]``: 32-bit writes to the control registers in order, the register a name of the
    register map or a byte offset), ``outputs`` (a list of ``{"name", "address", "length", "crc32"}``, address and
    length in bytes, ``crc32`` the expected checksum of the region as eight hexadecimal digits or null),
    ``metadata`` (an object, free) and ``files`` (SHA-256 of each of the two files below and of every other file that
    belongs to the design, by its path in the directory).
``configuration.hex``
    One configuration-bus word per line, ``AAAAAAAA DDDDDDDD`` (address, data; hexadecimal, 32 bits each), in the
    order in which they are loaded. For people and tools; the array loads them from main memory, where
    ``memory.hex`` holds them as the loader's image.
``memory.hex``
    Initial contents of main memory in ``$readmemh`` format with 8-bit elements: ``@ADDRESS`` starts a block at that
    byte address, then up to 16 bytes per line. Bytes not named are zero. It holds everything that the run needs:
    the configuration image and the inputs.

``rtl/registers.h``, ``rtl/registers.md``, ``rtl/registers.rdl``
    The control registers of the array, for C programs, for people and in SystemRDL, where a compiler wrote the Verilog
    to ``rtl``; ``component.xml`` and ``MODULE.core``: the system for Vivado and for FuseSoC
    (`hw.designs.register_documents`).
``host/``
    Drivers (`hw.drivers`).

``read_design(path)`` checks all of it and returns a `DesignImage`; ``write_design(path, image)`` writes one. Equal
images give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hw.errors import SluiceError
from hw.files import locked_folder, remove_file, write_atomic

__all__ = ["MANIFEST", "DesignError", "DesignImage", "OutputRegion", "bus_width", "crc32", "read_design", "read_text",
           "write_design"]

FORMAT = "sluice-design"
VERSION = 1
MANIFEST, CONFIGURATION, MEMORY = "manifest.json", "configuration.hex", "memory.hex"
_BYTES_PER_LINE = 16
_LIMIT = 1 << 32


class DesignError(SluiceError):
    """A design directory is missing, damaged or inconsistent. The message names the file and the fault."""


@dataclass(frozen=True)
class OutputRegion:
    """A contiguous region of main memory that holds a result after the run.

    `address` and `length` are in bytes; `crc32` is the expected checksum (see `crc32`), None if unknown.
    """

    name: str
    address: int
    length: int
    crc32: int | None = None


@dataclass(frozen=True)
class DesignImage:
    """Everything that a board or a simulation needs to run one compiled application on one array.

    Attributes:
        name: the application's name, an identifier.
        array: ``"RxC"``, rows and columns of tiles.
        configuration: configuration-bus words ``(address, data)``, 32 bits each, in loading order.
        plan: writes ``(register, value)`` to the control registers, in order; a register is a name of the register
            map or a byte offset, a value has 32 bits. The last one starts the run.
        memory: blocks ``(byte address, bytes)`` of initial contents; they do not overlap.
        outputs: where the results are.
        memory_bytes: size of the main memory that is needed, from address 0.
        parameters: the remaining fields of the array's ``FabricSpec``.
        metadata: free JSON (predicted cycles, compiler options, shapes).
    """

    name: str
    array: str
    configuration: tuple[tuple[int, int], ...]
    plan: tuple[tuple[str | int, int], ...]
    memory: tuple[tuple[int, bytes], ...]
    outputs: tuple[OutputRegion, ...]
    memory_bytes: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every rule of the format. Raises `DesignError`."""
        _check_names(self)
        _check_words(self)
        _check_memory(self)
        _check_outputs(self)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the array."""
        rows, columns = self.array.split("x")
        return int(rows), int(columns)

    def memory_image(self) -> bytes:
        """Initial contents of main memory, all `memory_bytes` bytes of it."""
        image = bytearray(self.memory_bytes)
        for address, data in self.memory:
            image[address : address + len(data)] = data
        return bytes(image)


def crc32(data: bytes) -> int:
    """The checksum of an output region: CRC-32 of IEEE 802.3 (reflected polynomial 0xEDB88320)."""
    return zlib.crc32(data)


# Rules that hold for every image, whether a compiler made it or a file gave it.


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DesignError(message)


def _is_word(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LIMIT


def _check_names(image: DesignImage) -> None:
    _require(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", image.name) is not None,
             f"design name {image.name!r} is not an identifier")
    _require(re.fullmatch(r"[1-9]\d{0,2}x[1-9]\d{0,2}", image.array) is not None,
             f"array {image.array!r} is not of the form RxC")
    clash = {"rows", "columns"} & set(image.parameters)
    _require(not clash, "parameters must not repeat rows or columns: array gives them")


def _check_words(image: DesignImage) -> None:
    for address, data in image.configuration:
        _require(_is_word(address) and _is_word(data), f"configuration word ({address}, {data}) is not 32 bits")
    for register, value in image.plan:
        _require(isinstance(register, str) or (_is_word(register) and register % 4 == 0),
                 f"plan register {register!r} is neither a name nor a multiple of 4")
        _require(_is_word(value), f"plan value {value!r} of register {register} is not 32 bits")


def _check_memory(image: DesignImage) -> None:
    _require(_is_word(image.memory_bytes) and image.memory_bytes > 0,
             f"memory_bytes is {image.memory_bytes!r}, must be 1..{_LIMIT - 1}")
    end = 0
    for address, data in sorted(image.memory, key=lambda block: block[0]):
        _require(address >= end, f"memory blocks overlap at address {address:#x}")
        end = address + len(data)
        _require(end <= image.memory_bytes,
                 f"memory block at {address:#x} ends at {end:#x}, memory has {image.memory_bytes:#x} bytes")


def _check_outputs(image: DesignImage) -> None:
    names = [region.name for region in image.outputs]
    _require(len(set(names)) == len(names), "two outputs have the same name")
    for region in image.outputs:
        _require(_is_word(region.address) and _is_word(region.length) and region.length > 0,
                 f"output {region.name}: address and length must be 32-bit, length at least 1")
        _require(region.address + region.length <= image.memory_bytes,
                 f"output {region.name} ends at {region.address + region.length:#x}, "
                 f"memory has {image.memory_bytes:#x} bytes")
        _require(region.crc32 is None or _is_word(region.crc32), f"output {region.name}: crc32 is not 32 bits")


# Writing


def write_design(directory: Path, image: DesignImage, documents: Mapping[str, str] | None = None) -> list[Path]:
    """Write `image` to `directory` (made if missing) and return the files, the manifest last.

    `documents` are further text files of the design, by their paths in the directory. Files of a design that was there
    before are removed, others stay; while it is written there is no manifest, and who else writes a design there waits.
    Raises `DesignError` if `metadata` or `parameters` are not JSON, `OutputError` if the place cannot be written.
    """
    files = {
        **(documents or {}),
        CONFIGURATION: "".join(f"{address:08x} {data:08x}\n" for address, data in image.configuration),
        MEMORY: _print_memory(image.memory),
    }
    files[MANIFEST] = _print_manifest(image, files)
    with locked_folder(directory):
        for name in (MANIFEST, *(_previous_files(directory) - files.keys())):
            remove_file(directory / name)
        for name, text in files.items():
            write_atomic(directory / name, text)
    return [directory / name for name in files]


def _previous_files(directory: Path) -> set[str]:
    """The files of the design that is there; none if there is none that can be read."""
    try:
        return {_file_name(name) for name in _parse_json(directory / MANIFEST)["files"]}
    except (DesignError, TypeError, KeyError):
        return set()


def _print_memory(blocks: Iterable[tuple[int, bytes]]) -> str:
    lines = []
    for address, data in sorted(blocks):
        if data:
            lines.append(f"@{address:08x}")
        lines += [data[start : start + _BYTES_PER_LINE].hex(" ") for start in range(0, len(data), _BYTES_PER_LINE)]
    return "".join(f"{line}\n" for line in lines)


def _print_manifest(image: DesignImage, files: Mapping[str, str]) -> str:
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "name": image.name,
        "array": image.array,
        "parameters": dict(image.parameters),
        "memory_bytes": image.memory_bytes,
        "plan": [list(write) for write in image.plan],
        "outputs": [_print_output(region) for region in image.outputs],
        "metadata": dict(image.metadata),
        "files": {name: _digest(text) for name, text in files.items()},
    }
    try:
        return json.dumps(manifest, indent=2, sort_keys=True, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise DesignError(f"design {image.name}: parameters or metadata are not JSON: {error}") from error


def _print_output(region: OutputRegion) -> dict[str, Any]:
    checksum = None if region.crc32 is None else f"{region.crc32:08x}"
    return {"name": region.name, "address": region.address, "length": region.length, "crc32": checksum}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Reading


def read_design(directory: Path) -> DesignImage:
    """Read and check a design directory.

    Raises `DesignError`, whose message starts with the path of the offending file: missing or unreadable file, not
    JSON, wrong format or version, missing, unknown or ill-typed field, checksum that does not match, malformed hex,
    or a rule of `DesignImage` that is broken.
    """
    manifest_path = directory / MANIFEST
    manifest = _parse_json(manifest_path)
    try:
        _check_schema(manifest)
        names = {CONFIGURATION, MEMORY, *map(_file_name, manifest["files"])}
        texts = {name: _checked_text(directory, name, manifest["files"]) for name in sorted(names)}
        return DesignImage(
            name=manifest["name"],
            array=manifest["array"],
            configuration=_parse_configuration(directory / CONFIGURATION, texts[CONFIGURATION]),
            plan=tuple(_parse_write(item) for item in manifest["plan"]),
            memory=_parse_memory(directory / MEMORY, texts[MEMORY]),
            outputs=tuple(_parse_output(item) for item in manifest["outputs"]),
            memory_bytes=manifest["memory_bytes"],
            parameters=manifest["parameters"],
            metadata=manifest["metadata"],
        )
    except DesignError as error:
        text = str(error)
        raise DesignError(text if text.startswith(str(directory)) else f"{manifest_path}: {text}") from error


def read_text(path: Path) -> str:
    """The text of a file of a design. Raises `DesignError`."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise DesignError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DesignError(f"{path}: not a text file") from error


def bus_width(image: DesignImage, widths: Sequence[int]) -> int:
    """The width of a system's memory bus that the parameters say. Raises `DesignError` for one that is not among
    `widths`."""
    width: Any = image.parameters.get("bus_bits")
    if width not in widths:
        raise DesignError(f"parameters: bus_bits is {width!r}, must be one of {', '.join(map(str, widths))}")
    return width


def _parse_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DesignError(f"{path}: not JSON: {error}") from error


def _file_name(name: str) -> str:
    """`name`, which must be the path of a file in the design directory, or in a folder of it."""
    _require(re.fullmatch(r"(\w[\w.-]*/)*\w[\w.-]*", name) is not None, f"file {name!r} is not a path in the directory")
    return name


def _checked_text(directory: Path, name: str, digests: Mapping[str, Any]) -> str:
    text = read_text(directory / name)
    if digests.get(name) != _digest(text):
        raise DesignError(f"{directory / name}: contents do not match the SHA-256 in {MANIFEST}")
    return text


_SCHEMA: dict[str, type] = {
    "format": str, "version": int, "name": str, "array": str, "parameters": dict, "memory_bytes": int,
    "plan": list, "outputs": list, "metadata": dict, "files": dict,
}  # fmt: skip
_JSON_NAMES = {str: "a string", int: "an integer", dict: "an object", list: "a list"}


def _check_schema(manifest: Any) -> None:
    _require(isinstance(manifest, dict), "not a JSON object")
    _require(manifest.get("format") == FORMAT, f"format is {manifest.get('format')!r}, not {FORMAT!r}")
    version = manifest.get("version")
    _require(version == VERSION, f"version {version!r} is not supported, only {VERSION}")
    _check_fields(manifest, _SCHEMA)


def _check_fields(item: dict[str, Any], schema: Mapping[str, type], where: str = "") -> None:
    for name, kind in schema.items():
        _require(name in item, f"{where}field {name!r} is missing")
        right = isinstance(item[name], kind) and not isinstance(item[name], bool)
        _require(right, f"{where}field {name!r} must be {_JSON_NAMES[kind]}")
    for name in item:
        _require(name in schema, f"{where}unknown field {name!r}")


def _parse_write(item: Any) -> tuple[str | int, int]:
    well_formed = isinstance(item, list) and len(item) == 2 and isinstance(item[0], str | int)
    _require(well_formed, f"plan entry {item!r} is not [register, value]")
    return item[0], item[1]


def _parse_output(item: Any) -> OutputRegion:
    _require(isinstance(item, dict), f"output {item!r} is not an object")
    fields = dict(item)
    checksum = fields.pop("crc32", None)
    _check_fields(fields, {"name": str, "address": int, "length": int}, where="output: ")
    _require(checksum is None or (isinstance(checksum, str) and re.fullmatch(r"[0-9a-f]{8}", checksum) is not None),
             f"output {fields['name']}: crc32 must be eight hexadecimal digits or null")
    return OutputRegion(**fields, crc32=None if checksum is None else int(checksum, 16))


def _parse_configuration(path: Path, text: str) -> tuple[tuple[int, int], ...]:
    words = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{8}) ([0-9a-f]{8})", line)
        if match is None:
            raise DesignError(f"{path}: line {number}: not an address and a data word: {line[:40]!r}")
        words.append((int(match[1], 16), int(match[2], 16)))
    return tuple(words)


def _parse_memory(path: Path, text: str) -> tuple[tuple[int, bytes], ...]:
    blocks: list[tuple[int, bytearray]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.fullmatch(r"@([0-9a-f]{8})", line):
            blocks.append((int(match[1], 16), bytearray()))
        elif blocks and re.fullmatch(r"[0-9a-f]{2}( [0-9a-f]{2})*", line):
            blocks[-1][1].extend(bytes.fromhex(line))
        else:
            raise DesignError(f"{path}: line {number}: neither an address nor bytes: {line[:40]!r}")
    return tuple((address, bytes(data)) for address, data in blocks)

"""A driver in C that needs no library and no operating system.

Memory and registers are where the caller says; what else a platform has to do (caches, barriers, waiting) is in hooks
of ``struct NAME_device``. Macros ``SLUICE_READ32`` and ``SLUICE_WRITE32`` access registers, for platforms where that is
not a load or a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hw.dma.registers import RegisterMap
from hw.drivers.interface import Area, Block, HostArray, HostInterface

__all__ = ["DRIVER_ERRORS", "c_header", "c_source", "run_parameters"]

DRIVER_ERRORS = {
    "TIMEOUT": (-1, "the run has not ended in time"),
    "IDENTITY": (-2, "these are not the registers of this design"),
    "ADDRESS": (-3, "the design cannot reach the memory at this address"),
    "BUSY": (-4, "a run is going on"),
}
"""What goes wrong outside of the hardware: name, code, what is said of it."""

_IMAGE_LINE = 16


def run_parameters(arrays: Sequence[HostArray]) -> str:
    """The parameters of a function in C that takes `arrays`, after the device."""
    return "".join(f", {array.declaration}" for array in arrays)


def c_header(interface: HostInterface) -> str:
    """``NAME.h``: registers, codes of errors, the device and the functions."""
    name, upper = interface.name, interface.name.upper()
    codes = [f"#define {upper}_ERROR_{key} ({code}) /* {text} */" for key, (code, text) in DRIVER_ERRORS.items()]
    return "\n".join([
        interface.registers.c_header(),
        f"#ifndef {upper}_DRIVER_H", f"#define {upper}_DRIVER_H", "", "#include <stddef.h>", "#include <stdint.h>", "",
        "/* Memory of the design: bytes, and what its address on the bus is a multiple of. */",
        f"#define {upper}_MEMORY_BYTES {interface.memory_bytes}u", f"#define {upper}_MEMORY_ALIGNMENT "
        f"{interface.alignment}u", "", "/* Codes above 0 are those of the design's register STATUS. */", *codes, "",
        *_device(name), "", *_prototypes(interface), "", "#endif", ""])


def _device(name: str) -> list[str]:
    upper = name.upper()
    return [
        f"struct {name}_device {{",
        "  volatile void *registers; /* the design's registers, as the program reaches them */",
        f"  void *memory;             /* {upper}_MEMORY_BYTES bytes for the design alone, likewise */",
        "  uint64_t bus_address;     /* of the same memory, as the design reaches it */",
        "  uint32_t polls;           /* how often STATUS is read before a run is given up; 0: no limit */",
        "  void *context;            /* for the hooks, each of which may be NULL */",
        "  void (*clean)(void *context, void *start, size_t bytes);      /* caches to memory, before a run */",
        "  void (*invalidate)(void *context, void *start, size_t bytes); /* caches are stale, after a run */",
        "  void (*barrier)(void *context); /* orders memory and registers; NULL: that of the C compiler */",
        "  int (*wait)(void *context);     /* between two reads of STATUS; not 0 gives the run up */",
        "};",
    ]


def _prototypes(interface: HostInterface) -> list[str]:
    name = interface.name
    device = f"const struct {name}_device *device"
    return [
        "/* Functions return 0 or the code of an error. */",
        f"const char *{name}_error(int code);",
        "/* Once before the first run: checks the device, and fills its memory with what is always the same. */",
        f"int {name}_load({device});",
        "/* A run: inputs, start, wait, outputs. */", f"int {name}_run({device}{run_parameters(interface.arrays)});",
        "/* The same in steps. */",
        f"int {name}_write_inputs({device}{run_parameters(interface.inputs)});",
        f"int {name}_start({device});", f"int {name}_wait({device});",
        f"int {name}_read_outputs({device}{run_parameters(_read(interface))});",
        "/* Clock cycles of the last run. */", f"uint64_t {name}_cycles({device});",
    ]


def _read(interface: HostInterface) -> tuple[HostArray, ...]:
    """Arrays that reading the outputs takes: those that they keep elements of are among them."""
    return interface.arrays if interface.kept else interface.outputs


def c_source(interface: HostInterface) -> str:
    """``NAME.c``."""
    sections = (_preamble, _errors, _address, _image, _load, _inputs, _start, _wait, _outputs, _run, _cycles)
    return "\n".join(line for section in sections for line in [*section(interface), ""])


def _preamble(interface: HostInterface) -> Iterator[str]:
    yield f'#include "{interface.name}.h"'
    yield ""
    yield "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__"
    yield '#error "the design has the lowest byte first; swap the bytes of arrays and registers"'
    yield "#endif"
    yield "#ifndef SLUICE_READ32"
    yield "#define SLUICE_READ32(registers, offset) \\"
    yield "  (*(volatile uint32_t *)((volatile uint8_t *)(registers) + (offset)))"
    yield "#endif"
    yield "#ifndef SLUICE_WRITE32"
    yield "#define SLUICE_WRITE32(registers, offset, value) \\"
    yield "  (*(volatile uint32_t *)((volatile uint8_t *)(registers) + (offset)) = (value))"
    yield "#endif"
    yield from interface.definitions
    yield ""
    yield f"static void barrier(const struct {interface.name}_device *device)"
    yield "{"
    yield "  if (device->barrier)"
    yield "    device->barrier(device->context);"
    yield "  else"
    yield "    __sync_synchronize();"
    yield "}"


def _errors(interface: HostInterface) -> Iterator[str]:
    yield f"const char *{interface.name}_error(int code)"
    yield "{"
    yield "  switch (code) {"
    yield '  case 0: return "no error";'
    for code, text in DRIVER_ERRORS.values():
        yield f'  case {code}: return "{text}";'
    for code, name in _hardware_errors(interface.registers):
        yield f'  case {code}: return "the run ended with error {name}";'
    yield '  default: return "unknown error";'
    yield "  }"
    yield "}"


def _hardware_errors(registers: RegisterMap) -> list[tuple[int, str]]:
    values = registers.register("STATUS").field("error").values
    return [(code.value, code.name) for code in values or () if code.value]


def _address(interface: HostInterface) -> Iterator[str]:
    """Checked by every function that writes, before it does: `load` may have seen another device."""
    yield f"static int wrong_address(const struct {interface.name}_device *device)"
    yield "{"
    yield f"  return {' || '.join(_wrong_address(interface))};"
    yield "}"


def _refused_address(interface: HostInterface) -> Iterator[str]:
    yield "  if (wrong_address(device))"
    yield f"    return {interface.name.upper()}_ERROR_ADDRESS;"


def _image(interface: HostInterface) -> Iterator[str]:
    for number, (address, content) in enumerate(interface.image):
        yield f"/* Memory from byte {address} on. */"
        yield f"static const uint8_t image{number}[{len(content)}] = {{"
        for start in range(0, len(content), _IMAGE_LINE):
            yield "  " + "".join(f"{byte}," for byte in content[start:start + _IMAGE_LINE])
        yield "};"


def _load(interface: HostInterface) -> Iterator[str]:
    name, prefix = interface.name, interface.registers.name.upper()
    identity = f"{prefix}_ID_CONSTANT"
    yield f"int {name}_load(const struct {name}_device *device)"
    yield "{"
    yield f"  if (SLUICE_READ32(device->registers, {prefix}_ID) != {identity})"
    yield f"    return {name.upper()}_ERROR_IDENTITY;"
    yield from _refused_address(interface)
    yield "  volatile uint8_t *memory = (volatile uint8_t *)device->memory;"
    yield f"  for (size_t k = 0; k < {name.upper()}_MEMORY_BYTES; k++)"
    yield "    memory[k] = 0;"
    for number, (address, _) in enumerate(interface.image):
        yield f"  for (size_t k = 0; k < sizeof image{number}; k++)"
        yield f"    memory[{address} + k] = image{number}[k];"
    yield "  return 0;"
    yield "}"


def _wrong_address(interface: HostInterface) -> list[str]:
    """Conditions under which the design cannot work with the memory's address."""
    upper = interface.name.upper()
    if interface.base is not None:
        return [f"device->bus_address % {upper}_MEMORY_ALIGNMENT",
                f"device->bus_address > UINT64_MAX - {upper}_MEMORY_BYTES"]
    if not interface.relocatable:
        return ["device->bus_address != 0"]
    return [f"device->bus_address % {upper}_MEMORY_ALIGNMENT",
            f"device->bus_address > 0x100000000u - {upper}_MEMORY_BYTES"]


def _inputs(interface: HostInterface) -> Iterator[str]:
    name = interface.name
    yield f"int {name}_write_inputs(const struct {name}_device *device{run_parameters(interface.inputs)})"
    yield "{"
    yield from _refused_address(interface)
    yield f"  if (SLUICE_READ32(device->registers, {interface.registers.name.upper()}_STATUS) & "
    yield f"      {interface.registers.name.upper()}_STATUS_BUSY_MASK)"
    yield f"    return {name.upper()}_ERROR_BUSY;"
    for array in (None, *interface.inputs):
        for area in interface.areas:
            if area.array == (array.name if array else None):
                yield from _copied(area, array, pack=True)
    for array in interface.inputs:
        yield f"  (void){array.name};"
    yield "  return 0;"
    yield "}"


def _outputs(interface: HostInterface) -> Iterator[str]:
    name = interface.name
    yield f"int {name}_read_outputs(const struct {name}_device *device{run_parameters(_read(interface))})"
    yield "{"
    yield from (f"  {line}" for line in interface.kept)
    for array in interface.outputs:
        for area in interface.areas_of(array):
            yield from _copied(area, array, pack=False)
    for array in _read(interface):
        yield f"  (void){array.name};"
    yield "  return 0;"
    yield "}"


def _copied(area: Area, array: HostArray | None, *, pack: bool) -> Iterator[str]:
    """The lines that move one area; one of constants without lines of its own is in the image."""
    if area.copy is None and not area.blocks:
        return
    yield f"  {{ /* {area.name} */"
    yield f"    uint8_t *const memory = (uint8_t *)device->memory + {area.address};"
    if area.copy is not None:
        yield from (f"    {line}" for line in area.copy())
    for block in area.blocks:
        assert array is not None
        yield from (f"    {line}" for line in _box(block, array, pack=pack))
    yield "  }"


def _box(block: Block, array: HostArray, *, pack: bool) -> list[str]:
    loops = [f"{'  ' * d}for (size_t k{d} = 0; k{d} < {extent}; k{d}++)" for d, extent in enumerate(block.shape)]
    place = " + ".join([str(block.offset), *(f"k{d} * {stride}" for d, stride in enumerate(block.strides))])
    word = f"*(volatile {block.word} *)(memory + {place})"
    index = [_index(block, array, d) for d in range(len(block.shape))] or ["0"]
    element = array.name + "".join(f"[{text}]" for text in index)
    return [*loops, "  " * len(loops) + _move(block, array, element, word, pack=pack)]


def _index(block: Block, array: HostArray, dimension: int) -> str:
    low, step = block.low[dimension], block.step[dimension]
    text = f"k{dimension}" if step == 1 else f"k{dimension} * {step}"
    if not block.clamped:
        return text if low == 0 else f"{text} + {low}"
    last = array.shape[dimension] - 1
    return f"({text} < {-low} ? 0 : {text} - {-low} > {last} ? {last} : {text} - {-low})" if low < 0 else \
        f"({text} + {low} > {last} ? {last} : {text} + {low})"


def _move(block: Block, array: HostArray, element: str, word: str, *, pack: bool) -> str:
    """`shift` other than 0: the element's other words have been moved before."""
    if pack:
        value = f"((uint64_t){element} >> {block.shift})" if block.shift else element
        return f"{word} = ({block.word}){value};"
    if not block.shift:
        return f"{element} = ({array.c_type}){word};"
    return f"{element} = ({array.c_type})((uint64_t){element} | (uint64_t){word} << {block.shift});"


def _start(interface: HostInterface) -> Iterator[str]:
    name = interface.name
    names = {offset: register for register, offset in interface.registers.addresses.items()}
    yield f"int {name}_start(const struct {name}_device *device)"
    yield "{"
    yield from _refused_address(interface)
    yield "  if (device->clean)"
    yield f"    device->clean(device->context, device->memory, {name.upper()}_MEMORY_BYTES);"
    moved = interface.base is None  # addresses of memory in the design's own registers
    for word in range(0 if moved else 2):
        value = f"(uint32_t)(device->bus_address >> {32 * word})" if word else "(uint32_t)device->bus_address"
        offset = (interface.base or 0) + 4 * word
        yield f"  SLUICE_WRITE32(device->registers, 0x{offset:x}, {value}); /* {names[offset]} */"
    if moved and any(write.is_address for write in interface.writes):
        yield "  const uint32_t base = (uint32_t)device->bus_address;"
    yield "  barrier(device);"
    for write in interface.writes:
        value = f"base + 0x{write.value:x}u" if moved and write.is_address else f"0x{write.value:x}u"
        yield f"  SLUICE_WRITE32(device->registers, 0x{write.offset:x}, {value}); /* {names[write.offset]} */"
    yield "  return 0;"
    yield "}"


def _wait(interface: HostInterface) -> Iterator[str]:
    name, prefix = interface.name, interface.registers.name.upper()
    yield f"int {name}_wait(const struct {name}_device *device)"
    yield "{"
    yield "  uint32_t status, reads = 0;"
    yield f"  while (!((status = SLUICE_READ32(device->registers, {prefix}_STATUS)) & {prefix}_STATUS_DONE_MASK)) {{"
    yield "    if ((device->polls && ++reads >= device->polls) || (device->wait && device->wait(device->context))) {"
    yield f"      SLUICE_WRITE32(device->registers, {prefix}_CONTROL, {prefix}_CONTROL_CLEAR_MASK);"
    yield f"      return {name.upper()}_ERROR_TIMEOUT;"
    yield "    }"
    yield "  }"
    yield "  barrier(device);"
    yield "  if (device->invalidate)"
    yield f"    device->invalidate(device->context, device->memory, {name.upper()}_MEMORY_BYTES);"
    yield f"  return (int)((status & {prefix}_STATUS_ERROR_MASK) >> {prefix}_STATUS_ERROR_SHIFT);"
    yield "}"


def _run(interface: HostInterface) -> Iterator[str]:
    name = interface.name
    steps = [(f"{name}_write_inputs", interface.inputs), (f"{name}_start", ()), (f"{name}_wait", ())]
    yield f"int {name}_run(const struct {name}_device *device{run_parameters(interface.arrays)})"
    yield "{"
    yield "  int code;"
    for function, arrays in steps:
        yield f"  if ((code = {function}({_arguments(arrays)})))"
        yield "    return code;"
    yield f"  return {name}_read_outputs({_arguments(_read(interface))});"
    yield "}"


def _arguments(arrays: Sequence[HostArray]) -> str:
    return ", ".join(["device", *(array.name for array in arrays)])


def _cycles(interface: HostInterface) -> Iterator[str]:
    prefix = interface.registers.name.upper()
    words = [f"(uint64_t)SLUICE_READ32(device->registers, {prefix}_{register}) << {32 * k}"
             for k, register in enumerate(interface.cycles)]
    yield f"uint64_t {interface.name}_cycles(const struct {interface.name}_device *device)"
    yield "{"
    yield f"  return {' | '.join(words)};"
    yield "}"

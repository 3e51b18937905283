"""The C interface of the vector processor, `vector.h`, made from the table of instructions.

Every call is one or two custom-0 instructions (three for a 2-D transfer that sets its steps): modes and operations are
constants, so the ten function bits are known to the assembler, and a constant zero operand takes register x0.
Names follow Liu 2012, section 2.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hw.vector_lanes.isa import FUSED, MODE, OPERANDS_BITS, SIZE_LETTERS, Control, Mode, Op, Parameter, Status
from hw.vector_lanes.spec import VectorSpec

__all__ = ["ALIASES", "c_header", "mode_constants"]

ALIASES = {"VCMV_FS": "VCMV_LTZ", "VCMV_FC": "VCMV_GEZ", "VCMV_GTEZ": "VCMV_GEZ", "VCMV_LTEZ": "VCMV_LEZ",
           "VMULLO": "VMUL", FUSED: "VMULFXP", "VABSDIFF": "(VSUB | VECTOR_ABSOLUTE)"}
"""Other names of operations: of flags set and clear, of Liu 2012, of fused multiply-add, and of the absolute
difference."""



def _bit(name: str) -> int:
    return 1 << MODE[name].offset


def mode_constants() -> dict[str, int]:
    """Name and bits of every mode constant: operands (VV, SV, VE, SE), sizes (one letter, or in and out) and sign."""
    constants = {}
    for operands, sizes, sign in product(("VV", "SV", "VE", "SE"), _sizes(), ("", "S", "U")):
        mode = Mode(Op.VMOV, sign != "U", SIZE_LETTERS.index(sizes[0]), SIZE_LETTERS.index(sizes[-1]),
                    enumerated=operands[1] == "E", scalar=operands[0] == "S")
        constants[operands + sizes + sign] = mode.encode()
    return constants


def _sizes() -> list[str]:
    return [*SIZE_LETTERS, *(a + b for a, b in product(SIZE_LETTERS, SIZE_LETTERS))]


def _define(name: str, value: str) -> str:
    return f"#define {name} {value}"


def _constants() -> Iterator[str]:
    yield "/* Bits of the mode word. */"
    for name in ("signed", "enumerated", "scalar", "masked", "accumulate", "absolute"):
        yield _define(f"VECTOR_{name.upper()}", f"{_bit(name):#07x}")
    for number, name in enumerate(("1D", "2D", "3D")):
        yield _define(f"VECTOR_{name}", f"{number << MODE['dimensions'].offset:#07x}")
    yield "\n/* Modes: sources (V vector, S scalar, E enumerated), sizes in and out, signed (S or none), unsigned. */"
    yield from (_define(name, f"{bits:#07x}") for name, bits in mode_constants().items())
    yield "\n/* Operations. */"
    yield from (_define(op.name, str(int(op))) for op in Op)
    yield from (_define(name, meaning) for name, meaning in ALIASES.items())
    yield "\n/* Control operations, parameters of vector_get and bits of the status register. */"
    yield from (_define(f"VECTOR_OP_{control.name}", str(int(control))) for control in Control)
    yield from (_define(f"VECTOR_PARAMETER_{parameter.name}", str(int(parameter))) for parameter in Parameter)
    yield from (_define(f"VECTOR_STATUS_{status.name}", str(int(status))) for status in Status)


def _machine(spec: VectorSpec | None) -> Iterator[str]:
    yield "\n/* The machine. */"
    if spec is None:
        yield _define("VECTOR_LANES", "vector_get(VECTOR_PARAMETER_LANES)")
        yield _define("VECTOR_SCRATCHPAD_BYTES", "vector_get(VECTOR_PARAMETER_SCRATCHPAD)")
    else:
        yield _define("VECTOR_LANES", f"{spec.lanes}u")
        yield _define("VECTOR_SCRATCHPAD_BYTES", f"{spec.capacity}u")
    yield _define("VECTOR_ROW_BYTES", "(4u * VECTOR_LANES)")


_CALLS = f"""
/* One custom function of two source registers; a constant zero is register x0. */
#define VECTOR_FUNCTION(funct3, funct7, rs1, rs2, ...) \\
    __asm__ volatile(".insn r CUSTOM_0, %0, %1, x0, %z2, %z3" \\
        : : "i"(funct3), "i"(funct7), "rJ"((uint32_t)(rs1)), "rJ"((uint32_t)(rs2)) __VA_ARGS__)

/* The mode word goes over in two halves: the first with A and B, the second with D. */
#define VECTOR_ISSUE(word, d, a, b) do {{ \\
    VECTOR_FUNCTION((word) & 3, (word) >> 2 & 127, a, b); \\
    VECTOR_FUNCTION(4 | ((word) >> {OPERANDS_BITS} & 1), (word) >> {OPERANDS_BITS + 1} & 127, d, 0); \\
}} while (0)

/* Control operations; those that main memory depends on tell the compiler so. */
#define VECTOR_CONTROL(operation, a, b) VECTOR_FUNCTION(6, operation, a, b)
#define VECTOR_BARRIER(operation, a, b) VECTOR_FUNCTION(6, operation, a, b, : "memory")
"""


def _instruction_macros() -> Iterator[str]:
    yield "\n/* Instructions on scratchpad pointers d, a and b; a is a scalar in modes S, b is not used in modes E. */"
    for masked, kinds, shape in product((False, True), ((), ("acc",), ("abs",), ("acc", "abs")), ("1D", "2D", "3D")):
        if masked and shape != "1D":
            continue
        name = "_".join(["vector", *(["masked"] if masked else []), *kinds, *([] if shape == "1D" else [shape])])
        bits = [f"VECTOR_{b}" for b in _kind_bits(masked, kinds, shape)]
        word = " | ".join(["(mode)", "(func)", *bits])
        yield _define(f"{name}(mode, func, d, a, b)", f"VECTOR_ISSUE({word}, d, a, b)")


def _kind_bits(masked: bool, kinds: tuple[str, ...], shape: str) -> list[str]:
    names = {"acc": "ACCUMULATE", "abs": "ABSOLUTE"}
    return [*(["MASKED"] if masked else []), *(names[kind] for kind in kinds), *([] if shape == "1D" else [shape])]


_CONTROL_CALLS = """
/* Vector length in elements; rows and matrices of 2-D and 3-D instructions. Steps are bytes from one row (matrix) to
   the next and may be negative. They keep their values. */
#define vector_set_vl(vl) VECTOR_CONTROL(VECTOR_OP_SET_VL, vl, 0)
#define vector_setup_2D(rows, incD, incA, incB) do { \\
    VECTOR_CONTROL(VECTOR_OP_SET_2D_ROWS, rows, incD); \\
    VECTOR_CONTROL(VECTOR_OP_SET_2D_SOURCES, incA, incB); \\
} while (0)
#define vector_setup_3D(mats, incD, incA, incB) do { \\
    VECTOR_CONTROL(VECTOR_OP_SET_3D_MATS, mats, incD); \\
    VECTOR_CONTROL(VECTOR_OP_SET_3D_SOURCES, incA, incB); \\
} while (0)

/* Masks: elements of src that pass a VCMV test are active; _masked keeps only those that are active already. */
#define vector_setup_mask(mode, test, src) VECTOR_ISSUE((mode) | (test) | VECTOR_ABSOLUTE, 0, 0, src)
#define vector_setup_mask_masked(mode, test, src) \\
    VECTOR_ISSUE((mode) | (test) | VECTOR_ABSOLUTE | VECTOR_MASKED, 0, 0, src)

/* Transfers. A 2-D call sets the steps (bytes from row to row); _rows uses the steps that were set last. */
#define VECTOR_DMA(operation, sp, host, bytes, rows) do { \\
    VECTOR_CONTROL(VECTOR_OP_OPERANDS, sp, host); \\
    VECTOR_BARRIER(operation, bytes, rows); \\
} while (0)
#define vector_setup_dma(incSp, incHost) VECTOR_CONTROL(VECTOR_OP_SET_DMA_INC, incSp, incHost)
#define vector_dma_to_vector(sp, host, bytes) VECTOR_DMA(VECTOR_OP_DMA_TO_VECTOR, sp, host, bytes, 0)
#define vector_dma_to_host(host, sp, bytes) VECTOR_DMA(VECTOR_OP_DMA_TO_HOST, sp, host, bytes, 0)
#define vector_dma_to_vector_rows(sp, host, bytes, rows) VECTOR_DMA(VECTOR_OP_DMA_TO_VECTOR, sp, host, bytes, rows)
#define vector_dma_to_host_rows(host, sp, bytes, rows) VECTOR_DMA(VECTOR_OP_DMA_TO_HOST, sp, host, bytes, rows)
#define vector_dma_to_vector_2D(sp, host, bytes, rows, incSp, incHost) do { \\
    vector_setup_dma(incSp, incHost); \\
    vector_dma_to_vector_rows(sp, host, bytes, rows); \\
} while (0)
#define vector_dma_to_host_2D(host, sp, bytes, rows, incHost, incSp) do { \\
    vector_setup_dma(incSp, incHost); \\
    vector_dma_to_host_rows(host, sp, bytes, rows); \\
} while (0)

/* Waiting: for transfers, for instructions, for both. */
#define vector_wait_for_dma() VECTOR_BARRIER(VECTOR_OP_SYNC_DMA, 0, 0)
#define vector_instr_sync() VECTOR_BARRIER(VECTOR_OP_SYNC_INSTR, 0, 0)
#define vector_sync() VECTOR_BARRIER(VECTOR_OP_SYNC, 0, 0)

static inline uint32_t vector_get(uint32_t parameter)
{
    uint32_t value;
    __asm__ volatile(".insn r CUSTOM_0, 6, %1, %0, %z2, x0"
        : "=r"(value) : "i"(VECTOR_OP_GET), "rJ"(parameter));
    return value;
}

/* Wavefronts with an active element; 0: the mask is empty. */
static inline uint32_t vector_get_mask_status(void)
{
    vector_instr_sync();
    return vector_get(VECTOR_PARAMETER_MASK_WAVES);
}

/* Scratchpad memory, aligned to its width. vector_free gives all of it back. Scratchpad pointers start at 0. */
#define VECTOR_NO_SPACE ((void *)0xffffffffu)
__attribute__((weak)) uint32_t vector_malloc_next;

static inline void *vector_malloc(uint32_t bytes)
{
    uint32_t row = VECTOR_ROW_BYTES, start = vector_malloc_next, space = VECTOR_SCRATCHPAD_BYTES - start;
    if (bytes > space)
        return VECTOR_NO_SPACE;
    vector_malloc_next = start + ((bytes + row - 1) & -row);
    return (void *)start;
}

static inline void vector_free(void)
{
    vector_malloc_next = 0;
}
"""


def c_header(spec: VectorSpec | None = None) -> str:
    """The text of `vector.h`. With a `spec` its lanes and scratchpad are constants; without one the program asks."""
    lines = ["/* Interface of the soft vector processor, generated from hw/vector_lanes/isa.py. */",
             "#ifndef SLUICE_VECTOR_H", "#define SLUICE_VECTOR_H", "", "#include <stdint.h>", "",
             *_constants(), *_machine(spec), _CALLS.rstrip(), *_instruction_macros(), _CONTROL_CALLS.rstrip(),
             "", "#endif", ""]
    return "\n".join(lines)

"""The table of instructions: encodings, legality, text form, C header and documentation."""

import re
import subprocess

import numpy as np
import pytest

from hw.vector_lanes.document import DOCUMENT, document_text
from hw.vector_lanes.header import c_header, mode_constants
from hw.vector_lanes.isa import (
    CONTROLS,
    ENTRY,
    MODE,
    OPERATIONS,
    RULES,
    Control,
    EncodingError,
    Entry,
    FunctionKind,
    Mode,
    Op,
    check,
    control_function,
    decode_function,
    execute_function,
    operands_function,
)
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import random_entries
from hw.vector_lanes.text import AssemblyError, assemble, disassemble


def test_mode_word_bits():
    """Positions are part of the interface to compiled programs."""
    assert (MODE.size, ENTRY.size) == (17, 146)
    word = Mode(Op.VSUB, True, 0, 2, enumerated=True, accumulate=True, dimensions=2).encode()
    assert word == 5 | 1 << 5 | 0 << 6 | 2 << 8 | 1 << 10 | 1 << 13 | 2 << 14
    assert Mode(Op.VMOV, False, 1, 0, scalar=True, masked=True, absolute=True).encode() == 1 << 6 | 3 << 11 | 1 << 16


def test_every_word_decodes_and_encodes_back():
    for word in range(1 << MODE.size):
        assert Mode.decode(word).encode() == word


def test_functions_carry_the_whole_word():
    for word in range(0, 1 << MODE.size, 13):
        low, high = decode_function(operands_function(word)), decode_function(execute_function(word))
        assert (low.kind, high.kind) == (FunctionKind.OPERANDS, FunctionKind.EXECUTE)
        assert high.value << 9 | low.value == word
    for control in Control:
        half = decode_function(control_function(control))
        assert (half.kind, half.value) == (FunctionKind.CONTROL, control)
    assert all(decode_function(high << 3 | 7).kind is FunctionKind.RESERVED for high in range(128))


def test_every_code_has_an_entry():
    assert [int(op) for op in OPERATIONS] == list(range(32))
    assert list(CONTROLS) == list(Control)


@pytest.mark.parametrize("mode, reasons", [
    (Mode(Op.VADD), ()),
    (Mode(Op.VADD, in_size=3), ("size",)),
    (Mode(Op.VADD, dimensions=3), ("dimensions",)),
    (Mode(Op.VMUL, absolute=True), ("absolute",)),
    (Mode(Op.VMAC, scalar=True, accumulate=True), ("accumulate",)),
    (Mode(Op.VMAC), ("mac-operands",)),
    (Mode(Op.VMAC, enumerated=True), ()),
    (Mode(Op.VADD, masked=True, dimensions=1), ("masked-shape",)),
    (Mode(Op.VSCATTER, masked=True), ("masked-indexed",)),
    (Mode(Op.VSCATTER, accumulate=True), ()),
    (Mode(Op.VGATHER, scalar=True, accumulate=True), ("accumulate",)),
    (Mode(Op.VGATHER), ("gather-base",)),
    (Mode(Op.VSCATTER, enumerated=True), ("indexed-enumerated",)),
    (Mode(Op.VCMV_Z, absolute=True), ()),
    (Mode(Op.VCMV_Z, in_size=0, absolute=True), ("mask-size",)),
    (Mode(Op.VCMV_Z, absolute=True, dimensions=2), ("mask-shape",)),
    (Mode(Op.VCMV_Z, absolute=True, accumulate=True), ("mask-accumulate",)),
    (Mode(Op.VCMV_Z, absolute=True, enumerated=True), ("mask-enumerated",)),
])
def test_rules(mode, reasons):
    assert check(mode) == check(mode.encode()) == reasons


def test_every_rule_is_violated_by_some_word():
    seen = set()
    for word in range(0, 1 << MODE.size, 7):
        seen.update(check(word))
    assert seen == {rule.name for rule in RULES}


def test_entries_pack_and_unpack():
    for entry in random_entries(VectorSpec(2), np.random.default_rng(3), 200):
        assert Entry.unpack(entry.pack()) == Entry.from_bits(entry.bits()) == entry
    assert Entry.of(Control.SET_VL, 5).pack() == (1 << 31, 5, 0, 0, 0, 0, 0, 0)
    assert Entry.vector(Mode(Op.VADD), 1, -1, 3).pack()[1:5] == (0xFFFFFFFF, 3, 1, 0)


def test_errors_of_encoding():
    with pytest.raises(EncodingError, match=r"^operand a of an entry has 32 bits, not room for 4294967296$"):
        Entry(False, 0, a=1 << 32)
    with pytest.raises(EncodingError, match=r"^the code of an entry has 17 bits, not room for 0x20000$"):
        Entry(False, 1 << 17)
    with pytest.raises(EncodingError, match=r"^in_size of a mode word has 2 bits, not room for 4$"):
        Mode(Op.VADD, in_size=4).encode()
    with pytest.raises(EncodingError, match=r"^a mode word has 17 bits, not room for 0x20000$"):
        Mode.decode(1 << 17)
    with pytest.raises(EncodingError, match=r"^not an entry of 8 words: 0x1$"):
        Entry.unpack([1])


def test_text_parses_back():
    rng = np.random.default_rng(5)
    entries = random_entries(VectorSpec(2), rng, 500)
    entries += [Entry(bool(i & 1), int(rng.integers(1 << 17)), 1, -2, 3, i % 3) for i in range(300)]
    text = disassemble(entries)
    assert assemble(text) == entries
    assert text.count("VCMV") > 5 and text.count("raw ") > 5 and text.count(".2D") > 5


def test_text_is_readable():
    text = "VADD.2D.acc VVBHU 0x200, 0x0, 0x40\nVCMV_Z.mask VVW 0x0, 0x0, 0x80\nSET_2D_ROWS 4, -16\n"
    assert disassemble(assemble(f"# a comment\n\n{text}")) == text


@pytest.mark.parametrize("line, message", [
    ("VADX VVW 1, 2, 3", "there is no operation 'VADX'"),
    ("SYNC", "there is no operation 'SYNC'"),
    ("VADD XVW 1, 2, 3", "'XVW' is no mode; one is VVW, SVBHU"),
    ("VADD.4D VVW 1, 2, 3", "variants of an operation are 2D or 3D, masked, acc, abs, mask, not '4D'"),
    ("VADD.mask VVW 1, 2, 3", "'mask' goes with conditional moves and 'abs' with others, not with VADD"),
    ("VADD VVW 1, 2", "3 numbers with commas are needed, not '1, 2'"),
    ("SET_VL x", "'x' are not all numbers"),
    ("SET_VL 0x100000000", "operand a of an entry has 32 bits, not room for 4294967296"),
])
def test_errors_of_text(line, message):
    with pytest.raises(AssemblyError, match=f"^line 2: {re.escape(message)}$"):
        assemble(f"SET_VL 1\n{line}\n")


def test_document_is_current():
    """Written by ``python -m hw.vector_lanes.document``."""
    assert DOCUMENT.read_text() == document_text()


# --- the C header, through the compiler: what it emits is decoded again -----------------------------------------------

CALLS = {
    "vector(VVW, VADD, 1, 2, 3)": [Entry.vector(Mode(Op.VADD), 1, 2, 3)],
    "vector(SEBHU, VMAC, 0, -7, 0)": [Entry.vector(Mode(Op.VMAC, False, 0, 1, True, True), 0, -7, 0)],
    "vector(VVB, VABSDIFF, 5, 0, 0)": [Entry.vector(Mode(Op.VSUB, True, 0, 0, absolute=True), 5)],
    "vector_abs_2D(VVHW, VSUB, 1, 2, 3)": [
        Entry.vector(Mode(Op.VSUB, True, 1, 2, dimensions=1, absolute=True), 1, 2, 3)],
    "vector_acc_abs_3D(SVW, VSUBB, 1, 2, 3)": [
        Entry.vector(Mode(Op.VSUBB, scalar=True, accumulate=True, dimensions=2, absolute=True), 1, 2, 3)],
    "vector_masked_acc(VVWU, VCMV_FS, 1, 2, 3)": [
        Entry.vector(Mode(Op.VCMV_LTZ, False, masked=True, accumulate=True), 1, 2, 3)],
    "vector_setup_mask(VVH, VCMV_Z, 9)": [Entry.vector(Mode(Op.VCMV_Z, True, 1, 1, absolute=True), 0, 0, 9)],
    "vector_setup_mask_masked(VVH, VCMV_Z, 9)": [
        Entry.vector(Mode(Op.VCMV_Z, True, 1, 1, masked=True, absolute=True), 0, 0, 9)],
    "vector_set_vl(100)": [Entry.of(Control.SET_VL, 100)],
    "vector_setup_2D(4, -8, 12, 16)": [Entry.of(Control.SET_2D_ROWS, 4, -8), Entry.of(Control.SET_2D_SOURCES, 12, 16)],
    "vector_setup_3D(4, -8, 12, 16)": [Entry.of(Control.SET_3D_MATS, 4, -8), Entry.of(Control.SET_3D_SOURCES, 12, 16)],
    "vector_dma_to_vector(3, 70000, 50)": [Entry.of(Control.DMA_TO_VECTOR, 3, 70000, 50, 0)],
    "vector_dma_to_host(70000, 3, 50)": [Entry.of(Control.DMA_TO_HOST, 3, 70000, 50, 0)],
    "vector_dma_to_host_2D(70000, 3, 50, 6, 80, 64)": [
        Entry.of(Control.SET_DMA_INC, 64, 80), Entry.of(Control.DMA_TO_HOST, 3, 70000, 50, 6)],
    "vector_dma_to_vector_2D(3, 70000, 50, 6, 64, 80)": [
        Entry.of(Control.SET_DMA_INC, 64, 80), Entry.of(Control.DMA_TO_VECTOR, 3, 70000, 50, 6)],
}


def compile_words(tmp_path, spec, body):
    """Machine words of a function with `body`, by RISC-V gcc."""
    (tmp_path / "vector.h").write_text(c_header(spec))
    (tmp_path / "call.c").write_text(f'#include "vector.h"\nvoid call(void);\nvoid call(void)\n{{\n{body};\n}}\n')
    flags = ["-march=rv32im", "-mabi=ilp32", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib"]
    subprocess.run(["riscv64-unknown-elf-gcc", *flags, "-c", "call.c", "-o", "call.o"], cwd=tmp_path, check=True)
    subprocess.run(["riscv64-unknown-elf-objcopy", "-O", "binary", "-j", ".text", "call.o", "call.bin"], cwd=tmp_path,
                   check=True)
    return np.fromfile(tmp_path / "call.bin", np.uint32).tolist()


def decode_calls(words):
    """Entries that straight-line code issues: `li` (lui, addi) and custom-0 are understood; anything else fails."""
    registers, half, pair, entries, custom = [0] * 32, None, (0, 0), [], 0
    for word in words:
        opcode, rd, rs1, rs2 = word & 127, word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
        if opcode == 0x37:
            registers[rd] = word & 0xFFFFF000
        elif opcode == 0x13 and word >> 12 & 7 == 0:
            registers[rd] = registers[rs1] + (word >> 20) - (word >> 31 << 12) & 0xFFFFFFFF
        elif opcode == 0x0B:
            custom += 1
            function, a, b = decode_function(word >> 25 << 3 | word >> 12 & 7), registers[rs1], registers[rs2]
            if function.kind is FunctionKind.OPERANDS:
                half, pair = function.value, (a, b)
            elif function.kind is FunctionKind.EXECUTE:
                entries.append(Entry(False, function.value << 9 | (half or 0), *pair, a))
            elif function.value == Control.OPERANDS:
                pair = (a, b)
            elif function.value in (Control.DMA_TO_HOST, Control.DMA_TO_VECTOR):
                entries.append(Entry.of(Control(function.value), *pair, a, b))
            else:
                entries.append(Entry.of(Control(function.value), a, b))
        else:
            assert word == 0x00008067, hex(word)
    return entries, custom


def test_calls_compile_to_their_entries(tmp_path):
    entries, custom = decode_calls(compile_words(tmp_path, None, ";\n".join(CALLS)))
    assert entries == [entry for group in CALLS.values() for entry in group]
    assert custom == sum(2 if call.split("(")[0] not in ("vector_set_vl", "vector_dma_to_host_2D",
                                                         "vector_dma_to_vector_2D") else
                         1 if "vl" in call else 3 for call in CALLS)


def test_every_mode_constant(tmp_path):
    """All 240 constants with a 3-D operation: the assembler gets the bits the table says."""
    constants = mode_constants()
    calls = [f"vector_3D({name}, VSGE, 0, 0, 0)" for name in constants]
    entries, _ = decode_calls(compile_words(tmp_path, VectorSpec(8), ";\n".join(calls)))
    assert len(constants) == 4 * 20 * 3
    for (name, bits), entry in zip(constants.items(), entries, strict=True):
        mode = entry.mode
        sizes = name[2:].rstrip("SU")
        assert entry.code == bits | Op.VSGE | 2 << 14
        assert (mode.scalar, mode.enumerated, mode.signed) == (name[0] == "S", name[1] == "E", name[-1] != "U")
        assert ("BHWF"[mode.in_size], "BHWF"[mode.out_size]) == (sizes[0], sizes[-1])


def test_synchronisation_reaches_the_core(tmp_path):
    words = compile_words(tmp_path, None, "vector_sync();\nvector_instr_sync();\nvector_wait_for_dma()")
    functions = [decode_function(word >> 25 << 3 | word >> 12 & 7).value for word in words[:3]]
    assert functions == [Control.SYNC, Control.SYNC_INSTR, Control.SYNC_DMA]

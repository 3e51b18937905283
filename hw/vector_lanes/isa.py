"""The instruction set of the soft vector processor: the one table that everything else is made from.

Hardware (layouts and enumerations), the reference simulator, the assembler, the C header and `docs/vector_isa.md`
all read it. An instruction is a 17-bit *mode word* and three 32-bit operands A, B and D (Liu 2012, section 2.2.1):
the destination and vector sources are byte addresses in the scratchpad.

The scalar core hands an instruction over in two custom-0 instructions of two registers each; the ten function bits of
each carry half of the mode word. What reaches the instruction queue is an `Entry`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.lib import data, enum

from hw.errors import SluiceError

__all__ = [
    "CONTROLS", "ENTRY", "ENTRY_WORDS", "FLOAT", "FLOAT_RULES", "FORMAT_RULES", "FUSED", "FUSED_RULE", "MODE",
    "OPERATIONS", "OPERATION_NAMES", "PARAMETERS", "RULES", "SIZE_LETTERS", "Control", "ControlInfo", "EncodingError",
    "Entry", "FunctionKind", "Half", "Mode", "Op", "OpInfo", "Parameter", "ParameterInfo", "Rule", "Size", "Status",
    "check", "control_function", "decode_function", "execute_function", "operands_function",
]


class EncodingError(SluiceError):
    """A value that does not fit the field it should go into."""


class Size(enum.IntEnum, shape=2):
    """Size of an element: its number of bytes is ``1 << size``."""

    BYTE = 0
    HALF = 1
    WORD = 2


FLOAT = 3
"""Size code of floating-point numbers: words in the format of IEEE 754 with 32 bits, or with the absolute bit halfwords
in bfloat16, on machines that have them."""

SIZE_LETTERS = "BHWF"
"""How mode names spell a size, by its code."""

FUSED = "VFMA"
"""What VMULFXP is called where it takes and gives floating-point numbers."""


class Op(enum.IntEnum, shape=5):
    """Operations of vector instructions (all 32 codes are in use)."""

    VMOV = 0
    VAND = 1
    VOR = 2
    VXOR = 3
    VADD = 4
    VSUB = 5
    VADDC = 6
    VSUBB = 7
    VMUL = 8
    VMULHI = 9
    VMULFXP = 10
    VMAC = 11
    VSHL = 12
    VSHR = 13
    VROTL = 14
    VROTR = 15
    VCMV_LEZ = 16
    VCMV_GTZ = 17
    VCMV_LTZ = 18
    VCMV_GEZ = 19
    VCMV_Z = 20
    VCMV_NZ = 21
    VMIN = 22
    VMAX = 23
    VGATHER = 24
    VSCATTER = 25
    VSEQ = 26
    VSNE = 27
    VSLT = 28
    VSLE = 29
    VSGT = 30
    VSGE = 31

    @property
    def conditional(self) -> bool:
        """Whether it is a conditional move (with `absolute`: a mask setup)."""
        return Op.VCMV_LEZ <= self <= Op.VCMV_NZ

    @property
    def indexed(self) -> bool:
        """Whether it is a gather or a scatter: one element per cycle."""
        return self in (Op.VGATHER, Op.VSCATTER)

    @property
    def takes_absolute(self) -> bool:
        """Whether the absolute-value stage may follow it."""
        return self <= Op.VSUBB

    @property
    def accumulates(self) -> bool:
        """Whether the results of a row, or of a scatter those of one element, may be added up."""
        return self not in (Op.VMAC, Op.VGATHER)


class Control(enum.IntEnum, shape=4):
    """Control operations; those below `OPERANDS` enter the instruction queue."""

    SET_VL = 0
    SET_2D_ROWS = 1
    SET_2D_SOURCES = 2
    SET_3D_MATS = 3
    SET_3D_SOURCES = 4
    SET_DMA_INC = 5
    DMA_TO_VECTOR = 6
    DMA_TO_HOST = 7
    OPERANDS = 8
    SYNC_INSTR = 9
    SYNC_DMA = 10
    SYNC = 11
    GET = 12

    @property
    def queued(self) -> bool:
        """Whether it becomes an entry of the instruction queue."""
        return self < Control.OPERANDS


class Parameter(enum.IntEnum, shape=4):
    """What GET reads."""

    LANES = 0
    SCRATCHPAD = 1
    STATUS = 2
    MASK_WAVES = 3
    CYCLES = 4
    BUSY = 5
    INSTRUCTIONS = 6
    HAZARDS = 7
    DMA_CYCLES = 8


class Status(enum.IntFlag, shape=4):
    """Bits of the status register; they stick until they are read."""

    ILLEGAL = 1
    ADDRESS = 2
    DMA_READ = 4
    DMA_WRITE = 8


MODE = data.StructLayout({
    "op": Op, "signed": 1, "in_size": 2, "out_size": 2, "enumerated": 1, "scalar": 1, "masked": 1, "accumulate": 1,
    "dimensions": 2, "absolute": 1,
})
"""Bits of the mode word, lowest first (17 bits)."""

ENTRY = data.StructLayout({"control": 1, "code": MODE.size, "a": 32, "b": 32, "d": 32, "c": 32})
"""What enters the instruction queue (146 bits); `code` is a mode word, or the number of a control operation."""

ENTRY_WORDS = 8
"""Words of an entry in memory: control in bit 31 and code in the low bits of the first; then a, b, d, c, 0, 0, 0."""


OPERATION_NAMES: dict[str, Op] = {**Op.__members__, FUSED: Op.VMULFXP}
"""Operations by every name that they have."""


@dataclass(frozen=True)
class OpInfo:
    """What the documentation says about one operation: its result and flag at the execution width n."""

    op: Op
    result: str
    flag: str


@dataclass(frozen=True)
class ControlInfo:
    """One control operation and what its operands are (empty: not used). In an entry the operands of a DMA are
    a, b, d, c; on the core's side OPERANDS brings the first two and the operation itself the other two."""

    control: Control
    operands: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class ParameterInfo:
    """One value that GET reads."""

    parameter: Parameter
    text: str


OPERATIONS: dict[Op, OpInfo] = {info.op: info for info in (
    OpInfo(Op.VMOV, "A (B is ignored)", "fa"),
    OpInfo(Op.VAND, "A and B", "fa and fb"),
    OpInfo(Op.VOR, "A or B", "fa or fb"),
    OpInfo(Op.VXOR, "A xor B", "fa xor fb"),
    OpInfo(Op.VADD, "A + B", "U carry, S overflow"),
    OpInfo(Op.VSUB, "A - B", "U borrow, S overflow"),
    OpInfo(Op.VADDC, "A + B + fb", "U carry, S overflow"),
    OpInfo(Op.VSUBB, "A - B - fb", "U borrow, S overflow"),
    OpInfo(Op.VMUL, "low n bits of A * B", "the product does not fit n bits"),
    OpInfo(Op.VMULHI, "high n bits of the 2n-bit product A * B", "bit n-1 of the product"),
    OpInfo(Op.VMULFXP, "A * B >> fraction bits of n", "the shifted product does not fit n bits"),
    OpInfo(Op.VMAC, "D + A * B; D is read at the out size", "0"),
    OpInfo(Op.VSHL, "B * 2^A; 0 if A >= n", "the product does not fit n bits; 0 if A >= n"),
    OpInfo(Op.VSHR, "B >> A, arithmetic if S; amounts above n count as n", "last bit shifted out, 0 if A = 0"),
    OpInfo(Op.VROTL, "B rotated left by A mod n", "fb"),
    OpInfo(Op.VROTR, "B rotated right by A mod n", "fb"),
    OpInfo(Op.VCMV_LEZ, "A if B <= 0: U fb or Z, S (fb xor N) or Z; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VCMV_GTZ, "A if B > 0: not LEZ; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VCMV_LTZ, "A if B < 0: U fb, S fb xor N; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VCMV_GEZ, "A if B >= 0: not LTZ; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VCMV_Z, "A if Z; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VCMV_NZ, "A if not Z; else D is kept", "fa if moved, else kept"),
    OpInfo(Op.VMIN, "the smaller of A and B", "0"),
    OpInfo(Op.VMAX, "the larger of A and B", "0"),
    OpInfo(Op.VGATHER, "the out-size element at scratchpad address A + B * out bytes", "moved with the element"),
    OpInfo(Op.VSCATTER, "A, to scratchpad address D + B * out bytes; with accumulate, added to what is there",
           "moved with the element; carry of the sum"),
    OpInfo(Op.VSEQ, "1 if A = B, else 0", "0"),
    OpInfo(Op.VSNE, "1 if A != B, else 0", "0"),
    OpInfo(Op.VSLT, "1 if A < B, else 0", "0"),
    OpInfo(Op.VSLE, "1 if A <= B, else 0", "0"),
    OpInfo(Op.VSGT, "1 if A > B, else 0", "0"),
    OpInfo(Op.VSGE, "1 if A >= B, else 0", "0"),
)}

_TRANSFER = ("scratchpad address", "memory address", "bytes per row", "rows")

CONTROLS: dict[Control, ControlInfo] = {info.control: info for info in (
    ControlInfo(Control.SET_VL, ("vl",), "Vector length in elements."),
    ControlInfo(Control.SET_2D_ROWS, ("rows", "incD"), "Rows of 2-D and 3-D instructions, step of D from row to row."),
    ControlInfo(Control.SET_2D_SOURCES, ("incA", "incB"), "Steps of A and B from row to row."),
    ControlInfo(Control.SET_3D_MATS, ("mats", "incD3"), "Matrices of 3-D instructions, step of D between them."),
    ControlInfo(Control.SET_3D_SOURCES, ("incA3", "incB3"), "Steps of A and B from matrix to matrix."),
    ControlInfo(Control.SET_DMA_INC, ("scratchpad step", "memory step"), "Steps of 2-D transfers from row to row."),
    ControlInfo(Control.DMA_TO_VECTOR, _TRANSFER, "Queue a transfer from main memory; 0 rows count as 1."),
    ControlInfo(Control.DMA_TO_HOST, _TRANSFER, "Queue a transfer to main memory; 0 rows count as 1."),
    ControlInfo(Control.OPERANDS, ("scratchpad address", "memory address"), "First half of a transfer."),
    ControlInfo(Control.SYNC_INSTR, (), "Answer when all vector instructions are finished."),
    ControlInfo(Control.SYNC_DMA, (), "Answer when all transfers are finished."),
    ControlInfo(Control.SYNC, (), "Answer when everything is finished."),
    ControlInfo(Control.GET, ("parameter",), "Answer with the value of a parameter."),
)}

PARAMETERS: dict[Parameter, ParameterInfo] = {info.parameter: info for info in (
    ParameterInfo(Parameter.LANES, "lanes"),
    ParameterInfo(Parameter.SCRATCHPAD, "bytes of the scratchpad"),
    ParameterInfo(Parameter.STATUS, "status register; reading clears it"),
    ParameterInfo(Parameter.MASK_WAVES, "wavefronts of the mask with an active element"),
    ParameterInfo(Parameter.CYCLES, "cycle counter, low 32 bits"),
    ParameterInfo(Parameter.BUSY, "cycles in which a wavefront was issued"),
    ParameterInfo(Parameter.INSTRUCTIONS, "instructions executed"),
    ParameterInfo(Parameter.HAZARDS, "bubbles because of hazards"),
    ParameterInfo(Parameter.DMA_CYCLES, "cycles in which a transfer was in progress"),
)}


@dataclass(frozen=True)
class Mode:
    """A decoded mode word. Sizes: 0 byte, 1 half, 2 word, 3 (`FLOAT`) floating-point number. `dimensions`: 0 for 1-D,
    1 for 2-D, 2 for 3-D.

    Fields may hold combinations that are illegal, and dimensions of 3 that mean nothing: `check` tells.
    """

    op: Op
    signed: bool = True
    in_size: int = Size.WORD
    out_size: int = Size.WORD
    enumerated: bool = False
    scalar: bool = False
    masked: bool = False
    accumulate: bool = False
    dimensions: int = 0
    absolute: bool = False

    def encode(self) -> int:
        """The mode word, 17 bits."""
        word = 0
        for name, field in MODE:
            value = int(getattr(self, str(name)))
            if not 0 <= value < 1 << field.width:
                raise EncodingError(f"{name} of a mode word has {field.width} bits, not room for {value}")
            word |= value << field.offset
        return word

    @classmethod
    def decode(cls, word: int) -> Mode:
        """The fields of a mode word. Raises `EncodingError` if it has more than 17 bits."""
        if not 0 <= word < 1 << MODE.size:
            raise EncodingError(f"a mode word has {MODE.size} bits, not room for {word:#x}")
        return cls(**{name: kind(word >> offset & mask) for name, offset, mask, kind in _MODE_FIELDS})

    @cached_property
    def exec_size(self) -> int:
        """Size at which it is executed: the larger of in and out; with accumulate the in size."""
        return self.in_element if self.accumulate else max(self.in_element, self.out_element)

    @cached_property
    def in_element(self) -> int:
        """`Size` of source elements in memory: floating-point numbers are words, bfloat16 ones halfwords."""
        if self.in_size != FLOAT:
            return self.in_size
        return Size.HALF if self.absolute and not self.narrows else Size.WORD

    @cached_property
    def out_element(self) -> int:
        """`Size` of result elements in memory."""
        return self.out_size if self.out_size != FLOAT else Size.HALF if self.absolute else Size.WORD

    @cached_property
    def fuses(self) -> bool:
        """Whether it is VFMA, what the code of VMULFXP means for floating-point numbers: a product and a sum that are
        rounded once."""
        return self.op is Op.VMULFXP and self.in_size == self.out_size == FLOAT

    @property
    def name(self) -> str:
        """The operation by the name that it has for such elements."""
        return FUSED if self.fuses else self.op.name

    @cached_property
    def reads_d(self) -> bool:
        """Whether D is read, too: an old destination to which a product is added."""
        return self.op is Op.VMAC or self.fuses

    @cached_property
    def beats(self) -> int:
        """Cycles of a wavefront, but of gathers and scatters: two where D is read beside two vectors."""
        return 2 if self.fuses and not self.scalar else 1

    @cached_property
    def narrows(self) -> bool:
        """Whether it rounds floating-point numbers of 32 bits to bfloat16."""
        return self.absolute and self.op is Op.VMOV and self.in_size == self.out_size == FLOAT

    @cached_property
    def floating(self) -> bool:
        """Whether it takes or gives floating-point numbers."""
        return FLOAT in (self.in_size, self.out_size)

    @cached_property
    def repeats_b(self) -> bool:
        """Whether B is one element per row, for all elements of the row: what `enumerated` means for floating-point
        numbers."""
        return self.enumerated and self.in_size == FLOAT

    @cached_property
    def sets_mask(self) -> bool:
        """Whether it is a mask setup."""
        return self.absolute and self.op.conditional

    @cached_property
    def reads_a(self) -> bool:
        """Whether A is the address of a vector that is read in sequence."""
        return not self.scalar and not self.sets_mask

    @cached_property
    def reads_b(self) -> bool:
        """Whether B is the address of a vector that is read."""
        return self.op is not Op.VMOV and (not self.enumerated or self.in_size == FLOAT)

    @property
    def writes_d(self) -> bool:
        """Whether D is the address of a vector that is written in sequence."""
        return not self.sets_mask and self.op is not Op.VSCATTER


def _kind(name: str) -> Callable[[int], Any]:
    return {"op": _OPS.__getitem__, "in_size": int, "out_size": int, "dimensions": int}.get(name, bool)


_OPS = tuple(Op)
_MODE_FIELDS = tuple((str(name), field.offset, (1 << field.width) - 1, _kind(str(name))) for name, field in MODE)


@dataclass(frozen=True)
class Rule:
    """One reason for which a mode word is illegal."""

    name: str
    text: str
    violated: Callable[[Mode], bool]


def _two_vectors(mode: Mode) -> bool:
    return not (mode.scalar or mode.enumerated)


RULES: tuple[Rule, ...] = (
    Rule("size", "a size code of 3 is for machines with floating-point lanes", lambda m: m.floating),
    Rule("dimensions", "a dimensions code of 3 is reserved", lambda m: m.dimensions == 3),
    Rule("absolute", "absolute goes with operations 0 to 7, and makes a mask setup of a conditional move",
         lambda m: m.absolute and not (m.op.takes_absolute or m.op.conditional or m.floating)),
    Rule("accumulate", "VMAC and VGATHER cannot accumulate",
         lambda m: m.accumulate and not m.op.accumulates),
    Rule("mac-operands", "VMAC needs a scalar A or an enumerated B", lambda m: m.op is Op.VMAC and _two_vectors(m)),
    Rule("masked-shape", "masked instructions are 1-D", lambda m: m.masked and m.dimensions != 0),
    Rule("masked-indexed", "VGATHER and VSCATTER cannot be masked", lambda m: m.masked and m.op.indexed),
    Rule("gather-base", "VGATHER needs a scalar A, the address of its table",
         lambda m: m.op is Op.VGATHER and not m.scalar),
    Rule("indexed-enumerated", "the indices of VGATHER and VSCATTER cannot be enumerated",
         lambda m: m.op.indexed and m.enumerated),
    Rule("mask-size", "a mask setup has equal in and out sizes", lambda m: m.sets_mask and m.in_size != m.out_size),
    Rule("mask-shape", "a mask setup is 1-D", lambda m: m.sets_mask and m.dimensions != 0),
    Rule("mask-accumulate", "a mask setup cannot accumulate", lambda m: m.sets_mask and m.accumulate),
    Rule("mask-enumerated", "a mask setup needs a vector B", lambda m: m.sets_mask and m.enumerated),
)
"""Everything that makes a mode word illegal by itself. Illegal in addition, because of the mask at that time: a masked
instruction without a valid mask or of another execution size; a masked mask setup with another vector length; a mask
setup of more elements than the mask holds, which also makes the mask invalid."""


_ARITHMETIC = (Op.VADD, Op.VSUB, Op.VMUL, Op.VMAC, Op.VMIN, Op.VMAX)
_COMPARISONS = (Op.VSEQ, Op.VSNE, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE)


def _computes_floats(mode: Mode) -> bool:
    """Whether there is such an operation from and to such elements."""
    if mode.in_size == mode.out_size:
        return mode.op in _ARITHMETIC or mode.narrows or mode.fuses
    if mode.in_size == FLOAT:
        return mode.op is Op.VMOV or mode.op in _COMPARISONS
    return mode.op is Op.VMOV


FLOAT_RULES: tuple[Rule, ...] = (
    Rule("float-operation", "from F to F there are VADD, VSUB, VMUL, VMAC, VFMA, VMIN and VMAX, from F to integers "
         "VMOV and the comparisons VSEQ to VSGE, from integers to F VMOV; with the absolute bit VMOV from F to F, too",
         lambda m: m.floating and not _computes_floats(m)),
    Rule("float-plain", "F does not go with accumulate", lambda m: m.floating and m.accumulate),
    Rule("float-mac", "VMAC of F needs a scalar A and a vector B",
         lambda m: m.floating and m.op is Op.VMAC and (not m.scalar or m.enumerated)),
    Rule("float-move", "VMOV from or to F cannot be enumerated",
         lambda m: m.floating and m.op is Op.VMOV and m.enumerated),
)
"""What makes a mode word illegal besides, on machines with floating-point lanes; the rule "size" is not one of theirs.
"""

FORMAT_RULES: tuple[Rule, ...] = (
    Rule("float32", "F without the absolute bit is for machines with float32 lanes",
         lambda m: m.floating and not m.absolute),
    Rule("bfloat16", "F with the absolute bit is for machines with bfloat16 lanes",
         lambda m: m.floating and m.absolute),
)
"""Of these the one for the format that a machine with one of the two does not have."""

FUSED_RULE = Rule("float-fma", "VFMA is for machines whose lanes have it", lambda m: m.fuses)
"""What makes a mode word illegal besides, on machines with floating-point lanes without fused multiply-add."""


def check(mode: Mode | int, float32: bool = False, bfloat16: bool = False, fma: bool = False) -> tuple[str, ...]:
    """Names of the rules that a mode word violates; empty if it is legal. `float32`, `bfloat16`, `fma`: on a machine
    with such lanes. Raises `EncodingError`."""
    decoded = Mode.decode(mode) if isinstance(mode, int) else mode
    rules = RULES
    if float32 or bfloat16:
        missing = [rule for rule, there in zip(FORMAT_RULES, (float32, bfloat16), strict=True) if not there]
        rules = (*RULES[1:], *FLOAT_RULES, *([] if fma else [FUSED_RULE]), *missing)
    return tuple(rule.name for rule in rules if rule.violated(decoded))


@dataclass(frozen=True)
class Entry:
    """One entry of the instruction queue: a vector instruction (`code` is a mode word) or a control operation.

    Operands are unsigned 32-bit numbers; negative ones may be given and are stored modulo 2**32.
    """

    control: bool
    code: int
    a: int = 0
    b: int = 0
    d: int = 0
    c: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.code < 1 << MODE.size:
            raise EncodingError(f"the code of an entry has {MODE.size} bits, not room for {self.code:#x}")
        for name in "abdc":
            value = int(getattr(self, name))
            if not -(1 << 31) <= value < 1 << 32:
                raise EncodingError(f"operand {name} of an entry has 32 bits, not room for {value}")
            object.__setattr__(self, name, value & 0xFFFFFFFF)

    @classmethod
    def vector(cls, mode: Mode, d: int, a: int = 0, b: int = 0) -> Entry:
        """A vector instruction."""
        return cls(False, mode.encode(), a, b, d)

    @classmethod
    def of(cls, control: Control, a: int = 0, b: int = 0, d: int = 0, c: int = 0) -> Entry:
        """A control operation."""
        return cls(True, int(control), a, b, d, c)

    @property
    def mode(self) -> Mode:
        """The mode of a vector instruction."""
        return Mode.decode(self.code)

    def pack(self) -> tuple[int, ...]:
        """The eight 32-bit words in memory."""
        return (int(self.control) << 31 | self.code, self.a, self.b, self.d, self.c, 0, 0, 0)

    @classmethod
    def unpack(cls, words: Sequence[int]) -> Entry:
        """From eight words in memory. Raises `EncodingError` if there are not eight or they are no entry."""
        if len(words) != ENTRY_WORDS or words[0] & 0x7FFFFFFF >> MODE.size << MODE.size:
            raise EncodingError(f"not an entry of {ENTRY_WORDS} words: {' '.join(f'{w:#x}' for w in words)}")
        head, a, b, d, c = (int(word) for word in words[:5])
        return cls(bool(head >> 31), head & (1 << MODE.size) - 1, a, b, d, c)

    def bits(self) -> int:
        """As one number in the layout `ENTRY`."""
        return sum(int(getattr(self, str(name))) << field.offset for name, field in ENTRY)

    @classmethod
    def from_bits(cls, bits: int) -> Entry:
        """From a number in the layout `ENTRY`."""
        values = {str(name): bits >> field.offset & (1 << field.width) - 1 for name, field in ENTRY}
        return cls(bool(values.pop("control")), **values)


# --- custom functions of the scalar core ------------------------------------------------------------------------------

OPERANDS_BITS = 9
"""Low bits of the mode word that come with the operands half; the other eight come with the execute half."""


class FunctionKind(enum.IntEnum, shape=2):
    """What a custom function is, by its funct3."""

    OPERANDS = 0
    EXECUTE = 1
    CONTROL = 2
    RESERVED = 3


@dataclass(frozen=True)
class Half:
    """A decoded function id: `value` are 9 low or 8 high bits of a mode word, or the number of a control operation."""

    kind: FunctionKind
    value: int


def operands_function(mode: int) -> int:
    """Function id (10 bits, funct7 above funct3) of the half that brings A and B: funct3 = 0xx."""
    low = mode & (1 << OPERANDS_BITS) - 1
    return low >> 2 << 3 | low & 3


def execute_function(mode: int) -> int:
    """Function id of the half that brings D and pushes the entry: funct3 = 10x."""
    high = mode >> OPERANDS_BITS
    return high >> 1 << 3 | 4 | high & 1


def control_function(control: Control) -> int:
    """Function id of a control operation: funct3 = 110."""
    return int(control) << 3 | 6


def decode_function(function: int) -> Half:
    """What a function id of 10 bits means."""
    low, high = function & 7, function >> 3 & 127
    if low < 4:
        return Half(FunctionKind.OPERANDS, high << 2 | low)
    if low < 6:
        return Half(FunctionKind.EXECUTE, high << 1 | low & 1)
    return Half(FunctionKind.CONTROL if low == 6 else FunctionKind.RESERVED, high)

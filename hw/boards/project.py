"""A design on a board as the files of a tool project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hw.boards.core import STATUS_LIGHTS, BoardCore, EmittedSystem
from hw.boards.flow import free_command
from hw.boards.linked_core import LinkedCore
from hw.boards.pins import Connection
from hw.boards.pll import PLLS, PllSetting, find_setting
from hw.boards.registry import Board, BoardError
from hw.boards.top import BoardTop
from hw.cache import use_tool_cache
from hw.designs.system import SystemDesign
from hw.ecp5.pnr import KEEP_REGISTERS
from hw.link.jtag.jtag_link import JtagLink
from hw.link.protocol import DEFAULT_BAUD, LinkSpec
from hw.link.uart_link import UartLink, uart_divisor
from hw.litedram.core import LiteDramCore
from hw.litedram.memory import LiteDramMemory, check_board
from hw.sdram.chip import SdramChip
from hw.sdram.memory import SdramMemory
from hw.sdram.pins import check_pins
from hw.verilog import convert_intermediate

__all__ = ["CARRIERS", "TOP", "LinkOptions", "Project", "make_project"]

TOP = "top"
"""Name of the top module and stem of the project's files."""

_SOURCE_LOCATION = re.compile(r'^ *\(\* src = "[^"\n]*/[^"\n]*" \*\)\n', re.MULTILINE)
_REPORT = ("--timing-allow-fail", "--report", f"{TOP}.report.json")
_COMFORTABLE_HZ = 50e6
_JTAG_FAMILIES = ("ecp5",)
"""Whose cell for user logic behind the JTAG pins is the one of `JtagLink`."""
_LEFT_OUT = (".il", ".debug.v", ".json", ".bat")
"""Ends of the names of files that another one stands for: Verilog for the intermediate form, else a script."""


@dataclass(frozen=True)
class LinkOptions:
    """A link to the host: bits per second of the serial line, bytes of main memory (None: as many as the design's own
    data takes, or all of `sdram` or `litedram`), the chip or the core that has it (None: memory is on the FPGA), and
    what carries the link, one of `CARRIERS`."""

    baud: int = DEFAULT_BAUD
    memory_bytes: int | None = None
    sdram: SdramChip | None = None
    carrier: str = "uart"
    litedram: LiteDramCore | None = None


@dataclass(frozen=True)
class Project:
    """Files by name, and what is worth knowing about them.

    `commands` are the tool invocations that make a bitstream, tool name first. `clock_hz` is the core's clock.
    `lights` are the status lights the board has, `checked` the outputs whose checksum is compared there, `virtual` the
    ports without a package pin, `unplaced` those whose pin the fitter chooses, `link` the way to the host, if any.
    """

    board: Board
    files: Mapping[str, str]
    commands: Sequence[Sequence[str]]
    clock_hz: float
    lights: tuple[str, ...]
    checked: tuple[str, ...]
    virtual: tuple[str, ...]
    unplaced: tuple[str, ...]
    link: LinkOptions | None = None

    @property
    def warnings(self) -> list[str]:
        """What a user must know before trusting the project on a board."""
        lines = []
        if self.virtual or self.unplaced:
            lines.append(_pin_warning(self.virtual, self.unplaced))
        missing = STATUS_LIGHTS[len(self.lights) :]
        if missing:
            lines.append(f"the board has no light for: {', '.join(missing)}")
        if not self.checked and self.link is None:
            lines.append("the design expects no output, so the light 'passed' stays dark")
        return lines


def _pin_warning(virtual: Sequence[str], unplaced: Sequence[str]) -> str:
    parts = []
    if virtual:
        parts.append(f"virtual pins: {', '.join(virtual)}")
    if unplaced:
        parts.append(f"pin left to the fitter: {', '.join(unplaced)}")
    return f"not every pin is known ({'; '.join(parts)}): for analysis only, give the board's pin file with --pins"


def default_divide(clock_hz: float) -> int:
    """The smallest power of two that brings the board's clock to 50 MHz or less."""
    divide = 1
    while clock_hz / divide > _COMFORTABLE_HZ:
        divide *= 2
    return divide


def make_project(
    board: Board,
    design: SystemDesign,
    *,
    divide: int | None = None,
    mhz: float | None = None,
    pins: Path | None = None,
    connections: Sequence[Connection] = (),
    link: LinkOptions | None = None,
) -> Project:
    """The project of `design` on `board`, which runs by itself, or does what a host says over a `link`. Its clock
    is the oscillator's by `divide` (None: 50 MHz or less), or up to `mhz` by a phase-locked loop. Equal arguments give
    equal files. Raises `BoardError`, `PinError`, `PllError`, `LinkSpecError`,
    `SdramError`, `LiteDramError`."""
    platform = board.build_platform(pins, connections)
    litedram = None if link is None else link.litedram
    if litedram is not None and (mhz, divide) != (None, None):
        raise BoardError("--mhz and --divide are about boards whose memory does not set the clock: LiteDRAM's does")
    pll = None if mhz is None else _loop(board, mhz, divide)
    divide = divide or default_divide(board.clock_hz)
    clock_hz = board.clock_hz / divide if pll is None else pll.output
    clock_hz = clock_hz if litedram is None else litedram.clock_hz
    design = design.at_clock(clock_hz)
    if link is None:
        core = BoardCore(_system(design), design.image, design.registers)
        checked = tuple(region.name for region in core.checked)
    else:
        core, checked = _linked_core(board, platform, design, link, clock_hz), ()
    top = BoardTop(core, divide=divide, pll=pll, clock_hz=clock_hz)
    files = {} if litedram is None else litedram.files
    for name, text in sorted({**files, **design.sources}.items()):
        platform.add_file(name, text)
    with use_tool_cache():
        plan = platform.prepare(top, TOP)
    texts = _texts(plan.files)
    return Project(
        board=board,
        files={name: text for name, text in texts.items() if not name.endswith(_LEFT_OUT)},
        commands=_commands(texts, clock_hz),
        clock_hz=clock_hz,
        lights=top.lights,
        checked=checked,
        link=link,
        virtual=getattr(platform, "virtual_ports", ()),
        unplaced=getattr(platform, "unplaced_ports", ()),
    )


def _loop(board: Board, mhz: float, divide: int | None) -> PllSetting:
    if board.family not in PLLS:
        raise BoardError(f"board {board.name} ({board.device}) has no phase-locked loop that --mhz can set; boards of "
                         f"these families have: {', '.join(PLLS)}")
    if divide is not None:
        raise BoardError("--mhz and --divide both set the clock: give one")
    return find_setting(PLLS[board.family], board.clock_hz, mhz * 1e6)


def _system(design: SystemDesign) -> EmittedSystem:
    return EmittedSystem(
        design.module, design.registers.address_width, data_width=design.data_width, serial=design.serial
    )


def _linked_core(
    board: Board, platform: Any, design: SystemDesign, link: LinkOptions, clock_hz: float
) -> LinkedCore:
    memory_bytes = _memory_bytes(design, link)
    spec = LinkSpec(memory_bytes, design.registers.address_width, design.fingerprint, data_width=design.data_width)
    make_link = CARRIERS[link.carrier](board, platform, spec, link, clock_hz)
    memory: SdramMemory | LiteDramMemory | None = None
    if link.sdram is not None:
        memory = _sdram(board, platform, design, link.sdram, link.memory_bytes, clock_hz)
    if link.litedram is not None:
        memory = _litedram(board, platform, design, link.litedram, memory_bytes)
    return LinkedCore(_system(design), spec, make_link(), memory=memory)


def _memory_bytes(design: SystemDesign, link: LinkOptions) -> int:
    if link.memory_bytes is not None:
        return link.memory_bytes
    chips = link.sdram or link.litedram
    return design.image.memory_bytes if chips is None else chips.size


def _litedram(board: Board, platform: Any, design: SystemDesign, core: LiteDramCore, size: int) -> LiteDramMemory:
    if ("ddr3", 0) not in platform.resources:
        raise BoardError(f"board {board.name} has no DDR3 in its platform, which --memory litedram needs")
    check_board(core, platform, board.name, board.family)
    if core.data_width != design.data_width:
        raise BoardError(f"the memory of {core.module} has a port of {core.data_width} bits and the design one of "
                         f"{design.data_width}: compile the design with --option bus_bits={core.data_width}")
    if size > core.size:
        raise BoardError(f"the memory of {core.module} has {core.size} bytes, not {size}")
    if clash := sorted(set(core.files) & set(design.sources)):
        raise BoardError(f"the design and the files of {core.module} both have a {clash[0]}: rename one")
    return LiteDramMemory(core, size)


def _uart_link(board: Board, platform: Any, spec: LinkSpec, link: LinkOptions, clock_hz: float
               ) -> Callable[[], UartLink]:
    if ("uart", 0) not in platform.resources:
        jtag = ": --link jtag goes over its JTAG pins" if board.family in _JTAG_FAMILIES else ""
        raise BoardError(f"board {board.name} has no serial line in its platform, which --link needs{jtag}")
    return partial(UartLink, spec, uart_divisor(clock_hz, link.baud))


def _jtag_link(board: Board, platform: Any, spec: LinkSpec, link: LinkOptions, clock_hz: float
               ) -> Callable[[], JtagLink]:
    if board.family not in _JTAG_FAMILIES:
        raise BoardError(f"--link jtag needs an FPGA of these families: {', '.join(_JTAG_FAMILIES)}; board "
                         f"{board.name} has {board.device}: take --link uart")
    return partial(JtagLink, spec)


CARRIERS: Mapping[str, Callable[..., Callable[[], UartLink | JtagLink]]] = {"uart": _uart_link, "jtag": _jtag_link}
"""What may carry a link, by name: each checks the board, and returns what makes the link."""


def _sdram(board: Board, platform: Any, design: SystemDesign, chip: SdramChip, size: int | None, clock_hz: float
           ) -> SdramMemory:
    resource = platform.resources.get(("sdram", 0))
    if resource is None:
        raise BoardError(f"board {board.name} has no SDRAM in its platform, which --memory sdram needs")
    check_pins(resource, chip, board.name)
    if size is not None and size > chip.size:
        raise BoardError(f"SDRAM {chip.name} has {chip.size} bytes, not {size}")
    return SdramMemory(chip, chip.cycles(clock_hz), size=size, data_width=design.data_width)


def _texts(files: Mapping[str, str | bytes]) -> dict[str, str]:
    """The files as text. Where Amaranth writes its intermediate form (for yosys), Verilog takes its place, and
    registers that are to be kept are before synthesis.

    The platforms' own options for this are not used because not every board passes them on.
    """
    texts = {name: _text(content) for name, content in sorted(files.items()) if name != f"{TOP}.debug.v"}
    if f"{TOP}.il" in texts:
        texts[f"{TOP}.v"] = _text(convert_intermediate(texts[f"{TOP}.il"]))
        script = texts[f"{TOP}.ys"].replace(f"read_rtlil {TOP}.il", f"read_verilog {TOP}.v")
        kept = f"hierarchy -top {TOP}; {KEEP_REGISTERS}\n"
        texts[f"{TOP}.ys"] = re.sub(r"(?=\bsynth_)", kept, script, count=1)
        texts[f"build_{TOP}.sh"] = texts[f"build_{TOP}.sh"].replace(" --log ", f" {' '.join(_REPORT)} --log ")
    return texts


def _text(content: str | bytes) -> str:
    """`content` as text that ends with a newline, without source locations that name folders of this machine."""
    text = content.decode() if isinstance(content, bytes) else content
    text = _SOURCE_LOCATION.sub("", text)
    return text if text.endswith("\n") else text + "\n"


def _commands(texts: Mapping[str, str], clock_hz: float) -> list[list[str]]:
    """The tool invocations of the build script, tool name first."""
    commands = [free_command(command, clock_hz) for command in json.loads(texts[f"build_{TOP}.json"])["commands"]]
    return [
        [tool, *_REPORT, *arguments] if tool.startswith("nextpnr") else [tool, *arguments]
        for tool, *arguments in commands
    ]

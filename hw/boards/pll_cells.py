"""The cells that phase-locked loops are on each family, with their dividers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Instance, Signal, Value

from hw.boards.pll import PllSetting

__all__ = ["CELLS", "build_loop", "on_pad"]

_PICOSECONDS = 1e12
_PADS = {("iCE40UP5K", "SG48"): ("35",)}
"""Pins of iCE40 by device and package that are the loop's own input."""
_FILTERS = ((17e6, 1), (26e6, 2), (44e6, 3), (66e6, 4), (101e6, 5))
"""Of iCE40: FILTER_RANGE for frequencies at the phase detector below this one; else 6."""

Cell = Callable[[PllSetting, float, Any, Value, Signal, Signal], list[Instance]]
"""Setting, reference in Hz, platform; the reference clock, the clock that comes out, and high while it is locked."""


def build_loop(name: str, pll: PllSetting, reference: float, platform: Any, clock: Value
               ) -> tuple[list[Instance], Signal, Signal]:
    """The instances of the loop called `name`, its output, and a signal that is high while the output is good."""
    output, locked = Signal(name="clock_pll"), Signal(name="pll_locked")
    return CELLS[name](pll, reference, platform, clock, output, locked), output, locked


def _lattice(name: str) -> Cell:
    """Feedback from the output; the phase of the output is that of its divider's last count."""
    def build(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
              ) -> list[Instance]:
        attributes = {"a_ICP_CURRENT": "12", "a_LPF_RESISTOR": "8", "a_MFG_ENABLE_FILTEROPAMP": "1",
                      "a_MFG_GMCREF_SEL": "2"} if name == "EHXPLLL" else {}
        muxes = {"p_OUTDIVIDER_MUXA": "DIVA"} if name == "EHXPLLL" else {"p_OUTDIVIDER_MUXA2": "DIVA"}
        return [Instance(
            name, **attributes, **muxes, p_FEEDBK_PATH="CLKOP", p_CLKOP_ENABLE="ENABLED",
            p_CLKI_DIV=pll.reference_divider, p_CLKFB_DIV=pll.feedback_divider, p_CLKOP_DIV=pll.output_divider,
            p_CLKOP_CPHASE=pll.output_divider - 1, p_CLKOP_FPHASE=0, i_CLKI=clock, i_CLKFB=output, i_RST=Const(0),
            i_STDBY=Const(0), i_ENCLKOP=Const(1), o_CLKOP=output, o_LOCK=locked)]
    return build


def on_pad(platform: Any) -> bool:
    """Whether the board's oscillator is on the pin of an iCE40 that leads into its loop and then nowhere else."""
    pins = _PADS.get((getattr(platform, "device", ""), getattr(platform, "package", "")), ())
    resource = platform.resources.get((platform.default_clk, 0))
    return resource is not None and resource.ios[0].names[0] in pins


def _ice40(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
           ) -> list[Instance]:
    comparison = reference / pll.reference_divider
    pad = on_pad(platform)
    source = {"i_PACKAGEPIN": clock} if pad else {"i_REFERENCECLK": clock}
    return [Instance(
        "SB_PLL40_PAD" if pad else "SB_PLL40_CORE", **source, p_FEEDBACK_PATH="SIMPLE",
        p_DIVR=Const(pll.reference_divider - 1, 4),
        p_DIVF=Const(pll.feedback_divider - 1, 7), p_DIVQ=Const(pll.output_divider.bit_length() - 1, 3),
        p_FILTER_RANGE=Const(next((number for below, number in _FILTERS if comparison < below), 6), 3),
        i_RESETB=Const(1), i_BYPASS=Const(0), o_PLLOUTGLOBAL=output, o_LOCK=locked)]


def _gowin(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
           ) -> list[Instance]:
    fixed = {"p_DYN_IDIV_SEL": "false", "p_DYN_FBDIV_SEL": "false", "p_DYN_ODIV_SEL": "false", "p_PSDA_SEL": "0000",
             "p_DYN_DA_EN": "false", "p_DUTYDA_SEL": "1000", "p_CLKOUT_FT_DIR": Const(1, 1),
             "p_CLKOUTP_FT_DIR": Const(1, 1), "p_CLKOUT_DLY_STEP": 0, "p_CLKOUTP_DLY_STEP": 0,
             "p_CLKFB_SEL": "internal", "p_CLKOUT_BYPASS": "false", "p_CLKOUTP_BYPASS": "false",
             "p_CLKOUTD_BYPASS": "false", "p_DYN_SDIV_SEL": 2, "p_CLKOUTD_SRC": "CLKOUT", "p_CLKOUTD3_SRC": "CLKOUT"}
    still = {f"i_{name}": Const(0, width) for name, width in {
        "RESET": 1, "RESET_P": 1, "CLKFB": 1, "FBDSEL": 6, "IDSEL": 6, "ODSEL": 6, "PSDA": 4, "DUTYDA": 4, "FDLY": 4
    }.items()}
    return [Instance(
        "rPLL", **fixed, **still, p_FCLKIN=f"{reference / 1e6:g}", p_DEVICE=platform.family,
        p_IDIV_SEL=pll.reference_divider - 1, p_FBDIV_SEL=pll.feedback_divider - 1, p_ODIV_SEL=pll.output_divider,
        i_CLKIN=clock, o_CLKOUT=output, o_LOCK=locked)]


def _xilinx7(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
             ) -> list[Instance]:
    feedback, before = Signal(name="pll_feedback"), Signal(name="clock_unbuffered")
    return [
        Instance("MMCME2_BASE", p_CLKIN1_PERIOD=1e9 / reference, p_DIVCLK_DIVIDE=pll.reference_divider,
                 p_CLKFBOUT_MULT_F=float(pll.feedback_divider), p_CLKOUT0_DIVIDE_F=float(pll.output_divider),
                 i_CLKIN1=clock, i_CLKFBIN=feedback, o_CLKFBOUT=feedback, o_CLKOUT0=before, o_LOCKED=locked,
                 i_RST=Const(0), i_PWRDWN=Const(0)),
        Instance("BUFG", i_I=before, o_O=output),
    ]


def _altpll(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
            ) -> list[Instance]:
    """It chooses its oscillator itself from the ratio of output to input."""
    return [Instance(
        "altpll", p_operation_mode="NO_COMPENSATION", p_inclk0_input_frequency=round(_PICOSECONDS / reference),
        p_clk0_multiply_by=pll.feedback_divider, p_clk0_divide_by=pll.reference_divider * pll.output_divider,
        p_clk0_duty_cycle=50, p_clk0_phase_shift="0", p_port_inclk0="PORT_USED", p_port_clk0="PORT_USED",
        p_port_locked="PORT_USED", p_width_clock=5, p_lpm_type="altpll", i_inclk=Cat(clock, Const(0)),
        o_clk=Cat(output, Signal(4, name="pll_unused")), o_locked=locked)]


def _altera_pll(pll: PllSetting, reference: float, platform: Any, clock: Value, output: Signal, locked: Signal
                ) -> list[Instance]:
    """It chooses its dividers itself from the frequencies."""
    return [Instance(
        "altera_pll", p_fractional_vco_multiplier="false", p_operation_mode="direct", p_number_of_clocks=1,
        p_reference_clock_frequency=f"{reference / 1e6:.6f} MHz",
        p_output_clock_frequency0=f"{pll.output / 1e6:.6f} MHz", p_phase_shift0="0 ps", p_duty_cycle0=50,
        p_pll_type="General", p_pll_subtype="General", i_refclk=clock, i_rst=Const(0), i_fbclk=Const(0),
        o_outclk=output, o_locked=locked)]


CELLS: Mapping[str, Cell] = {
    "EHXPLLL": _lattice("EHXPLLL"), "EHXPLLJ": _lattice("EHXPLLJ"), "SB_PLL40_CORE": _ice40, "rPLL": _gowin,
    "MMCME2_BASE": _xilinx7, "altpll": _altpll, "altera_pll": _altera_pll,
}
"""By the name of a `PllRange`."""

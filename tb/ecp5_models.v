// Simulation models of the ECP5 cells that Amaranth instantiates: as much as the board tops use.

`timescale 1ns / 1ps

module IB (
  input  I,
  output O
);
  assign O = I;
endmodule

module OBZ (
  input  I,
  input  T,
  output O
);
  assign O = T ? 1'bz : I;
endmodule

// A flip-flop that is one after power-on.
module FD1S3BX #(
  parameter GSR = "DISABLED"
) (
  input  D,
  input  CK,
  input  PD,
  output reg Q = 1
);
  always @(posedge CK or posedge PD)
    if (PD) Q <= 1;
    else Q <= D;
endmodule

// A flip-flop that is zero after power-on.
module FD1S3AX #(
  parameter GSR = "DISABLED"
) (
  input  D,
  input  CK,
  output reg Q = 0
);
  always @(posedge CK) Q <= D;
endmodule

// The reset of power-on, which the initial values above stand for.
module SGSR (
  input CLK,
  input GSR
);
endmodule

// A pad for both directions.
module BB (
  input  I,
  input  T,
  output O,
  inout  B
);
  assign B = T ? 1'bz : I;
  assign O = B;
endmodule

// Flip-flops of pads.
module OFS1P3DX #(
  parameter GSR = "ENABLED"
) (
  input  D,
  input  SP,
  input  SCLK,
  input  CD,
  output reg Q = 0
);
  always @(posedge SCLK or posedge CD)
    if (CD) Q <= 0;
    else if (SP) Q <= D;
endmodule

module IFS1P3DX #(
  parameter GSR = "ENABLED"
) (
  input  D,
  input  SP,
  input  SCLK,
  input  CD,
  output reg Q = 0
);
  always @(posedge SCLK or posedge CD)
    if (CD) Q <= 0;
    else if (SP) Q <= D;
endmodule

// Two bits in a cycle: D0 while the clock is high, D1 while it is low.
module ODDRX1F #(
  parameter GSR = "ENABLED"
) (
  input  D0,
  input  D1,
  input  SCLK,
  input  RST,
  output Q
);
  reg first = 0, second = 0;
  always @(posedge SCLK) begin
    first <= D0;
    second <= D1;
  end
  assign Q = RST ? 1'b0 : SCLK ? first : second;
endmodule

// A phase-locked loop with feedback from its output. It measures its reference; with dividers that lead its oscillator
// or its phase detector out of their ranges it never locks.
module EHXPLLL #(
  parameter CLKI_DIV = 1,
  parameter CLKFB_DIV = 1,
  parameter CLKOP_DIV = 8,
  parameter CLKOP_ENABLE = "ENABLED",
  parameter CLKOP_CPHASE = 7,
  parameter CLKOP_FPHASE = 0,
  parameter FEEDBK_PATH = "CLKOP",
  parameter OUTDIVIDER_MUXA = "DIVA"
) (
  input  CLKI,
  input  CLKFB,
  input  RST,
  input  STDBY,
  input  ENCLKOP,
  output CLKOP,
  output LOCK
);
  real    period = 0, oscillator, comparison;  // ns, MHz
  real    last = 0;
  integer seen = 0;
  reg     level = 0;
  reg     good = 0;

  always @(posedge CLKI) begin
    period = $realtime - last;
    last = $realtime;
    seen = seen + 1;
    if (seen == 16) begin
      comparison = 1000.0 / period / CLKI_DIV;
      oscillator = comparison * CLKFB_DIV * CLKOP_DIV;
      good = oscillator >= 399.9 && oscillator <= 800.1 && comparison >= 3.12;
    end
  end

  initial begin
    wait (seen >= 4);
    forever #(period * CLKI_DIV / CLKFB_DIV / 2) level = ~level;
  end

  assign CLKOP = level & ENCLKOP;
  assign LOCK = good & ~RST & ~STDBY;
endmodule

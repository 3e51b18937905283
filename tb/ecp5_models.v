// Simulation models of the ECP5 cells that Amaranth instantiates: as much as the board tops use.

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

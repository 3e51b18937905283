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

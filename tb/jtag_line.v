// A board and what drives its JTAG pins: rows of bits for a bench instead of edges.
//
// When `go` changes, TCK has `length` cycles with the lowest bits of `tms_bits` and `tdi_bits` first; what TDO is at
// its rising edges is in `tdo_bits` when `done` follows. TCK has nothing to do with the board's clock.

`timescale 1ns / 1ps

module jtag_line #(
  parameter BITS = 1024,
  parameter HALF_NS = 47,
  parameter [31:0] DEVICE = 32'h41113043
) (
  input      [BITS-1:0] tms_bits,
  input      [BITS-1:0] tdi_bits,
  input      [15:0]     length,
  input      [7:0]      go,
  output reg [7:0]      done,
  output reg [BITS-1:0] tdo_bits,
  output     [3:0]      leds,
  output     [15:0]     violations
);
  reg clk = 0;
  always #20 clk = ~clk;

  reg tck = 0, tms = 1, tdi = 0, tdo = 0;
  board_pins board (.clk(clk), .leds(leds), .violations(violations));

  integer k;
  initial begin
    done = 0;
    tdo_bits = 0;
    forever begin
      wait (go != done);
      for (k = 0; k < length; k = k + 1) begin
        tms = tms_bits[k];
        tdi = tdi_bits[k];
        #HALF_NS tdo_bits[k] = tdo;
        tck = 1;
        #HALF_NS tck = 0;
      end
      done = go;
    end
  end
endmodule

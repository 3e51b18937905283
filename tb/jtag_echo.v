// A link's data register on a board that sends back what it receives, with pauses on both sides of a byte.

`timescale 1ns / 1ps

module board_pins (
  input         clk,
  output [3:0]  leds,
  output [15:0] violations
);
  wire tck, tdi, tdo, enable, shift, received, taken;
  wire [7:0] byte_in;
  reg  [7:0] held = 0;
  reg        full = 0;
  reg        rst = 1;
  reg [30:0] noise = 31'h5eed1234;

  JTAGG pins (.JTCK(tck), .JTDI(tdi), .JSHIFT(shift), .JCE1(enable), .JTDO1(tdo), .JTDO2(1'b0));

  wire accepts = !full && noise[5:0] == 0;
  wire offers = full && noise[7:5] == 0;
  link_register register (
    .clk(clk), .rst(rst), .tck(tck), .enable(enable), .shift(shift), .tdi(tdi), .tdo(tdo),
    .received__payload(byte_in), .received__valid(received), .received__ready(accepts),
    .sent__payload(held), .sent__valid(offers), .sent__ready(taken)
  );

  always @(posedge clk) begin
    rst <= 0;
    noise <= {noise[29:0], noise[30] ^ noise[27]};
    if (accepts && received) begin
      held <= byte_in;
      full <= 1;
    end
    if (offers && taken) full <= 0;
  end

  assign leds = {full, noise[2:0]};
  assign violations = 0;
endmodule

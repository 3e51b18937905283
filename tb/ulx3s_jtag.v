// The pins of a ULX3S that a top without serial line and SDRAM has.

module board_pins (
  input         clk,
  output [3:0]  leds,
  output [15:0] violations
);
  top board (
    .clk25_0__io(clk), .button_0__io(1'b0),
    .led_0__io(leds[0]), .led_1__io(leds[1]), .led_2__io(leds[2]), .led_3__io(leds[3])
  );
  assign violations = 0;
endmodule

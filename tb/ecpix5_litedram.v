// The pins of an ECPIX-5 whose memory is in its DDR3 chip; those of the chip are where the core's constants have to be.

module board_pins (
  input         clk,
  output [3:0]  leds,
  output [15:0] violations
);
  wire [14:0] a;
  wire [2:0]  ba;
  wire [1:0]  dm;
  wire        cas, clk_en, odt, ras, we, clk_p;
  top board (
    .clk100_0__io(clk), .rst_0__io(1'b1),
    .rgb_led_0__g__io(leds[0]), .rgb_led_0__r__io(leds[1]), .rgb_led_0__b__io(leds[2]), .rgb_led_1__g__io(leds[3]),
    .rgb_led_1__r__io(),
    .ddr3_0__a__io(a), .ddr3_0__ba__io(ba), .ddr3_0__dm__io(dm), .ddr3_0__cas__io(cas), .ddr3_0__clk_en__io(clk_en),
    .ddr3_0__odt__io(odt), .ddr3_0__ras__io(ras), .ddr3_0__we__io(we), .ddr3_0__clk__p(clk_p),
    .ddr3_0__dq__io(16'd0), .ddr3_0__dqs__p(2'd0)
  );
  wire wrong = {a[12:0], ba, dm, cas, clk_en, odt, ras, we, clk_p} !== {13'h1aaa, 3'd5, 2'd1, 6'b111101};
  assign violations = board.core.memory.core.violations + wrong;
endmodule

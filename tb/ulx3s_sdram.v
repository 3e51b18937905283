// The pins of a ULX3S with SDRAM, and its chip.

module board_pins (
  input         clk,
  output        tx,
  input         rx,
  output [3:0]  leds,
  output [15:0] violations
);
  wire        dram_clk, cke, cs_n, ras_n, cas_n, we_n;
  wire [1:0]  ba, dqm;
  wire [12:0] a;
  wire [15:0] dq;

  top board (
    .clk25_0__io(clk), .button_0__io(1'b0), .uart_0__tx__io(tx), .uart_0__rx__io(rx),
    .led_0__io(leds[0]), .led_1__io(leds[1]), .led_2__io(leds[2]), .led_3__io(leds[3]),
    .sdram_0__clk__io(dram_clk), .sdram_0__clk_en__io(cke), .sdram_0__cs__io(cs_n), .sdram_0__ras__io(ras_n),
    .sdram_0__cas__io(cas_n), .sdram_0__we__io(we_n), .sdram_0__ba__io(ba), .sdram_0__a__io(a),
    .sdram_0__dqm__io(dqm), .sdram_0__dq__io(dq)
  );
  sdr_sdram chip (
    .clk(dram_clk), .cke(cke), .cs_n(cs_n), .ras_n(ras_n), .cas_n(cas_n), .we_n(we_n), .ba(ba), .a(a), .dqm(dqm),
    .dq(dq), .violations(violations)
  );
endmodule

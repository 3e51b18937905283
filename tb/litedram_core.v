// What a LiteDRAM core does at its ports, with pauses at every handshake: calibration that takes a while, a user clock
// of its own, and an AXI user port that takes incrementing bursts of whole beats. What it must not be asked is counted
// in `violations`. Memory beyond `WORDS` beats is not there.

`timescale 1ns / 1ps

module litedram_core #(
  parameter WORDS = 8192
) (
    input  wire          clk,
    output wire   [12:0] ddram_a,
    output wire    [2:0] ddram_ba,
    output wire          ddram_cas_n,
    output wire          ddram_cke,
    input  wire          ddram_clk_n,
    output wire          ddram_clk_p,
    output wire          ddram_cs_n,
    output wire    [1:0] ddram_dm,
    input  wire   [15:0] ddram_dq,
    input  wire    [1:0] ddram_dqs_n,
    input  wire    [1:0] ddram_dqs_p,
    output wire          ddram_odt,
    output wire          ddram_ras_n,
    output wire          ddram_reset_n,
    output wire          ddram_we_n,
    output reg           init_done,
    output wire          init_error,
    output wire          pll_locked,
    input  wire          rst,
    output wire          user_clk,
    input  wire   [26:0] user_port_0_araddr,
    input  wire    [1:0] user_port_0_arburst,
    input  wire    [3:0] user_port_0_arid,
    input  wire    [7:0] user_port_0_arlen,
    output wire          user_port_0_arready,
    input  wire    [3:0] user_port_0_arsize,
    input  wire          user_port_0_arvalid,
    input  wire   [26:0] user_port_0_awaddr,
    input  wire    [1:0] user_port_0_awburst,
    input  wire    [3:0] user_port_0_awid,
    input  wire    [7:0] user_port_0_awlen,
    output wire          user_port_0_awready,
    input  wire    [3:0] user_port_0_awsize,
    input  wire          user_port_0_awvalid,
    output reg     [3:0] user_port_0_bid,
    input  wire          user_port_0_bready,
    output wire    [1:0] user_port_0_bresp,
    output reg           user_port_0_bvalid,
    output wire   [63:0] user_port_0_rdata,
    output reg     [3:0] user_port_0_rid,
    output wire          user_port_0_rlast,
    input  wire          user_port_0_rready,
    output wire    [1:0] user_port_0_rresp,
    output wire          user_port_0_rvalid,
    input  wire   [63:0] user_port_0_wdata,
    input  wire          user_port_0_wlast,
    output wire          user_port_0_wready,
    input  wire    [7:0] user_port_0_wstrb,
    input  wire          user_port_0_wvalid,
    output reg           user_rst
);
  reg [63:0] held [0:WORDS-1];
  reg [15:0] violations = 0;
  reg [30:0] noise = 31'h2468ace1;
  reg [7:0]  waited = 0;
  reg        user = 0;
  integer    word;
  initial for (word = 0; word < WORDS; word = word + 1) held[word] = 0;
  always #9 user = ~user;
  assign user_clk = user;
  assign pll_locked = 1, init_error = 0;
  assign ddram_a = 13'h1aaa, ddram_ba = 5, ddram_dm = 1, ddram_odt = 1, ddram_cke = 1, ddram_clk_p = 1;
  assign ddram_cas_n = 1, ddram_cs_n = 0, ddram_ras_n = 1, ddram_reset_n = 1, ddram_we_n = 0;
  initial begin
    init_done = 0;
    user_rst = 1;
    user_port_0_bvalid = 0;
    user_port_0_bid = 0;
    user_port_0_rid = 0;
  end

  reg        writing = 0, reading = 0;
  reg [26:0] to = 0, from = 0;
  reg [7:0]  write_left = 0, read_left = 0;
  integer    lane;
  wire [26:0] last_read = user_port_0_araddr + (user_port_0_arlen << 3);
  wire [26:0] last_write = user_port_0_awaddr + (user_port_0_awlen << 3);

  assign user_port_0_awready = init_done && !writing && !user_port_0_bvalid && noise[0];
  assign user_port_0_wready = writing && noise[3];
  assign user_port_0_arready = init_done && !reading && noise[5];
  assign user_port_0_rvalid = reading && (noise[7] || shown);
  assign user_port_0_rlast = read_left == 0;
  assign user_port_0_rdata = user_port_0_rvalid ? held[from >> 3] : 64'hx;
  assign user_port_0_bresp = 0, user_port_0_rresp = 0;
  reg shown = 0;

  always @(posedge user) begin
    noise <= {noise[29:0], noise[30] ^ noise[27]};
    waited <= waited == 255 ? 255 : waited + 1;
    user_rst <= waited < 20;
    init_done <= waited == 255;
    shown <= user_port_0_rvalid && !user_port_0_rready;
    if (!user_rst && (user_port_0_awvalid || user_port_0_arvalid) && !init_done) violations <= violations + 1;
    if (user_port_0_awvalid && user_port_0_awready) begin
      writing <= 1;
      to <= user_port_0_awaddr & ~27'd7;
      write_left <= user_port_0_awlen;
      user_port_0_bid <= user_port_0_awid;
      if (user_port_0_awburst != 1 || user_port_0_awsize != 3 || last_write >= 8 * WORDS) violations <= violations + 1;
    end
    if (user_port_0_wvalid && user_port_0_wready) begin
      for (lane = 0; lane < 8; lane = lane + 1)
        if (user_port_0_wstrb[lane]) held[to >> 3][8 * lane +: 8] <= user_port_0_wdata[8 * lane +: 8];
      to <= to + 8;
      write_left <= write_left - 1;
      if (user_port_0_wlast != (write_left == 0)) violations <= violations + 1;
      if (write_left == 0) begin
        writing <= 0;
        user_port_0_bvalid <= 1;
      end
    end
    if (user_port_0_bvalid && user_port_0_bready) user_port_0_bvalid <= 0;
    if (user_port_0_arvalid && user_port_0_arready) begin
      reading <= 1;
      from <= user_port_0_araddr & ~27'd7;
      read_left <= user_port_0_arlen;
      user_port_0_rid <= user_port_0_arid;
      if (user_port_0_arburst != 1 || user_port_0_arsize != 3 || last_read >= 8 * WORDS) violations <= violations + 1;
    end
    if (user_port_0_rvalid && user_port_0_rready) begin
      from <= from + 8;
      read_left <= read_left - 1;
      if (read_left == 0) reading <= 0;
    end
  end
endmodule

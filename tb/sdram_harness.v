// Main memory in SDRAM, the registers of its pads and a chip; the ports are those of the AXI4 subordinate.

`timescale 1ns / 1ps

module sdram_harness #(
  parameter WIDTH = 64,
  parameter ROW_BITS = 4,
  parameter COLUMN_BITS = 4,
  parameter T_RRD = 15000,
  parameter T_STARTUP = 0,
  parameter T_MRD = 0,
  parameter T_WR = 0,
  parameter T_RAS = 0,
  parameter T_RC = 0
) (
  input                clk,
  input                rst,
  output [15:0]        violations,
  input                s_axi_awid,
  input [31:0]         s_axi_awaddr,
  input [7:0]          s_axi_awlen,
  input [2:0]          s_axi_awsize,
  input [1:0]          s_axi_awburst,
  input                s_axi_awvalid,
  output               s_axi_awready,
  input [WIDTH-1:0]    s_axi_wdata,
  input [WIDTH/8-1:0]  s_axi_wstrb,
  input                s_axi_wlast,
  input                s_axi_wvalid,
  output               s_axi_wready,
  output               s_axi_bid,
  output [1:0]         s_axi_bresp,
  output               s_axi_bvalid,
  input                s_axi_bready,
  input                s_axi_arid,
  input [31:0]         s_axi_araddr,
  input [7:0]          s_axi_arlen,
  input [2:0]          s_axi_arsize,
  input [1:0]          s_axi_arburst,
  input                s_axi_arvalid,
  output               s_axi_arready,
  output               s_axi_rid,
  output [WIDTH-1:0]   s_axi_rdata,
  output [1:0]         s_axi_rresp,
  output               s_axi_rlast,
  output               s_axi_rvalid,
  input                s_axi_rready
);
  wire        cke, cs, ras, cas, we, dq_enable;
  wire [1:0]  ba, dqm;
  wire [10:0] a;
  wire [15:0] dq_o, dq_i, dq;

  sdram_system system (
    .clk(clk), .rst(rst), .cke(cke), .cs(cs), .ras(ras), .cas(cas), .we(we), .ba(ba), .a(a), .dqm(dqm), .dq_o(dq_o),
    .dq_enable(dq_enable), .dq_i(dq),
    .s_axi_awid(s_axi_awid), .s_axi_awaddr(s_axi_awaddr), .s_axi_awlen(s_axi_awlen), .s_axi_awsize(s_axi_awsize),
    .s_axi_awburst(s_axi_awburst), .s_axi_awcache(4'd3), .s_axi_awprot(3'd0), .s_axi_awvalid(s_axi_awvalid),
    .s_axi_awready(s_axi_awready),
    .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast), .s_axi_wvalid(s_axi_wvalid),
    .s_axi_wready(s_axi_wready),
    .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid), .s_axi_bready(s_axi_bready),
    .s_axi_arid(s_axi_arid), .s_axi_araddr(s_axi_araddr), .s_axi_arlen(s_axi_arlen), .s_axi_arsize(s_axi_arsize),
    .s_axi_arburst(s_axi_arburst), .s_axi_arcache(4'd3), .s_axi_arprot(3'd0), .s_axi_arvalid(s_axi_arvalid),
    .s_axi_arready(s_axi_arready),
    .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp), .s_axi_rlast(s_axi_rlast),
    .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready)
  );
  assign dq = dq_enable ? dq_o : 16'bz;

  // Rows and columns are few: their other address lines stay low, but the one that closes all banks.
  sdr_sdram #(
    .ROW_BITS(11), .COLUMN_BITS(COLUMN_BITS), .WORDS(1 << (ROW_BITS + COLUMN_BITS + 2)), .T_STARTUP(T_STARTUP), .T_RRD(T_RRD),
    .T_MRD(T_MRD), .T_WR(T_WR), .T_RAS(T_RAS), .T_RC(T_RC)
  ) chip (
    .clk(~clk), .cke(cke), .cs_n(~cs), .ras_n(~ras), .cas_n(~cas), .we_n(~we), .ba(ba), .a(a), .dqm(dqm), .dq(dq),
    .violations(violations)
  );
endmodule

// Feeds a file of bytes to a link and condenses what it does on the buses: how many writes, and a hash of their
// addresses, strobes and data in order. Everything is answered after a cycle and without errors.

`timescale 1ns / 1ps

module link_frames #(
  parameter BYTES = 16
) (
  output reg [31:0] memory_writes,
  output reg [31:0] memory_hash,
  output reg [31:0] register_writes,
  output reg [31:0] register_hash,
  output reg [31:0] answers,
  output reg        done
);
  reg [7:0] bytes [0:BYTES-1];
  reg clk = 0, rst = 1;
  integer place = 0, silent = 0;
  always #5 clk = ~clk;
  initial begin
    $readmemh("frames.hex", bytes);
    {memory_writes, memory_hash, register_writes, register_hash, answers} = 0;
    done = 0;
  end

  wire received_ready, sent_valid, aw, w, ar, b_ready, r_ready, raw, rw, rar, rb_ready, rr_ready, busy;
  wire [7:0] sent;
  wire [52:0] aw_payload, ar_payload;
  wire [72:0] w_payload;
  wire [8:0] raw_payload, rar_payload;
  wire [35:0] rw_payload;
  reg aw_seen = 0, w_seen = 0, b = 0, r = 0, raw_seen = 0, rw_seen = 0, rb = 0, rr = 0;
  reg [31:0] address, strobes, low, high;
  wire [31:0] number = {16'd0, answers[15:0]};

  host_link link (
    .clk(clk), .rst(rst), .irq(1'b0), .busy(busy),
    .received__payload(bytes[place < BYTES ? place : 0]), .received__valid(place < BYTES), .received__ready(received_ready),
    .sent__payload(sent), .sent__valid(sent_valid), .sent__ready(1'b1),
    .memory__aw__payload(aw_payload), .memory__aw__valid(aw), .memory__aw__ready(!aw_seen),
    .memory__w__payload(w_payload), .memory__w__valid(w), .memory__w__ready(!w_seen),
    .memory__b__payload(3'b0), .memory__b__valid(b), .memory__b__ready(b_ready),
    .memory__ar__payload(ar_payload), .memory__ar__valid(ar), .memory__ar__ready(!r),
    .memory__r__payload({1'b1, 2'b0, 64'h0123456789abcdef, 1'b0}), .memory__r__valid(r), .memory__r__ready(r_ready),
    .registers__aw__payload(raw_payload), .registers__aw__valid(raw), .registers__aw__ready(!raw_seen),
    .registers__w__payload(rw_payload), .registers__w__valid(rw), .registers__w__ready(!rw_seen),
    .registers__b__payload(2'b0), .registers__b__valid(rb), .registers__b__ready(rb_ready),
    .registers__ar__payload(rar_payload), .registers__ar__valid(rar), .registers__ar__ready(!rr),
    .registers__r__payload(34'h76543210), .registers__r__valid(rr), .registers__r__ready(rr_ready)
  );

  function [31:0] mixed(input [31:0] hash, input [31:0] value);
    mixed = (hash ^ value) * 32'd16777619;
  endfunction

  integer lane;
  reg [63:0] masked;
  always @* begin
    for (lane = 0; lane < 8; lane = lane + 1)
      masked[8 * lane +: 8] = w_payload[64 + lane] ? w_payload[8 * lane +: 8] : 8'd0;
  end

  always @(posedge clk) begin
    rst <= 0;
    if (!rst && received_ready && place < BYTES) place <= place + 1;
    silent <= place < BYTES || busy ? 0 : silent + 1;
    done <= silent > 50;
    if (sent_valid && sent == 8'hc0) answers <= answers + 1;

    if (aw && !aw_seen) begin
      aw_seen <= 1;
      address <= aw_payload[32:1];
    end
    if (w && !w_seen) begin
      w_seen <= 1;
      strobes <= w_payload[71:64];
      low <= masked[31:0];
      high <= masked[63:32];
    end
    if (aw_seen && w_seen && !b) begin
      b <= 1;
      memory_writes <= memory_writes + 1;
      memory_hash <= mixed(mixed(mixed(mixed(memory_hash, address), strobes), low), high);
    end
    if (b && b_ready) {b, aw_seen, w_seen} <= 0;
    if (ar && !r) r <= 1;
    if (r && r_ready) r <= 0;

    if (raw && !raw_seen) raw_seen <= 1;
    if (rw && !rw_seen) rw_seen <= 1;
    if (raw && !raw_seen) address <= raw_payload[5:0];
    if (rw && !rw_seen) low <= rw_payload[31:0];
    if (raw_seen && rw_seen && !rb) begin
      rb <= 1;
      register_writes <= register_writes + 1;
      register_hash <= mixed(mixed(register_hash, address), low);
    end
    if (rb && rb_ready) {rb, raw_seen, rw_seen} <= 0;
    if (rar && !rr) rr <= 1;
    if (rr && rr_ready) rr <= 0;
  end
endmodule

// A board and the far end of its serial line: bytes for a bench instead of bits.
//
// A byte that the board has sent is in `got` when `got_count` changes. A byte in `send` is sent to the board when
// `send_count` changes; `sent_count` follows it when the stop bit is over.

`timescale 1ns / 1ps

module board_line #(
  parameter CYCLES = 8
) (
  output reg [7:0] got,
  output reg [7:0] got_count,
  input      [7:0] send,
  input      [7:0] send_count,
  output reg [7:0] sent_count,
  output     [3:0] leds,
  output     [15:0] violations
);
  reg clk = 0;
  always #20 clk = ~clk;

  wire tx;
  reg  rx = 1;
  board_pins board (.clk(clk), .tx(tx), .rx(rx), .leds(leds), .violations(violations));

  integer got_left = 0, got_wait = 0, send_left = 0, send_wait = 0;
  reg [9:0] sending = 10'h3ff;
  initial begin
    got = 0;
    got_count = 0;
    sent_count = 0;
  end

  always @(negedge clk) begin
    if (got_left == 0) begin
      if (!tx) begin
        got_left <= 9;
        got_wait <= CYCLES + CYCLES / 2;
      end
    end else if (got_wait > 1) got_wait <= got_wait - 1;
    else begin
      got_wait <= CYCLES;
      got_left <= got_left - 1;
      if (got_left > 1) got <= {tx, got[7:1]};
      else if (tx) got_count <= got_count + 1;
    end

    if (send_left == 0) begin
      rx <= 1;
      if (send_count != sent_count) begin
        sending <= {1'b1, send, 1'b0};
        send_left <= 11;
        send_wait <= 0;
      end
    end else if (send_wait > 1) send_wait <= send_wait - 1;
    else begin
      rx <= sending[0];
      sending <= {1'b1, sending[9:1]};
      send_wait <= CYCLES;
      send_left <= send_left - 1;
      if (send_left == 1) sent_count <= send_count;
    end
  end
endmodule

// A synchronous DRAM of four banks, single data rate, bursts of one word: behaviour, times and their checks.
//
// Times are in picoseconds. Bit k of `violations` says that rule k was broken; each is printed when it happens. Read data
// appears T_AC after the clock edge, and what is on the lines between T_OH and T_AC after it is wrong on purpose.

`timescale 1ns / 1ps

module sdr_sdram #(
  parameter ROW_BITS = 13,
  parameter COLUMN_BITS = 9,
  parameter DATA_BITS = 16,
  parameter WORDS = 1 << 20,  // words that there are; what lies beyond is a violation
  parameter T_RCD = 20000,
  parameter T_RP = 20000,
  parameter T_RAS = 45000,
  parameter T_RC = 67500,
  parameter T_RRD = 15000,
  parameter T_WR = 15000,
  parameter T_RFC = 70000,
  parameter T_MRD = 15000,
  parameter T_CK = 7500,
  parameter T_AC = 6000,
  parameter T_OH = 2500,
  parameter T_STARTUP = 200000000,
  parameter T_REFRESH = 7812500
) (
  input                    clk,
  input                    cke,
  input                    cs_n,
  input                    ras_n,
  input                    cas_n,
  input                    we_n,
  input [1:0]              ba,
  input [ROW_BITS-1:0]     a,
  input [DATA_BITS/8-1:0]  dqm,
  inout [DATA_BITS-1:0]    dq,
  output reg [15:0]        violations
);
  localparam RCD = 0, RP = 1, RAS = 2, RC = 3, RRD = 4, WR = 5, RFC = 6, REFRESH = 7, MRD = 8, CK = 9, STARTUP = 10,
             CLOSED = 11, OPEN = 12, OUTSIDE = 13, LINES = 14, MODE = 15;

  reg [DATA_BITS-1:0] words [0:WORDS-1];
  reg [3:0]           is_open = 0;
  reg [ROW_BITS-1:0]  row [0:3];
  realtime opened [0:3], closed [0:3], written [0:3];
  realtime edge_before, opened_any, refreshed, mode_set;
  reg      ready = 0;           // mode set
  integer  refreshes = 0;       // before that
  reg [2:0] latency = 0;
  // Reads on their way: the word of stage k comes at the (latency - k)th edge.
  reg [DATA_BITS-1:0] coming [0:3];
  reg [3:0]           comes = 0;
  reg [DATA_BITS-1:0] drive = 0;
  reg                 drives = 0;
  reg [DATA_BITS/8-1:0] masked = 0;
  integer k;

  assign dq = drives ? drive : {DATA_BITS{1'bz}};

  wire [3:0] command = {cs_n, ras_n, cas_n, we_n};
  wire [ROW_BITS+COLUMN_BITS+1:0] place = {row[ba], ba, a[COLUMN_BITS-1:0]};

  task broken(input integer rule);
    begin
      if (!violations[rule]) $display("SDRAM: rule %0d broken at %0t", rule, $realtime);
      violations[rule] = 1;
    end
  endtask

  task after(input realtime since, input integer time_ps, input integer rule);
    if (($realtime - since) * 1000.0 < time_ps - 0.5) broken(rule);
  endtask

  initial begin
    violations = 0;
    edge_before = -1.0e9;
    opened_any = -1.0e9;
    refreshed = -1.0e9;
    mode_set = -1.0e9;
    for (k = 0; k < 4; k = k + 1) begin
      opened[k] = -1.0e9;
      closed[k] = -1.0e9;
      written[k] = -1.0e9;
    end
  end

  task close(input [1:0] bank);
    if (is_open[bank]) begin
      after(opened[bank], T_RAS, RAS);
      after(written[bank], T_WR, WR);
      is_open[bank] = 0;
      closed[bank] = $realtime;
    end
  endtask

  task access;  // a column of an open row
    begin
      after(opened[ba], T_RCD, RCD);
      if (!is_open[ba]) broken(CLOSED);
      if (!ready) broken(MODE);
      if (place >= WORDS) broken(OUTSIDE);
      if (a[10]) broken(MODE);
    end
  endtask

  always @(posedge clk) if (cke) begin
    after(edge_before, T_CK, CK);
    edge_before = $realtime;
    if (ready && ($realtime - refreshed) * 1000.0 > T_REFRESH + 0.5) broken(REFRESH);
    if (command != 4'b0111 && !cs_n) begin
      after(refreshed, T_RFC, RFC);
      after(mode_set, T_MRD, MRD);
      if ($realtime * 1000.0 < T_STARTUP - 0.5) broken(STARTUP);
    end

    // What was read `latency` edges ago; the lines show it at the next edge.
    if (comes[0]) begin
      drives <= #(T_OH / 1000.0) 1;
      drive <= #(T_OH / 1000.0) ~coming[0];
      for (k = 0; k < DATA_BITS / 8; k = k + 1)
        if (masked[k]) coming[0][8*k+:8] = ~coming[0][8*k+:8];  // one who masks what it reads gets nonsense
      drive <= #(T_AC / 1000.0) coming[0];
    end else drives <= #(T_OH / 1000.0) 0;
    comes = {1'b0, comes[3:1]};
    coming[0] = coming[1];
    coming[1] = coming[2];
    coming[2] = coming[3];
    masked = dqm;

    case (command)
      4'b0011: begin  // open a row
        if (is_open[ba]) broken(OPEN);
        after(closed[ba], T_RP, RP);
        after(opened[ba], T_RC, RC);
        after(opened_any, T_RRD, RRD);
        is_open[ba] = 1;
        row[ba] = a;
        opened[ba] = $realtime;
        opened_any = $realtime;
      end
      4'b0101: begin  // read
        access;
        comes[latency-2] = 1;
        coming[latency-2] = words[place];
      end
      4'b0100: begin  // write
        access;
        if (drives || comes != 0) broken(LINES);
        for (k = 0; k < DATA_BITS / 8; k = k + 1) if (!dqm[k]) words[place][8*k+:8] = dq[8*k+:8];
        written[ba] = $realtime;
      end
      4'b0010: begin  // close one or all
        if (a[10]) for (k = 0; k < 4; k = k + 1) close(k);
        else close(ba);
      end
      4'b0001: begin  // refresh
        if (is_open != 0) broken(OPEN);
        for (k = 0; k < 4; k = k + 1) begin
          after(closed[k], T_RP, RP);
          after(opened[k], T_RC, RC);
        end
        refreshed = $realtime;
        refreshes = refreshes + 1;
      end
      4'b0000: begin  // mode
        if (is_open != 0) broken(OPEN);
        if (refreshes < 2 || a[3:0] != 0 || ba != 0 || a[6:4] < 2 || a[6:4] > 3) broken(MODE);
        latency = a[6:4];
        mode_set = $realtime;
        ready = 1;
      end
      default: ;
    endcase
  end
endmodule

// The test access port of an ECP5 and its cell for user logic, behind the pins of `jtag_line`.
//
// What this model takes for granted, and what a board does that Lattice's documents describe (FPGA Libraries Reference
// Guide, JTAGG and the cells before it; sysCONFIG guide FPGA-TN-02039, instructions; the registers of JTDI, JRSTN and
// TDO are as measured on boards):
//  1. The port is that of IEEE 1149.1, with eight instruction bits; Capture-IR loads 01 into the two lowest. After
//     Test-Logic-Reset the instruction is IDCODE (0xE0); what is unknown is BYPASS.
//  2. JTCK is TCK. JTDI is TDI after a rising edge of TCK, in any state.
//  3. With ER1 (0x32) or ER2 (0x38): JSHIFT is high in Shift-DR, JUPDATE in Update-DR.
//  4. JCE1 is high in Capture-DR and Shift-DR with ER1, JRTI1 in Run-Test/Idle with ER1; JCE2, JRTI2 with ER2.
//  5. JRSTN is low in Test-Logic-Reset, from falling edges on.
//  6. In Shift-DR TDO takes JTDO1 or JTDO2 by falling edges of TCK; without user logic they are zero.
// State changes with rising edges; outputs that follow it have no registers of their own.

`timescale 1ns / 1ps

module JTAGG #(
  parameter ER1 = "ENABLED",
  parameter ER2 = "ENABLED"
) (
  input  JTDO1,
  input  JTDO2,
  output JTCK,
  output reg JTDI,
  output JSHIFT,
  output JUPDATE,
  output reg JRSTN,
  output JCE1,
  output JCE2,
  output JRTI1,
  output JRTI2
);
  localparam [3:0] RESET = 0, IDLE = 1, SELECT_DR = 2, CAPTURE_DR = 3, SHIFT_DR = 4, EXIT1_DR = 5, PAUSE_DR = 6,
                   EXIT2_DR = 7, UPDATE_DR = 8, SELECT_IR = 9, CAPTURE_IR = 10, SHIFT_IR = 11, EXIT1_IR = 12,
                   PAUSE_IR = 13, EXIT2_IR = 14, UPDATE_IR = 15;
  localparam [7:0] IDCODE = 8'hE0, USER1 = 8'h32, USER2 = 8'h38;

  wire tck = jtag_line.tck, tms = jtag_line.tms, tdi = jtag_line.tdi;
  reg [3:0]  state = RESET;
  reg [7:0]  instruction = IDCODE, instruction_bits = 0;
  reg [31:0] identity = 0;
  reg        bypass = 0;

  initial begin
    JTDI = 0;
    JRSTN = 0;
  end

  wire user1 = instruction == USER1 && ER1 == "ENABLED";
  wire user2 = instruction == USER2 && ER2 == "ENABLED";
  assign JTCK = tck;
  assign JSHIFT = state == SHIFT_DR && (user1 || user2);
  assign JUPDATE = state == UPDATE_DR && (user1 || user2);
  assign JCE1 = user1 && (state == CAPTURE_DR || state == SHIFT_DR);
  assign JCE2 = user2 && (state == CAPTURE_DR || state == SHIFT_DR);
  assign JRTI1 = user1 && state == IDLE;
  assign JRTI2 = user2 && state == IDLE;

  always @(posedge tck) begin
    JTDI <= tdi;
    case (state)
      RESET:      state <= tms ? RESET : IDLE;
      IDLE:       state <= tms ? SELECT_DR : IDLE;
      SELECT_DR:  state <= tms ? SELECT_IR : CAPTURE_DR;
      CAPTURE_DR: state <= tms ? EXIT1_DR : SHIFT_DR;
      SHIFT_DR:   state <= tms ? EXIT1_DR : SHIFT_DR;
      EXIT1_DR:   state <= tms ? UPDATE_DR : PAUSE_DR;
      PAUSE_DR:   state <= tms ? EXIT2_DR : PAUSE_DR;
      EXIT2_DR:   state <= tms ? UPDATE_DR : SHIFT_DR;
      UPDATE_DR:  state <= tms ? SELECT_DR : IDLE;
      SELECT_IR:  state <= tms ? RESET : CAPTURE_IR;
      CAPTURE_IR: state <= tms ? EXIT1_IR : SHIFT_IR;
      SHIFT_IR:   state <= tms ? EXIT1_IR : SHIFT_IR;
      EXIT1_IR:   state <= tms ? UPDATE_IR : PAUSE_IR;
      PAUSE_IR:   state <= tms ? EXIT2_IR : PAUSE_IR;
      EXIT2_IR:   state <= tms ? UPDATE_IR : SHIFT_IR;
      UPDATE_IR:  state <= tms ? SELECT_DR : IDLE;
    endcase
    case (state)
      RESET:      instruction <= IDCODE;
      CAPTURE_IR: instruction_bits <= 8'h01;
      SHIFT_IR:   instruction_bits <= {tdi, instruction_bits[7:1]};
      UPDATE_IR:  instruction <= instruction_bits;
      CAPTURE_DR: {identity, bypass} <= {jtag_line.DEVICE, 1'b0};
      SHIFT_DR:   {identity, bypass} <= {tdi, identity[31:1], tdi};
      default: ;
    endcase
  end

  always @(negedge tck) begin
    JRSTN <= state != RESET;
    if (state == SHIFT_IR) jtag_line.tdo <= instruction_bits[0];
    else if (state == SHIFT_DR)
      jtag_line.tdo <= user1 ? JTDO1 : user2 ? JTDO2 : instruction == IDCODE ? identity[0] : bypass;
  end
endmodule

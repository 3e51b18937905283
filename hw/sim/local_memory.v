// A memory of words of 32 bits beside a machine: one access per cycle; what is read comes in the next cycle.
//
// In cycles of sluice_stalls no access is taken. It begins as FILE says, in hexadecimal, and `save` writes it to SAVED;
// memory_last, a plusarg, is the last address in both.
module sluice_local_memory #(
    parameter ADDRESS_BITS = 18,
    parameter FILE = "memory.hex",
    parameter SAVED = "memory.hex.out"
) (
    input  wire clk,
    input  wire rst,
    input  wire valid,
    output wire ready,
    input  wire write,
    input  wire [ADDRESS_BITS-1:0] address,
    input  wire [31:0] data_out,
    output reg  [31:0] data_in,
    output reg  [31:0] reads,
    output reg  [31:0] writes,
    input  wire save
);
    reg [31:0] store [0:(1 << ADDRESS_BITS)-1];
    reg [31:0] last;
    wire stalls;
    sluice_stalls pauses (.clk(clk), .stalls(stalls));
    initial begin
        if (!$value$plusargs("memory_last=%d", last)) last = (1 << ADDRESS_BITS) - 1;
        $readmemh(FILE, store, 0, last);
        reads = 0;
        writes = 0;
        data_in = 0;
    end
    assign ready = !stalls;
    always @(posedge clk) begin
        if (valid && ready && !rst) begin
            if (write) begin
                store[address] <= data_out;
                writes <= writes + 1;
            end else begin
                data_in <= store[address];
                reads <= reads + 1;
            end
        end else
            data_in <= 32'hDEAD0BAD;
    end
    always @(posedge save)
        $writememh(SAVED, store, 0, last);
endmodule

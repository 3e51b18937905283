// A memory of words of 32 bits beside a machine: one access per cycle; what is read comes in the next cycle.
//
// Plusargs: stall (256ths of the cycles in which no access is taken), memory_seed (h). It begins as FILE says, in
// hexadecimal, and `save` writes it to that file with ".out" behind its name.
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
    reg [31:0] seed, stall, last;
    reg [15:0] random;
    initial begin
        if (!$value$plusargs("memory_seed=%h", seed)) seed = 0;
        if (!$value$plusargs("stall=%d", stall)) stall = 0;
        if (!$value$plusargs("memory_last=%d", last)) last = (1 << ADDRESS_BITS) - 1;
        $readmemh(FILE, store, 0, last);
        reads = 0;
        writes = 0;
        data_in = 0;
        random = seed[15:0] ^ 16'hACE1;
        if (random == 0) random = 16'h1;
    end
    assign ready = random[7:0] >= stall[7:0];
    always @(posedge clk) begin
        random <= {random[14:0], random[15] ^ random[13] ^ random[12] ^ random[10]};
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

// Cycles in which something is not ready, at random: the same in every simulator.
//
// Plusargs: stall (256ths of the cycles), seed (h). SALT and STEP tell things with one seed apart.
module sluice_stalls #(
    parameter [15:0] SALT = 16'hACE1,
    parameter [15:0] STEP = 0
) (
    input  wire clk,
    output wire stalls
);
    reg [31:0] stall, seed;
    reg [15:0] random;
    initial begin
        if (!$value$plusargs("stall=%d", stall)) stall = 0;
        if (!$value$plusargs("seed=%h", seed)) seed = 0;
        random = (seed[15:0] ^ SALT) + STEP;
        if (random == 0) random = 16'h1;
    end
    assign stalls = random[7:0] < stall[7:0];
    always @(posedge clk)
        random <= {random[14:0], random[15] ^ random[13] ^ random[12] ^ random[10]};
endmodule

// What is at the ends of a design's AXI4-Streams: sources that give what is in a file, and sinks that keep what comes.
//
// Plusargs: stall (256ths of the cycles in which a source has nothing to give, or a sink takes nothing), stream_seed (h).
// A source that offers a beat leaves it there until it is taken; a sink says if what is offered does the same.
module sluice_stream_source #(
    parameter WIDTH = 8,
    parameter BEATS = 1,
    parameter NUMBER = 1,
    parameter FILE = "stream.hex"
) (
    input  wire clk,
    input  wire rst,
    output wire [WIDTH-1:0] data,
    output wire last,
    output wire valid,
    input  wire ready
);
    reg [WIDTH:0] store [0:BEATS-1];
    reg [31:0] place, stall, seed, limit;
    reg [15:0] random;
    reg pause;
    initial begin
        if (!$value$plusargs("stall=%d", stall)) stall = 0;
        if (!$value$plusargs("stream_seed=%h", seed)) seed = 0;
        if (!$value$plusargs({FILE, "=%d"}, limit)) limit = BEATS;
        $readmemh(FILE, store, 0, limit - 1);
        random = (seed[15:0] ^ 16'hACE1) + NUMBER * 16'h3457;
        if (random == 0) random = 16'h1;
        place = 0;
        pause = 0;
    end
    assign valid = !rst && !pause && place < limit;
    assign {last, data} = valid ? store[place] : {1'b1, {WIDTH{1'b1}}};
    always @(posedge clk) begin
        random <= {random[14:0], random[15] ^ random[13] ^ random[12] ^ random[10]};
        if (!valid || ready) pause <= random[7:0] < stall[7:0];
        if (valid && ready) place <= place + 1;
    end
endmodule

module sluice_stream_sink #(
    parameter WIDTH = 8,
    parameter BEATS = 1,
    parameter NUMBER = 1,
    parameter FILE = "stream.hex"
) (
    input  wire clk,
    input  wire rst,
    input  wire [WIDTH-1:0] data,
    input  wire [WIDTH/8-1:0] keep,
    input  wire last,
    input  wire valid,
    output wire ready,
    output reg  [31:0] place,
    output reg  broken,
    input  wire save
);
    reg [WIDTH+WIDTH/8:0] store [0:BEATS-1];
    reg [31:0] stall, seed;
    reg [15:0] random;
    reg [WIDTH+WIDTH/8:0] offered;
    reg waits;
    initial begin
        if (!$value$plusargs("stall=%d", stall)) stall = 0;
        if (!$value$plusargs("stream_seed=%h", seed)) seed = 0;
        random = (seed[15:0] ^ 16'h1D0F) + NUMBER * 16'h6A09;
        if (random == 0) random = 16'h1;
        place = 0;
        broken = 0;
        waits = 0;
    end
    assign ready = random[7:0] >= stall[7:0] && place < BEATS;
    always @(posedge clk) begin
        random <= {random[14:0], random[15] ^ random[13] ^ random[12] ^ random[10]};
        waits <= valid && !ready && !rst;
        offered <= {last, keep, data};
        if (waits && (!valid || offered !== {last, keep, data})) broken <= 1;
        if (valid && ready && !rst) begin
            store[place] <= {last, keep, data};
            place <= place + 1;
        end
    end
    always @(posedge save)
        $writememh(FILE, store, 0, place - 1);
endmodule

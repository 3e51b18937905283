// What is at the ends of a design's AXI4-Streams: sources that give what is in a file, and sinks that keep what comes.
//
// In cycles of sluice_stalls a source has nothing to give, or a sink takes nothing. A source that offers a beat leaves
// it there until it is taken; a sink says if what is offered does the same.
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
    reg [31:0] place, limit;
    reg pause;
    wire stalls;
    sluice_stalls #(.STEP(NUMBER * 16'h3457)) pauses (.clk(clk), .stalls(stalls));
    initial begin
        if (!$value$plusargs({FILE, "=%d"}, limit)) limit = BEATS;
        $readmemh(FILE, store, 0, limit - 1);
        place = 0;
        pause = 0;
    end
    assign valid = !rst && !pause && place < limit;
    assign {last, data} = valid ? store[place] : {1'b1, {WIDTH{1'b1}}};
    always @(posedge clk) begin
        if (!valid || ready) pause <= stalls;
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
    reg [WIDTH+WIDTH/8:0] offered;
    reg waits;
    wire stalls;
    sluice_stalls #(.SALT(16'h1D0F), .STEP(NUMBER * 16'h6A09)) pauses (.clk(clk), .stalls(stalls));
    initial begin
        place = 0;
        broken = 0;
        waits = 0;
    end
    assign ready = !stalls && place < BEATS;
    always @(posedge clk) begin
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

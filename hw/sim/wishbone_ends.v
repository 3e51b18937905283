// Wishbone at the ends of a design in simulation, to the AXI buses of its test bench.

// Memory: every cycle of the design's manager is a transaction of one beat, so what comes out of bursts is what single
// accesses would give. Registered feedback (CTI) is checked: addresses of a burst go up by one, and END ends it.
module sluice_wishbone_memory #(
    parameter ADDRESS_BITS = 29,
    parameter DATA_BITS = 64,
    parameter SHIFT = 3
) (
    input  wire clk,
    input  wire rst,
    input  wire cyc,
    input  wire stb,
    input  wire we,
    input  wire [ADDRESS_BITS-1:0] adr,
    input  wire [DATA_BITS/8-1:0] sel,
    input  wire [DATA_BITS-1:0] dat_w,
    output wire [DATA_BITS-1:0] dat_r,
    output wire ack,
    output wire err,
    input  wire [2:0] cti,
    input  wire [1:0] bte,

    output wire awvalid,
    input  wire awready,
    output wire wvalid,
    input  wire wready,
    input  wire bvalid,
    input  wire [1:0] bresp,
    output wire arvalid,
    input  wire arready,
    output wire [ADDRESS_BITS+SHIFT-1:0] addr,
    input  wire rvalid,
    input  wire [DATA_BITS-1:0] rdata,
    input  wire [1:0] rresp,
    output reg  broken
);
    reg sent_address, sent_word, ongoing, last_we;
    reg [ADDRESS_BITS-1:0] expected;
    wire request = cyc && stb && !rst;
    wire answered = we ? bvalid : rvalid;
    assign awvalid = request && we && !sent_address;
    assign wvalid = request && we && !sent_word;
    assign arvalid = request && !we && !sent_address;
    assign addr = {adr, {SHIFT{1'b0}}};
    assign dat_r = rvalid ? rdata : {DATA_BITS/8{8'hA5}};
    assign ack = request && answered && !(we ? bresp[1] : rresp[1]);
    assign err = request && answered && (we ? bresp[1] : rresp[1]);
    always @(posedge clk) begin
        if (rst) begin
            sent_address <= 0;
            sent_word <= 0;
            ongoing <= 0;
            broken <= 0;
        end else begin
            if (awvalid && awready || arvalid && arready) sent_address <= 1;
            if (wvalid && wready) sent_word <= 1;
            if (ack || err) begin
                sent_address <= 0;
                sent_word <= 0;
                ongoing <= cti == 3'd2;
                expected <= adr + 1;
                last_we <= we;
                if (ongoing && (adr != expected || we != last_we)) broken <= 1;
                if (cti != 3'd2 && cti != 3'd7 || bte != 0) broken <= 1;
            end
            if (ongoing && !cyc) broken <= 1;
            if (sent_address && !request) broken <= 1;
            if (!we && request && !(&sel)) broken <= 1;
        end
    end
endmodule

// Registers: a manager of classic cycles, or of pipelined ones, that does what an AXI4-Lite manager asks for.
module sluice_wishbone_control #(
    parameter ADDRESS_BITS = 12,
    parameter PIPELINED = 0
) (
    input  wire clk,
    input  wire rst,
    input  wire awvalid,
    output wire awready,
    input  wire [ADDRESS_BITS-1:0] awaddr,
    input  wire wvalid,
    output wire wready,
    input  wire [31:0] wdata,
    input  wire [3:0] wstrb,
    output reg  bvalid,
    input  wire bready,
    output reg  [1:0] bresp,
    input  wire arvalid,
    output wire arready,
    input  wire [ADDRESS_BITS-1:0] araddr,
    output reg  rvalid,
    input  wire rready,
    output reg  [31:0] rdata,
    output reg  [1:0] rresp,

    output reg  cyc,
    output reg  stb,
    output reg  we,
    output reg  [ADDRESS_BITS-3:0] adr,
    output reg  [3:0] sel,
    output reg  [31:0] dat_w,
    input  wire [31:0] dat_r,
    input  wire ack,
    input  wire err,
    input  wire stall
);
    wire free = !cyc && !bvalid && !rvalid && !rst;
    assign awready = free && awvalid && wvalid;
    assign wready = awready;
    assign arready = free && arvalid && !awready;
    always @(posedge clk) begin
        if (bready) bvalid <= 0;
        if (rready) rvalid <= 0;
        if (rst) begin
            cyc <= 0;
            stb <= 0;
            bvalid <= 0;
            rvalid <= 0;
        end else if (awready || arready) begin
            cyc <= 1;
            stb <= 1;
            we <= awready;
            adr <= awready ? awaddr[ADDRESS_BITS-1:2] : araddr[ADDRESS_BITS-1:2];
            sel <= awready ? wstrb : 4'hF;
            dat_w <= wdata;
        end else if (cyc) begin
            if (PIPELINED && !stall) stb <= 0;
            if (ack || err) begin
                cyc <= 0;
                stb <= 0;
                bvalid <= we;
                bresp <= {err, 1'b0};
                rvalid <= !we;
                rresp <= {err, 1'b0};
                rdata <= dat_r;
            end
        end
    end
endmodule

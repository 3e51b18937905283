// What surrounds a design in simulation: clock, reset, main memory, a manager for its control registers, a watchdog.
// cocotb only starts register accesses and waits for `finished`; nothing in Python runs per cycle.
//
// Run-time settings come as plusargs (decimal, or hexadecimal where noted): memory_seed (h), latency, stall_aw, stall_w,
// stall_b, stall_ar, stall_r (256ths), stall_length (mask), shared (0, 1), error_first (h), error_last (h), error_kinds
// (2 for reads, 1 for writes), error_number, stuck (h), stuck_after, limit.
// A clock cycle is ten time units. Reset lasts eight cycles; `cycle` counts from its end.
module sluice_harness #(
    parameter WORDS = 1024,
    parameter ADDRESS_BITS = 32,
    parameter ID_BITS = 1,
    parameter DATA_BITS = 64,
    parameter CONTROL_ADDRESS_BITS = 32
) (
    output reg  clk,
    output reg  rst,
    input  wire irq,

    input  wire m_awvalid,
    output wire m_awready,
    input  wire [ADDRESS_BITS-1:0] m_awaddr,
    input  wire [7:0] m_awlen,
    input  wire [2:0] m_awsize,
    input  wire [1:0] m_awburst,
    input  wire [ID_BITS-1:0] m_awid,
    input  wire m_wvalid,
    output wire m_wready,
    input  wire [DATA_BITS-1:0] m_wdata,
    input  wire [DATA_BITS/8-1:0] m_wstrb,
    input  wire m_wlast,
    output wire m_bvalid,
    input  wire m_bready,
    output wire [1:0] m_bresp,
    output wire [ID_BITS-1:0] m_bid,
    input  wire m_arvalid,
    output wire m_arready,
    input  wire [ADDRESS_BITS-1:0] m_araddr,
    input  wire [7:0] m_arlen,
    input  wire [2:0] m_arsize,
    input  wire [1:0] m_arburst,
    input  wire [ID_BITS-1:0] m_arid,
    output wire m_rvalid,
    input  wire m_rready,
    output wire [DATA_BITS-1:0] m_rdata,
    output wire [1:0] m_rresp,
    output wire m_rlast,
    output wire [ID_BITS-1:0] m_rid,

    output reg  s_awvalid,
    input  wire s_awready,
    output wire [CONTROL_ADDRESS_BITS-1:0] s_awaddr,
    output reg  s_wvalid,
    input  wire s_wready,
    output wire [31:0] s_wdata,
    output wire [3:0] s_wstrb,
    input  wire s_bvalid,
    output wire s_bready,
    input  wire [1:0] s_bresp,
    output reg  s_arvalid,
    input  wire s_arready,
    output wire [CONTROL_ADDRESS_BITS-1:0] s_araddr,
    input  wire s_rvalid,
    output wire s_rready,
    input  wire [31:0] s_rdata,
    input  wire [1:0] s_rresp
);
    localparam ACCESS_LIMIT = 4096;   // cycles that one register access may take

    reg [31:0] seed, latency, stall_aw, stall_w, stall_b, stall_ar, stall_r, stall_length, shared, bursts;
    reg [31:0] error_kinds, error_number, stuck, stuck_after;
    reg [63:0] limit, error_first, error_last;
    reg error_enable;
    initial begin
        if (!$value$plusargs("memory_seed=%h", seed)) seed = 0;
        if (!$value$plusargs("latency=%d", latency)) latency = 0;
        if (!$value$plusargs("stall_aw=%d", stall_aw)) stall_aw = 0;
        if (!$value$plusargs("stall_w=%d", stall_w)) stall_w = 0;
        if (!$value$plusargs("stall_b=%d", stall_b)) stall_b = 0;
        if (!$value$plusargs("stall_ar=%d", stall_ar)) stall_ar = 0;
        if (!$value$plusargs("stall_r=%d", stall_r)) stall_r = 0;
        if (!$value$plusargs("stall_length=%d", stall_length)) stall_length = 0;
        if (!$value$plusargs("bursts=%d", bursts)) bursts = 16;
        if (!$value$plusargs("shared=%d", shared)) shared = 0;
        if (!$value$plusargs("limit=%d", limit)) limit = 0;
        error_enable = $value$plusargs("error_first=%h", error_first);
        if (!$value$plusargs("error_last=%h", error_last)) error_last = 0;
        if (!$value$plusargs("error_kinds=%d", error_kinds)) error_kinds = 3;
        if (!$value$plusargs("error_number=%d", error_number)) error_number = 0;
        if (!$value$plusargs("stuck=%h", stuck)) stuck = 0;
        if (!$value$plusargs("stuck_after=%d", stuck_after)) stuck_after = 0;
    end

    initial begin
        clk = 0;
        forever #5 clk = !clk;
    end

    reg [63:0] cycle;
    reg [3:0] reset_left;
    initial begin
        rst = 1;
        reset_left = 8;
        cycle = 0;
    end
    always @(posedge clk) begin
        if (reset_left != 0)
            reset_left <= reset_left - 4'd1;
        rst <= reset_left > 1;
        cycle <= rst ? 64'd0 : cycle + 64'd1;
    end

    // Register accesses. cocotb sets address, data and direction and toggles `request` while the clock is low; `served`
    // follows when the answer is in `answer_data` and `answer_status`.
    localparam [2:0] SERVED = 0, REFUSED = 1, HUNG = 2;
    // What cocotb sets is taken over on a clock edge: Verilator would follow it through all logic behind it otherwise,
    // in code of its own.
    reg request, is_write, served, writes;
    reg [63:0] access_address, address;
    reg [31:0] access_data, data, answer_data;
    reg [2:0] answer_status;
    reg busy;
    reg [15:0] access_age;
    reg [63:0] written;               // cycle in which the latest register write was taken
    initial begin
        request = 0;
        is_write = 0;
        served = 0;
        access_address = 0;
        access_data = 0;
        writes = 0;
        address = 0;
        data = 0;
        answer_data = 0;
        answer_status = SERVED;
    end

    assign s_awaddr = address[CONTROL_ADDRESS_BITS-1:0];
    assign s_araddr = address[CONTROL_ADDRESS_BITS-1:0];
    assign s_wdata = data;
    assign s_wstrb = 4'hF;
    assign s_bready = busy && writes;
    assign s_rready = busy && !writes;
    wire write_taken = (s_awvalid || s_wvalid) && (!s_awvalid || s_awready) && (!s_wvalid || s_wready);
    wire answered = writes ? s_bvalid : s_rvalid;

    always @(posedge clk) begin
        if (rst) begin
            busy <= 0;
            s_awvalid <= 0;
            s_wvalid <= 0;
            s_arvalid <= 0;
            written <= 0;
        end else begin
            if (!busy && request != served) begin
                busy <= 1;
                access_age <= 0;
                address <= access_address;
                data <= access_data;
                writes <= is_write;
                s_awvalid <= is_write;
                s_wvalid <= is_write;
                s_arvalid <= !is_write;
            end
            if (s_awvalid && s_awready) s_awvalid <= 0;
            if (s_wvalid && s_wready) s_wvalid <= 0;
            if (s_arvalid && s_arready) s_arvalid <= 0;
            if (write_taken) written <= cycle;
            if (busy) begin
                access_age <= access_age + 16'd1;
                if (answered || access_age == ACCESS_LIMIT) begin
                    busy <= 0;
                    served <= request;
                    s_awvalid <= 0;
                    s_wvalid <= 0;
                    s_arvalid <= 0;
                    answer_data <= s_rdata;
                    answer_status <= !answered ? HUNG : (writes ? s_bresp : s_rresp) != 0 ? REFUSED : SERVED;
                end
            end
        end
    end

    // The end of a run: interrupt, too many cycles since the latest register write, or a breach of the AXI protocol.
    wire [3:0] violation;
    wire struck;
    wire [31:0] read_beats, write_beats;
    reg watching;                     // set by cocotb after the last register write
    reg finished, expired;
    reg [63:0] ended;                 // cycle in which the interrupt was seen, or the watchdog gave up
    initial begin
        watching = 0;
        finished = 0;
        expired = 0;
        ended = 0;
    end
    always @(posedge clk)
        if (watching && !finished) begin
            expired <= !irq && limit != 0 && cycle - written >= limit;
            finished <= irq || violation != 0 || (limit != 0 && cycle - written >= limit);
            ended <= cycle;
        end

    sluice_axi_memory #(
        .WORDS(WORDS), .ADDRESS_BITS(ADDRESS_BITS), .ID_BITS(ID_BITS), .DATA_BITS(DATA_BITS)
    ) memory (
        .clk(clk), .rst(rst), .seed(seed), .latency(latency[15:0]), .bursts(bursts[4:0]),
        .stall_aw(stall_aw[7:0]), .stall_w(stall_w[7:0]), .stall_b(stall_b[7:0]),
        .stall_ar(stall_ar[7:0]), .stall_r(stall_r[7:0]), .stall_length(stall_length[7:0]),
        .shared(shared[0]),
        .error_enable(error_enable), .error_first(error_first[ADDRESS_BITS-1:0]),
        .error_last(error_last[ADDRESS_BITS-1:0]),
        .error_reads(error_kinds[1]), .error_writes(error_kinds[0]), .error_number(error_number),
        .stuck(stuck[4:0]), .stuck_after(stuck_after),
        .awvalid(m_awvalid), .awready(m_awready), .awaddr(m_awaddr), .awlen(m_awlen), .awsize(m_awsize),
        .awburst(m_awburst), .awid(m_awid),
        .wvalid(m_wvalid), .wready(m_wready), .wdata(m_wdata), .wstrb(m_wstrb), .wlast(m_wlast),
        .bvalid(m_bvalid), .bready(m_bready), .bresp(m_bresp), .bid(m_bid),
        .arvalid(m_arvalid), .arready(m_arready), .araddr(m_araddr), .arlen(m_arlen), .arsize(m_arsize),
        .arburst(m_arburst), .arid(m_arid),
        .rvalid(m_rvalid), .rready(m_rready), .rdata(m_rdata), .rresp(m_rresp), .rlast(m_rlast), .rid(m_rid),
        .violation(violation), .struck(struck), .read_beats(read_beats), .write_beats(write_beats)
    );

    // cocotb raises `dump` to save memory, and sees `dumped` when the file is closed.
    reg dump, dumped;
    initial begin
        dump = 0;
        dumped = 0;
    end
    always @(posedge dump) begin
        memory.save;
        dumped = 1;
    end

    // One word that shows where every channel stands, for the message of a hang.
    wire [15:0] channels = {m_awvalid, m_awready, m_wvalid, m_wready, m_bvalid, m_bready, m_arvalid, m_arready,
                            m_rvalid, m_rready, memory.read_count != 0, memory.write_count != 0,
                            memory.answer_count != 0, irq, rst, busy};
    wire [15:0] outstanding = {3'd0, memory.read_count, 3'd0, memory.write_count};
endmodule

// Plays a list of jobs to the scratchpad DMA engine, between the main-memory model and a scratchpad that stalls.
// Files in the simulation's folder: jobs.hex (a line per job: `JOB` of core_ports.py,
// 177 bits), scratchpad.hex (bytes), memory.hex; afterwards scratchpad.out, and done.txt: the cycle of each `done`.
module scratchpad_dma_harness #(
    parameter DATA_BITS = 64,
    parameter CAPACITY_BITS = 13,     // of the scratchpad's size in bytes
    parameter WORDS = 1024,           // of main memory, 64 bits each
    parameter JOBS = 4096
) (
    input  wire clk,
    input  wire rst,
    input  wire [31:0] seed,
    input  wire [15:0] latency,
    input  wire [7:0] stall,              // of main memory, 256ths
    input  wire [7:0] stall_length,
    input  wire [7:0] scratchpad_stall,   // 256ths
    input  wire [7:0] job_stall,          // 256ths
    input  wire shared,
    input  wire error_enable,
    input  wire [31:0] error_first,
    input  wire [31:0] error_last,
    input  wire [31:0] count,             // jobs to play
    input  wire save,
    output reg  saved,
    output wire finished,
    output reg  [31:0] cycle,             // since reset
    output reg  [31:0] first_beat,        // cycle of the first and of the latest beat of data
    output reg  [31:0] last_beat,
    output reg  [31:0] last_write,        // cycle of the latest write to the scratchpad
    output wire [31:0] read_beats,
    output wire [31:0] write_beats,
    output reg  [31:0] done_count,
    output reg  [31:0] read_errors,
    output reg  [31:0] write_errors,
    output wire [3:0] violation,
    output reg  unstable,                 // a stream changed while it waited
    output wire idle
);
    localparam M = DATA_BITS / 8;
    localparam LANE_BITS = $clog2(M);
    localparam CHUNK_BITS = CAPACITY_BITS - LANE_BITS;

    reg [255:0] jobs [0:JOBS-1];
    reg [7:0] scratchpad [0:(1<<CAPACITY_BITS)-1];
    integer file, index;
    initial begin
        saved = 0;
        $readmemh("jobs.hex", jobs);
        $readmemh("scratchpad.hex", scratchpad);
        file = $fopen("done.txt", "w");
    end
    always @(posedge save) begin
        $fclose(file);
        file = $fopen("scratchpad.out", "w");
        for (index = 0; index < (1 << CAPACITY_BITS); index = index + 1)
            $fwrite(file, "%02x\n", scratchpad[index]);
        $fclose(file);
        memory.save;
        saved = 1;
    end

    reg [31:0] random;
    always @(posedge clk) begin
        if (rst)
            random <= seed | 32'd1;
        else
            random <= random * 32'd1664525 + 32'd1013904223;
    end

    // Jobs
    reg [31:0] played;
    reg job_valid;
    wire job_ready;
    wire [255:0] job = jobs[played];
    always @(posedge clk) begin
        if (rst) begin
            played <= 0;
            job_valid <= 0;
        end else begin
            if (job_valid && job_ready)
                played <= played + 1;
            if (!job_valid || job_ready)
                job_valid <= played + (job_valid && job_ready) < count && random[31:24] >= job_stall;
        end
    end

    // Scratchpad: writes, and reads that come back three cycles later or more
    wire write_valid, read_valid, data_ready, done;
    wire [CHUNK_BITS-1:0] write_chunk, read_chunk;
    wire [DATA_BITS-1:0] write_data;
    wire [M-1:0] write_strobe;
    wire [1:0] error;
    reg write_ready, read_may;
    reg [DATA_BITS-1:0] queue [0:7];
    reg [31:0] queue_time [0:7];
    reg [2:0] queue_in, queue_out;
    reg [3:0] queued;
    reg data_valid;
    reg [DATA_BITS-1:0] data;
    wire read_ready = read_may && queued != 8;
    wire read_take = read_valid && read_ready;
    wire data_load = queued != 0 && cycle - queue_time[queue_out] >= 1 && (!data_valid || data_ready)
                     && random[15:8] >= scratchpad_stall;
    integer lane;
    always @(posedge clk) begin
        if (rst) begin
            write_ready <= 0;
            read_may <= 0;
            queue_in <= 0;
            queue_out <= 0;
            queued <= 0;
            data_valid <= 0;
        end else begin
            write_ready <= random[31:24] >= scratchpad_stall;
            read_may <= random[23:16] >= scratchpad_stall;
            for (lane = 0; lane < M; lane = lane + 1) begin
                if (write_valid && write_ready && write_strobe[lane])
                    scratchpad[write_chunk * M + lane] <= write_data[8*lane +: 8];
                if (read_take)
                    queue[queue_in][8*lane +: 8] <= scratchpad[read_chunk * M + lane];
            end
            if (read_take) begin
                queue_time[queue_in] <= cycle;
                queue_in <= queue_in + 1'b1;
            end
            if (data_load) begin
                data <= queue[queue_out];
                queue_out <= queue_out + 1'b1;
            end
            data_valid <= data_load || (data_valid && !data_ready);
            queued <= queued + read_take - data_load;
        end
    end

    // What is observed
    reg write_waits, read_waits;
    reg [DATA_BITS+M+CHUNK_BITS-1:0] write_was;
    reg [CHUNK_BITS-1:0] read_was;
    wire beat = (rvalid && rready) || (wvalid && wready);
    assign finished = done_count == count;
    always @(posedge clk) begin
        write_waits <= !rst && write_valid && !write_ready;
        read_waits <= !rst && read_valid && !read_ready;
        write_was <= {write_data, write_strobe, write_chunk};
        read_was <= read_chunk;
        if (rst) begin
            cycle <= 0;
            first_beat <= 0;
            last_beat <= 0;
            last_write <= 0;
            done_count <= 0;
            read_errors <= 0;
            write_errors <= 0;
            unstable <= 0;
        end else begin
            cycle <= cycle + 1;
            if (beat) begin
                last_beat <= cycle;
                if (first_beat == 0) first_beat <= cycle;
            end
            if (write_valid && write_ready) last_write <= cycle;
            if (done) $fwrite(file, "%0d\n", cycle);
            done_count <= done_count + done;
            read_errors <= read_errors + error[0];
            write_errors <= write_errors + error[1];
            if (write_waits && (!write_valid || write_was != {write_data, write_strobe, write_chunk})) unstable <= 1;
            if (read_waits && (!read_valid || read_was != read_chunk)) unstable <= 1;
        end
    end

    wire awvalid, awready, wvalid, wready, wlast, bvalid, bready, arvalid, arready, rvalid, rready, rlast;
    wire [31:0] awaddr, araddr;
    wire [7:0] awlen, arlen;
    wire [2:0] awsize, arsize;
    wire [1:0] awburst, arburst, bresp, rresp;
    wire [DATA_BITS-1:0] wdata, rdata;
    wire [M-1:0] wstrb;
    wire awid, arid, bid, rid;

    scratchpad_dma dma (
        .clk(clk), .rst(rst), .done(done), .idle(idle), .error(error),
        .job_valid(job_valid), .job_ready(job_ready), .job_payload(job[176:0]),
        .dma_write_valid(write_valid), .dma_write_ready(write_ready),
        .dma_write_chunk(write_chunk), .dma_write_data(write_data), .dma_write_strobe(write_strobe),
        .dma_read_valid(read_valid), .dma_read_ready(read_ready), .dma_read_payload(read_chunk),
        .dma_data_valid(data_valid), .dma_data_ready(data_ready), .dma_data_payload(data),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
        .m_axi_awsize(awsize), .m_axi_awburst(awburst), .m_axi_awid(awid),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_bresp(bresp), .m_axi_bid(bid),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_arsize(arsize), .m_axi_arburst(arburst), .m_axi_arid(arid),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata(rdata), .m_axi_rresp(rresp), .m_axi_rlast(rlast),
        .m_axi_rid(rid)
    );

    sluice_axi_memory #(.WORDS(WORDS), .DATA_BITS(DATA_BITS)) memory (
        .bursts(5'd16),
        .clk(clk), .rst(rst), .seed(seed), .latency(latency), .stall_aw(stall), .stall_w(stall), .stall_b(stall),
        .stall_ar(stall), .stall_r(stall), .stall_length(stall_length), .shared(shared),
        .error_enable(error_enable), .error_first(error_first), .error_last(error_last),
        .error_reads(1'b1), .error_writes(1'b1), .error_number(0), .stuck(5'd0), .stuck_after(0),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(awlen), .awsize(awsize), .awburst(awburst),
        .awid(awid), .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(wlast),
        .bvalid(bvalid), .bready(bready), .bresp(bresp), .bid(bid),
        .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(arlen), .arsize(arsize), .arburst(arburst),
        .arid(arid), .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast), .rid(rid),
        .violation(violation), .read_beats(read_beats), .write_beats(write_beats)
    );
endmodule

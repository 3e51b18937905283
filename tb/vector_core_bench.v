// A vector core, a player of entries, main memory and a simple DMA engine, for benches.
//
// Posedge of `load`: entries.hex (146 bits each) and memory.hex (bytes) are read; posedge of `save`: memory_out.hex is
// written. `start` plays `count` entries, with random gaps (`gap` of 256 cycles) and a DMA engine that stalls at random
// (`stall` of 256 cycles); `finished` rises when all of it is over. The engine moves one chunk per cycle at best.
`timescale 1ns / 1ps

module vector_core_bench #(
    parameter CHUNK_BYTES = 16,
    parameter CHUNK_BITS = 8,
    parameter MASK_BITS = 9,
    parameter MEMORY = 65536,
    parameter ENTRIES = 4096
) (
    input clk, input rst, input load, input save, input start, input clear_status,
    input [31:0] count, input [7:0] gap, input [7:0] stall, input [31:0] seed,
    output reg finished, output [3:0] status, output [MASK_BITS-1:0] mask_waves, output vector_idle, output dma_idle,
    output [31:0] cycles, output [31:0] busy, output [31:0] instructions, output [31:0] bubbles,
    output [31:0] dma_cycles, output reg [31:0] chunks
);
    localparam M = CHUNK_BYTES;
    localparam SHIFT = $clog2(CHUNK_BYTES);

    reg [145:0] entries [0:ENTRIES-1];
    reg [7:0] memory [0:MEMORY-1];

    // Random numbers: one generator, different bits.
    reg [63:0] random;
    always @(posedge clk)
        if (start) random <= {seed, ~seed};
        else random <= {random[61:0], random[63:62] ^ random[62:61] ^ random[60:59]};
    wire pause_entry = random[7:0] < gap;
    wire pause_dma = random[29:22] < stall;

    // Player. A valid entry stays until it is taken.
    reg [31:0] place;
    reg playing, offered;
    wire entry_ready;
    wire entry_valid = playing && place < count && (offered || !pause_entry);
    always @(posedge clk) begin
        offered <= entry_valid && !entry_ready;
        if (rst) begin
            playing <= 0; finished <= 0; place <= 0;
        end else if (start) begin
            playing <= 1; finished <= 0; place <= 0;
        end else begin
            if (entry_valid && entry_ready) place <= place + 1;
            if (playing && place == count && vector_idle && dma_idle) begin
                playing <= 0; finished <= 1;
            end
        end
    end

    // DMA engine: `row`, `at` are where the chunks of the scratchpad side are; `bytes_in` those received from it.
    wire [176:0] job;
    wire job_valid;
    reg working, to_host, done;
    reg [31:0] sp, host, length, sp_inc, host_inc;
    reg [15:0] rows;
    reg [31:0] row, chunk, back_row, back_chunk;
    wire [31:0] row_sp = sp + row * sp_inc;
    wire [31:0] row_host = host + row * host_inc;
    wire [31:0] first = row_sp >> SHIFT;
    wire [31:0] last = (row_sp + length - 1) >> SHIFT;
    wire [31:0] back_sp = sp + back_row * sp_inc;
    wire [31:0] back_host = host + back_row * host_inc;
    wire [31:0] back_first = back_sp >> SHIFT;
    wire [31:0] back_last = (back_sp + length - 1) >> SHIFT;
    wire active = working && row < rows;
    reg waiting_w, waiting_r;
    wire write_valid = active && !to_host && (waiting_w || !pause_dma);
    wire read_valid = active && to_host && (waiting_r || !pause_dma);
    wire write_ready, read_ready, data_valid;
    wire data_ready = working && to_host && !(random[47:40] < stall);
    wire [31:0] now = first + chunk;
    wire [31:0] back = back_first + back_chunk;
    reg [8*M-1:0] write_data;
    reg [M-1:0] write_strobe;
    wire [8*M-1:0] read_data;
    integer i;
    // The memory does not change while it is read: it is left out, since simulators would watch all its words.
    always @(active, now, row_sp, row_host, length) begin
        for (i = 0; i < M; i = i + 1) begin
            write_strobe[i] = (now << SHIFT) + i >= row_sp && (now << SHIFT) + i < row_sp + length;
            write_data[8*i +: 8] = memory[(row_host + (now << SHIFT) + i - row_sp) % MEMORY];
        end
    end
    wire step = (write_valid && write_ready) || (read_valid && read_ready);
    integer j;
    always @(posedge clk) begin
        done <= 0;
        waiting_w <= write_valid && !write_ready;
        waiting_r <= read_valid && !read_ready;
        if (rst) begin
            working <= 0; chunks <= 0; waiting_w <= 0; waiting_r <= 0;
        end else if (!working) begin
            if (job_valid) begin
                {to_host, host_inc, sp_inc, rows, length, host, sp} <= job;
                working <= 1; row <= 0; chunk <= 0; back_row <= 0; back_chunk <= 0;
            end
        end else begin
            if (step) begin
                chunks <= chunks + 1;
                chunk <= now == last ? 0 : chunk + 1;
                if (now == last) row <= row + 1;
            end
            if (data_valid && data_ready) begin
                for (j = 0; j < M; j = j + 1)
                    if ((back << SHIFT) + j >= back_sp && (back << SHIFT) + j < back_sp + length)
                        memory[(back_host + (back << SHIFT) + j - back_sp) % MEMORY] <= read_data[8*j +: 8];
                back_chunk <= back == back_last ? 0 : back_chunk + 1;
                if (back == back_last) back_row <= back_row + 1;
            end
            if ((to_host ? back_row : row) == rows) begin
                working <= 0; done <= 1;
            end
        end
        if (load) $readmemh("memory.hex", memory);
    end
    always @(posedge clk) begin
        if (load) $readmemh("entries.hex", entries);
        if (save) $writememh("memory_out.hex", memory);
    end

    vector_core core (
        .clk(clk), .rst(rst), .clear_status(clear_status), .dma_error(2'b00),
        .entry__payload(entries[place]), .entry__valid(entry_valid), .entry__ready(entry_ready),
        .job__payload(job), .job__valid(job_valid), .job__ready(!working), .job_done(done),
        .dma_write__payload({write_strobe, write_data, now[CHUNK_BITS-1:0]}), .dma_write__valid(write_valid),
        .dma_write__ready(write_ready), .dma_read__payload(now[CHUNK_BITS-1:0]), .dma_read__valid(read_valid),
        .dma_read__ready(read_ready), .dma_data__payload(read_data), .dma_data__valid(data_valid),
        .dma_data__ready(data_ready), .status(status), .vector_idle(vector_idle), .dma_idle(dma_idle),
        .mask_waves(mask_waves), .counters__cycles(cycles), .counters__busy(busy),
        .counters__instructions(instructions), .counters__bubbles(bubbles), .counters__dma_cycles(dma_cycles)
    );
endmodule

// Main memory on AXI4 for simulation: in-order, one thread per direction, several bursts outstanding.
// Plain Verilog-2001. Everything that may differ between two runs is an input, so that one build serves them all.
//
//  * latency: a read burst's first word, or a write burst's response, comes no earlier than this many cycles after
//    the handshake that asked for it (2 is the least that the pipeline below can do). Requests overlap: the
//    latency is paid once for a train of bursts, as with a real DRAM controller.
//  * bursts: those in each direction that memory takes before it has answered the first, 1 to 16.
//  * stall_*: probability, in 256ths, that a channel which may go stalls in a cycle; stall_length: longest stall in
//    cycles, less one, as a mask (0, 1, 3, 7, ...). seed: same seed, same stalls, in every simulator.
//  * shared: read and write data share the bandwidth of one beat per cycle, as on the pins of a DRAM: a read beat and
//    a write beat never pass in the same cycle. Both at once take turns of SHARED_RUN beats; a cycle that the one
//    whose turn it is cannot use goes to the other. Not shared: a beat per cycle each way.
//  * error_first..error_last: byte addresses (beats' aligned words that overlap them) that answer SLVERR, to reads if
//    error_reads, to writes if error_writes; only the beat number error_number of each kind, or all if that is 0. Beyond
//    the memory's end the answer is DECERR.
//  * memory_last, a plusarg (h): the last byte address, if the memory ends before WORDS does.
//  * stuck: channels (aw, w, b, ar, r from the highest bit) that come to rest for ever after stuck_after beats.
//    `struck`: a beat has met one of these faults.
//
// Burst types FIXED, INCR and WRAP, narrow and unaligned transfers, byte strobes. Erroneous beats are not written.
// `violation` becomes non-zero, for ever, on the first breach of the protocol by the manager (codes below).
module sluice_axi_memory #(
    parameter WORDS = 1024,       // 64-bit words, a power of two, at least one beat; also the unit of the files
    parameter ADDRESS_BITS = 32,
    parameter ID_BITS = 1,
    parameter DATA_BITS = 64,     // of a beat: a power of two, 8 to 1024
    parameter SHARED_RUN = 32     // 2 to 255
) (
    input  wire clk,
    input  wire rst,
    input  wire [31:0] seed,
    input  wire [15:0] latency,
    input  wire [4:0] bursts,
    input  wire [7:0] stall_aw,
    input  wire [7:0] stall_w,
    input  wire [7:0] stall_b,
    input  wire [7:0] stall_ar,
    input  wire [7:0] stall_r,
    input  wire [7:0] stall_length,
    input  wire shared,
    input  wire error_enable,
    input  wire [ADDRESS_BITS-1:0] error_first,
    input  wire [ADDRESS_BITS-1:0] error_last,
    input  wire error_reads,
    input  wire error_writes,
    input  wire [31:0] error_number,
    input  wire [4:0] stuck,
    input  wire [31:0] stuck_after,

    input  wire awvalid,
    output wire awready,
    input  wire [ADDRESS_BITS-1:0] awaddr,
    input  wire [7:0] awlen,
    input  wire [2:0] awsize,
    input  wire [1:0] awburst,
    input  wire [ID_BITS-1:0] awid,
    input  wire wvalid,
    output wire wready,
    input  wire [DATA_BITS-1:0] wdata,
    input  wire [DATA_BITS/8-1:0] wstrb,
    input  wire wlast,
    output reg  bvalid,
    input  wire bready,
    output reg  [1:0] bresp,
    output reg  [ID_BITS-1:0] bid,
    input  wire arvalid,
    output wire arready,
    input  wire [ADDRESS_BITS-1:0] araddr,
    input  wire [7:0] arlen,
    input  wire [2:0] arsize,
    input  wire [1:0] arburst,
    input  wire [ID_BITS-1:0] arid,
    output reg  rvalid,
    input  wire rready,
    output reg  [DATA_BITS-1:0] rdata,
    output reg  [1:0] rresp,
    output reg  rlast,
    output reg  [ID_BITS-1:0] rid,

    output reg  [3:0] violation,
    output reg  struck,
    output reg  [31:0] read_beats,
    output reg  [31:0] write_beats
);
    localparam DEPTH_BITS = 4;            // bursts outstanding per direction at most: 16
    localparam DEPTH = 1 << DEPTH_BITS;
    localparam BYTES = DATA_BITS / 8;
    localparam [ADDRESS_BITS-1:0] INSIDE = BYTES - 1;     // the address bits inside a beat
    localparam CELL_BITS = DATA_BITS < 64 ? DATA_BITS : 64;
    localparam CELLS = DATA_BITS / CELL_BITS;             // a beat is that many words, or part of one word
    localparam CELL_BYTES = CELL_BITS / 8;
    localparam [63:0] NOTHING = 64'hBAD0BAD0BAD0BAD0;     // what an erroneous beat reads
    localparam [1:0] OKAY = 2'd0, SLVERR = 2'd2, DECERR = 2'd3;

    // Codes of `violation`; hw/sim/simulate.py turns them into sentences.
    localparam [3:0] NONE = 0, AW_CHANGED = 1, W_CHANGED = 2, AR_CHANGED = 3, BOUNDARY = 4, BAD_SIZE = 5,
                     BAD_BURST = 6, LAST_EARLY = 7, LAST_MISSING = 8;

    reg [63:0] store [0:WORDS-1];
    reg [63:0] last;
    reg [31:0] now;

    // One xorshift generator per channel, stepped in every cycle.
    reg [31:0] random_aw, random_w, random_b, random_ar, random_r;
    reg [7:0] hold_aw, hold_w, hold_b, hold_ar, hold_r;   // cycles that the channel still stalls

    function [31:0] scramble(input [31:0] value);
        reg [31:0] x;
        begin
            x = value ^ (value << 13);
            x = x ^ (x >> 17);
            scramble = x ^ (x << 5);
        end
    endfunction

    // Seeds of zero would lock a generator up; the low bit prevents that, the multiplier separates neighbouring seeds.
    function [31:0] start(input [31:0] from, input [31:0] channel);
        start = scramble(scramble(((from ^ channel) * 32'h9E3779B1) | 32'd1));
    endfunction

    function [7:0] next_hold(input [7:0] hold, input [31:0] random, input [7:0] threshold, input [7:0] mask);
        if (hold != 0)
            next_hold = hold - 8'd1;
        else if (random[7:0] < threshold)
            next_hold = (random[15:8] & mask) + 8'd1;
        else
            next_hold = 8'd0;
    endfunction

    always @(posedge clk) begin
        now <= rst ? 32'd0 : now + 32'd1;
        random_aw <= rst ? start(seed, 32'h41570000) : scramble(random_aw);
        random_w  <= rst ? start(seed, 32'h57000000) : scramble(random_w);
        random_b  <= rst ? start(seed, 32'h42000000) : scramble(random_b);
        random_ar <= rst ? start(seed, 32'h41520000) : scramble(random_ar);
        random_r  <= rst ? start(seed, 32'h52000000) : scramble(random_r);
        hold_aw <= rst ? 8'd0 : next_hold(hold_aw, random_aw, stall_aw, stall_length);
        hold_w  <= rst ? 8'd0 : next_hold(hold_w, random_w, stall_w, stall_length);
        hold_b  <= rst ? 8'd0 : next_hold(hold_b, random_b, stall_b, stall_length);
        hold_ar <= rst ? 8'd0 : next_hold(hold_ar, random_ar, stall_ar, stall_length);
        hold_r  <= rst ? 8'd0 : next_hold(hold_r, random_r, stall_r, stall_length);
    end

    function faulty(input [ADDRESS_BITS-1:0] address);
        faulty = error_enable && (address | INSIDE) >= error_first && (address & ~INSIDE) <= error_last;
    endfunction

    function [1:0] response(input [ADDRESS_BITS-1:0] address, input fault);
        response = address > last[ADDRESS_BITS-1:0] ? DECERR : fault ? SLVERR : OKAY;
    endfunction

    // Beats that the channels at fault have passed; then they stop.
    reg [31:0] stuck_beats;
    wire [4:0] stop = stuck_beats >= stuck_after ? stuck : 5'd0;
    wire stop_aw = stop[4], stop_w = stop[3], stop_b = stop[2], stop_ar = stop[1], stop_r = stop[0];

    // Address of the beat after the one at `address`.
    function [ADDRESS_BITS-1:0] following(input [ADDRESS_BITS-1:0] address, input [7:0] len, input [2:0] size,
                                          input [1:0] burst);
        reg [ADDRESS_BITS-1:0] step, span, next;
        begin
            step = 1 << size;
            span = step * (len + 1);
            next = (address & ~(step - 1)) + step;
            case (burst)
                2'd0: following = address;
                2'd2: following = (address & ~(span - 1)) | (next & (span - 1));
                default: following = next;
            endcase
        end
    endfunction

    // The beat that holds the byte at `address`.
    function [DATA_BITS-1:0] fetch(input [ADDRESS_BITS-1:0] address);
        reg [ADDRESS_BITS-1:0] first;
        reg [63:0] content;
        integer part;
        begin
            first = address & ~INSIDE;
            for (part = 0; part < CELLS; part = part + 1) begin
                content = store[first[ADDRESS_BITS-1:3] + part] >> {first[2:0], 3'd0};
                fetch[CELL_BITS*part +: CELL_BITS] = content[CELL_BITS-1:0];
            end
        end
    endfunction

    // Whose turn it is to use the shared bandwidth. A read beat passes in the cycle after it was taken from the store.
    reg write_turn;
    reg [7:0] turn_beats;
    wire write_next, read_could, read_take, write_take;
    wire turn_used = write_turn ? write_take : read_take;
    wire turn_over = turn_used && turn_beats == SHARED_RUN - 1;
    wire other_waits = write_turn ? read_could : write_next;
    wire read_yields = shared && write_turn && write_next && !(write_take && turn_beats == SHARED_RUN - 1);
    wire read_passes = rvalid && rready;

    always @(posedge clk) begin
        if (rst) begin
            write_turn <= 0;
            turn_beats <= 0;
        end else if (turn_over) begin
            write_turn <= write_turn ^ other_waits;
            turn_beats <= write_turn && read_take;
        end else if (turn_used)
            turn_beats <= turn_beats + 8'd1;
    end

    // Reads: a queue of accepted bursts, and a cursor in the oldest one.
    reg [ADDRESS_BITS-1:0] read_address [0:DEPTH-1];
    reg [12:0] read_shape [0:DEPTH-1];    // len, size, burst
    reg [ID_BITS-1:0] read_id [0:DEPTH-1];
    reg [31:0] read_time [0:DEPTH-1];
    reg [DEPTH_BITS-1:0] read_head, read_tail;
    reg [DEPTH_BITS:0] read_count;
    reg read_started;                     // the cursor is inside the oldest burst
    reg [ADDRESS_BITS-1:0] read_cursor;
    reg [7:0] read_left;

    wire [7:0] read_len = read_shape[read_head][12:5];
    wire [ADDRESS_BITS-1:0] read_now = read_started ? read_cursor : read_address[read_head];
    wire [7:0] read_rest = read_started ? read_left : read_len;
    wire [31:0] read_age = now - read_time[read_head];
    wire read_due = read_count != 0 && (read_started || read_age + 32'd1 >= {16'd0, latency});
    assign read_could = read_due && hold_r == 0 && !stop_r && (!rvalid || rready);
    assign read_take = read_could && !read_yields;
    wire read_done = read_take && read_rest == 0;
    reg [31:0] read_faults;               // beats so far where faults are
    wire read_there = error_reads && faulty(read_now);
    wire read_fault = read_there && (error_number == 0 || read_faults + 32'd1 == error_number);
    wire [1:0] read_response = response(read_now, read_fault);

    assign arready = read_count < bursts && hold_ar == 0 && !stop_ar;

    always @(posedge clk) begin
        if (rst) begin
            read_head <= 0;
            read_tail <= 0;
            read_count <= 0;
            read_started <= 0;
            rvalid <= 0;
            read_beats <= 0;
            read_faults <= 0;
        end else begin
            read_faults <= read_faults + (read_take && read_there);
            if (arvalid && arready) begin
                read_address[read_tail] <= araddr;
                read_shape[read_tail] <= {arlen, arsize, arburst};
                read_id[read_tail] <= arid;
                read_time[read_tail] <= now;
                read_tail <= read_tail + 1'b1;
            end
            read_count <= read_count + (arvalid && arready) - read_done;
            if (read_take) begin
                rdata <= read_response == OKAY ? fetch(read_now) : {CELLS{NOTHING[CELL_BITS-1:0]}};
                rresp <= read_response;
                rlast <= read_rest == 0;
                rid <= read_id[read_head];
                read_started <= read_rest != 0;
                read_left <= read_rest - 8'd1;
                read_cursor <= following(read_now, read_len, read_shape[read_head][4:2], read_shape[read_head][1:0]);
                read_head <= read_head + (read_rest == 0);
            end
            if (read_take)
                rvalid <= 1;
            else if (rready)
                rvalid <= 0;
            read_beats <= read_beats + read_passes;
        end
    end

    // Writes: a queue of accepted bursts whose data is still to come, and a queue of responses.
    reg [ADDRESS_BITS-1:0] write_address [0:DEPTH-1];
    reg [12:0] write_shape [0:DEPTH-1];
    reg [ID_BITS-1:0] write_id [0:DEPTH-1];
    reg [DEPTH_BITS-1:0] write_head, write_tail;
    reg [DEPTH_BITS:0] write_count;
    reg write_started;
    reg [ADDRESS_BITS-1:0] write_cursor;
    reg [7:0] write_left;
    reg [1:0] write_worst;

    reg [1:0] answer_response [0:DEPTH-1];
    reg [ID_BITS-1:0] answer_id [0:DEPTH-1];
    reg [31:0] answer_time [0:DEPTH-1];
    reg [DEPTH_BITS-1:0] answer_head, answer_tail;
    reg [DEPTH_BITS:0] answer_count;

    wire [7:0] write_len = write_shape[write_head][12:5];
    wire [ADDRESS_BITS-1:0] write_now = write_started ? write_cursor : write_address[write_head];
    wire [7:0] write_rest = write_started ? write_left : write_len;
    reg [31:0] write_faults;
    wire write_there = error_writes && faulty(write_now);
    wire write_fault = write_there && (error_number == 0 || write_faults + 32'd1 == error_number);
    wire [1:0] write_response = response(write_now, write_fault);
    wire [1:0] write_total = write_started && write_worst != OKAY ? write_worst : write_response;
    assign write_take = wvalid && wready;
    wire write_done = write_take && write_rest == 0;
    wire [31:0] answer_age = now - answer_time[answer_head];
    wire answer_due = answer_count != 0 && answer_age + 32'd1 >= {16'd0, latency};
    wire answer_take = answer_due && hold_b == 0 && !stop_b && (!bvalid || bready);

    // Both queues together hold at most DEPTH bursts, so a response always finds room.
    assign awready = write_count + answer_count < bursts && hold_aw == 0 && !stop_aw;
    assign wready = write_count != 0 && hold_w == 0 && !stop_w && !(shared && read_passes);
    // Data that wait in this cycle, or a train of beats that goes on, can pass in the next one.
    assign write_next = wvalid && hold_w == 0 && !stop_w && (write_count > write_done || (awvalid && awready));

    integer part, lane;
    reg [63:0] merged;
    wire [ADDRESS_BITS-1:0] write_first = write_now & ~INSIDE;
    wire [2:0] write_lane = write_first[2:0];
    always @(posedge clk) begin
        if (rst) begin
            write_head <= 0;
            write_tail <= 0;
            write_count <= 0;
            write_started <= 0;
            answer_head <= 0;
            answer_tail <= 0;
            answer_count <= 0;
            bvalid <= 0;
            write_beats <= 0;
            write_faults <= 0;
        end else begin
            write_faults <= write_faults + (write_take && write_there);
            if (awvalid && awready) begin
                write_address[write_tail] <= awaddr;
                write_shape[write_tail] <= {awlen, awsize, awburst};
                write_id[write_tail] <= awid;
                write_tail <= write_tail + 1'b1;
            end
            write_count <= write_count + (awvalid && awready) - write_done;
            if (write_take) begin
                if (write_response == OKAY) begin
                    for (part = 0; part < CELLS; part = part + 1) begin
                        merged = store[write_first[ADDRESS_BITS-1:3] + part];
                        for (lane = 0; lane < CELL_BYTES; lane = lane + 1)
                            if (wstrb[CELL_BYTES*part + lane])
                                merged[8*(write_lane + lane) +: 8] = wdata[CELL_BITS*part + 8*lane +: 8];
                        store[write_first[ADDRESS_BITS-1:3] + part] <= merged;
                    end
                end
                write_started <= write_rest != 0;
                write_left <= write_rest - 8'd1;
                write_worst <= write_total;
                write_cursor <= following(write_now, write_len, write_shape[write_head][4:2],
                                          write_shape[write_head][1:0]);
                write_beats <= write_beats + 1;
            end
            if (write_done) begin
                answer_response[answer_tail] <= write_total;
                answer_id[answer_tail] <= write_id[write_head];
                answer_time[answer_tail] <= now;
                answer_tail <= answer_tail + 1'b1;
                write_head <= write_head + 1'b1;
            end
            answer_count <= answer_count + write_done - answer_take;
            if (answer_take) begin
                bresp <= answer_response[answer_head];
                bid <= answer_id[answer_head];
                answer_head <= answer_head + 1'b1;
                bvalid <= 1;
            end else if (bready)
                bvalid <= 0;
        end
    end

    // Faults: what the channels that stop have passed, and whether one has met a beat.
    wire [4:0] passes = {awvalid && awready, write_take, answer_take, arvalid && arready, read_take};
    wire [4:0] wants = {awvalid, wvalid, answer_due, arvalid, read_due};
    always @(posedge clk) begin
        stuck_beats <= rst ? 32'd0 : stuck_beats + ((passes & stuck) != 0);
        struck <= !rst && (struck || (wants & stop) != 0 || (read_take && read_fault) || (write_take && write_fault));
    end

    // Protocol: requests stay as they are until they are taken; bursts stay inside 4 KiB; `last` is where it belongs.
    reg aw_waits, w_waits, ar_waits;
    reg [ADDRESS_BITS+12:0] aw_was, ar_was;
    reg [DATA_BITS+BYTES:0] w_was;
    wire [ADDRESS_BITS+12:0] aw_is = {awaddr, awlen, awsize, awburst};
    wire [ADDRESS_BITS+12:0] ar_is = {araddr, arlen, arsize, arburst};
    wire [DATA_BITS+BYTES:0] w_is = {wdata, wstrb, wlast};

    function crosses(input [11:0] offset, input [7:0] len, input [2:0] size, input [1:0] burst);
        reg [16:0] last;
        begin
            last = ((offset >> size) << size) + ((len + 17'd1) << size) - 17'd1;
            crosses = burst == 2'd1 && last > 17'd4095;
        end
    endfunction

    function [3:0] request_violation(input [11:0] offset, input [7:0] len, input [2:0] size, input [1:0] burst);
        if ((1 << size) > BYTES)
            request_violation = BAD_SIZE;
        else if (burst == 2'd3)
            request_violation = BAD_BURST;
        else if (crosses(offset, len, size, burst))
            request_violation = BOUNDARY;
        else
            request_violation = NONE;
    endfunction

    wire [3:0] aw_violation = request_violation(awaddr[11:0], awlen, awsize, awburst);
    wire [3:0] ar_violation = request_violation(araddr[11:0], arlen, arsize, arburst);
    always @(posedge clk) begin
        aw_waits <= !rst && awvalid && !awready;
        w_waits <= !rst && wvalid && !wready;
        ar_waits <= !rst && arvalid && !arready;
        aw_was <= aw_is;
        w_was <= w_is;
        ar_was <= ar_is;
        if (rst)
            violation <= NONE;
        else if (violation == NONE) begin
            if (aw_waits && (!awvalid || aw_is != aw_was))
                violation <= AW_CHANGED;
            else if (w_waits && (!wvalid || w_is != w_was))
                violation <= W_CHANGED;
            else if (ar_waits && (!arvalid || ar_is != ar_was))
                violation <= AR_CHANGED;
            else if (awvalid && aw_violation != NONE)
                violation <= aw_violation;
            else if (arvalid && ar_violation != NONE)
                violation <= ar_violation;
            else if (write_take && wlast && write_rest != 0)
                violation <= LAST_EARLY;
            else if (write_take && !wlast && write_rest == 0)
                violation <= LAST_MISSING;
        end
    end

    // Contents come from, and go to, files in the simulation's folder. `dump.txt` lists pairs "first count" of words;
    // a rising `dump` writes those words, one per line, to `dump.hex`.
    integer word;
    initial begin
        if (!$value$plusargs("memory_last=%h", last)) last = WORDS * 8 - 1;
        for (word = 0; word < WORDS; word = word + 1)
            store[word] = 64'd0;
        $readmemh("memory.hex", store);
    end

    task save;
        integer list, file, fields, first, count, index;
        begin
            list = $fopen("dump.txt", "r");
            file = $fopen("dump.hex", "w");
            fields = $fscanf(list, "%d %d", first, count);
            while (fields == 2) begin
                for (index = first; index < first + count; index = index + 1)
                    $fwrite(file, "%016x\n", store[index]);
                fields = $fscanf(list, "%d %d", first, count);
            end
            $fclose(list);
            $fclose(file);
        end
    endtask
endmodule

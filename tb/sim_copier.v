// A small design for testing the simulation layer: copies 64-bit words through AXI4 and adds `increment` to each.
// Registers: 0x00 control (write 1: start), 0x04 status (bit 0 done, bits 2:1 worst response), 0x08 source, 0x0C
// destination, 0x10 words, 0x14 increment, 0x18 fault (1 takes no read data, 2 sends no write data, 3 moves a read
// address that waits, 4 never finishes, 5 sends bursts across 4 KiB), 0x1C detail (words written).
// A write to 0x20 is refused; a write to 0x24 is never answered.
module sim_copier (
    input  wire clk,
    input  wire rst,
    output wire irq,
    output reg  m_axi_awvalid,
    input  wire m_axi_awready,
    output reg  [31:0] m_axi_awaddr,
    output wire [7:0] m_axi_awlen,
    output wire [2:0] m_axi_awsize,
    output wire [1:0] m_axi_awburst,
    output wire m_axi_wvalid,
    input  wire m_axi_wready,
    output wire [63:0] m_axi_wdata,
    output wire [7:0] m_axi_wstrb,
    output wire m_axi_wlast,
    input  wire m_axi_bvalid,
    output wire m_axi_bready,
    input  wire [1:0] m_axi_bresp,
    output reg  m_axi_arvalid,
    input  wire m_axi_arready,
    output reg  [31:0] m_axi_araddr,
    output wire [7:0] m_axi_arlen,
    output wire [2:0] m_axi_arsize,
    output wire [1:0] m_axi_arburst,
    input  wire m_axi_rvalid,
    output wire m_axi_rready,
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0] m_axi_rresp,
    input  wire m_axi_rlast,
    input  wire s_axil_awvalid,
    output wire s_axil_awready,
    input  wire [7:0] s_axil_awaddr,
    input  wire [2:0] s_axil_awprot,
    input  wire s_axil_wvalid,
    output wire s_axil_wready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0] s_axil_wstrb,
    output reg  s_axil_bvalid,
    input  wire s_axil_bready,
    output reg  [1:0] s_axil_bresp,
    input  wire s_axil_arvalid,
    output wire s_axil_arready,
    input  wire [7:0] s_axil_araddr,
    input  wire [2:0] s_axil_arprot,
    output reg  s_axil_rvalid,
    input  wire s_axil_rready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0] s_axil_rresp
);
    localparam BEATS = 8;             // words per burst
    reg [31:0] source, destination, words, increment, fault;
    reg busy, done;
    reg [1:0] worst;

    assign irq = done;
    assign s_axil_rresp = 0;
    wire write_now = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_awready = write_now && s_axil_awaddr != 8'h24;
    assign s_axil_wready = s_axil_awready;
    assign s_axil_arready = !s_axil_rvalid;
    wire start = s_axil_awready && s_axil_awaddr == 8'h00 && s_axil_wdata[0];

    reg [31:0] words_written;
    always @(posedge clk) begin
        if (rst) begin
            s_axil_bvalid <= 0;
            s_axil_rvalid <= 0;
            s_axil_bresp <= 0;
            source <= 0;
            destination <= 0;
            words <= 0;
            increment <= 0;
            fault <= 0;
        end else begin
            if (s_axil_awready) begin
                s_axil_bvalid <= 1;
                s_axil_bresp <= s_axil_awaddr == 8'h20 ? 2'd2 : 2'd0;
                case (s_axil_awaddr)
                    8'h08: source <= s_axil_wdata;
                    8'h0C: destination <= s_axil_wdata;
                    8'h10: words <= s_axil_wdata;
                    8'h14: increment <= s_axil_wdata;
                    8'h18: fault <= s_axil_wdata;
                    default: ;
                endcase
            end else if (s_axil_bready)
                s_axil_bvalid <= 0;
            if (s_axil_arvalid && s_axil_arready) begin
                s_axil_rvalid <= 1;
                case (s_axil_araddr)
                    8'h04: s_axil_rdata <= {29'd0, worst, done};
                    8'h08: s_axil_rdata <= source;
                    8'h1C: s_axil_rdata <= words_written;
                    default: s_axil_rdata <= 0;
                endcase
            end else if (s_axil_rready)
                s_axil_rvalid <= 0;
        end
    end

    // Reads run ahead as far as the buffer has room for what was asked for.
    reg [63:0] buffer [0:63];
    reg [6:0] filled, reserved;       // words in the buffer; words in it or on their way
    reg [5:0] in_at, out_at;
    reg [31:0] to_read, to_write, unanswered;
    reg [3:0] left;                   // words of the current write burst still to send
    wire take_read = m_axi_rvalid && m_axi_rready;
    wire give = m_axi_wvalid && m_axi_wready;
    wire ask = m_axi_arvalid && m_axi_arready;
    wire announce = m_axi_awvalid && m_axi_awready;
    wire answer = m_axi_bvalid && m_axi_bready;

    assign m_axi_arlen = BEATS - 1;
    assign m_axi_arsize = 3;
    assign m_axi_arburst = 1;
    assign m_axi_awlen = BEATS - 1;
    assign m_axi_awsize = 3;
    assign m_axi_awburst = 1;
    assign m_axi_rready = fault != 1;
    assign m_axi_wvalid = left != 0 && filled != 0 && fault != 2;
    assign m_axi_wdata = buffer[out_at] + increment;
    assign m_axi_wstrb = 8'hFF;
    assign m_axi_wlast = left == 1;
    assign m_axi_bready = 1;

    always @(posedge clk) begin
        if (rst) begin
            busy <= 0;
            done <= 0;
            worst <= 0;
            m_axi_arvalid <= 0;
            m_axi_awvalid <= 0;
            filled <= 0;
            reserved <= 0;
            in_at <= 0;
            out_at <= 0;
            to_read <= 0;
            to_write <= 0;
            unanswered <= 0;
            left <= 0;
            words_written <= 0;
        end else begin
            if (start) begin
                busy <= 1;
                done <= 0;
                to_read <= words;
                to_write <= words;
                m_axi_araddr <= source - (fault == 5 ? 32'd8 : 32'd0);
                m_axi_awaddr <= destination;
            end
            if (to_read != 0 && !m_axi_arvalid && reserved <= 64 - BEATS) begin
                m_axi_arvalid <= 1;
                reserved <= reserved + BEATS - give;
                to_read <= to_read - BEATS;
            end else
                reserved <= reserved - give;
            if (ask) begin
                m_axi_arvalid <= 0;
                m_axi_araddr <= m_axi_araddr + 8 * BEATS;
            end else if (m_axi_arvalid && fault == 3)
                m_axi_araddr <= m_axi_araddr + 8;
            if (take_read) begin
                buffer[in_at] <= m_axi_rdata;
                in_at <= in_at + 1'b1;
                if (m_axi_rresp != 0) worst <= m_axi_rresp;
            end
            filled <= filled + take_read - give;
            if (to_write != 0 && !m_axi_awvalid && left == 0) begin
                m_axi_awvalid <= 1;
                to_write <= to_write - BEATS;
                left <= BEATS;
            end
            if (announce) begin
                m_axi_awvalid <= 0;
                m_axi_awaddr <= m_axi_awaddr + 8 * BEATS;
            end
            if (give) begin
                left <= left - 1'b1;
                out_at <= out_at + 1'b1;
                words_written <= words_written + 1;
            end
            unanswered <= unanswered + announce - answer;
            if (answer && m_axi_bresp != 0) worst <= m_axi_bresp;
            if (busy && !start && to_write == 0 && left == 0 && !m_axi_awvalid && unanswered == 0 && fault != 4) begin
                busy <= 0;
                done <= 1;
            end
        end
    end
endmodule

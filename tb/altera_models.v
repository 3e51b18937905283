// Simulation models of the Altera megafunctions that Amaranth instantiates: as much as the board tops use.

module altiobuf_in #(
  parameter enable_bus_hold = "FALSE",
  parameter use_differential_mode = "FALSE",
  parameter number_of_channels = 1
) (
  input  [number_of_channels-1:0] datain,
  output [number_of_channels-1:0] dataout
);
  assign dataout = datain;
endmodule

module altiobuf_out #(
  parameter enable_bus_hold = "FALSE",
  parameter use_differential_mode = "FALSE",
  parameter use_oe = "FALSE",
  parameter number_of_channels = 1
) (
  input  [number_of_channels-1:0] datain,
  input  [number_of_channels-1:0] oe,
  output [number_of_channels-1:0] dataout
);
  genvar channel;
  generate
    for (channel = 0; channel < number_of_channels; channel = channel + 1) begin : pin
      assign dataout[channel] = (use_oe == "FALSE" || oe[channel]) ? datain[channel] : 1'bz;
    end
  endgenerate
endmodule

// Flip-flops in a row, cleared asynchronously; they are zero after power-on.
module altera_std_synchronizer #(
  parameter depth = 2
) (
  input  clk,
  input  reset_n,
  input  din,
  output dout
);
  reg [depth-1:0] stages = 0;
  always @(posedge clk or negedge reset_n)
    if (!reset_n) stages <= 0;
    else stages <= {stages[depth-2:0], din};
  assign dout = stages[depth-1];
endmodule

module altera_std_synchronizer_bundle #(
  parameter width = 1,
  parameter depth = 2
) (
  input  clk,
  input  reset_n,
  input  [width-1:0] din,
  output [width-1:0] dout
);
  genvar bit_index;
  generate
    for (bit_index = 0; bit_index < width; bit_index = bit_index + 1) begin : line
      altera_std_synchronizer #(.depth(depth)) synchronizer (
        .clk(clk), .reset_n(reset_n), .din(din[bit_index]), .dout(dout[bit_index])
      );
    end
  endgenerate
endmodule

"""Steps of our own between yosys and nextpnr on ECP5."""

"""DDR3 memory by LiteDRAM, whose generated Verilog the user brings: `core` reads what its module has, `memory` puts it
behind an AXI4 bus."""

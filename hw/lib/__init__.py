"""Small hardware that all modules use: configuration registers, multiplexers, rotations, named wires,
memories with addresses of data."""

"""Small hardware that all modules use: configuration registers, multiplexers, rotations, named wires."""

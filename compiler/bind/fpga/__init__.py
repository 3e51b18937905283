"""The fpga target: a program as a pipeline of its own, on the same static schedule as the array's (`hw.pipeline`)."""

"""Finding the best array for a kernel (seed 002, section 7): every choice against models of latency and resources."""

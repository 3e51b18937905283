"""Finding the best array for a kernel (Wang 2021, section 7): every choice against models of latency and resources."""

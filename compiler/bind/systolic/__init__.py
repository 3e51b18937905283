"""The systolic target: see `compiler.bind.systolic.target`."""

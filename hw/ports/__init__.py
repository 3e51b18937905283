"""Other ports around an emitted system: Wishbone, resets that are low, addresses of 64 bits."""

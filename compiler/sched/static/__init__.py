"""Static schedules: an affine cycle for every instance, shared units, lifetimes."""

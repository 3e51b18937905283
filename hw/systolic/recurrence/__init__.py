"""Arrays of uniform recurrences: cells that run several statements in time order, with neighbour queues (Wang 2021)."""

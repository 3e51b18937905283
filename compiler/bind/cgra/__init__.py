"""The coarse-grained array target: netlist, covering, placement, routing, retiming, configuration."""

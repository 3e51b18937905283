"""Software and descriptions for the host of a design, all from one `HostInterface`.

`interface` is the description: registers, arrays and where they lie in the design's memory, and what a run writes.
`c_driver`, `linux_driver` and `python_driver` make drivers of it, `system_rdl` and `ipxact` descriptions of the
registers for other tools, `fusesoc` and `litex` what makes a design part of other systems, `documents` the files of a
design directory.
"""

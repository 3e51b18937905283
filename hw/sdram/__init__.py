"""Synchronous DRAM with a single data rate: chips and their times, the controller, and main memory made of both.

`chip` has geometry and times as data and turns them into clock cycles; `banks` watches which row is open in each bank
and what each bank has to wait for; `controller` issues commands for beats; `memory` is the AXI4 subordinate around it;
`pins` are the wires to the chip.
"""

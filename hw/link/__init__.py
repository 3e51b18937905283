"""The host's way to a design on a board: frames of bytes that read and write its memory and registers.

`protocol` says what the bytes mean and is all that both ends share. On the board `host_link` answers requests, whatever
carries the bytes; `uart_link` carries them over a serial line, `jtag` over the FPGA's JTAG pins. On the host `client`
asks, over any `ByteChannel`; `serial_port` is the one for serial lines, and `ports` finds one by its name.
"""

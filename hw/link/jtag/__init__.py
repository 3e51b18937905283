"""The link over JTAG: bytes in scans of a data register that the FPGA's user logic has.

`layout` says what the bits of a scan mean and is all that both ends share. On the board `data_register` is that
register and `jtag_link` the link behind it, with the cell that leads to the pins. On the host `port` is the
`ByteChannel`, `tap` makes scans of what a cable shifts, and `xvc` is a cable behind a socket.
"""

"""A convolution layer of ResNet: Liu 2023, tables 7.1, 7.3 and 7.4.

    out(w, x, y) = sum over z, rx, ry of kernel(z, w, rx, ry) * in(z, stride*x + rx, stride*y + ry)

int16, wrapping; `size` x `size` elements (or `height` rows of them) of each of `outputs` channels from `inputs`
channels, which come with their border. `unroll_out` channels at a time, each with the products of `unroll_in` channels:
8 x 8 multiply-accumulates in every cycle by default. What is measured in table 7.4 are 8 channels in and 8 out.

A tile of the result is `rows` rows (0: all) of `blocks` x `unroll_out` channels. Inside a tile the sums over the window
and the blocks of input channels are the outer loops, so that a partial sum comes back when it has been through its
memory: after `blocks` x `rows` x `size` steps. The loop over blocks of output channels is the innermost one, so that an
input stays for all of them. The layers of figure 7.8 are in `benchmarks/resnet_layers.py`.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program, ProgramError
from compiler.ir.types import INT16
from compiler.passes import directives as transform


def accumulate(total: Typed, *factors: Typed) -> Typed:
    for a, b in zip(factors[0::2], factors[1::2], strict=True):
        total = total + a * b
    return total


def build(size: int = 28, kernel: int = 3, stride: int = 1, inputs: int = 8, outputs: int = 8, unroll_in: int = 8,
          unroll_out: int = 8, rows: int = 0, blocks: int = 1, height: int = 0) -> Program:
    for channels, unroll in ((inputs, unroll_in), (outputs, unroll_out)):
        if unroll < 1 or channels < unroll or channels % unroll:
            raise ProgramError(f"resnet_layer: {unroll} channels at a time do not divide {channels}")
    height = height or size
    rows = rows or height
    if rows < 1 or height % rows:
        raise ProgramError(f"resnet_layer: {rows} rows at a time do not divide {height}")
    if blocks < 1 or outputs // unroll_out % blocks:
        raise ProgramError(f"resnet_layer: {blocks} blocks at a time do not divide {outputs // unroll_out} blocks of "
                           f"{unroll_out} channels")
    width, depth = (stride * (extent - 1) + kernel for extent in (size, height))
    prg = prog("resnet_layer", INT16)
    prg.add_input("input", shape=(inputs, depth, width))
    prg.add_input("kernel", shape=(kernel, kernel, outputs, inputs))
    prg.add_output("output", shape=(outputs, height, size))

    tile = prg.add_loop("wo", 0, outputs // unroll_out // blocks).add_loop("yo", 0, height // rows)
    channel, y = f"{unroll_out * blocks}*wo + {unroll_out}*wi + w", f"{rows}*yo + y"
    nest = tile.add_loop("y", 0, rows).add_loop("x", 0, size).add_loop("wi", 0, blocks)
    start = nest.add_loop("w", 0, unroll_out).add_op("Start")
    start.add_function(lambda: 0)
    start.add_store("output", "x", y, channel)

    nest = tile.add_loop("zo", 0, inputs // unroll_in).add_loop("ry", 0, kernel).add_loop("rx", 0, kernel)
    nest = nest.add_loop("y", 0, rows).add_loop("x", 0, size).add_loop("wi", 0, blocks)
    op = nest.add_loop("w", 0, unroll_out).add_op("Accumulate")
    op.add_function(accumulate)
    op.add_load("output", "x", y, channel)
    for z in range(unroll_in):
        op.add_load("input", f"{stride}*x + rx", f"{stride * rows}*yo + {stride}*y + ry", f"{unroll_in}*zo + {z}")
        op.add_load("kernel", f"{unroll_in}*zo + {z}", channel, "rx", "ry")
    op.add_store("output", "x", y, channel)
    return transform.unroll(prg.build(), "w")

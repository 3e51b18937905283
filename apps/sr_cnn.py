"""Super resolution by three convolution layers (application SR-CNN of Liu 2023, tables 7.6 and 7.7).

    f1(w, x, y)  = sum over z         of reduce(z, w) * in(z, x, y)               all channels to few features
    f2(w, x, y)  = sum over z, rx, ry of convolve(z, w, rx, ry) * f1(z, x + rx, y + ry)
    out(w, x, y) = sum over z         of expand(z, w) * f2(z, x, y)               and back

int16, wrapping; as in the published mapping without bias and rectifier. 64 channels of 30 x 30 elements, 8 features and
64 channels of 28 x 28 by default. `unroll` inputs for each of `unroll` outputs are multiplied in every cycle; with
`shared` all three layers take turns on the same multipliers.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program, ProgramError
from compiler.ir.types import INT16
from compiler.passes import directives as transform


def accumulate(total: Typed, *factors: Typed) -> Typed:
    for a, b in zip(factors[0::2], factors[1::2], strict=True):
        total = total + a * b
    return total


def add_layer(prg: Prog, name: str, source: str, weights: str, target: str, size: int, counts: tuple[int, int],
              kernel: int, unroll: int) -> None:
    """A convolution of `counts` channels (in, out), `unroll` by `unroll` of them at a time; the window outermost."""
    inputs, outputs = counts
    wo = prg.add_loop(f"wo_{name}", 0, outputs // unroll)
    start = wo.add_loop("y", 0, size).add_loop("x", 0, size).add_loop("w", 0, unroll).add_op(f"Start_{name}")
    start.add_function(lambda: 0)
    start.add_store(target, "x", "y", f"{unroll}*wo_{name} + w")

    rx = wo.add_loop("zo", 0, inputs // unroll).add_loop("ry", 0, kernel).add_loop("rx", 0, kernel)
    op = rx.add_loop("y", 0, size).add_loop("x", 0, size).add_loop("w", 0, unroll).add_op(f"Layer_{name}")
    op.add_function(accumulate)
    op.add_load(target, "x", "y", f"{unroll}*wo_{name} + w")
    for z in range(unroll):
        op.add_load(source, "x + rx", "y + ry", f"{unroll}*zo + {z}")
        op.add_load(weights, f"{unroll}*zo + {z}", f"{unroll}*wo_{name} + w", "rx", "ry")
    op.add_store(target, "x", "y", f"{unroll}*wo_{name} + w")


def build(size: int = 28, channels: int = 64, features: int = 8, kernel: int = 3, unroll: int = 8,
          shared: bool = False) -> Program:
    if unroll < 1 or channels % unroll or features % unroll:
        raise ProgramError(f"sr_cnn: {unroll} channels at a time do not divide {channels} channels and {features} "
                           "features")
    side = size + kernel - 1
    prg = prog("sr_cnn", INT16)
    prg.add_input("input", shape=(channels, side, side))
    prg.add_input("reduce", shape=(1, 1, features, channels))
    prg.add_input("convolve", shape=(kernel, kernel, features, features))
    prg.add_input("expand", shape=(1, 1, channels, features))
    prg.add_output("output", shape=(channels, size, size))
    add_layer(prg, "f1", "input", "reduce", "f1", side, (channels, features), 1, unroll)
    add_layer(prg, "f2", "f1", "convolve", "f2", size, (features, features), kernel, unroll)
    add_layer(prg, "out", "f2", "expand", "output", size, (features, channels), 1, unroll)
    program = prg.build()
    if shared:
        program = transform.share(program, "Layer_f1", "Layer_f2", "Layer_out")
    return transform.unroll(program, "w")

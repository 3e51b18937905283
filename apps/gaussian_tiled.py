"""Gaussian blur 3x3 of a large image, tile by tile (tiled execution: Liu 2023, section 4.2.4).

    out(x, y) = (sum over i, j in 0..2 of K[j][i] * in(x+i, y+j)) >> 8
    where x = tile*tx + xi and y = tile*ty + yi

uint16; `width` x `height` in (`height` is `width` if not given), two less in each direction out, cut into tiles of
`tile` x `tile` outputs. Neighbouring tiles read two common rows or columns. `tile` must divide `width` - 2 and
`height` - 2.
"""

from compiler.frontend.kernel import Typed, weighted_sum
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program, ProgramError

WEIGHTS = ((24, 30, 24), (30, 37, 30), (24, 30, 24))


def blur(*window: Typed) -> Typed:
    return weighted_sum([weight for row in WEIGHTS for weight in row], window) >> 8


def tiles(size: int, tile: int) -> int:
    """Number of tiles that cover the `size` - 2 outputs of one direction."""
    if tile < 1 or size < 3 or (size - 2) % tile:
        raise ProgramError(f"gaussian_tiled: tiles of {tile} do not fill the {size - 2} outputs from a side of {size}")
    return (size - 2) // tile


def build(width: int = 256, height: int | None = None, tile: int = 127) -> Program:
    height = width if height is None else height
    prg = prog("gaussian_tiled")
    prg.add_input("input", shape=(height, width))
    prg.add_output("output")
    ty = prg.add_loop("ty", 0, tiles(height, tile))
    tx = ty.add_loop("tx", 0, tiles(width, tile))
    yi = tx.add_loop("yi", 0, tile)
    xi = yi.add_loop("xi", 0, tile)
    op = xi.add_op("Gaussian")
    op.add_function(blur)
    for j in range(3):
        for i in range(3):
            op.add_load("input", f"{tile}*tx + xi + {i}", f"{tile}*ty + yi + {j}")
    op.add_store("output", f"{tile}*tx + xi", f"{tile}*ty + yi")
    return prg.build()

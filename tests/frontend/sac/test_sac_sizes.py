"""Extents go from operands to results and back to parameters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac import Writer
from test_sac_loop_passes import did
from test_sac_passes import outcome

from compiler.frontend.sac import SacError, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.passes import optimise
from compiler.ir.types import ProgramError

CONVOLUTION = """uint22[:,:] main (uint8 Image[:,:], uint8 kernel[:,:]) {
    uint32 rows, uint16 d1 = extents (Image);
    uint22 res[:,:,:] =
        for window W[7,d1] in Image {
            uint22 res_row[:] = process_stripe (W, kernel);
        } return (array (res_row));
} return (res[:,0,:]);

uint22[:] process_stripe (uint8 W[:,:], uint8 kernel[:,:]) {
    uint32 rows, uint16 d1 = extents (W);
    uint22 intermediate[:,:] =
        for kernel_col(:,~) in kernel at (_, uint8 c) {
            uint8 slice[:,:] = W[:,c:d1+c-7];
            uint22 rw[:] = for win_col(:,~) in slice return (array (dprod (kernel_col, win_col)));
        } return (array (rw));
    uint22 res[:] = for V(:,~) in intermediate return (array (array_sum (V)));
} return (res);

uint22 dprod (uint8 V0[:], uint8 V1[:]) return (for v0 in V0 dot v1 in V1 return (sum ((uint22)v0 * v1)));"""
"""Hammes 2000, figure 4.1."""


def parameters(text: str, passes: list[str] | None = None) -> dict[str, str]:
    program = parse_sac(text, "p.sc")
    module = optimise(program.module, program.main.name, passes or ["sizes"]).module
    return {port.name: str(port.types[0]) for port in module.function(program.main.name).parameters}


def test_the_window_of_a_convolution_gives_the_extent_of_its_kernel():
    assert parameters(CONVOLUTION, ["all"]) == {"Image": "uint8[:,:]", "kernel": "uint8[7,:]"}


@pytest.mark.parametrize("body, found", [
    ("uint8 r[:] = for a in A dot b in B[0:4] return (array (a + b))", "uint8[5]"),
    ("uint8 r[:] = for window W[3] in A dot b in B[0:4] return (array (W[0] + b))", "uint8[7]"),
    ("uint8 r[:] = for a in A step (2) dot b in B[0:4] return (array (a + b))", "uint8[:]"),
    ("uint8 r[8] = for window W[3] in A return (array (W[0]))", "uint8[10]"),
    ("uint8 r[8] = array_concat (A, B[0:4])", "uint8[3]"),
    ("uint8 r[8] = array_concat (B[0:4], A)", "uint8[3]"),
    ("uint8 r[8] = array_conperim (A, 2, 0)", "uint8[4]"),
    ("uint8 r[8] = for a in A { uint8 T[2] = {a, a}; } return (tile (T))", "uint8[4]"),
    ("uint8 r[8] = (uint8[:])((uint4[:])A)", "uint8[8]"),
    ("uint8 M[:,:] = for b in B[0:1] return (array (A)); uint8 r[:] = for V(~,:) in M { uint8 s = for v in V dot "
     "d in B[0:3] return (sum (v * d)); } return (array (s))", "uint8[4]"),
    ("uint8 r[:] = A[0:3]", "uint8[:]"),
    ("uint8 r[:] = if (B[0] > 3) return (for a in A dot b in B[0:4] return (array (a + b))) else return (A)",
     "uint8[:]"),
])
def test_parameters_whose_extents_follow(body, found):
    assert parameters(f"uint8[:] main (uint8 A[:], uint8 B[:]) {{ {body}; }} return (r);")["A"] == found


def test_an_array_of_other_extents_is_refused_when_it_enters():
    program, done = parse_sac("""uint8 main (uint8 A[:], uint8 B[4]) return (
        for a in A dot b in B return (max (a * b)));""").optimised(["sizes"])
    assert did(done, "sizes") == ["parameter A is uint8[4]"]
    with pytest.raises(ProgramError, match=r"input A has shape \[5\], and its type is uint8\[4\]"):
        program.run({"A": [1] * 5, "B": [1] * 4})


def test_tiles_that_do_not_fit():
    text = """uint8[9] main (uint8 A[:]) {
        uint8 r[9] = for a in A { uint8 T[2] = {a, a}; } return (tile (T)); } return (r);"""
    with pytest.raises(SacError) as error:
        parameters(text)
    assert str(error.value) == "p.sc:2:66: tiles of extent 2 do not make up an extent of 9"


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_programs(seed):
    """What runs gives the same, or is refused where a loop without iterations would have asked for other extents."""
    program = parse_sac(Writer(seed).program())
    inputs = program.held(random_inputs(program, seed, 4))
    wanted = outcome(program.module, "main", inputs)
    try:
        module = optimise(program.module, "main", ["sizes", "fold", "sizes"]).module
    except SacError:
        assert wanted is None
        return
    types = module.function("main").graph.inputs
    if wanted is not None and all(type_.extents in ((), (None,) * type_.rank) for type_ in types):
        for one, other in zip(wanted, interpret(module, "main", inputs), strict=True):
            assert one.tobytes() == other.tobytes()

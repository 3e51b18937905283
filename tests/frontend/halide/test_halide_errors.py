"""What cannot be translated is refused in one line that names Func, stage and reason."""

from __future__ import annotations

import pytest

from compiler.frontend.halide import PipelineError, from_pipeline

hl = pytest.importorskip("halide")
x, y = hl.Var("x"), hl.Var("y")
U8, I32 = hl.UInt(8), hl.Int(32)


def func(name, at, value):
    made = hl.Func(name)
    made[at] = value
    return made


def image(type=U8):
    return hl.ImageParam(type, 2, "image")


def message(outputs, sizes=(8, 8), **options) -> str:
    with pytest.raises(PipelineError) as error:
        from_pipeline(outputs, sizes, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def copy(**options):
    return func("out", (x, y), image(**options)[x, y])


def test_outputs_without_a_size():
    assert message(copy(), None) == ("output 'out' has no size in 'x': give sizes=[...], or say out.bound(x, 0, "
                                     "extent)")
    assert message(copy(), [3]) == "output 'out' has 2 dimensions, and is given 1 sizes"
    assert message(copy(), {"in": [3, 3]}) == "the pipeline has no output 'in'; it has: out"


def test_names_that_there_are_not():
    assert message(copy(), inputs={"picture": [3, 3]}) == "the pipeline has no input 'picture'; it has: image"
    assert message(copy(), gain=3) == "the pipeline has no parameter 'gain'; it has: none"
    assert message(copy(), inputs={"image": [3]}) == "input 'image' has 2 dimensions, and is given 1 sizes"


def test_inputs_that_are_too_small():
    assert message(func("out", (x, y), image()[x + 1, y]), inputs={"image": [8, 8]}) == (
        "input 'image' is read from 1 to 8 in dimension 0 and has elements 0 to 7: make it larger, the outputs "
        "smaller, or use a boundary condition")


def test_sizes_of_inputs_that_have_none():
    bounded = hl.BoundaryConditions.repeat_edge(image())
    assert message(func("out", (x, y), bounded[x - 1, y])).startswith(
        "Func 'out': it uses the size of input 'image', which has none: give it one, with inputs={'image': [width, "
        "height]}, image.set(buffer) or image.dim(")


def test_types_that_there_are_not():
    assert message(func("out", (x, y), hl.cast(hl.BFloat(16), image()[x, y]))) == (
        "Func 'out': values of type bfloat16 cannot be computed; types are int8 to int64, uint8 to uint64, bool, "
        "float16, float32 and float64: cast to one of these")


def test_functions_without_hardware():
    tangent = hl.tan(hl.cast(hl.Float(32), image()[x, y]))
    assert message(func("out", (x, y), tangent)) == (
        "Func 'out': there is no hardware for the function 'tan_f32'; call it in a Func of its own that uses no "
        "input: Halide evaluates that one")


def test_updates_are_named():
    made = func("out", (x, y), hl.cast(U8, 0))
    made[x, y] += image()[x, y]
    made[x, y] = hl.cast(U8, hl.tan(hl.cast(hl.Float(32), made[x, y])))
    assert message(made).startswith("Func 'out', update 1: there is no hardware for the function 'tan_f32'")


def test_sizes_of_reductions_that_depend_on_parameters():
    r = hl.RDom([(0, hl.Param(I32, "count"))], "r")
    made = func("out", (x, y), hl.cast(U8, 0))
    made[x, y] += image()[x + r.x, y]
    assert message(made) == (
        "Func 'out', update 0: the size of the reduction variable 'r$x' is no number that is known")


def test_funcs_that_are_not_computed_by_halide():
    outside = hl.Func("outside")
    try:
        outside.define_extern("elsewhere", [], U8, 2)
    except AttributeError:
        pytest.skip("this version cannot define such Funcs in Python")
    assert "Func 'outside' is computed outside of Halide" in message(func("out", (x, y), outside[x, y]))


def test_outputs_that_are_read_beyond_their_size():
    made = func("out", (x, y), image()[x, y])
    made[x, 0] = made[x, 9]
    assert message(made) == (
        "Func 'out' is accessed from 0 to 9 in dimension 1 and has elements 0 to 7: make it larger")


def test_pipelines_that_halide_refuses():
    undefined = hl.Func("undefined")
    assert message([undefined]).startswith("Halide refuses this pipeline: ")

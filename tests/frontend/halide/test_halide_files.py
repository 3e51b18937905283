"""Files with Halide pipelines: functions, Generators and serialised pipelines."""

from __future__ import annotations

import pytest

from compiler.cli.main import main
from compiler.frontend.apps import load
from compiler.ir.expr import Const, postorder
from compiler.ir.types import ProgramError

hl = pytest.importorskip("halide")

FUNCTION = """\
import halide as hl

def scaled(factor=3):
    x, y = hl.Var("x"), hl.Var("y")
    image, bias = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.UInt(8), "bias")
    out = hl.Func("out")
    out[x, y] = image[x + 1, y] * hl.cast(hl.UInt(8), factor) + bias
    return out

def nothing():
    return 3
"""

GENERATOR = """\
import halide as hl

@hl.generator(name="scaled")
class Scaled(hl.Generator):
    factor = hl.GeneratorParam(3)
    image = hl.InputBuffer(hl.UInt(8), 2)
    out = hl.OutputBuffer(hl.UInt(8), 2)

    def generate(self):
        x, y = hl.Var("x"), hl.Var("y")
        self.out[x, y] = self.image[x + 1, y] * hl.cast(hl.UInt(8), self.factor)
"""


@pytest.fixture
def pipeline(tmp_path):
    path = tmp_path / "pipeline.py"
    path.write_text(FUNCTION)
    return path


def shapes(program):
    return {array.name: array.shape for array in program.arrays}


def test_functions_of_a_file(pipeline):
    wanted = {"image": (5, 6), "bias": (1,), "out": (5, 6)}
    assert shapes(load(f"{pipeline}:scaled", x=6, y=5)) == wanted
    assert shapes(load(f"{pipeline}:scaled", factor=2, out=[6, 5])) == wanted
    assert shapes(load(f"{pipeline}:scaled", x=6, y=5, bias=4)) == {"image": (5, 6), "out": (5, 6)}
    assert load(f"{pipeline}:scaled", x=6, y=5).name == "pipeline"


@pytest.mark.parametrize(("function", "settings", "message"), [
    ("scaled", {}, "output 'out' has no size in 'x': give sizes=[...], or say out.bound(x, 0, extent)"),
    ("scaled", {"out": [3]}, "output 'out' has 2 dimensions, and is given 1 sizes"),
    ("scaled", {"out": [3, 0]}, "the sizes of 'out', 3, 0, are not all positive integers"),
    ("scaled", {"x": 6, "y": 5, "z": 1}, "the pipeline has no parameter 'z'; it has: bias"),
    ("scaled", {"x": 6, "y": 5, "bias": "much"}, "bias='much' is neither a number nor a list of sizes such as 64,48"),
    ("missing", {}, "application FILE defines no function 'missing'"),
    ("nothing", {}, "application FILE: nothing returned int, not a Program or ArrayProgram"),
])
def test_bad_requests_are_one_line(pipeline, function, settings, message):
    with pytest.raises(ProgramError) as error:
        load(f"{pipeline}:{function}", **settings)
    assert str(error.value) == message.replace("FILE", str(pipeline))


def test_generators(tmp_path):
    one, other = tmp_path / "scaled.py", tmp_path / "other.py"
    one.write_text(GENERATOR)
    other.write_text(GENERATOR.replace('"scaled"', '"other"'))
    program = load(one, x=6, y=5)
    assert shapes(program) == {"image": (5, 6), "out": (5, 6)}
    (first,), (second,) = program.statements, load(other, x=6, y=5, factor=7).statements
    assert Const(3, first.value.type) in postorder(first.value)
    assert Const(7, second.value.type) in postorder(second.value)


def test_generators_without_a_name(tmp_path):
    path = tmp_path / "scaled.py"
    path.write_text(GENERATOR.replace('@hl.generator(name="scaled")\n', ""))
    with pytest.raises(ProgramError) as error:
        load(path)
    assert str(error.value) == "Generator Scaled has no name: write @hl.generator(name='scaled') above it"


def test_serialised_files(tmp_path):
    x = hl.Var("x")
    out = hl.Func("out")
    out[x] = hl.ImageParam(hl.UInt(8), 1, "image")[x] + 1
    path = tmp_path / "plus.hlpipe"
    path.write_bytes(hl.serialize_pipeline(hl.Pipeline([out])))
    assert shapes(load(path, x=9)) == {"image": (9,), "out": (9,)}
    path.write_bytes(b"no pipeline")
    with pytest.raises(ProgramError, match="the serialised pipeline is damaged"):
        load(path, x=9)


def test_the_command_compiles_and_compares(pipeline, capsys):
    assert main([f"{pipeline}:scaled", "--set", "x=8", "--set", "y=4", "--set", "bias=2", "--target", "dataflow",
                 "--random", "1", "--simulator", "none"]) == 0
    assert "pipeline" in capsys.readouterr().out

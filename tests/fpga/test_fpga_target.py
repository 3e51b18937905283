"""The fpga target: predictions, storage, options, errors by message, emission."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pipeline_emulator import run_design, run_pipeline
from triangular_programs import triangular

import compiler
from compiler.bind.fpga.errors import FpgaError
from compiler.cli.input_files import random_inputs
from compiler.frontend import kernel
from compiler.frontend.apps import load
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.types import BIT, Int
from compiler.passes.directives import apply_script
from hw.designs.directory import DesignError
from hw.designs.registry import load_design
from hw.pipeline.spec import BufferCell, CounterCell, LineCell, MergeCell, OperatorCell


def compiled(app, **options):
    parameters = options.pop("parameters", {})
    return compiler.compile(load(app, **parameters), target="fpga", **options)


def pointwise(function, count, type, size=6):
    """A program of one statement on `count` inputs."""
    prg = prog("pointwise")
    for k in range(count):
        prg.add_input(f"a{k}", shape=(size,), type=type)
    prg.add_output("out", type=type)
    op = prg.add_loop("x", 0, size).add_op("Point")
    op.add_function(function)
    for k in range(count):
        op.add_load(f"a{k}", "x")
    op.add_store("out", "x")
    return prg.build()


def emulated(design, inputs):
    results = run_pipeline(design.system.pipeline, inputs)
    return {name: values.astype(np.int64) for name, values in results.items()}


# Predictions.


def test_one_word_per_cycle_and_a_few_cycles_of_latency():
    expected = {"gaussian": 8, "harris": 20, "cascade": 8, "sobel": 8, "brighten_blur": 4, "upsample": 4}
    for app, latency in expected.items():
        design = compiled(app)
        assert design.lower_bound <= design.predicted_cycles <= design.lower_bound + latency


def test_loops_run_in_the_order_that_directives_give():
    """Column by column, from right to left."""
    program = load("gaussian", width=9, height=7)
    turned = apply_script(program, "reorder(x, y); reverse(x)")
    design = compiler.compile(turned, target="fpga")
    assert list(design.schedule.statements["Gaussian"].strides) == ["x", "y"]
    inputs = random_inputs(program, 4)
    np.testing.assert_array_equal(run_design(design, inputs)["output"], interpret(program, inputs)["output"])


def test_lanes_are_streams_of_their_own():
    four = compiled("gaussian", parameters={"lanes": 4, "height": 66})
    assert len(four.system.inputs) == len(four.system.outputs) == 4
    assert four.pixels_per_cycle > 3.4


def test_buffers_are_as_large_as_what_is_alive():
    for app in ("gaussian", "conv_3_3", "cascade", "harris", "sobel", "brighten_blur", "upsample", "unsharp"):
        for storage in compiled(app).storage:
            assert storage.allocated_words <= 1.2 * storage.live_words, f"{app}: {storage}"
    pyramid = compiled("laplacian_pyramid").storage
    assert sum(s.allocated_words for s in pyramid) <= 1.4 * sum(s.live_words for s in pyramid)


def test_delay_lines_store_no_empty_cycles():
    """A quarter of the cycles brings a word of the second level: its buffer has a row of it, not of the image."""
    cells = compiled("gaussian_pyramid").system.pipeline.cells
    assert sorted(c.depth for c in cells if isinstance(c, BufferCell)) == [16, 32]
    assert [c.depth for c in cells if isinstance(c, LineCell)] == [61]


def test_reads_of_the_same_words_share_memories():
    """Nine reads of an array at half the rate: a memory per row of the window, each fed by the one before."""
    cells = compiled("laplacian_pyramid").system.pipeline.cells
    chained = [c for c in cells if isinstance(c, BufferCell) and isinstance(cells[c.source.cell], BufferCell)]
    assert len(chained) >= 4


def test_equal_weights_share_a_multiplier():
    assert compiled("gaussian").resources["multipliers"] == 3
    assert compiled("conv_3_3").resources["multipliers"] <= 9


def test_tile_loops_where_they_save_storage():
    tiled = compiled("gaussian_tiled", parameters={"width": 64, "tile": 31}, loops="asked")
    assert compiled("gaussian_tiled", parameters={"width": 64, "tile": 31}).schedule.staged.tiles == 1
    assert tiled.schedule.staged.tile_depth == 2
    assert compiled("gaussian").schedule.staged.tile_depth == 0


# Types and operations beyond those of the array.


@pytest.mark.parametrize("type", [Int(32, True), Int(32, False), Int(24, True), Int(5, False), Int(12, True)])
def test_integers_of_any_width(type):
    other = kernel.constant(type, type.wrap(77))

    def function(a, b):
        sharp = kernel.select(a < b, a * 3 - b, kernel.apply("absd", a, b) >> 1)
        long = kernel.apply("adc", sharp, b, kernel.apply("carry", a, b)) - kernel.apply("sbb", a, b, a < b)
        return kernel.apply("mul_high", long, b) + (a * b) - kernel.apply("min", a, other) * 5

    program = pointwise(function, 2, type)
    design = compiler.compile(program, target="fpga")
    generator = np.random.default_rng(2)
    inputs = {a.name: generator.integers(type.minimum, type.maximum + 1, 6) for a in program.inputs}
    expected = interpret(program, inputs)["out"].astype(np.int64)
    np.testing.assert_array_equal(emulated(design, inputs)["out"], expected)
    bits = type.width
    assert design.system.inputs[0].element_bytes == max(1, 1 << (bits - 1).bit_length() >> 3)


def test_bits_are_stored_as_bits():
    program = pointwise(lambda a, b: a & ~b, 2, BIT)
    design = compiler.compile(program, target="fpga")
    inputs = {"a0": np.array([0, 1, 0, 1, 1, 0]), "a1": np.array([0, 0, 1, 1, 0, 1])}
    np.testing.assert_array_equal(emulated(design, inputs)["out"], interpret(program, inputs)["out"])


def test_values_of_iterators_are_counters(tmp_path):
    source = tmp_path / "ramp.c"
    source.write_text("void ramp(const short a[6][7], short b[6][7])\n{\n#pragma scop\n"
                      "  for (int y = 0; y < 6; y++)\n    for (int x = 0; x < 7; x++)\n"
                      "      b[y][x] = a[y][x] + 3 * x - y;\n#pragma endscop\n}\n")
    program = load(source)
    design = compiler.compile(program, target="fpga")
    assert sum(isinstance(cell, CounterCell) for cell in design.system.pipeline.cells) == 2
    inputs = {"a": np.arange(42).reshape(6, 7) * 100}
    found = emulated(design, {"a": inputs["a"].ravel()})["b"].reshape(6, 7)
    np.testing.assert_array_equal(found, interpret(program, inputs)["b"])


def test_latencies_and_registers_are_options():
    fast = compiled("harris", multiplier_latency=4, operator_latency=2)
    assert {c.latency for c in fast.system.pipeline.cells if isinstance(c, OperatorCell)} == {0, 2, 4}
    assert fast.predicted_cycles > compiled("harris").predicted_cycles
    assert not [c for c in compiled("fir", register_gap=12).system.pipeline.cells if isinstance(c, LineCell)]


# Errors.


@pytest.mark.parametrize(("options", "message"), [
    ({"multiplier_latency": 9}, "option multiplier_latency is 9, must be 1 to 8"),
    ({"operator_latency": 0}, "option operator_latency is 0, must be 1 to 4"),
    ({"register_gap": 65}, "option register_gap is 65, must be 1 to 64"),
    ({"bus_bits": 48}, "option bus_bits is 48, must be one of 32, 64, 128, 256, 512"),
    ({"lanes": 3}, "option lanes is 3, must be one of 0, 1, 2, 4, 8, 16, 32, 64"),
    ({"lanes": 2, "passes": "static-form"}, "name the pass pack-streams{lanes=2} first in that"),
    ({"tile_depth": -1}, "option tile_depth is -1, must be a number from 0"),
    ({"loops": "best"}, "option loops is 'best', must be one of auto, asked"),
])
def test_impossible_options(options, message):
    with pytest.raises(FpgaError, match=message):
        compiled("gaussian", **options)


def test_integers_of_every_width_are_taken():
    design = compiler.compile(pointwise(lambda a: a + 1, 1, Int(40, True)), target="fpga")
    assert design.predicted_cycles >= design.lower_bound


def test_an_order_that_no_counter_follows():
    prg = prog("diagonal")
    prg.add_input("a", shape=(147,))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 39).add_loop("x", 0, 400).add_op("Diagonal")
    op.add_function(lambda a: a + 1)
    op.add_load("a", "(x + y) // 3")
    op.add_store("b", "x", "y")
    message = (r"statement 'Diagonal' \(.*\): read 0: it walks what it reads in an order that no counters with short "
               "tables follow; take target dataflow")
    with pytest.raises(FpgaError, match=message):
        compiler.compile(prg.build(), target="fpga")
    compiler.compile(prg.build(), target="dataflow")


def c_program(tmp_path, name, parameters, body):
    path = tmp_path / f"{name}.c"
    path.write_text(f"void {name}({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    return load(path)


def emulate(program, **options):
    """The compiled design, after its emulated results have been compared with the interpreter's."""
    design = compiler.compile(program, target="fpga", **options)
    inputs = random_inputs(program, 3)
    expected = interpret(program, inputs)
    found = run_design(design, inputs)
    assert all((found[name] == expected[name]).all() for name in expected)
    return design


def test_sums_take_a_step_per_cycle(tmp_path):
    program = c_program(tmp_path, "product", "int a[4][6], int b[6][5], int c[4][5]", """
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) {
            c[i][j] = 0;
            for (int k = 0; k < 6; k++)
                c[i][j] += a[i][k] * b[k][j];
        }""")
    design = emulate(program)
    assert design.predicted_cycles <= 4 * 5 * 6 + 6 * 5 + 10  # b is loaded row by row before its columns are read
    assert [buffer.name for buffer in design.storage] == ["b__tile.load_b", "a__tile.load_a"], "both come once"
    assert "Schedule" in design.report()


def test_recurrences_wait_for_their_operators(tmp_path):
    """Horner's rule: a product and a sum from one value to the next."""
    program = c_program(tmp_path, "horner", "int a[32], int x[1], int y[32]", """
    y[0] = a[0];
    for (int i = 1; i < 32; i++)
        y[i] = y[i - 1] * x[0] + a[i];""")
    quick, slow = (emulate(program, multiplier_latency=latency, clock_mhz=500) for latency in (2, 5))
    chained = emulate(program)  # the sum in the period after the product
    assert 2 * 31 <= chained.predicted_cycles <= 2 * 31 + 16
    assert quick.lower_bound == 32 and 3 * 31 <= quick.predicted_cycles <= 3 * 31 + 16
    assert 6 * 31 <= slow.predicted_cycles <= 6 * 31 + 16


def test_loops_go_inside_those_that_carry_a_recurrence(tmp_path):
    """Many polynomials: while the product of one is computed, those of others begin."""
    program = c_program(tmp_path, "horner", "int x[16], int c[5], int y[16]", """
    for (int i = 0; i < 16; i++) {
        y[i] = c[4];
        for (int k = 3; k >= 0; k--)
            y[i] = y[i] * x[i] + c[k];
    }""")
    auto, asked = (emulate(program, loops=loops, clock_mhz=500) for loops in ("auto", "asked"))
    assert auto.predicted_cycles <= 16 * 4 + 16
    assert asked.predicted_cycles >= 3 * 16 * 4
    assert auto.choices["loops moved"] == "distribute(S1, 1); reorder(k, i, on=[S1])"
    assert (asked.choices["loops moved"], asked.choices["initiation interval"]) == ("none", "3 for S1, 1 for others")
    patient = emulate(program, multiplier_latency=8, operator_latency=4)
    assert patient.predicted_cycles <= 16 * 4 + 40


def test_a_recurrence_of_sixty_products(tmp_path):
    chain = "x[0] * (1 + " * 60 + "y[i - 1]" + ")" * 60
    program = c_program(tmp_path, "long_way", "int a[8], int x[1], int y[8]", f"""
    y[0] = a[0];
    for (int i = 1; i < 8; i++)
        y[i] = {chain};""")
    assert 6 * 60 * 8 <= emulate(program, multiplier_latency=8).predicted_cycles <= 7 * 60 * 9 + 100


BORDERS = """
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 6; j++) {
                if (i == 0 || j == 0 || i == 6 || j == 5)
                    b[i][j] = a[i][j];
                else
                    b[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) >> 2;
            }
        for (int i = 1; i < 6; i++)
            for (int j = 1; j < 5; j++)
                a[i][j] = b[j][i] - a[i][j];
    }"""


def test_borders_and_arrays_that_are_worked_on_in_place(tmp_path):
    program = c_program(tmp_path, "borders", "short a[7][6], short b[7][6]", BORDERS)
    kinds = [type(cell) for cell in emulate(program).system.pipeline.cells]
    assert kinds.count(MergeCell) >= 3


def test_values_that_take_turns(tmp_path):
    """Even elements come from one statement, odd ones from another."""
    program = c_program(tmp_path, "turns", "short a[40], short c[40]", """
    short b[40];
    for (int i = 0; i < 20; i++) {
        b[2 * i] = a[2 * i] + 1;
        b[2 * i + 1] = a[2 * i + 1] * 3;
    }
    for (int i = 0; i < 40; i++)
        c[i] = b[i] - a[i];""")
    emulate(program)


def test_triangles_stand_behind_guards(tmp_path):
    emulate(c_program(tmp_path, "triangle", "short a[9], short b[9][9]", """
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            b[i][j] = 0;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++)
            b[i][j] += a[j];"""))


@pytest.mark.parametrize("name", ["reversed prefix", "reversed prefix of rows", "diagonals"])
def test_reads_that_fall_below_an_array_behind_guards(name):
    emulate(triangular(name, 6))


def test_parts_of_an_output(tmp_path):
    emulate(c_program(tmp_path, "parts", "short a[5], short b[5][5]", """
    for (int i = 4; i >= 0; i--)
        for (int j = i + 1; j < 5; j++) {
            b[i][j] = b[i][j] + a[i];
            for (int k = i + 1; k < j; k++)
                b[i][j] = b[i][j] + b[i][k] * b[k + 1][j];
        }"""))


# Emission.


def test_design_directory_builds(tmp_path):
    design = compiled("gaussian", parameters={"width": 12, "height": 8})
    design.emit(tmp_path, {"input": np.arange(96).reshape(8, 12)})
    system = load_design(str(tmp_path), None, None)
    assert system.module == "pipeline_system"
    assert system.sources == design.executable.sources
    assert dict(system.image.plan)["CONTROL"] == 1
    assert system.image.outputs[0].crc32 is not None
    assert "module pipeline(" in (tmp_path / "rtl" / "pipeline.v").read_text()
    assert "pixels" not in json.loads((tmp_path / "manifest.json").read_text())["metadata"]
    with pytest.raises(DesignError, match="design gaussian is a pipeline; leave --array, --bank-words and --lanes out"):
        load_design(str(tmp_path), "4x4", None)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("inputs", "a", "parameters: inputs must be a list of names"),
    ("bus_bits", 12, "parameters: bus_bits is 12, must be 32, 64, 128, 256 or 512"),
])
def test_damaged_parameters(tmp_path, name, value, message):
    compiled("gaussian", parameters={"width": 12, "height": 8}).emit(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["parameters"][name] = value
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DesignError, match=message):
        load_design(str(tmp_path), None, None)


def test_report_shows_schedule_and_cells():
    page = compiled("gaussian", parameters={"width": 12, "height": 8}).report(equal=True)
    assert "gaussian as a pipeline" in page
    assert "InputCell" in page
    assert "equal to the reference</th><td>yes" in page

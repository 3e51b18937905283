"""The SA-C programs that come with the project, on pictures, against numpy; and their command line."""

from collections.abc import Callable
from typing import get_type_hints

import numpy as np
import pytest
from sac_references import PROGRAMS

from compiler.bind.fpga.options import Options
from compiler.cli.images import load_image, sample_image, save_image
from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac
from compiler.frontend.sac.passes import PASSES

PICTURE = sample_image()[100:160, 80:150].astype(np.int64)


def windows(array: np.ndarray, *shape: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(array, shape)


def prewitt(picture: np.ndarray) -> np.ndarray:
    taps = windows(picture, 3, 3)
    across = (taps * np.array([[-1] * 3, [0] * 3, [1] * 3])).sum(axis=(2, 3))
    along = (taps * np.array([[-1, 0, 1]] * 3)).sum(axis=(2, 3))
    return np.sqrt(across**2 + along**2).astype(int) >> 3 & 255


def first_loop(a: np.ndarray) -> np.ndarray:
    w = windows(a, 2, 3)
    v2 = (w[..., 0, 0] + w[..., 1, 1]) % 256 * ((w[..., 0, 1] + w[..., 1, 0]) % 256)
    v5 = (v2 - (w[..., 1, 2] + w[..., 0, 2]) % 256 * 5) % 65536
    return np.where(v5 > 3562, v5 - 1, v5 + 1) % 256


def fused_pair(a: np.ndarray) -> np.ndarray:
    return windows(first_loop(a), 2, 3).max(axis=(2, 3))


def combined_pair(a: np.ndarray) -> np.ndarray:
    """The cast to ufix8.2 leaves 6 bits before the point, the sum with uint8 has 8."""
    greatest, least = (f(windows(a, 2, 3), axis=(2, 3)) for f in (np.max, np.min))
    total = greatest[:, :-1] % 64 + greatest[:, 1:] + least[:, :-1] + least[:, 1:]
    return total % 256 / 4


def histogram(a: np.ndarray) -> np.ndarray:
    below = np.cumsum(np.bincount(a.ravel(), minlength=256)) - np.bincount(a.ravel(), minlength=256)
    return (a >= np.flatnonzero(below * 2 < a.size)[-1]).astype(int)


PICTURES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "prewitt": prewitt, "fused_pair": fused_pair, "combined_pair": combined_pair, "histogram": histogram,
    "max_window": lambda a: windows(a, 2, 3).max(axis=(2, 3)),
    "median": lambda a: np.median(windows(a, 3, 3), axis=(2, 3)).astype(int),
}


@pytest.mark.parametrize("name", PICTURES)
def test_on_a_picture(name):
    program = load_sac(sac_applications()[f"sac/{name}"])
    (given,) = program.inputs
    assert np.array_equal(next(iter(program.run({given: PICTURE}).values())), PICTURES[name](PICTURE))


def test_every_application_has_a_test():
    tested = (*PICTURES, *PROGRAMS, "matrix_product", "square_root")
    assert {f"sac/{name}" for name in tested} == set(sac_applications())


def test_matrix_product():
    random = np.random.default_rng(0)
    a, b = random.integers(-2**15, 2**15, (5, 7)), random.integers(-2**15, 2**15, (7, 3))
    wrapped = (a @ b + 2**31) % 2**32 - 2**31
    assert np.array_equal(load_sac(sac_applications()["sac/matrix_product"]).run({"A": a, "B": b})["C"], wrapped)


def test_goldens_of_prewitt():
    """Worked out by hand: an edge, and a single bright pixel."""
    program = load_sac(sac_applications()["sac/prewitt"])
    edge = np.zeros((6, 6), int)
    edge[:, 3:] = 255
    assert program.run({"Image": edge})["edges"].tolist() == [[0, 95, 95, 0]] * 4
    pixel = np.zeros((5, 5), int)
    pixel[2, 2] = 255
    assert program.run({"Image": pixel})["edges"].tolist() == [[45, 31, 45], [31, 0, 31], [45, 31, 45]]


def test_golden_of_the_fused_pair():
    i, j = np.indices((6, 8))
    found = load_sac(sac_applications()["sac/fused_pair"]).run({"A": (17 * i + 31 * j + i * j) % 256})["R1"]
    assert found.tolist() == [[250, 250, 250, 245], [250, 250, 250, 245], [211, 211, 151, 243], [229, 229, 200, 243]]


def test_command_line_reads_and_writes_pictures(tmp_path, capsys):
    save_image(tmp_path / "in.png", PICTURE)
    assert main(["sac/prewitt", "--input", str(tmp_path / "in.png"), "--output", str(tmp_path / "out.png"),
                 "--ddcf", str(tmp_path / "graph.txt")]) == 0
    assert np.array_equal(load_image(tmp_path / "out.png"), prewitt(PICTURE))
    assert "WINDOWGEN" in (tmp_path / "graph.txt").read_text()
    assert "58x68" in capsys.readouterr().out


def test_command_line_takes_scalars_arrays_and_files_of_several_functions(tmp_path, capsys):
    (tmp_path / "two.sc").write_text("uint8 f (uint8 x, uint8 a[:]) return (x + array_sum (a)); "
                                     "uint8 g (uint8 x) return (x * 2);")
    np.save(tmp_path / "a.npy", np.array([1, 2]))
    assert main([str(tmp_path / "two.sc"), "--function", "f", "--set", "x=5", "--input",
                 f"a={tmp_path / 'a.npy'}"]) == 0
    assert "8" in capsys.readouterr().out


def test_command_line_optimises(capsys):
    assert main(["sac/prewitt", "--passes", "all", "--random", "1"]) == 0
    printed = capsys.readouterr().out
    assert "nodes: 39 before passes, " in printed and "; changes by pass: inline 1 (+1 nodes), " in printed
    assert ": unroll: 9 iterations" in printed and "rounds of the cycle: " in printed


def test_command_line_counts_iterations_and_accesses(capsys):
    assert main(["sac/max_window", "--passes", "all", "--loops", "--random", "1"]) == 0
    printed = capsys.readouterr().out
    assert "stripmine: windows of 12 x 3" in printed
    assert "│ 5x62    │ 310        │ 960   │ 880    │ 1840" in printed
    assert main(["sac/median", "--passes", "all", "--random", "1"]) == 0
    assert "iterations" not in capsys.readouterr().out.replace("unroll: 9 iterations", "")


@pytest.mark.parametrize("arguments, message", [
    (["sac/prewitt", "--passes", "turbo"],
     f"there is no pass 'turbo'; there are: {', '.join(PASSES)}, and cycle, separate, cycle_inner, "
     "separate_inner, all, most"),
    (["sac/matrix_product"], "program matrix_product needs more inputs: A (int16[:,:]), B (int16[:,:]); give --input "
                             "NAME=FILE, --set NAME=VALUE for a scalar, or --random SEED"),
    (["sac/prewitt", "--lanes", "4"], "--lanes is for hardware, and SA-C programs run on the host without --target"),
    (["sac/prewitt", "--sizes", "a=1..2", "--target", "fpga"], "--sizes is no option of SA-C programs"),
    (["sac/prewitt", "--target", "asic"],
     "there is no target 'asic'; there are: cgra, dataflow, fpga, systolic, vector"),
    (["sac/prewitt", "--target", "fpga", "--random", "1", "--option", "bus_bits=16"],
     "option bus_bits is 16, must be one of 32, 64, 128, 256, 512"),
    (["sac/prewitt", "--target", "fpga", "--random", "1", "--option", "x=1"],
     "target fpga has no option 'x'; there are: " + ", ".join(get_type_hints(Options))),
    (["sac/bounding_box", "--target", "fpga", "--random", "1", "--directory", "out"],
     "--directory is for designs, and all loops of the program stay on the host"),
    (["sac/prewitt", "--output", "x=y.png"], "program prewitt has no output 'x'; it has: edges"),
    (["sac/prewitt", "--output", "y.xyz"],
     "cannot write an image as y.xyz: its suffix is none of an image format; take a .png"),
    (["gaussian", "--ddcf", "x"], "--ddcf is for SA-C programs; the name of one ends in .sc"),
    (["sac/none.sc"], "there is no application file sac/none.sc"),
])
def test_command_lines_that_ask_for_what_is_not_there(arguments, message, capsys):
    assert main(arguments) == 1
    assert " ".join(capsys.readouterr().err.split()).endswith(message)

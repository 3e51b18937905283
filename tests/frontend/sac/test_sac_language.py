"""What SA-C programs mean: every construct of Hammes 2000, chapter 2, against numpy or values worked out by hand."""

import re
from math import isqrt

import numpy as np
import pytest

from compiler.frontend.sac import SacProgram, parse_sac
from compiler.frontend.sac.ddcf import parse_module, print_module, verify


def run(text: str, **inputs) -> dict[str, np.ndarray]:
    """Results of a program whose graphs are well formed, print, and parse back."""
    return checked(parse_sac(text)).run(inputs)


def checked(program: SacProgram) -> SacProgram:
    verify(program.module)
    text = print_module(program.module)
    again = parse_module(text)
    assert again == program.module
    assert print_module(again) == text
    return program


def expression(text: str, parameters: str = "", result: str = "double", **inputs):
    """The value of an expression."""
    return run(f"{result} f ({parameters}) return ({text});", **inputs)["result1"]


def result_type(text: str, parameters: str) -> str:
    """The type that the compiler finds for an expression: that of the sum of all iterations of a loop."""
    text = print_module(parse_sac(f"double f ({parameters}) return (for uint8 i in [1] return (product ({text})));"
                                  ).module)
    match = re.search(r"%\d+: (\S+) = PRODUCT", text)
    assert match
    return match[1]


SUMS = [("fix16.10", "fix16.14", "fix20.14"), ("fix32.10", "fix32.20", "fix32.10"), ("uint8", "int4", "int8"),
        ("uint8", "uint10", "uint10"), ("ufix8.4", "int8", "fix12.4"), ("float", "int8", "float"),
        ("double", "float", "double"), ("double", "fix8.4", "double"), ("uint32", "ufix8.8", "ufix32.0")]


@pytest.mark.parametrize("left, right, wanted", SUMS)
def test_result_types(left, right, wanted):
    """The rule of section 2.2: most bits before the point, most behind it, 32 altogether."""
    assert result_type("a + b", f"{left} a, {right} b") == wanted
    assert result_type("b * a", f"{left} a, {right} b") == wanted


def test_small_integers_wrap():
    """All sums of six bits."""
    a, b = (g.ravel() for g in np.mgrid[0:64, 0:64])
    text = "uint6[:] f (uint6 A[:], uint6 B[:]) return (for a in A dot b in B return (array (a + b)));"
    assert (run(text, A=a, B=b)["result1"] == (a + b) % 64).all()


def test_a_cast_makes_room_for_a_sum():
    assert expression("(uint10)a + b + c + d", "uint8 a, uint8 b, uint8 c, uint8 d", "uint10",
                      a=250, b=251, c=252, d=253) == 1006


@pytest.mark.parametrize("text, parameters, inputs, result, wanted", [
    ("(bits4)a", "ufix4.1 a", {"a": 5.5}, "bits4", 11),
    ("(ufix4.1)(bits4)a", "uint4 a", {"a": 11}, "ufix4.1", 5.5),
    ("(bits3)a", "int8 a", {"a": -1}, "bits3", 7),
    ("(int8)(bits8)a", "uint8 a", {"a": 255}, "int8", -1),
    ("(uint4)a", "uint8 a", {"a": 0x5A}, "uint4", 10),
    ("(int8)a", "fix8.4 a", {"a": -1.25}, "int8", -2),
    ("(fix8.2)a", "double a", {"a": -1.9}, "fix8.2", -1.75),
    ("(bool)a", "int8 a", {"a": -8}, "bool", 1),
    ("(ufix16.8)a", "uint4 a", {"a": 9}, "ufix16.8", 9.0),
    ("(uint8)a", "float a", {"a": np.inf}, "uint8", 0),
    ("(uint8)a", "double a", {"a": 300.7}, "uint8", 44),
    ("(int8)a", "double a", {"a": -300.7}, "int8", -44),
    ("(float)a", "uint32 a", {"a": 2**32 - 1}, "float", 2.0**32),
])
def test_casts(text, parameters, inputs, result, wanted):
    assert expression(text, parameters, result, **inputs) == wanted


@pytest.mark.parametrize("text, wanted", [
    ("-7 / 2", -3), ("-7 % 2", -1), ("7 >> 1", 3), ("(int8)-7 >> 1", -4), ("(int8)-7 >> 20", -1), ("(uint8)1 << 9", 0),
    ("1 + 2 * 3", 7), ("(uint8)6 & 3 | 8", 10), ("(uint8)6 ^ 3", 5), ("~(uint4)5", 10), ("0x1F", 31), ("0b101", 5),
    ("1.5e1", 15), ("3 < 4 && 4 < 3 || true", 1), ("!3", 0), ("2 == 2.0", 1), ("-(-5)", 5), ("+4", 4),
    ("(int32)1 - 2 - 3", -4), ("true ? 3 : 4", 3), ("(ufix8.4)1.5 * (ufix8.4)2.25", 3.375),
    ("(fix16.8)-1.5 / (fix16.8)0.75", -2.0), ("(fix16.8)5.5 % (fix16.8)2", 1.5),
])
def test_operators(text, wanted):
    assert expression(f"(double)({text})" if "b1" not in text else f"(double)(uint8)({text})") == wanted


def test_comparisons_are_of_numbers_whatever_their_types():
    """200 of a uint8 is more than any int8, 2^32 - 1 more than any int32."""
    assert expression("a > b", "uint8 a, int8 b", "bool", a=200, b=-56) == 1
    assert expression("a < b", "int32 a, uint32 b", "bool", a=-1, b=2**32 - 1) == 1
    assert expression("a == b", "ufix32.32 a, uint32 b", "bool", a=0.5, b=0) == 0
    assert expression("a >= b", "fix32.30 a, fix32.2 b", "bool", a=-1.25, b=-1.25) == 1


def test_fixed_products_of_all_operands():
    """ufix4.2 by fix4.1, exactly, then cut to the result's type."""
    a, b = (g.ravel() for g in np.mgrid[0:16, -8:8])
    text = "fix5.2[:] f (ufix4.2 A[:], fix4.1 B[:]) return (for a in A dot b in B return (array (a * b)));"
    exact = np.floor(a / 4 * (b / 2) * 4).astype(int)
    wrapped = ((exact + 16) % 32 - 16) / 4
    left = ((a + 16) % 32 - 16) / 4  # a as a fix5.2, in which the product computes
    assert (left == a / 4).all()
    assert (run(text, A=a / 4, B=b / 2)["result1"] == wrapped).all()


MATRIX = np.array([[3, 6, 7, 2], [4, 3, 2, 1], [7, 1, 0, 8]])


@pytest.mark.parametrize("section, rank, wanted", [
    ("1,2", "", 2), (":,1", "[:]", [6, 3, 1]), ("0,:", "[:]", [3, 6, 7, 2]), ("2,1:3", "[:]", [1, 0, 8]),
    ("0:1,0:1", "[:,:]", [[3, 6], [4, 3]]), ("0,2:", "[:]", [7, 2]), ("0,:2:2", "[:]", [3, 7]),
    ("::2,::3", "[:,:]", [[3, 2], [7, 8]]), ("1:0,:", "[:,:]", np.zeros((0, 4))),
])
def test_sections(section, rank, wanted):
    assert np.array_equal(run(f"uint8{rank} f (uint8 A[:,:]) return (A[{section}]);", A=MATRIX)["result1"], wanted)


def test_arrays_in_braces():
    text = "uint8[:,:] f (uint8 x) { uint8 A[2,3] = {{x, x + 1, 3}, {4, 5, 300}}; } return (A);"
    assert run(text, x=9)["A"].tolist() == [[9, 10, 3], [4, 5, 44]]


def test_concatenation_extents_and_perimeter():
    text = """uint8[:,:], uint8[:,:], uint32 f (uint8 A[:,:]) {
        uint8 B[:,:] = array_concat (A, A[:,0:1]);
        uint8 C[:,:] = array_conperim (A, 2, 7);
        _, uint32 columns = extents (B);
    } return (B, C, columns);"""
    found = run(text, A=MATRIX)
    assert np.array_equal(found["B"], np.hstack([MATRIX, MATRIX[:, :2]]))
    assert np.array_equal(found["C"], np.pad(MATRIX, 2, constant_values=7))
    assert found["columns"] == 6


def test_scalar_generators():
    text = """uint10[:], uint10[:,:], uint8[:], uint8[:] f (uint8 n) {
        uint10 A[:] = for uint10 v in [3~6] return (array (v));
        uint10 B[:,:] = for uint10 v, uint10 w in [1~2,1~3] return (array (v * 10 + w));
        uint8 C[:] = for uint8 v in [n] return (array (v));
        uint8 D[:] = for uint8 v in [1~n] step (3) return (array (v));
    } return (A, B, C, D);"""
    found = run(text, n=8)
    assert found["A"].tolist() == [3, 4, 5, 6]
    assert found["B"].tolist() == [[11, 12, 13], [21, 22, 23]]
    assert found["C"].tolist() == list(range(8))
    assert found["D"].tolist() == [1, 4, 7]
    assert run(text, n=0)["C"].shape == (0,)


def windows(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(array, shape)


def test_window_generators():
    picture = np.random.default_rng(0).integers(0, 256, (10, 20))
    text = """uint8[:,:], uint8[:,:], uint8[:,:], uint8[:,:,:,:] f (uint8 A[:,:]) {
        uint8 R[:,:] = for window W[3,2] in A return (array (array_max (W)));
        uint8 S[:,:] = for window W[3,2] in A step (2,5) return (array (array_min (W)));
        uint8 N[:,:] = for window W[11,2] in A return (array (array_max (W)));
        uint8 V[:,:,:,:] = for window W[10,19] in A return (array (W));
    } return (R, S, N, V);"""
    found = run(text, A=picture)
    assert found["R"].shape == (8, 19)
    assert np.array_equal(found["R"], windows(picture, (3, 2)).max(axis=(2, 3)))
    assert np.array_equal(found["S"], windows(picture, (3, 2)).min(axis=(2, 3))[::2, ::5])
    assert found["N"].shape == (0, 19)
    assert np.array_equal(found["V"], windows(picture, (10, 19)))


def test_slices_in_both_directions_with_steps():
    text = """uint16[:], uint16[:], uint16[:] f (uint8 A[:,:]) {
        uint16 rows[:] = for V (~,:) in A return (array (array_sum ((uint16[:])V)));
        uint16 columns[:] = for V (:,~) in A return (array (array_sum ((uint16[:])V)));
        uint16 others[:] = for V (~,:) in A step (2) return (array (array_sum ((uint16[:])V)));
    } return (rows, columns, others);"""
    found = run(text, A=MATRIX)
    assert np.array_equal(found["rows"], MATRIX.sum(axis=1))
    assert np.array_equal(found["columns"], MATRIX.sum(axis=0))
    assert np.array_equal(found["others"], MATRIX[::2].sum(axis=1))


def test_windows_that_take_a_dimension_whole():
    """What the thesis only proposes: `for W[:,2] in A`."""
    text = """uint16[:] f (uint8 A[:,:]) return (
        for W[:,2] in A return (array (array_sum ((uint16[:,:])W))));"""
    assert np.array_equal(run(text, A=MATRIX)["result1"], MATRIX[:, :-1].sum(axis=0) + MATRIX[:, 1:].sum(axis=0))


def test_indices_stride_and_loop_indices_do_not():
    text = """uint16[:,:,:] f (uint8 A[:,:], uint16 m) return (
        for window W[3,3] in A step (3,2) at (uint16 r, uint16 c) cross uint16 v in [m] {
            uint16 i, uint16 j, uint16 k = loop_indices ();
        } return (array (r * 1000 + c * 100 + i * 64 + j * 8 + k)));"""
    found = run(text, A=np.zeros((9, 8), int), m=2)["result1"]
    i, j, k = np.indices((3, 3, 2))
    assert np.array_equal(found, 3 * i * 1000 + 2 * j * 100 + i * 64 + j * 8 + k)


def test_indices_that_are_not_wanted():
    text = "uint8[:] f (uint8 A[:,:]) return (for V (:,~) in A at (_, uint8 c) return (array (V[0] + c)));"
    assert run(text, A=MATRIX)["result1"].tolist() == [3, 7, 9, 5]


def test_cross_varies_the_rightmost_fastest():
    text = """uint8[:,:,:] f (uint8 A[:], uint8 B[:,:]) return (
        for a in A cross b in B return (array (a * 10 + b)));"""
    found = run(text, A=np.array([1, 2]), B=np.array([[3, 4, 5], [6, 7, 8]]))["result1"]
    assert found.shape == (2, 2, 3)
    assert found[1].tolist() == [[23, 24, 25], [26, 27, 28]]


def test_dots_inside_a_cross():
    text = """uint8[:,:] f (uint8 A[:], uint8 B[:], uint8 C[:]) return (
        for a in A dot b in B cross c in C return (array (a * b + c)));"""
    a, b, c = np.array([1, 2, 3]), np.array([4, 5, 6]), np.array([7, 8])
    assert np.array_equal(run(text, A=a, B=b, C=c)["result1"], (a * b)[:, None] + c)


def test_arrays_of_arrays_tiles_and_concatenations():
    text = """uint8[:,:,:], uint8[:,:,:], uint8[:] f (uint8 A[:], uint8 B[:,:,:]) {
        uint8 X[:,:,:] = for a in A { uint8 T[2,3] = {{a-1,a,a+1},{a-2,a-1,a}}; } return (array (T));
        uint8 Y[:,:,:] = for b in B { uint8 T[2,2] = {{b,b+1},{b+2,b+3}}; } return (tile (T));
        uint8 Z[:] = for a in A at (uint8 i) { uint8 P[:] = A[0:(int16)i-1]; } return (concat (P));
    } return (X, Y, Z);"""
    a, b = np.arange(5) + 10, np.arange(72).reshape(3, 4, 6)
    found = run(text, A=a, B=b)
    assert found["X"].shape == (5, 2, 3)
    assert found["X"][1].tolist() == [[10, 11, 12], [9, 10, 11]]
    assert found["Y"].shape == (3, 8, 12)
    assert np.array_equal(found["Y"], b.repeat(2, 1).repeat(2, 2) + np.tile([[0, 1], [2, 3]], (4, 6)))
    assert found["Z"].tolist() == [n for i in range(5) for n in a[:i]]


REDUCTIONS = {
    "sum": lambda v: v.sum(), "product": lambda v: v.prod(), "min": lambda v: v.min(initial=2**31 - 1),
    "max": lambda v: v.max(initial=-2**31), "mean": lambda v: int(v.sum() / len(v)) if len(v) else 0,
    "st_dev": lambda v: int(v.std()) if len(v) else 0, "median": lambda v: int(np.median(v)) if len(v) else 0,
    "mode": lambda v: min(v, key=lambda n: (-(v == n).sum(), n)) if len(v) else 0,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("masked", ["all", "some", "none"])
def test_reductions(name, masked):
    """In loops and of arrays, with and without masks, against numpy. Of no values, sums are 0, products 1, least and
    greatest the limits of the type, averages 0."""
    random = np.random.default_rng(len(name))
    values = random.integers(-9, 9, 11)
    mask = {"all": np.ones(11, int), "none": np.zeros(11, int), "some": random.integers(0, 2, 11)}[masked]
    text = f"""int32, int32 f (int32 A[:], bool M[:]) {{
        int32 x = for a in A dot m in M return ({name} (a, m));
        int32 y = array_{name} (A, M);
    }} return (x, y);"""
    found = run(text, A=values, M=mask)
    assert found["x"] == found["y"] == REDUCTIONS[name](values[mask == 1])


def test_logical_reductions():
    text = "bool, bool, uint4 f (uint4 A[:]) return (for a in A return (and (a > 2), or (a > 8), and (a)));"
    found = run(text, A=np.array([3, 7, 11]))
    assert [int(v) for v in found.values()] == [1, 1, 3]


def test_accumulations_by_label():
    text = """uint8[:], uint8[:], uint32[:,:], uint8[:] f (uint8 A[:], uint2 L[:]) {
        uint8 S[:], uint8 M[:], uint32 H[:,:] = for a in A dot l in L
            return (accum (sum (a), l, 3), accum (max (a, a < 9), l, 3), accum (histogram (a, 12), l, 3));
        uint8 T[:] = array_accum_sum (A, L, 3);
    } return (S, M, H, T);"""
    values, labels = np.array([1, 5, 7, 9, 1]), np.array([0, 1, 0, 1, 0])
    found = run(text, A=values, L=labels)
    assert found["S"].tolist() == found["T"].tolist() == [9, 14, 0]
    assert found["M"].tolist() == [7, 5, 0]
    assert found["H"].tolist() == [np.bincount(values[labels == k], minlength=12).tolist() for k in range(3)]


def test_values_at_extremes():
    text = """uint8[:,:], uint8[:], uint8, uint8 f (uint8 A[:,:]) {
        uint8 all[:,:], uint8 first[:], uint8 row, uint8 last =
            for a in A at (uint8 i, uint8 j) return (vals_at_maxs (a, {i, j}), vals_at_first_min (a, {i, j}),
                vals_at_last_max (a, i), vals_at_last_min (a, j, a > 0));
    } return (all, first, row, last);"""
    found = run(text, A=np.array([[0, 9, 2], [9, 0, 2]]))
    assert found["all"].tolist() == [[0, 1], [1, 0]]
    assert found["first"].tolist() == [0, 0]
    assert (found["row"], found["last"]) == (1, 2)


def test_a_next_variable_is_the_new_value_from_there_on():
    text = "uint8[:] f (uint8 A[:]) { uint8 s = 0; } return (for a in A { next s = s + a; } return (array (s)));"
    assert run(text, A=np.array([1, 2, 3]))["result1"].tolist() == [1, 3, 6]


def test_carried_arrays_may_grow():
    text = """uint8[:] f (uint8 n) {
        uint8 A[1] = {7};
        uint8 B[:] = A;
        uint8 R[:] = for uint8 i in [n] { uint8 T[1] = {i}; next B = array_concat (B, T); } return (final (B));
    } return (R);"""
    assert run(text, n=3)["R"].tolist() == [7, 0, 1, 2]


def test_while_loops():
    text = """uint32, uint32[:] f (uint32 n) {
        uint32 m = n;
        uint32 last, uint32 all[:] = while (m != 1) {
            next m = m % 2 == 0 ? m / 2 : m * 3 + 1;
        } return (final (m), array (m));
    } return (last, all);"""
    found = run(text, n=6)
    assert found["all"].tolist() == [3, 10, 5, 16, 8, 4, 2, 1]
    assert run(text, n=1)["all"].shape == (0,)


def test_conditionals_with_several_values():
    text = """int8[:], int8[:] f (int8 A[:], int8 B[:]) return (
        for a in A dot b in B {
            int8 x, int8 y = if (a > b) { int8 a = b * 2 + 3; } return (a, 1)
                             elif (a < b) return (b + 1, 2)
                             else return (b - 1, 3);
        } return (array (x), array (y)));"""
    a, b = (g.ravel() for g in np.mgrid[-3:4, -3:4])
    found = run(text, A=a, B=b)
    assert found["result1"].tolist() == np.where(a > b, b * 2 + 3, np.where(a < b, b + 1, b - 1)).tolist()
    assert found["result2"].tolist() == np.where(a > b, 1, np.where(a < b, 2, 3)).tolist()


def test_switches():
    text = """uint8[:] f (uint8 A[:]) return (for y in A {
        uint8 r = switch (y + 3) { case 2, 5: return (y - 1) case 3: return (y) default: return (42) };
    } return (array (r)));"""
    values = np.arange(256)
    key = (values + 3) % 256
    assert run(text, A=values)["result1"].tolist() == np.select(
        [(key == 2) | (key == 5), key == 3], [(values - 1) % 256, values], 42).tolist()


def test_what_is_not_taken_does_not_fail():
    """Neither case of a conditional, nor the right side of && and ||, is computed where it does not count."""
    text = """uint8[:] f (uint8 A[:], uint8 B[3]) return (
        for a in A return (array (a < 3 && B[a] > 1 ? B[a] : (uint8)0)));"""
    assert run(text, A=np.array([0, 1, 2, 200]), B=np.array([1, 2, 3]))["result1"].tolist() == [0, 2, 3, 0]


def test_functions_with_several_results_and_prototypes():
    text = """int8, uint4[:,:] f1 (uint8 A[:,:], int8 z, bool M[:]);
    int8, uint4[:,:] main (uint8 A[:,:], bool M[:]) { int8 a, uint4 B[:,:] = f1 (A, 3, M); } return (a, B);
    int8, uint4[:,:] f1 (uint8 A[:,:], int8 z, bool M[:]) {
        int8 s = for m in M return (sum ((int8)m));
    } return (s + z, (uint4[:,:])A);"""
    found = run(text, A=MATRIX * 9, M=np.array([1, 0, 1]))
    assert found["a"] == 5
    assert np.array_equal(found["B"], MATRIX * 9 % 16)


def test_complex_numbers():
    text = """complex int16[:], complex double, int16[:] f (complex int16 A[:], complex double z) {
        complex int16 R[:], int16 P[:] = for a in A return (array (a * a - 3), array (real (a * a)));
    } return (R, z / make_complex (1.0, 2.0), P);"""
    a = np.array([1 + 2j, 3 - 1j])
    found = run(text, A=a, z=3 + 4j)
    assert found["result1"].tolist() == (a * a - 3).tolist()
    assert found["result2"] == (3 + 4j) / (1 + 2j)
    assert found["result3"].tolist() == (a * a).real.tolist()


def test_mathematical_functions():
    found = [float(expression(text, "double x", x=0.25)) for text in ("sqrt (x)", "pow (x, 2)", "atan2 (x, -1)",
                                                                      "log (x - 0.25)", "sqrt (-x)")]
    assert found[:2] == [0.5, 0.0625]
    assert found[2] == np.arctan2(0.25, -1)
    assert found[3] == -np.inf
    assert np.isnan(found[4])
    assert expression("(ufix32.16)sqrt (v)", "uint32 v", "ufix32.16", v=2) == int(2**0.5 * 65536) / 65536


def test_loops_inside_loops_with_extents_of_their_own():
    """Iterations whose arrays differ in extent do not disturb each other."""
    text = """uint16[:] f (uint8 n) return (
        for uint8 i in [n] { uint16 s = for uint16 k in [i] return (sum (k)); } return (array (s)));"""
    assert run(text, n=6)["result1"].tolist() == [i * (i - 1) // 2 for i in range(6)]


def test_a_program_begins_with_main_or_the_only_function_that_no_other_calls():
    assert parse_sac("uint8 g (uint8 x) return (x); uint8 f (uint8 x) return (g (x));").main.name == "f"
    assert parse_sac("uint8 main (uint8 x) return (x); uint8 f (uint8 x) return (x);").main.name == "main"
    assert parse_sac("uint8 main (uint8 x) return (x); uint8 f (uint8 x) return (x);", function="f").main.name == "f"


def test_square_roots_of_all_six_bit_numbers():
    from compiler.frontend.apps import SHIPPED
    from compiler.frontend.sac import load_sac

    program = checked(load_sac(SHIPPED / "sac" / "square_root.sc"))
    values = np.concatenate([np.arange(64), np.random.default_rng(0).integers(0, 2**32, 1000), [2**32 - 1]])
    assert program.run({"A": values})["R"].tolist() == [isqrt(int(v)) for v in values]

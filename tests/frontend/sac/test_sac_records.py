"""Records: components that go together, in every place of the language where a value may stand."""

import numpy as np
import pytest
from test_sac_host import check
from test_sac_passes import check as check_passes

from compiler.frontend.sac import SacError, parse_sac
from compiler.frontend.sac.ddcf import parse_module, print_module, verify
from compiler.frontend.sac.passes import PASSES

POINT = "typedef struct { uint8 x, y; } point;\n"
LINE = POINT + "struct line { point from; struct point to; uint8 marks[2]; complex int8 turn; };\n"


def run(text: str, **inputs):
    """Results of a program by name, as lists."""
    return {name: value.tolist() for name, value in
            parse_sac(text).run({k.replace("__", "."): np.asarray(v) for k, v in inputs.items()}).items()}


def test_a_record_is_made_of_its_fields_and_taken_apart():
    text = POINT + "uint8, uint8 f (uint8 a) { point p = {a, 2}; point q = point (p.y, p.x); } return (q.x, q.y);"
    assert run(text, a=7) == {"result1": 2, "result2": 7}


def test_parameters_and_results_of_main_are_named_by_fields():
    text = LINE + """line, point f (line l) {
        line m = {l.to, l.from, {l.marks[1], l.marks[0]}, -l.turn}; } return (m, l.to);"""
    program = parse_sac(text)
    assert list(program.inputs) == ["l.from.x", "l.from.y", "l.to.x", "l.to.y", "l.marks", "l.turn"]
    found = run(text, l__from__x=1, l__from__y=2, l__to__x=3, l__to__y=4, l__marks=[5, 6], l__turn=7 - 8j)
    assert list(found.values()) == [3, 4, 1, 2, [6, 5], -7 + 8j, 3, 4]
    assert parse_module(print_module(program.module)) == program.module


def test_types_of_fields_convert():
    assert run("struct pair { int16 a; bool b; }; int16, bool f (uint8 v) { pair p = {v, v}; } return (p.a, p.b);",
               v=200) == {"result1": 200, "result2": True}


def test_an_array_of_records_is_a_record_of_arrays():
    text = LINE + """
    uint8[:], point[:], uint8[:,:], uint8 f (line L[:]) {
        point ends[:] = for l in L return (array (l.to));
        uint32 n = extents (L);
    } return (L.from.x, ends[1:], L.marks, L[n - 1].marks[1]);"""
    found = run(text, L__from__x=[1, 2, 3], L__from__y=[4, 5, 6], L__to__x=[7, 8, 9], L__to__y=[10, 11, 12],
                L__marks=[[1, 2], [3, 4], [5, 6]], L__turn=np.zeros(3, complex))
    assert found == {"result1": [1, 2, 3], "result2.x": [8, 9], "result2.y": [11, 12],
                     "result3": [[1, 2], [3, 4], [5, 6]], "result4": 6}


def test_windows_slices_sections_and_updates_of_records():
    text = POINT + """
    uint8[:], uint8[:], point[:] f (point P[:,:]) {
        uint8 corners[:,:] = for window W[2,2] in P return (array (W[0,0].x + W[1,1].y));
        uint8 rows[:] = for V (~,:) in P return (array (V[0].y));
        point first[:] = P[0,:];
        first[1] = point (9, 9);
    } return (corners[0,:], rows, first);"""
    assert run(text, P__x=[[1, 2], [3, 4]], P__y=[[5, 6], [7, 8]]) == {
        "result1": [9], "result2": [5, 7], "result3.x": [1, 9], "result3.y": [5, 9]}


def test_components_advance_together_in_a_cross():
    text = POINT + """
    uint8[:,:], complex int8[:,:] f (point P[:], complex int8 Z[:]) {
        uint8 A[:,:] = for uint8 k in [2] cross p in P return (array (k + p.x * p.y));
        complex int8 B[:,:] = for uint8 k in [2] cross z in Z return (array (z * (int8)k));
    } return (A, B);"""
    assert run(text, P__x=[1, 2, 3], P__y=[4, 5, 6], Z=[1 + 2j, 3j]) == {
        "A": [[4, 10, 18], [5, 11, 19]], "B": [[0, 0], [1 + 2j, 3j]]}


def test_arrays_in_braces_hold_records():
    text = POINT + "point[2,2] f (point p) { point A[2,2] = {{p, {1, 2}}, {point (3, 4), p}}; } return (A);"
    assert run(text, p__x=8, p__y=9) == {"A.x": [[8, 1], [3, 8]], "A.y": [[9, 2], [4, 9]]}


@pytest.mark.parametrize("n, wanted", [(0, (1, 2)), (1, (3, 4)), (7, (5, 6))])
def test_conditionals_and_switches_give_records(n, wanted):
    text = POINT + """
    point, point f (uint8 n) {
        point p = switch (n) { case 0: return (point (1, 2)) case 1: return (point (3, 4))
                  default: return (point (5, 6)) };
        point q = if (n == 0) return (p) elif (n == 1) { point r = {3, 4}; } return (r)
                  else return (point (5, 6));
    } return (p, n < 9 ? q : p);"""
    assert tuple(run(text, n=n).values()) == wanted * 2


def test_loops_carry_records():
    text = POINT + """
    point, point f (point P[:], uint8 n) {
        point best = {0, 0};
        point far = for p in P { next best = p.x > best.x ? p : best; } return (final (best));
        point at = {0, n};
        point end = while (at.x < at.y) { next at = point (at.x + 1, at.y - 1); } return (final (at));
    } return (far, end);"""
    assert list(run(text, P__x=[3, 9, 4], P__y=[1, 2, 3], n=5).values()) == [9, 2, 3, 2]


def test_functions_take_and_give_records_in_any_order():
    text = "wrap g (wrap w) return (wrap (half (w.one)));" \
           "point half (point p) return (point (p.x / 2, p.y / 2));" \
           "point f (point p) return (g (wrap (p)).one);" \
           "struct wrap { point one; };" + POINT
    program = parse_sac(text)
    assert run(text, p__x=6, p__y=9) == {"result1.x": 3, "result1.y": 4}
    done, _ = program.optimised(["most"])
    assert {k: v.tolist() for k, v in done.run({"p.x": 6, "p.y": 9}).items()} == {"result1.x": 3, "result1.y": 4}


def test_parts_of_complex_numbers_are_fields():
    assert run("int8, int8 f (complex int8 z) return (z.real, z.imag);", z=3 - 4j) == {"result1": 3, "result2": -4}


def test_both_references_agree_on_arrays_inside_records(tmp_path):
    text = LINE + """
    line[:], line, uint8[:,:] f (line L[:,2], uint2 k) {
        line M[:] = for V (~,:) in L { line m = k > 1 ? V[1] : V[0]; } return (array (m));
        line last = M[0];
        line kept = for m in M { next last = m.marks[0] > last.marks[1] ? m : last; } return (final (last));
        line N[:] = M;
        N[0] = kept;
    } return (N, kept, N.marks);"""
    program = parse_sac(text)
    verify(program.module)
    for seed in range(3):
        check(program, seed, 3, tmp_path)


@pytest.mark.parametrize("text, message", [
    ("uint8 f (point p) return (p.z);", "2:29: point has no field 'z'; it has: x, y"),
    ("uint8 f (uint8 p) return (p.x);", "2:29: uint8 has no fields, so there is no '.x'"),
    ("point f (uint8 a) return (point (a));", "2:27: point lacks the field 'y': it has 2, and 1 are given"),
    ("point f (uint8 a) { point p = {a, a, a}; } return (p);", "2:31: point has 2 fields, and 3 are given"),
    ("point f (uint8 a[:]) return (point (1, a));", "2:40: field 'y' of point is a scalar, not uint8[:]"),
    ("point f (uint8 a) return (a);",
     "2:19: result 1 of 'f' is declared point, and the value is uint8: a record is assigned to a name of its own type"),
    ("uint8 f (point p) return (p);",
     "2:19: result 1 of 'f' is declared uint8, and the value is point: a record is assigned to a name of its own type"),
    ("struct other { uint8 x, y; }; point f (other p) return (p);",
     "2:49: result 1 of 'f' is declared point, and the value is other: a record is assigned to a name of its own type"),
    ("point f (point P[:]) return (P);",
     "2:22: result 1 of 'f' is declared point, and the value is point[:]: ranks 0 and 1 differ"),
    ("struct a { uint8 v; a next_one; }; uint8 f (uint8 x) return (x);",
     "2:8: record 'a' holds itself: a record has a size; indices into an array can stand for others"),
    ("struct a { b v; }; struct b { a v; }; uint8 f (uint8 x) return (x);",
     "2:8: record 'a' holds itself through b: a record has a size; indices into an array can stand for others"),
    ("struct a { uint8 v; uint8 v; }; uint8 f (uint8 x) return (x);", "2:27: record 'a' has two fields 'v'"),
    ("struct point { uint8 v; }; uint8 f (uint8 x) return (x);",
     "2:8: record 'point' is declared twice; the first time at line 1"),
    ("typedef struct tag { uint8 v; } a; uint8 f (uint8 x) return (x);",
     "2:16: 'struct tag' and its typedef 'a' are one record: give both one name"),
    ("struct a { pint v; }; uint8 f (uint8 x) return (x);",
     "2:12: 'pint' is no type; there are bool, bits5, int8, uint6, fix16.4, ufix8.8, float, double, and the records "
     "point"),
    ("uint8 point (uint8 x) return (x);", "2:7: 'point' is a record, and a function has another name"),
    ("uint8 f (point p) return (p + 1);",
     "2:29: '+' of point and uint1: operators are on numbers; r.field takes one of a record r"),
    ("bool f (point p) return (p == p);",
     "2:28: '==' of point and point: operators are on numbers; r.field takes one of a record r"),
    ("uint8 f (point p) return (-p);", "2:27: '-' of point: operators are on numbers; r.field takes one of a record r"),
    ("uint8 f (point P[:]) return (array_sum (P.x, P));",
     "2:30: array_sum(uint8[:], point[:]): the arrays hold numbers; take a field of records"),
    ("uint8 f (point P[:]) return (for p in P return (sum (p)));",
     "2:49: sum(...) reduces numbers, not point: take a field"),
    ("uint8 f (point p) return (p ? 1 : 2);", "2:27: a condition is a scalar, not point"),
    ("uint8 f (point p) return (point);", "2:27: 'point' is a record; a value of it is written point(...)"),
    ("point f (point p, uint8 a) return (a > 1 ? p : a);",
     "2:36: the bodies return point and uint8 in one place: a record stands where the others have the same"),
    ("struct s { uint8 v[2]; }; s[:] f (s P[:]) return (array_concat (P, P));",
     "2:51: array_concat(...) joins arrays of one type and rank, whose fields are no arrays, not s[:] and s[:]"),
    ("// PRAGMA (foreign)\npoint[:] sort (point P[:]); uint8 f (uint8 x) return (x);",
     "3:16: foreign function 'sort' takes and gives numbers and arrays of them, not point[:]: name its fields"),
])
def test_mistakes(text, message):
    with pytest.raises(SacError) as error:
        parse_sac(POINT + text, "p.sc")
    assert str(error.value) == f"p.sc:{message}"


CROSSED = POINT + """
uint8[:,:], uint8[:,:], point[:,:] main (point P[4], uint8 A[:], uint8 B[:]) {
    uint8 R[:,:] = for uint8 k in [2] cross p in P return (array (k + p.x * p.y));
    uint8 S[:,:] = for a in A dot b in B cross r in R[0,:] return (array (a * b + r));
    point T[:,:] = for window W[2] in P cross p in P return (array (point (W[0].x + p.y, W[1].y)));
} return (R, S, T);"""


@pytest.mark.parametrize("passes", [*([name] for name in PASSES), ["all"], ["most"]], ids=lambda names: names[0])
def test_passes_meet_generators_inside_a_cross(passes):
    check_passes(parse_sac(CROSSED), passes, 3)

"""Structures in C: every field is a variable of its own; gcc's code of the same file, with its layout, is the
reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_reference import call, compile_c
from c_targets import gcc_results, inputs_of

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.interpret import interpret

HEAD = """#include <stdint.h>
#include <string.h>
#include <stdbool.h>
enum { TAPS = 3 };
struct px { uint8_t r, g, b; };
typedef struct { int16_t x, y; } point;
struct shape { int8_t kind; point at[2]; int32_t weight[TAPS]; };
"""
POINT = np.dtype([("x", np.int16), ("y", np.int16)], align=True)
SHAPE = np.dtype([("kind", np.int8), ("at", POINT, 2), ("weight", np.int32, 3)], align=True)
PX = np.dtype([("r", np.uint8), ("g", np.uint8), ("b", np.uint8)])
BODIES = {
    "fields": ("", "y[i] = (in[i].r + 2 * in[i].g + in[i].b) / 4;"),
    "nested": ("", "y[i] = s[i].at[1].x * s[i].at[0].y + s[i].weight[2] - s[i].kind;"),
    "local_copy": ("", "struct px q = in[i], p; p = q; p.r += 3; y[i] = p.r * 256 + q.r + p.b;"),
    "copy_with_arrays": ("", "struct shape q, p = s[i]; q = p; q.at[0] = p.at[1]; y[i] = q.at[0].x + q.weight[1];"),
    "initialised": ("", "struct shape q = {1, {{2, in[i].r}, 3, 4}, .weight = {[1] = in[i].g}}; "
                    "y[i] = q.kind + q.at[0].x + 3 * q.at[0].y + 5 * q.at[1].y + q.weight[1] + 7 * q.weight[2];"),
    "flat": ("", "struct shape q = {1, 2, in[i].r, 3, 4, 5, in[i].g, 7}; "
             "y[i] = q.at[0].y * 3 + q.at[1].x + q.weight[0] * q.weight[1] + q.weight[2];"),
    "table": ("static const struct px T[] = {{1, 2, 3}, {.b = 9}, [3] = {7}, {4, 5}};",
              "y[i] = T[in[i].r & 3].r + T[in[i].g & 3].b * T[4].g + sizeof(T);"),
    "literal": ("", "struct px q = in[i]; q = (struct px){q.b, q.r, .b = 1}; y[i] = q.r * 65536 + q.g * 256 + q.b;"),
    "choice": ("", "struct px q = in[i]; q = q.r > 99 ? in[15 - i] : q; y[i] = q.r * 65536 + q.g * 256 + q.b;"),
    "pointer": ("", "const struct px *p = &in[i]; const struct shape *t = s + i; "
                "y[i] = p->r - p->b + t->at[1].y + (*p).g + (s + 15 - i)->weight[0];"),
    "by_value": ("static int sum(struct px p, int k) { p.r += k; return p.r + p.g; }",
                 "y[i] = sum(in[i], 3) + sum((struct px){1, 2, 3}, i) + in[i].r;"),
    "by_pointer": ("static void put(struct px *p, int v) { p->r = v; p->g = v >> 8; if (v & 1) { p->b = 1; return; } "
                   "p->b = 2; }", "struct px q; put(&q, s[i].weight[0]); y[i] = q.r + 300 * q.g + q.b;"),
    "returned": ("static struct px mean(struct px a, struct px b) { if (a.r == b.r) return a; struct px m = "
                 "{(a.r + b.r) / 2, (a.g + b.g) / 2}; return m; }",
                 "struct px q = mean(in[i], in[15 - i]); q = mean(q, q); y[i] = q.r + q.g * 256 + mean(in[i], q).r;"),
    "sizes": ("", "y[i] = sizeof(struct shape) + sizeof(in[0]) * sizeof(point) + sizeof s[0].weight + sizeof in[i].r;"),
    "shadowed": ("", "struct px q = in[i]; { int r = 5; struct { int32_t r; } q; q.r = r * 1000; y[i] = q.r; } "
                 "y[i] += q.r;"),
    "names": ("", "int q_r = 5; struct px q = in[i]; y[i] = q_r * 1000 + q.r;"),
    "bytes": ("", "struct shape q, t; memset(&q, 0, sizeof q);"
              "q.weight[1] = in[i].r; q.at[1].y += 3; t = q; "
              "q.kind = 7; memcpy(&t, (void *)&q, sizeof(struct shape)); y[i] = t.weight[0] + t.weight[1] * 9 "
              "+ t.at[1].y + t.kind + t.at[0].x;"),
    "written": ("", "o[i] = in[15 - i]; o[i].g ^= 85; y[i] = 0;"),
}
NAMES = list(BODIES)


def _text(name: str) -> str:
    before, body = BODIES[name]
    return (f"{HEAD}{before}\nvoid {name}(const struct px in[16], const struct shape *s, struct px o[16], "
            f"int32_t y[16]) {{\n#pragma scop\n  for (int i = 0; i < 16; i++) {{\n    {body}\n  }}\n#pragma endscop\n}}"
            "\n")


def _filled(dtype: np.dtype) -> np.ndarray:
    return np.frombuffer(np.random.default_rng(1).bytes(16 * dtype.itemsize), dtype).copy()


def _leaf(array: np.ndarray, name: str) -> np.ndarray:
    """The values of the variable ``in_r`` or ``s_at_x``."""
    found = array
    for part in name.removesuffix("_in").split("_")[1:]:
        found = found[part]
    return np.ascontiguousarray(found)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("gcc"), {name: _text(name) for name in BODIES})


@pytest.mark.parametrize("name", BODIES)
def test_structures_compute_what_gcc_computes(name, library):
    program = parse_scop(_text(name))
    pixels, shapes, out, y = _filled(PX), _filled(SHAPE), _filled(PX), np.zeros(16, np.int32)
    given = {"in": pixels, "s": shapes, "o": out.copy()}
    inputs = {a.name: _leaf(given[a.name.split("_")[0]], a.name)[:a.shape[0]] for a in program.inputs}
    call(library, name, [pixels, shapes, out, y])
    results = interpret(program, inputs)
    np.testing.assert_array_equal(results.pop("y"), y)
    for array, values in results.items():
        np.testing.assert_array_equal(values, _leaf(out, array))
    assert name != "written" or set(results) == {"o_r", "o_g", "o_b"}


@pytest.mark.parametrize(("text", "message"), [
    ("struct p { int a; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\ny[0] = x[0].b;\n#pragma endscop\n}",
     "scop.c:4:13: the structure has no field 'b'; it has a"),
    ("struct p { int a : 3; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\ny[0] = x[0].a;\n#pragma endscop\n}",
     "unions, and structures with pointers, bit fields or fields that are no numbers, cannot be compiled; "
     "make the fields arrays of their own"),
    ("struct p { int a[5000]; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\nx[0] = x[1];\ny[0] = 1;\n"
     "#pragma endscop\n}", "copies a structure of 5000 numbers one by one; write a loop over its array"),
    ("struct p { int a; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\nstruct p q = {1, 2};\ny[0] = q.a;\n"
     "#pragma endscop\n}", "more values than there are fields or elements"),
    ("struct p { int a; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\nstruct p q = {.b = 2};\ny[0] = q.a;\n"
     "#pragma endscop\n}", "a designator names no field; there are a"),
])
def test_refusals(text, message):
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(text)


def test_structures_outside_the_scop_may_be_anything():
    text = ("struct list { struct list *next; union { int a; float b; } u; int bits : 3; };\n"
            "struct list *last(struct list *l) { while (l->next) l = l->next; return l; }\n"
            "void f(struct list *l, int y[4]) {\n  l->bits = 1;\n#pragma scop\n  y[0] = y[1] = y[2] = y[3] = 5;\n"
            "#pragma endscop\n  l->u.a = y[0];\n}\n")
    assert interpret(parse_scop(text, function="f"), {})["y"].tolist() == [5] * 4


CHANGED = """
struct s { int v[2]; int w; };
static int g(struct s PARAMETER) { BEGIN q.v[0] = 9; q.w = 5; return q.v[0] + q.v[1] + q.w; }
void f(const int x[4], int y[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    struct s t = {{x[i], 2}, 3};
    int r = g(t);
    y[i] = r * 100 + t.v[0] * 10 + t.w;
  }
#pragma endscop
}
"""


@pytest.mark.parametrize(("parameter", "begin"), [("q", ""), ("p", "struct s q = p;")])
def test_a_structure_with_arrays_is_changed_in_a_copy(parameter, begin):
    _require_gcc(CHANGED.replace("PARAMETER", parameter).replace("BEGIN", begin))


ALIASED = """
struct s { int v[2]; int w; };
static struct s all;
static void store(struct s *p) { p->v[0] = 9; }
static int g(struct s q, struct s *p) { CHANGE return q.v[0] * 7 + q.w; }
void f(const int x[4], int y[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    struct s t = {{x[i], 2}, 3};
    all.v[0] = x[i]; all.v[1] = 1; all.w = 6;
    int r = g(WHAT, &t);
    y[i] = r * 100 + t.v[0] * 10 + t.w;
  }
#pragma endscop
}
"""


@pytest.mark.parametrize(("change", "what"), [
    ("p->v[0] = 4;", "t"), ("(*p).v[0]++;", "t"), ("store(p);", "t"), ("all.v[0] = 2;", "all"),
    ("struct s *z = p; z->v[0] = 5;", "t"),
])
def test_a_structure_with_arrays_is_a_copy_of_what_changes_meanwhile(change, what):
    _require_gcc(ALIASED.replace("CHANGE", change).replace("WHAT", what))


def _require_gcc(text: str) -> None:
    data = {"x": np.arange(4, dtype=np.int32), "y": np.zeros(4, np.int32)}
    program = parse_scop(text, function="f")
    np.testing.assert_array_equal(interpret(program, inputs_of(program, data))["y"], gcc_results(text, "f", data)["y"])

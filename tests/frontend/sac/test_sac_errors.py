"""What is no SA-C, and runs without a result: one line with the place in the source."""

import os
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sac_mutations import mutate

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacRunError, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.dfg import convert_loops
from compiler.ir.types import ProgramError
from hw.errors import SluiceError

STATIC = [
    ("uint8 f (uint8 a) { uint8 b = a; uint8 b = 2; } return (b);",
     "p.sc:1:40: 'b' is assigned twice in one body; the first time at line 1"),
    ("uint8 f (uint8 a) return (c);", "p.sc:1:27: 'c' has no value here"),
    ("uint8 f (uint8 a) return (f);", "p.sc:1:27: 'f' is a function; a call of it is written f(...)"),
    ("uint8 f (uint8 a) return (g (a));", "p.sc:1:27: there is no function 'g'"),
    ("uint8 f (uint8 a) return (f (a));", "p.sc:1:7: 'f' calls itself: functions are not recursive"),
    ("uint8 f (uint8 a) return (g (a)); uint8 g (uint8 a) return (f (a));",
     "p.sc:1:7: 'f' calls itself through g: functions are not recursive"),
    ("uint8 f (uint8 a); uint8 g (uint8 a) return (a);", "p.sc:1:7: 'f' has a prototype and no body"),
    ("uint8 f (int8 a); uint8 f (uint8 a) return (a);",
     "p.sc:1:25: 'f' and its prototype at line 1 have different types"),
    ("uint8 f (uint33 a) return (a);", "p.sc:1:10: type uint33 has 33 bits; there are 1 to 32"),
    ("uint8 f (ufix8.9 a) return (a);", "p.sc:1:10: type ufix8.9 has more bits behind the point than bits"),
    ("uint8 f (complex uint8 a) return (1);",
     "p.sc:1:10: complex numbers have parts with a sign: int, fix, float or double, not uint8"),
    ("uint8 f (uint8 a[:]) return (a);",
     "p.sc:1:22: result 1 of 'f' is declared uint8, and the value is uint8[:]: ranks 0 and 1 differ"),
    ("uint8 f (uint8 a[:]) return (a + 1);",
     "p.sc:1:32: '+' of uint8[:] and uint1: operators are on scalars; a loop such as for a in A return (array (...)) "
     "takes the elements"),
    ("uint8 f (uint8 a[:]) return (-a);", "p.sc:1:30: '-' of uint8[:]: operators are on scalars; a loop such as for "
                                          "a in A "
                                          "return (array (...)) takes the elements"),
    ("uint8 f (uint8 a) { a = 3; } return (a);",
     "p.sc:1:21: 'a' has a value already, and a name has one: define another name, with its type"),
    ("uint8 f (uint8 a) { b = 3; } return (b);",
     "p.sc:1:21: 'b' is new here: write its type before it, such as uint8 b = ..."),
    ("uint8 f (uint8 a[:]) { uint8 s = 0; uint8 r = for x in a { next s = x; s = 1; } return (final (s)); } return "
     "(r);",
     "p.sc:1:72: 's' has a value already, and a name has one; the loop carries another: next s = ..."),
    ("uint8 f (uint8 a[3]) { uint8 b[4] = a; } return (b[0]);",
     "p.sc:1:30: 'b' is declared uint8[4], and the value is uint8[3]: extents differ"),
    ("uint8 f (uint8 a, uint8 b[:]) return (a > 1 ? a : b);",
     "p.sc:1:39: the bodies return uint8 and uint8[:] in one place: ranks differ"),
    ("uint8 f (uint8 a, complex int8 b) return (a < b);",
     "p.sc:1:45: '<' of uint8 and complex int8: complex numbers have + - * / == !="),
    ("uint8 f (uint8 a[:], int8 b[:]) return (array_concat (a, b));",
     "p.sc:1:41: array_concat(...) joins arrays of one type and rank, not uint8[:] and int8[:]"),
    ("uint8 f (uint8 a) return (g (a)); uint8 g (uint8 x[:]) return (x[0]);",
     "p.sc:1:30: parameter 'x' of 'g' is declared uint8[:], and the value is uint8: ranks 1 and 0 differ"),
    ("uint8 f (uint8 a) return (g (a, a)); uint8 g (uint8 x) return (x);", "p.sc:1:27: 'g' takes 1 arguments, not 2"),
    ("uint8 f (uint8 a, double b) return (a << b);",
     "p.sc:1:39: uint8 shifted by double: what is shifted has bits, and the amount is an integer"),
    ("uint8 f (uint8 a[:]) return (for x in a return (vals_at_maxs (x, {x, (int8)x})));",
     "p.sc:1:49: the captures of vals_at_maxs have different types: uint8, int8; cast them to one"),
    ("uint8 f (uint8 a) { uint8 X[2,2] = {{1,2},{3}}; } return (a);",
     "p.sc:1:43: 1 elements in braces where 'X' has an extent of 2"),
    ("uint8 f (uint8 a) { uint8 X[:] = {1,2}; } return (a);",
     "p.sc:1:34: 'X' needs its extents as numbers, to be given elements in braces"),
    ("uint8 f (uint8 a[:,:]) return (a[1]);", "p.sc:1:32: 1 subscripts of uint8[:,:], which has 2 dimensions"),
    ("uint8 f (uint8 a[:], ufix8.4 i) return (a[i]);", "p.sc:1:43: an index is an integer, not ufix8.4"),
    ("uint8 f (bits8 a) return (a + 1);",
     "p.sc:1:29: bits8 and uint1: bits8 has no arithmetic: cast it to a number, such as (uint8)"),
    ("uint8 f (ufix8.4 a) return (a & 1);",
     "p.sc:1:31: ufix8.4 and uint1: ufix8.4 has no bitwise operations: cast it to bits"),
    ("double f (double a) return (a % 2.0);",
     "p.sc:1:31: '%' of double and double: floating-point numbers have fmod(...)"),
    ("uint8 f (uint8 a) return (a, a);", "p.sc:1:19: 'f' returns 2 values and is declared with 1"),
    ("uint8 f (uint8 a) { uint8 x, uint8 y = a; } return (x);",
     "p.sc:1:21: 2 names for 1 values; a value that is not wanted is called _"),
    ("uint8 f (uint8 a) { next a = 1; } return (a);",
     "p.sc:1:26: 'next a' is allowed only directly in the body of a loop"),
    ("uint8 f (uint8 a) { uint8 b = if (a > 1) return (a); } return (b);",
     "p.sc:1:31: a conditional is an expression and needs an else, which says its value otherwise"),
    ("uint8 f (uint8 a) { uint8 b = switch (a) { case 1: return (2) }; } return (b);",
     "p.sc:1:31: a switch on uint8 needs a default: its cases do not name every value"),
    ("uint8 f (uint8 a) { uint8 b = switch (a) { case 1, 1: return (2) default: return (3) }; } return (b);",
     "p.sc:1:52: case 1 stands twice"),
    ("uint8 f (uint8 a[:]) return (for x in a return (x));",
     "p.sc:1:49: a loop returns one of: array, tile, concat, sum, product, min, max, and, or, mean, st_dev, median, "
     "mode, histogram, vals_at_maxs, vals_at_mins, vals_at_first_max, vals_at_first_min, vals_at_last_max, "
     "vals_at_last_min, accum, final; each is written NAME(value)"),
    ("uint8 f (uint8 a[:]) return (sum (a));",
     "p.sc:1:30: sum(...) is what a loop returns, directly behind its return; array_sum(...) reduces an array"),
    ("uint8 f (uint8 a[3], uint8 b[4]) return (for x in a dot y in b return (sum (x)));",
     "p.sc:1:46: generators that are joined by dot have equal shapes, and these have extents 3 and 4 in dimension 0"),
    ("uint8 f (uint8 a[:], uint8 b[:,:]) return (for x in a dot y in b return (sum (x)));",
     "p.sc:1:48: generators that are joined by dot have equal shapes, and these have ranks 1 and 2"),
    ("uint8 f (uint8 a[:,:]) return (for window W[3] in a return (sum (W[0])));",
     "p.sc:1:36: 'W' takes 1 dimensions of uint8[:,:], which has 2"),
    ("uint8 f (uint8 a[:]) return (for window W[0] in a return (sum (W[0])));",
     "p.sc:1:43: a window of size 0 holds nothing"),
    ("uint8 f (uint8 a[:]) return (for x in a step (0) return (sum (x)));", "p.sc:1:47: a step of 0 goes nowhere"),
    ("uint8 f (uint8 a[:]) return (for x in a return (concat (x)));",
     "p.sc:1:49: concat(...) joins arrays, not uint8; array(...) collects scalars"),
    ("uint8 f (bool a[:]) return (for x in a return (sum (x)));",
     "p.sc:1:48: sum(...) is of numbers, not bool: cast it to one that has room for the result, such as (uint16)"),
    ("uint8 f (uint8 a) return (1 / 0);", "p.sc:1:29: division by zero"),
    ("uint8 f (uint8 a) return (4294967296);", "p.sc:1:27: 4294967296 has more than 32 bits"),
    ("uint8 f (uint8 a) return (a;", "p.sc:1:28: ';' was not expected here; expected: ')' or ','"),
    ("uint8 f (uint8 a) {", "p.sc:1:19: the text ends inside a function"),
    ("uint8 f (uint8 a) return (a $ 2);", "p.sc:1:29: '$' is no part of SA-C"),
    ("uint8 f (uint8 a) return (" + "(" * 300 + "a", "p.sc:1:226: brackets are nested more than 200 deep"),
    ("// PRAGMA (unroll)\nuint8 f (uint8 a) return (a);",
     "p.sc:1:1: there is no pragma 'unroll' of functions; there are: lookup, no_inline, no_dfg"),
    ("uint8[:] f (uint8 a[:]) return (\n// PRAGMA (stripmine)\nfor x in a return (array (x)));",
     "p.sc:2:1: pragma 'stripmine' has 0 numbers; it is written // PRAGMA (stripmine (4, 5))"),
    ("uint8 f (uint8 a) {\n// PRAGMA (no_dfg)\nuint8 b = a; } return (b);",
     "p.sc:2:1: pragma 'no_dfg' stands before a definition by something that is no loop"),
    ("", "p.sc has no function"),
    ("uint8 f (uint8 a) return (a); uint8 g (uint8 a) return (a);",
     "p.sc has no function 'main', and several that no other calls: f, g; name one with --function"),
]


@pytest.mark.parametrize("text, message", STATIC)
def test_static_errors(text, message):
    with pytest.raises(ProgramError) as error:
        parse_sac(text, "p.sc")
    assert str(error.value) == message


RUNS = [
    ("uint8 f (uint8 a[:], uint8 i) return (a[i]);", {"a": [1, 2], "i": 2},
     "p.sc:1:39: index 2 in dimension 0 of an array whose extent there is 2"),
    ("uint8[:] f (uint8 a[:], uint8 i) return (a[1:i]);", {"a": [1, 2], "i": 3},
     "p.sc:1:42: section 1:3 in dimension 0 of an array whose extent there is 2"),
    ("uint8 f (uint8 a, uint8 b) return (a / b);", {"a": 1, "b": 0}, "p.sc:1:38: division by zero"),
    ("uint8 f (uint8 a, int8 b) return (a << b);", {"a": 1, "b": -3},
     "p.sc:1:37: a shift by -3 bits; amounts are not negative"),
    ("uint8 f (uint8 a[:], uint8 b[:]) return (for x in a dot y in b return (sum (x)));", {"a": [1], "b": [1, 2]},
     "p.sc:1:46: generators that are joined by dot have shapes [1] and [2]"),
    ("uint8[:,:] f (uint8 n) return (for uint8 i in [n] { uint8 P[:] = for uint8 j in [i] return (array (j)); } "
     "return (array (P)));", {"n": 3}, "p.sc:1:115: the arrays of the iterations have different shapes"),
    ("uint32[:] f (uint8 a[:]) return (for x in a return (histogram (x, 4)));", {"a": [1, 4]},
     "p.sc:1:53: label 4 for a result with an extent of 4"),
    ("uint8 f (uint8 a[:], uint8 n) return (for window W[n] in a return (sum (W[0])));", {"a": [1], "n": 0},
     "p.sc:1:43: a window's size of 0; it is at least 1"),
    ("uint8 f (uint8 a[:]) return (g (a)); uint8 g (uint8 a[3]) return (a[0]);", {"a": [1, 2]},
     "p.sc:1:33: an array declared uint8[3] has an extent of 2 in dimension 0"),
    ("uint8 f (uint8 a) return (while (a > 0) { next a = 1; } return (final (a)));", {"a": 1},
     "p.sc:1:27: this while loop runs more than 1000 times (set SLUICE_MAX_WHILE_ITERATIONS above 1000 to go on)"),
    ("uint8 f (uint8 a[:]) return (for x in a return (vals_at_first_max (x, x)));", {"a": np.zeros(0, int)},
     "p.sc:1:49: there is no iteration with an extreme value: none is taken"),
]


@pytest.mark.parametrize("text, inputs, message", RUNS)
def test_errors_of_runs(text, inputs, message, monkeypatch):
    monkeypatch.setenv("SLUICE_MAX_WHILE_ITERATIONS", "1000")
    with pytest.raises(SacRunError) as error:
        parse_sac(text, "p.sc").run({name: np.asarray(value) for name, value in inputs.items()})
    assert str(error.value) == message


@pytest.mark.parametrize("inputs, message", [
    ({}, "input a of program p is missing"),
    ({"a": 1, "b": 2}, "program p has no input 'b'; it has: a"),
    ({"a": 256}, "input a holds 256, which is no uint8"),
    ({"a": 1.5}, "input a holds 1.5, which is no uint8"),
    ({"a": [1]}, "input a has 1 dimensions, and its type uint8 has 0"),
    ({"a": 1j}, "input a holds complex128, and its type is uint8"),
])
def test_inputs_that_do_not_fit(inputs, message):
    with pytest.raises(ProgramError) as error:
        parse_sac("uint8 f (uint8 a) return (a);", "p.sc").run(inputs)
    assert str(error.value) == message


@given(st.integers(0, 2**32))
@settings(max_examples=2000 if os.environ.get("SLUICE_FUZZ") else 60)
def test_mutated_programs_end_with_a_result_or_one_line(seed):
    """Mistakes in programs end with one line, which has a place in the source, and nothing crashes."""
    chance = random.Random(seed)
    texts = [path.read_text() for path in sac_applications().values()]
    try:
        program = parse_sac(mutate(chance.choice(texts), chance), "p.sc")
    except SluiceError as error:
        assert re.fullmatch(r"p\.sc(:\d+:\d+: | has )[^\n]+", str(error))
        return
    convert_loops(program.module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_MAX_WHILE_ITERATIONS", "100")
        try:
            program.run(random_inputs(program, 1, 6))
        except SluiceError as error:
            assert re.fullmatch(r"p\.sc:\d+:\d+: [^\n]+", str(error)) or "input" in str(error)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ProgramError, match=r"^there is no application file .*none\.sc$"):
        load_sac(tmp_path / "none.sc")
    (tmp_path / "binary.sc").write_bytes(b"\xff\xfe")
    with pytest.raises(ProgramError, match=r"binary\.sc cannot be read: it is no text in UTF-8$"):
        load_sac(tmp_path / "binary.sc")

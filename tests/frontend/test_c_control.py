"""Jumps and counted loops of every form, compared with gcc."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, gcc_results, inputs_of, require_gcc_results

from compiler.frontend.c_scop import ScopError, load_c, parse_scop
from compiler.ir.interpret import interpret

LOOP = "for (int i = 0; i < 16; i++) {{ {} }}"
BODIES = {
    "switch": LOOP.format("""switch (a[i] & 3) { case 0: y[i] = a[i]; break; case 1: case 2: y[i] = -a[i]; break;
      default: y[i] = 7; }"""),
    "switch that falls through": LOOP.format("""y[i] = 0; switch (a[i] & 3) { case 2: y[i] += 5; default: y[i] += 1;
      case 0: y[i] += 10; break; case 1: y[i] = 3; }"""),
    "switch without default": LOOP.format("y[i] = 1; switch (a[i]) { case -3: case 4: { y[i] = 2; break; } }"),
    "switch on an iterator": LOOP.format("""switch (i % 3) { case 0: y[i] = a[i]; break; case 1: y[i] = 1; break;
      case 2: y[i] = 2 * a[i]; }"""),
    "nested switch": LOOP.format("""switch (a[i] & 1) { case 0: switch (i & 1) { case 0: y[i] = 1; break;
      default: y[i] = 2; } break; default: y[i] = 3; }"""),
    "continue": LOOP.format("if (a[i] < 0) continue; y[i] = a[i];"),
    "continue behind statements": LOOP.format("""y[i] = 1; if (a[i] < 0) { y[i] = 2; continue; } y[i] += a[i];
      z[i] = 4;"""),
    "continue on iterators": LOOP.format("if (i % 4 == 1) continue; y[i] = a[i];"),
    "continue in nested ifs": LOOP.format("""if (a[i] < 0) { if (i & 1) continue; y[i] = 5; } else { z[i] = 1; }
      z[i] = a[i] + 1;"""),
    "continue twice": LOOP.format("if (a[i] < 0) continue; y[i] = 1; if (a[i] > 50) { continue; } z[i] = 2;"),
    "continue in both branches": LOOP.format("""if (a[i] < 0) { y[i] = 1; continue; } else { y[i] = 2; continue; }
      z[i] = 1;"""),
    "while": "int i = 0; while (i < 16) { y[i] = a[i] + 200; i++; }",
    "while with a step": "int i; i = 1; while (i <= 13) { y[i] = a[i]; i += 3; }",
    "while in a loop": "for (int k = 0; k < 4; k++) { int j = k; while (j < 16) { y[j] = a[j] + k; j += 4; } }",
    "down to zero": "for (unsigned i = 16; i-- > 0;) y[i] = a[i] + 1;",
    "down to zero, bare": "for (int i = 16; i--;) y[i] = a[i] - i;",
    "down to a bound": "for (int i = 12; i-- > 3;) { y[i] = a[i]; z[15 - i] = i; }",
    "two counters": "for (int i = 0, j = 15; i < j; i++, j--) y[i] = a[j] - j;",
    "two counters, other steps": "for (int i = 0, j = 1; i < 5; i += 1, j += 3) y[i] = a[j];",
    "two counters, first by two": "for (int i = 15, j = 0; i > j; i -= 2, ++j) { y[i] = a[j]; y[j] = j; }",
    "doubling": "for (int s = 1; s < 16; s *= 2) for (int i = 15; i >= s; i--) z[i] += z[i - s];",
    "shifting": "for (unsigned s = 8; s > 0; s >>= 1) for (int i = 0; i < 16; i++) y[i] += a[i] * (int)s;",
    "steps by a doubled counter": """for (int s = 1; s < 16; s *= 2) for (int g = 0; g < 16; g += 2 * s)
      for (int k = g; k < g + s; k++) { y[k] += a[k + s]; y[k + s] += a[k]; }""",
    "steps by a counter": "for (int p = 2; p < 5; p++) for (unsigned k = 2 * p; k < 16; k += p) y[k] = p;",
    "a step in a subscript": "int k = 0; for (int i = 0; i < 16; i += 2) y[k++] = a[i];",
    "steps on both sides": "int i = 3, j = 16; for (int k = 0; k < 9; k++) y[--j] = a[i++] + k;",
    "steps in initialisers": """int k = 0; for (int i = 0; i < 8; i++) { int u = a[k++]; int v = a[k++];
      y[i] = u - v; }""",
    "a step behind an if": """int k = 15; for (int i = 0; i < 4; i++) { if (a[i] > 0) z[i] = 1; else z[i] = 2;
      y[k--] = i; }""",
    "two counters from a variable": """for (int k = 2; k < 9; k++)
      for (int i = k, j = 15; i < j; i++, j -= 2) y[i] = a[j];""",
    "a counter after its last test": "int i; for (i = 8; i-- > 2;) y[i] = a[i]; z[i + 1] = i;",
    "a counter without sign after its last test": "unsigned i; for (i = 8; i-- > 0;) y[i] = a[i]; z[0] = i >> 31;",
    "a counter whose loop is empty": "int i; for (i = 1; i-- > 4;) y[i] = a[i]; z[2] = i;",
    "a doubled counter after its loop": "int s; for (s = 1; s < 12; s *= 2) y[s] = a[s]; z[1] = s;",
    "a while loop's counter after it": "int i = 0; while (i < 6) { y[i] = a[i]; i += 4; } z[0] = i;",
    "break first": "for (int i = 0; i < 16; i++) { if (i == 9) break; y[i] = a[i]; }",
    "break last": "for (int i = 0; i < 16; i++) { y[i] = a[i]; if (i > 4) break; }",
    "break mid": "for (int i = 0; i < 16; i++) { y[i] = a[i]; if (i * 2 > 9) { z[i] = 3; break; } z[i] += i; }",
    "break nested": """for (int k = 0; k < 5; k++) for (int i = k; i < 16; i++) { if (i > 2 * k + 1) break;
      y[i] += a[k]; }""",
    "break nested2": """for (int k = 0; k < 5; k++) { int i; for (i = 0; i < 16; i++) { z[i] += 1; if (i == 2 *
      k + 1) break; y[i] += a[k]; } y[k] += i; if (k == 3) break; z[15 - k] = 9; }""",
    "break in outer with data": """for (int k = 0; k < 5; k++) { if (a[k] > 3) { for (int i = 0; i < 16; i++) {
      if (i > k) break; y[i] += a[k]; } } }""",
    "break else": "for (int i = 0; i < 16; i++) { if (i < 7) y[i] = a[i]; else break; }",
    "break and continue": """for (int i = 0; i < 16; i++) { if (i % 3 == 0) continue; if (i > 10) break; y[i] =
      a[i]; if (a[i] > 2) continue; z[i] = i; }""",
    "break local": "for (int i = 0; i < 16; i++) { int k = i * 3; y[i] = k; if (k > 20) break; z[i] = a[k & 15]; }",
    "forever": "for (int i = 0; ; i++) { if (i == 9) break; y[i] = a[i]; }",
    "while 1": "int i = 0; while (1) { if (i >= 9) break; y[i] = a[i]; i++; } z[i] = i;",
    "while break": "int i = 0; while (i < 16) { y[i] = a[i]; if (i == 9) break; z[i] = 7; i += 3; } z[i] = i;",
    "do": "int i = 0; do { y[i] = a[i]; i++; } while (i < 9); z[i] = i;",
    "do once": "int i = 12; do { y[i] = a[i]; i++; } while (i < 9); z[i] = i;",
    "do pre": "int i = 2; do { y[i] = a[i]; } while (++i < 9); z[i] = i;",
    "do post": "int i = 2; do { y[i] = a[i]; } while (i++ < 9); z[i] = i;",
    "do down": "int i = 7; do y[i] = a[i]; while (--i); z[i] = i;",
    "do down post": "int i = 7; do y[i] = a[i]; while (i-- > 0); z[i + 1] = i;",
    "do 0": "for (int i = 0; i < 16; i++) { do { y[i] = a[i]; z[i] = 2; } while (0); }",
    "do in loop": "for (int k = 0; k < 4; k++) { int j = k; do { y[j] = a[j] + k; j += 4; } while (j < 16); }",
    "do break": "int i = 0; do { y[i] = a[i]; if (i == 4) break; z[i] = 8; i++; } while (i < 9); z[15] = i;",
    "while post": "int n = 9; while (n-- > 0) { y[n] = a[n]; } z[n + 1] = n;",
    "while post bare": "unsigned n = 9; while (n--) y[n] = a[n]; z[0] = n >> 30;",
    "two stepped in the body": "int i = 0, j = 15; while (i < j) { y[i] = a[i] - a[j]; i++; j--; } z[i] = j;",
    "the other one last": "int i = 0, j = 15; while (i < j) { y[i] = a[j]; j -= 2; i++; } z[i] = j;",
    "a bound that moves": "int n = 12; for (int i = 0; i < n; i++) { y[i] = a[i]; n--; } z[n] = n;",
    "a bound that moves, in a loop": """for (int k = 1; k < 4; k++) { int n = 4 * k; for (int i = 0; i < n; i += 2) {
      y[i] += a[i]; n -= 1; z[i] = n; } }""",
    "a do loop's bound that moves": """int i = 0, n = 9; do { y[i] = a[n]; n -= 2; i++; } while (i < n); z[0] = n;
      z[1] = i;""",
    "a sum in the head": "int s = 0; for (int i = 0; s + i < 40; i++) { y[i] = a[i]; s += 3; } z[0] = s;",
    "two outside": "int i, j; for (i = 0, j = 15; i < j; i++, j--) y[i] = a[j] - j; z[i] = j;",
    "two outside narrow": "int i; uint8_t j; for (i = 0, j = 3; i < 9; i++, j--) y[i] = a[j & 15] + j; z[i] = j;",
    "two narrow": "for (uint8_t i = 0, j = 3; i < 9; i++, j--) y[i] = a[j & 15] + j;",
    "two dependent": "for (int i = 2, j = i; i < 9; i++, j += 1) y[i] = a[j] + j;",
    "two unsigned": "for (unsigned i = 14, j = 1; i > 3; i -= 3, j += 2) y[i] = a[j] + j;",
    "two in loop": "int i, j; for (int k = 2; k < 9; k++) for (i = k, j = 15; i < j; i++, j -= 2) y[i] = a[j];",
    "two, of which one is hidden": "for (int i = 0, j = 9; i < j; i++, j--) for (int i = 0; i < 2; i++) y[j] += i;",
    "steps that are not set": "int k = 3, l = 0; for (int i = 0; i < 5; i++, k += 2, l++) y[k] = a[i]; z[l] = k;",
    "values that are not stepped": "int i, s; for (s = 3, i = 0; i < 9; i++) { s += a[i]; y[i] = s; } z[i] = s;",
    "steps that multiply": "for (int i = 0, m = 1; i < 9; i++, m *= 3) { if (a[i] < 0) continue; y[i] = m; }",
    "a value used before the loop": "int i = 3; y[0] = i; while (i < 9) { z[i] = a[i]; y[i] = i; i += 2; } z[15] = i;",
    "a step before the end": "int i = 0, s = 0; while (i < 9) { y[i] = s; i++; s += a[s & 7]; z[s & 15] = 3; }",
    "nothing set in the head": "int n = 9, k = 1; for (; n > 1; n -= 2, k++) y[n] = a[k]; z[n] = k;",
    "a step from another variable": """int p = 12, q = a[0] & 15; \n#pragma sluice max_trips(9)
      while (q != 0) { int t = p % q; p = q; q = t; y[t] = p; } z[0] = p;""",
    "three": "int i, j, k; for (i = 0, j = 15, k = i; i < j; i++, j--, k += 2) y[i] = a[j] - k; z[i] = j + k;",
    "wrap": "for (int i = 0; i < 16; i++) { y[i] = a[(uint8_t)(i * 50) & 15]; }",
    "wrap2": "for (int i = 0; i < 16; i++) { y[i] = a[(uint8_t)(i - 3) / 17]; }",
    "wrap3": "for (int i = 0; i < 16; i++) { int8_t k = i * 50; y[i] = k < 0 ? a[i] : 1; z[i] = a[k / 16 + 8]; }",
    "wrap4": "for (int i = 0; i < 16; i++) { y[(unsigned char)(i + 250) % 16] = a[i]; }",
    "wrap5": "for (int i = 0; i < 16; i++) { unsigned k = i - 1u; y[i] = a[k % 16]; z[i] = a[k / 268435456u]; }",
    "wrap6": "for (int i = 0; i < 16; i++) { if ((uint8_t)(i * 40) < 100) y[i] = a[i]; else z[i] = 5; }",
    "wrap7": "for (int i = 0; i < 16; i++) { short s = i * 5000; y[i] = a[(s >> 12) + 8]; }",
    "switch break": """for (int i = 0; i < 16; i++) { switch (a[i] & 3) { case 0: if (i > 3) break; y[i] = 1;
      case 1: if (a[i] > 9) { z[i] = 1; break; } else z[i] = 3; y[i] += 2; break; default: y[i] = 4; } }""",
    "switch in break": """for (int i = 0; i < 16; i++) { switch (i & 3) { case 0: y[i] = 1; break; default:
      y[i] = 4; } if (i == 9) break; }""",
    "quotient value": """int i; for (int k = 0; k < 9; k++) { for (i = k / 2; i < 7; i += 2) y[i] = a[i] * i;
      z[k] = i; }""",
    "quotient value2": "int i; for (int k = 0; k < 9; k++) for (i = (k - 5) / 2; i < 7; i++) z[k] += i * a[i + 3];",
    "scaled break behind others": "for (int s = 1; s < 16; s *= 2) { y[s] = 1; if (s > 6) break; z[s] = 1; }",
    "scaled break": "for (int s = 1; s < 16; s *= 2) { if (s > 6) break; y[s] = a[s]; }",
    "characters": LOOP.format(r"y[i] = '\xff' + a[i]; z[i] = '\377' - '\x80' + '\\';"),
    "uint64": LOOP.format("uint64_t w = a[i]; w = w * w + 0xFFFFFFFFFFFFFFFFu; z[i] = w >> 7; y[i] = w > 50;"),
    "doubling without sign": "for (unsigned s = 1; s < 16; s <<= 1) y[s] = (a[s] - s) / 2;",
}


def program_text(body: str) -> str:
    return ("#include <stdint.h>\nvoid f(const int16_t a[16], int16_t y[16], int32_t z[16]) {\n#pragma scop\n"
            f"{body}\n#pragma endscop\n}}\n")


def data() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(4)
    return {"a": generator.integers(-9, 99, 16).astype(np.int16), "y": np.full(16, -7, np.int16),
            "z": generator.integers(-9, 9, 16).astype(np.int32)}


@pytest.mark.parametrize("case", BODIES)
def test_results_are_those_of_gcc(case):
    text = program_text(BODIES[case])
    program = parse_scop(text)
    for name, values in interpret(program, inputs_of(program, data())).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)


@pytest.mark.parametrize(("body", "message"), [
    ("int n = 9; for (int i = 0; i < n; i++) { y[0] += 1; n = a[i & 15]; }",
     "bounds of loop 'i' are not affine: 'n' changes in the loop in line 4 by no constant amount; step it by a "
     "constant, once in every iteration, or compute it from the iterator; or say how many trips the loop makes at "
     "most, by #pragma sluice max_trips(N) before it, or in its condition: i < N && ..."),
    ("uint8_t n = 250; for (int i = 0; i < 16 && n > 3; i++) { y[i] = n; n++; }",
     "an index expression reaches 266, outside its unsigned 8-bit type"),
])
def test_bounds_that_the_body_changes(body, message):
    """The condition was taken to see what they were before the loop."""
    with pytest.raises(ScopError) as caught:
        parse_scop(program_text(body))
    assert str(caught.value).endswith(message)


PARTS = {
    "odd elements": "for (int i = 1; i < 16; i += 2) y[i] = a[i];",
    "added to even elements": "for (int i = 0; i < 16; i += 2) y[i] += a[i];",
    "two of three": LOOP.format("if (i % 3 != 1) y[i] = a[i];"),
    "powers of two": "for (int s = 1; s < 16; s *= 2) y[s] = a[s];",
    "residues and one more": LOOP.format("if (i % 4 == 2 || i == 7) y[i] = a[i];"),
    "elements that go round": "for (int i = 0; i < 9; i++) y[(i * 3 + 1) & 15] = a[i];",
    "kept, then read": "for (int i = 0; i < 8; i += 3) y[i] = a[i]; " + LOOP.format("z[i] = y[i] * 2;"),
}


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
@pytest.mark.parametrize("case", PARTS)
def test_outputs_written_in_steps(case, target):
    require_gcc_results(program_text(PARTS[case]), "f", data(), MODELS[target])


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("case", ["switch", "continue", "while", "down to zero", "two counters"])
def test_targets_take_them(case, target):
    text = program_text(BODIES[case])
    program = parse_scop(text)
    for name, values in MODELS[target](program, inputs_of(program, data()), {}).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)


@pytest.mark.parametrize(("body", "message"), [
    ("y[0] = 1;\n#pragma sluice most_trips(4)\nwhile (a[0]) y[0] = 1;", "' is not known; there is '#pragma sluice"),
    ("for (int s = 1; s < 16; s *= a[0]) { y[0] = 1; if (s > 6) break; z[0] = 1; }", "the step of loop 's' is no sum, "
     "and it has a 'break' behind other statements: put the condition of the 'break' into the head of the loop"),
    ("int i = 0; do { if (i & 1) continue; y[i] = 1; i++; } while (i < 9);", "'continue' in a 'do' loop is not"),
    ("int i = 0; while (a[i & 7] > 0) { y[0] += 1; i++; }", "bounds of loop 'i' are not affine"),
    ("int t[1] = {2}; int i = t[0] & 3; t[0] = 1; while (i < 9) { y[i] = t[0]; i++; }", "counts in no way that is"),
    ("int i = 0; while (i < 9) { if (i & 1) continue; y[i] = 1; i++; }",
     "'continue' in a 'while' loop is not supported"),
    (LOOP.format("if (a[i]) { int t = a[i]; if (t > 5) continue; y[i] = t; } z[i] = 1;"),
     "'continue' in a block with declarations of its own is not supported: declare them before the block"),
])
def test_what_is_refused_says_how_to_write_it(body, message):
    with pytest.raises(ScopError, match=message.replace("(", r"\(")) as caught:
        parse_scop(program_text(body))
    assert str(caught.value).startswith(("scop.c:4", "scop.c:5"))


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "kernel.c").write_text(program_text("y[0] = 1;"), encoding="utf-8-sig")
    assert load_c(tmp_path / "kernel.c").statements

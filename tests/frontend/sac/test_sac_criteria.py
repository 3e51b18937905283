"""The criteria of section 5.2: for each a loop that cannot be a dataflow graph, the message, and what to write."""

import pytest

from compiler.frontend.sac import parse_sac
from compiler.frontend.sac.dfg import convert_loop, convert_loops
from compiler.frontend.sac.errors import SacError


def loop(results: str, parameters: str, text: str) -> str:
    return f"{results} f ({parameters}) return (\n{text});"


FORBIDDEN = {
    "while": (loop("uint8", "uint8 n", "while (n > 1) { next n = n >> 1; } return (final (n))"),
              "p.sc:2:1: WHILE: it runs until a condition fails, and a graph needs the number of iterations before; "
              "write a for loop that carries values by next; with --target also // PRAGMA (max_trips (64)), or a "
              "condition that bounds a counter",
              loop("uint8", "uint8 n", "for uint8 i in [8] { next n = n > 1 ? n >> 1 : n; } return (final (n))")),
    "float": (loop("float[:]", "float A[:]", "for a in A return (array (a + a))"),
              "p.sc:2:5: ELEGEN: float[:] has no bits to compute with; take a fixed-point type, such as fix32.16",
              loop("fix32.16[:]", "fix32.16 A[:]", "for a in A return (array (a + a))")),
    "double inside": (loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)(a * 1.5)))"),
                      "p.sc:2:37: CAST: double has no bits to compute with; take a fixed-point type, such as fix32.16",
                      loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)(a * (ufix9.1)1.5)))")),
    "complex": (loop("complex double[:]", "complex double A[:]", "for a in A return (array (a * a))"),
                "p.sc:2:5: ELEGEN: double[:] has no bits to compute with; take a fixed-point type, such as fix32.16",
                loop("complex fix16.8[:]", "complex fix16.8 A[:]", "for a in A return (array (a * a))")),
    "index of a window": (
        loop("uint8[:]", "uint8 A[:]", "for window W[3] in A dot uint8 i in [3] return (array (W[i]))"),
        "p.sc:2:56: AREF: an element of a window is chosen by an index that is not constant; write a switch on the "
        "index; "
        "--passes all unrolls loops and folds indices that the compiler can know",
        loop("uint8[:]", "uint8 A[:]", "for window W[3] in A dot uint8 i in [3] return (array (switch (i) { case 0: "
             "return (W[0]) case 1: return (W[1]) default: return (W[2]) }))")),
    "section": (loop("uint8[:]", "uint8 A[:]", "for window W[3] in A { uint8 V[:] = W[1:2]; } return (array (V[0]))"),
                "p.sc:2:37: AREF: it gives a section, and tokens are scalars; use its elements one by one; --passes "
                "all "
                "unrolls loops and folds indices that the compiler can know",
                loop("uint8[:]", "uint8 A[:]", "for window W[3] in A return (array (W[1]))")),
    "array in braces": (
        loop("uint8[:,2]", "uint8 A[:]", "for a in A { uint8 T[2] = {a, 1}; } return (array (T))"),
        "p.sc:2:27: ARR_DEF: an array in braces goes to CONSTRUCT_ARRAY, and only to CONSTRUCT_TILE it may; return "
        "it by "
        "tile(...), or define it before the loop",
        loop("uint8[:]", "uint8 A[:]", "for a in A { uint8 T[2] = {a, 1}; } return (tile (T))")),
    "tile": (loop("uint8[:]", "uint8 A[:]", "for window W[3] in A return (tile (W))"),
             "p.sc:2:30: CONSTRUCT_TILE: what it joins is no array in braces; define the array element by element: "
             "uint8 "
             "T[2] = {a, b}",
             loop("uint8[:]", "uint8 A[:]", "for window W[3] in A { uint8 T[3] = {W[0], W[1], W[2]}; } return (tile "
                                            "(T))"
                  )),
    "cross": (loop("uint8[:,:]", "uint8 A[:]", "for a in A cross b in A return (array (a + b))"),
              "p.sc:2:5: CROSS: generators that are crossed are loops in each other; write the outer generator as a "
              "loop "
              "around this one",
              loop("uint8[:,:]", "uint8 A[:]", "for a in A { uint8 R[:] = for b in A return (array (a + b)); } return "
                   "(array (R))")),
    "loop indices": (
        loop("uint8[:]", "uint8 A[:]", "for a in A { uint8 i = loop_indices (); } return (array (a + i))"),
        "p.sc:2:24: LOOP_INDICES: indices come from generators; name them by at (uint16 i, uint16 j)",
        loop("uint8[:]", "uint8 A[:]", "for a in A at (uint8 i) return (array (a + i))")),
    "size of a window": (
        loop("uint8[:]", "uint8 A[:], uint8 n", "for window W[n] in A return (array (W[0]))"),
        "p.sc:2:5: WINDOWGEN: the size of its window is not known to the compiler; write the size as a number, and run "
        "--passes all",
        loop("uint8[:]", "uint8 A[:], uint8 n", "for window W[3] in A return (array (W[0]))")),
    "extents of slices": (
        loop("uint8[:]", "uint8 A[:,:]", "for V (~,:) in A return (array (V[0]))"),
        "p.sc:2:5: ELEGEN: the extents of its slices are not known to the compiler; declare the array with extents: "
        "uint8 "
        "A[:,8]",
        loop("uint8[:]", "uint8 A[:,4]", "for V (~,:) in A return (array (V[0]))")),
    "ARR_CONPERIM": (
        loop("uint8[:]", "uint8 A[:], uint8 B[3]",
             "for a in A { uint8 P[:] = array_conperim (B, 1, a); } return (array (P[0]))"),
        "p.sc:2:27: ARR_CONPERIM: an array is made inside the loop; put the border around the array before the loop",
        loop("uint8[:]", "uint8 A[:], uint8 B[3]", "for a in A return (array (a))")),
    "ARRAY_CONCAT": (
        loop("uint8[:]", "uint8 A[:], uint8 B[3]",
             "for a in A { uint8 P[:] = array_concat (B, B); } return (array (P[0] + a))"),
        "p.sc:2:27: ARRAY_CONCAT: an array is made inside the loop; join the arrays before or behind the loop",
        "uint8[:] f (uint8 A[:], uint8 B[3]) { uint8 P[:] = array_concat (B, B); uint8 R[:] = for a in A return (array "
        "(P[0] + a)); } return (R);"),
    "EXTENTS": (loop("uint32[:]", "uint8 A[:]", "for a in A { uint32 n = extents (A); } return (array (a + n))"),
                "p.sc:2:25: EXTENTS: extents are the host's; ask for them before the loop",
                "uint32[:] f (uint8 A[:]) { uint32 n = extents (A); uint32 R[:] = for a in A return (array (a + n)); } "
                "return (R);"),
    "FCALL": ("uint8 g (uint8 x) return (x + 1);" + loop("uint8[:]", "uint8 A[:]",
                                                          "for a in A return (array (g (a)))"),
              "p.sc:2:27: FCALL: functions run on the host; take the pragma no_inline away and run --passes all",
              loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a + 1))")),
    "FORALL": (loop("uint8[:]", "uint8 A[:,:], uint8 n",
                    "for V (~,:) in A { uint8 s = for v in V return (sum (v)); } return (array (s))"),
               "p.sc:2:5: ELEGEN: the extents of its slices are not known to the compiler; declare the array with "
               "extents: "
               "uint8 A[:,8]",
               loop("uint8[:]", "uint8 A[:,2], uint8 n", "for V (~,:) in A return (array (V[0] + V[1]))")),
    "FORALL inside": (loop("uint8[:]", "uint8 A[:], uint8 B[:]",
                           "for a in A { uint8 s = for b in B return (sum (b)); } return (array (s + a))"),
                      "p.sc:2:24: FORALL: a loop is inside, and only innermost loops become graphs; give it extents "
                      "that "
                      "are known, so that --passes all unrolls it",
                      loop("uint8[:]", "uint8 A[:], uint8 B[3]",
                           "for a in A return (array (B[0] + B[1] + B[2] + a))")),
    "FORNXT inside": (
        loop("uint8[:]", "uint8 A[:]", "for a in A { uint8 n = 1; uint8 s = for uint8 i in [a] { next n = n * a; } "
                                       "return "
             "(final (n)); } return (array (s))"),
        "p.sc:2:37: FORNXT: a loop is inside, and only innermost loops become graphs; give it extents that are "
        "known, so "
        "that --passes all unrolls it",
        loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a * a * a))")),
    "WHILE inside": (
        loop("uint8[:]", "uint8 A[:]", "for a in A { uint8 n = a; uint8 s = while (n > 9) { next n = n >> 1; } return "
             "(final (n)); } return (array (s))"),
        "p.sc:2:37: WHILE: a loop is inside; carry the value through a for loop of known extent, which --passes all "
        "unrolls; with --target also a condition that bounds a counter",
        loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a > 9 ? a >> 1 : a))")),
    "DIV": (loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a / 3))"),
            "p.sc:2:29: DIV: there is no division; divide by a constant, of a number of up to 15 bits, with --passes "
            "all,divisions; --target has this pass",
            loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)((uint16)a * 171 >> 9)))")),
    "MOD": (loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a % 8))"),
            "p.sc:2:29: MOD: there is no division; take the remainder by a constant, of a number of up to 15 "
            "bits, with --passes all,divisions; --target has this pass",
            loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a & 7))")),
    "CONSTRUCT_CONCAT": (
        loop("uint8[:]", "uint8 A[:]", "for window W[2] in A return (concat (W))"),
        "p.sc:2:30: CONSTRUCT_CONCAT: its result has no extents before the run; return array(...) or tile(...)",
        loop("uint8[:]", "uint8 A[:]", "for window W[2] in A { uint8 T[2] = {W[0], W[1]}; } return (tile (T))")),
    "INTRINSIC": (loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)exp (a)))"),
                  "p.sc:2:34: INTRINSIC: exp has no circuit; sqrt has; put its values into a table: a function with "
                  "the "
                  "pragma lookup",
                  loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)sqrt (a)))")),
    "a root as double": (
        loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)(sqrt (a) + 1.0)))"),
        "p.sc:2:35: INTRINSIC: the root is used as double; cast it to an integer or to fixed point at once: "
        "(ufix16.8)sqrt (v)",
        loop("uint8[:]", "uint8 A[:]", "for a in A return (array ((uint8)sqrt (a) + 1))")),
    "a wide root": (loop("ufix32.16[:]", "uint32 A[:]", "for a in A return (array ((ufix32.16)sqrt (a)))"),
                    "p.sc:2:27: CAST: the root of uint32 as ufix32.16 needs 64 bits, and double is exact for 52; "
                    "cast to "
                    "fewer bits behind the point, or take the root of a narrower number",
                    loop("ufix32.10[:]", "uint32 A[:]", "for a in A return (array ((ufix32.10)sqrt (a)))")),
    "arrays that are carried": (
        loop("uint8[:]", "uint8 A[:], uint8 B[:]", "for a in A { next B = array_concat (B, B); } return (final (B))"),
        "p.sc:2:23: ARRAY_CONCAT: an array is made inside the loop; join the arrays before or behind the loop",
        loop("uint8", "uint8 A[:], uint8 b", "for a in A { next b = b + a; } return (final (b))")),
    "no_dfg": ("uint8[:] f (uint8 A[:]) return (\n// PRAGMA (no_dfg)\nfor a in A return (array (a)));",
               "p.sc:2:1: FORALL: the pragma no_dfg keeps it on the host; take the pragma away",
               loop("uint8[:]", "uint8 A[:]", "for a in A return (array (a))")),
}
_REDUCED = {"product": "PRODUCT: there is no node for it; carry the product by next and return final(...)",
            "mean": "MEAN: there is no division; return sum(...): a sum over a count that is a power of 2 can be "
                    "shifted",
            "st_dev": "ST_DEV: there is no division; return the sums of the values and of their squares",
            "mode": "MODE: it needs all values at once; return histogram(...)",
            "median": "MEDIAN: it needs all values at once; the median of a window is a loop inside, which --passes "
                      "all "
                      "unrolls"}
_LABELLED = {"product": "ACCUM_PRODUCT: there is no node for it; keep the loop on the host by the pragma no_dfg",
             "mean": "ACCUM_MEAN: there is no division; return accum(sum(...)): a sum over a count that is a power "
                     "of 2 "
                     "can be shifted",
             "st_dev": "ACCUM_ST_DEV: there is no division; return accum(sum(...)) of the values and of their squares",
             "mode": "ACCUM_MODE: it needs all values at once; return accum(histogram(...))",
             "median": "ACCUM_MEDIAN: it needs all values at once; keep the loop on the host by the pragma no_dfg"}
for _name, _message in _REDUCED.items():
    FORBIDDEN[_name] = (loop("uint16", "uint16 A[:]", f"for a in A return ({_name} (a))"), f"p.sc:2:20: {_message}",
                        loop("uint16", "uint16 A[:]", "for a in A return (sum (a))"))
for _name, _message in _LABELLED.items():
    FORBIDDEN[f"accum {_name}"] = (
        loop("uint16[:]", "uint16 A[:]", f"for a in A return (accum ({_name} (a), (uint2)a, 4))"),
        f"p.sc:2:20: {_message}", loop("uint16[:]", "uint16 A[:]", "for a in A return (accum (max (a), (uint2)a, 4))"))
for _kind in ("vals_at_maxs", "vals_at_mins", "vals_at_first_max", "vals_at_first_min", "vals_at_last_max",
              "vals_at_last_min"):
    _several = _kind.endswith("s")
    _node = _kind.upper() if _several else _kind.upper().replace("VALS", "VAL")
    FORBIDDEN[_kind] = (
        loop("uint8[:]" if _several else "uint8", "uint8 A[:]", f"for a in A return ({_kind} (a, a))"),
        f"p.sc:2:20: {_node}: its results have no place before the run; return max(...) or min(...), or carry the "
        f"place "
        "by next", loop("uint8", "uint8 A[:]", "for a in A return (max (a))"))


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_no_graph_says_which_node_and_where(name):
    text, message, rewrite = FORBIDDEN[name]
    fates = convert_loops(parse_sac(text, "p.sc").module)
    assert str(fates[0].obstacles[0]) == message
    inner = convert_loops(parse_sac(rewrite, "p.sc").module)[-1]
    assert inner.dfg is not None, inner.obstacles


def test_a_conversion_that_is_asked_for_raises():
    program = parse_sac("uint8[:] f (uint8 A[:]) return (for a in A return (array (a / 3)));", "p.sc")
    (fate,) = convert_loops(program.module)
    with pytest.raises(SacError, match=r"^p\.sc:1:61: DIV: there is no division; divide by a constant, of"):
        convert_loop(fate.loop, program.main.graph.inputs, "f")


def test_a_function_that_stays_on_the_host():
    program = parse_sac("// PRAGMA (no_dfg)\nuint8[:] f (uint8 A[:]) return (for a in A return (array (a)));", "p.sc")
    (fate,) = convert_loops(program.module)
    assert str(fate.obstacles[0]) == ("p.sc:2:33: FORALL: the pragma no_dfg keeps function 'f' on the host; take the "
                                      "pragma away")

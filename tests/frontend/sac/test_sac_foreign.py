"""Functions of numpy and of Python that programs call on the host."""

import numpy as np
import pytest

from compiler.frontend.sac import SacRunError, parse_sac, register_foreign
from compiler.frontend.sac.ddcf import parse_module, print_module, verify
from compiler.frontend.sac.dfg import convert_loops
from compiler.ir.types import ProgramError

SORTED = """// PRAGMA (foreign)
uint8[:] sort (uint8 A[:]);
uint8[:,:] main (uint8 A[:,:]) {
    uint8 R[:,:] = for Row (~,:) in A { uint8 S[:] = sort (Row); } return (array (S));
} return (R);"""


def test_a_function_of_numpy_in_a_loop():
    program = parse_sac(SORTED, "p.sc")
    verify(program.module)
    assert parse_module(print_module(program.module)) == program.module
    given = np.random.default_rng(1).integers(0, 256, (4, 7))
    for each in (program, program.optimised()[0]):
        assert np.array_equal(each.run({"A": given})["R"], np.sort(given, axis=1))
    (fate,) = convert_loops(program.module)
    assert str(fate.obstacles[-1]) == ("p.sc:4:54: FOREIGN: functions of Python run on the host; call it before or "
                                       "behind "
                                       "the loop")


def test_fixed_point_and_complex_numbers_and_several_results():
    register_foreign("polar", lambda z, scale: (np.abs(z) * scale, np.angle(z)))
    program = parse_sac("""// PRAGMA (foreign)
        double[:], double[:] polar (complex fix16.8 Z[:], ufix8.4 scale);
        double[:], double[:] main (complex fix16.8 Z[:], ufix8.4 s) return (polar (Z, s));""")
    z = np.array([3 + 4j, -1.5 + 0j])
    size, angle = program.run({"Z": z, "s": 2.5}).values()
    assert size.tolist() == [12.5, 3.75] and np.array_equal(angle, np.angle(z))


def test_c_for_the_host_says_that_it_cannot():
    with pytest.raises(ProgramError, match=r"^p\.sc:4:54: foreign function 'sort' is one of Python, which C does not "):
        parse_sac(SORTED, "p.sc").host_c()


def fail(a):
    raise ValueError("no\nroot")


register_foreign("fail", fail)
register_foreign("wide", lambda a: a + 300)
register_foreign("pair", lambda a: (a, a))
register_foreign("grow", lambda a: np.zeros((2, 2)))


@pytest.mark.parametrize("name, message", [
    ("fail", "p.sc:3:43: foreign function 'fail': no"),
    ("wide", "p.sc:3:43: result 1 of foreign function 'wide' holds 301, which is no uint8"),
    ("pair", "p.sc:3:43: foreign function 'pair' gives 2 results, and its prototype has 1"),
    ("grow", "p.sc:3:43: result 1 of foreign function 'grow' has 2 dimensions, and its type uint8[:] has 1"),
])
def test_functions_that_do_not_keep_their_word(name, message):
    program = parse_sac(f"// PRAGMA (foreign)\nuint8[:] {name} (uint8 A[:]);\nuint8[:] main (uint8 A[:]) {{ uint8 "
                        f"R[:] = "
                        f"{name} (A); }} return (R);", "p.sc")
    with pytest.raises(SacRunError) as error:
        program.run({"A": [1, 2]})
    assert str(error.value) == message


@pytest.mark.parametrize("text, message", [
    ("// PRAGMA (foreign)\nuint8 nowhere (uint8 a); uint8 f (uint8 a) return (nowhere (a));",
     "p.sc:2:7: there is no foreign function 'nowhere': register_foreign(...) adds one; of numpy there are argsort, "),
    ("// PRAGMA (inline)\nuint8 sort (uint8 a); uint8 f (uint8 a) return (a);",
     "p.sc:1:1: there is no pragma 'inline' of prototypes; there are: foreign"),
    ("// PRAGMA (foreign)\nuint8 f (uint8 a) return (a);",
     "p.sc:1:1: there is no pragma 'foreign' of functions; there are: lookup, no_inline, no_dfg"),
])
def test_prototypes_that_are_wrong(text, message):
    with pytest.raises(ProgramError) as error:
        parse_sac(text, "p.sc")
    assert str(error.value).startswith(message)


def test_a_name_that_is_none():
    with pytest.raises(ProgramError, match=r"^'a b' is no name of a function$"):
        register_foreign("a b", fail)

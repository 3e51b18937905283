"""A program for each pass that gives it something to do, and what passes before it make of it."""

from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.passes.directives import apply_script
from compiler.passes.pipeline import PassPipeline, pass_class
from compiler.passes.program_pass import ProgramPass
from compiler.passes.state import State

__all__ = ["TARGET_PIPELINES", "before_pass", "pass_of", "program_for", "scop"]

TARGET_PIPELINES = ("coalesce-tile-loops,fold-extremes,shorten-recurrences,normalize-loops,reassociate,pad-domains,"
                    "copy-borders,split-by-access,narrow-iterator-values,legalize-tables,legalize-arrays,static-form,"
                    "insert-window-copies,split-by-dependence,expand-arrays,materialize-iterator-values,partition-arrays,"
                    "remove-dead-statements")
FIRING = {
    "directives": "void f(const short a[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = a[i] + 1; }",
    "coalesce-tile-loops": "void f(const short a[9], short y[9]) { for (int t = 0; t < 9; t += 3) "
                           "for (int i = t; i < t + 3; i++) y[i] = a[i] + i; }",
    "rename-clashing-statements":
        "void f(const short S1[8], short S0[8]) { for (int i = 0; i < 8; i++) S0[i] = S1[i] + 1; }",
    "reassociate": "void f(const short a[9], short y[9]) { y[0] = a[0]; for (int i = 1; i < 9; i++) "
                   "y[i] = y[i - 1] + a[i] + a[i - 1] * 3; }",
    "pad-domains": "void f(const short a[8][8], short y[8]) { for (int i = 0; i < 8; i++) { y[i] = 0; "
                   "for (int j = 0; j < 8; j++) if (j <= i) y[i] += a[i][j]; } }",
    "copy-borders": "void f(const short a[16], short y[16]) { for (int i = 0; i < 16; i++) "
                    "y[i] = a[i] + a[i == 0 ? 1 : i - 1]; }",
    "split-by-access": "void f(const short a[16], short y[16]) { for (int i = 0; i < 16; i++) "
                       "y[i] = a[i < 8 ? i : 15 - i]; }",
    "insert-window-copies": "void f(const short a[16], short y[16]) { for (int i = 0; i < 14; i++) "
                            "y[i] = a[i / 2] + a[i / 2 + 1] * 3 + a[(i + 1) / 2]; y[14] = 0; y[15] = 0; }",
    "expand-arrays": "void f(short a[6][6]) { for (int k = 0; k < 6; k++) for (int i = k + 1; i < 6; i++) "
                     "for (int j = k + 1; j < 6; j++) a[i][j] -= a[i][k] * a[k][j]; }",
    "select-sources": "void f(const short a[6][6], short y[6][6]) { short t[6][6]; for (int i = 0; i < 6; i++) "
                      "for (int j = 0; j <= i; j++) { t[i][j] = a[i][j] * 3; if (j < i) t[j][i] = a[j][i] + 5; } "
                      "for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) y[i][j] = t[i][j] - a[j][i]; }",
    "fold-constant-fills": "void f(const unsigned char a[16], int y[8]) { for (int i = 0; i < 8; i++) y[7 - i] = 5; "
                           "for (int i = 0; i < 16; i++) y[a[i] & 7] += i; }",
    "pack-drains": "void f(const unsigned char a[16], short y[2][6]) { for (int i = 0; i < 16; i++) "
                   "y[a[i] & 1][a[i] >> 1 & 3] -= i * 5000; }",
    "pack-streams": "void f(const unsigned char a[3][18], unsigned char y[3][16]) { for (int i = 0; i < 3; i++) "
                    "for (int j = 0; j < 16; j++) y[i][j] = a[i][j] + a[i][j + 2] + j; }",
    "legalize-tables": "static const int t[4] = {1, 70000, -5, 1 << 30}; void f(const short a[8], int y[8]) { "
                       "for (int i = 0; i < 8; i++) y[i] = t[a[i] & 3]; }",
    "partition-arrays": "void f(const short a[2][32], short y[2][32]) { for (int i = 0; i < 32; i++) { "
                        "y[0][i] = a[0][i] + 1; y[1][i] = a[1][i] * 3; } }",
    "remove-dead-statements": "void f(const short a[8], short y[8]) { short t[8]; for (int i = 0; i < 8; i++) { "
                              "t[i] = a[i] * 3; t[i] = a[i] + 1; y[i] = t[i] * 5; } }",
    "split-by-dependence": "void f(const short a[8], const short w[5], short y[12]) { for (int d = 0; d < 12; d++) "
                           "y[d] = 0; for (int i = 0; i < 8; i++) for (int j = 0; j < 5; j++) "
                           "y[i + j] += a[i] * w[j]; }",
    "distribute-recurrences": "void f(const int a[5][5], int y[5][5]) { int p[5][5]; for (int i = 0; i < 5; i++) "
                        "for (int j = 0; j < 5; j++) p[i][j] = a[i][j]; for (int k = 0; k < 5; k++) "
                        "for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) p[i][j] = "
                        "p[i][j] < p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j]; for (int i = 0; i < 5; i++) "
                        "for (int j = 0; j < 5; j++) y[i][j] = p[i][j]; }",
    "fold-extremes": "void f(const short a[8], short y[2]) { y[0] = 0; y[1] = 0; for (int i = 0; i < 8; i++) "
                     "if (a[i] > y[0]) { y[0] = a[i]; y[1] = i; } }",
    "expand-conditions": "static const int t[8] = {3, 1, 4, 1, 5, 9, 2, 6}; void f(const int a[8], int y[1]) { "
                         "int q = 0; for (int i = 0; i < 8; i++) { if (t[q & 7] > a[i]) q = q + 1; else q = q - 3; "
                         "if (q == 5) q = 1; } y[0] = q; }",
    "shorten-recurrences": "void f(const short a[8], short y[1]) { y[0] = 0; for (int i = 0; i < 8; i++) "
                           "if (a[i] > 3) y[0] += a[i]; }",
    "normalize-loops": "void f(const short a[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = a[i] + 1; }",
    "narrow-iterator-values":
        "void f(const short a[8], int y[8]) { for (int i = 0; i < 8; i++) y[i] = a[i] * (i + 3); }",
    "static-form": "void f(const short a[8][8], short y[8]) { for (int i = 0; i < 8; i++) { y[i] = 0; "
                   "for (int j = 0; j < 8; j++) y[i] += a[i][j]; } }",
    "materialize-iterator-values":
        "void f(const short a[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = a[i] + i * i; }",
    "legalize-arrays": "void f(const int a[8], int y[8]) { for (int i = 0; i < 8; i++) y[i] = a[i] + 70000; }",
}
"""C functions by pass, without the pragmas."""

SCRIPTS = {"normalize-loops": "reverse(i)"}
"""Directives that a function goes through first."""


def scop(text: str) -> Program:
    """The function with its loops as a scop."""
    head, _, body = text.partition(") {")
    return parse_scop(f"{head}) {{\n#pragma scop\n{body.rstrip()[:-1]}\n#pragma endscop\n}}\n")


def program_for(name: str) -> Program:
    """The program to which a pass has something to do."""
    return apply_script(scop(FIRING[name]), SCRIPTS.get(name, ""))


def pass_of(name: str) -> ProgramPass:
    """A pass with its usual options."""
    return pass_class(name)(script="reverse(i)") if name == "directives" else pass_class(name)()


def before_pass(one: ProgramPass, program: Program) -> State:
    """The state after the passes that this one follows, directly or not."""
    names: list[str] = []

    def add(name: str) -> None:
        for earlier in pass_class(name).follows:
            add(earlier)
        if name not in names and name != one.name:
            names.append(name)

    add(one.name)
    order = [name for name in TARGET_PIPELINES.split(",") if name in names]
    return PassPipeline(tuple(pass_class(name)() for name in order)).run(State(program))

"""The text of Verilog modules as the back end writes it, made fit for readers and for simulators.

Nothing here changes what a module does: registers of a clock become one process, every process gets an event at time
zero, names say what a signal is, and what has no effect goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from hw.memory_words import fill_memories

__all__ = ["MODULE", "tidy", "wake_processes"]

MODULE = re.compile(r"^(?:\(\*[^\n]*\*\)\n)*module .*?^endmodule\n", re.MULTILINE | re.DOTALL)
"""A module with its attributes."""

# A process of one register, which is how the back end writes each of them.
_REGISTER = re.compile(r"^  always @\((posedge [^\n()]+)\)\n(    (?!begin|if|case)[^\n]* <= [^\n]*;\n)", re.MULTILINE)
# The signal that wakes combinational processes, which has its value by declaration.
_WAKING = re.compile(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$\d+ ")
_DECLARED_AWAKE = "  reg \\$wake  = 0;\n"
_WAKEN = """  reg \\$wake ;
  /* verilator lint_off INITIALDLY */
  initial \\$wake <= 0;
  /* verilator lint_on INITIALDLY */
"""
# A process that reads nothing but a constant, which no event ever wakes: its registers would stay undefined.
_CONSTANT = re.compile(r"^  always @\*\n(    [^\n=]+ = \d+'[bdh][0-9a-fxz]+;\n)", re.MULTILINE)

_IDENTIFIER = r"\\\S+|[A-Za-z_][\w$]*"
# Identifiers, and what may look like one: strings, comments, constants.
_TOKEN = re.compile(rf"\"[^\"\n]*\"|/\*.*?\*/|\d+'s?[bdoh][0-9a-fxz?]+|({_IDENTIFIER})", re.DOTALL)
_NO_WORD = re.compile(r"\W+", re.ASCII)
_MODULE_NAME = re.compile(rf"^module ({_IDENTIFIER})", re.MULTILINE)
_INSTANCE = re.compile(rf"^  ({_IDENTIFIER}) +(?:{_IDENTIFIER}) *\(\n((?:    \.[^\n]*\n)*)  \);$", re.MULTILINE)
# A port that the back end gave a number, and what is connected to such ports.
_NUMBERED = re.compile(r"^    \.(\\port\$\S+) \(", re.MULTILINE)
_CONNECTION = re.compile(rf"^    \.(\\port\$\S+) \(({_IDENTIFIER}) ?(?:\[(\d+)(?::(\d+))?\])?\),?$", re.MULTILINE)
# A sum of zero and something, which extends a word.
_PLUS = re.compile(r"^(  assign [^\n=]* = )\+ ", re.MULTILINE)
# The value after reset of wires that stand for a register, which says it itself.
_WIRE_INIT = re.compile(r"^  \(\* init = [^\n]*\*\)\n(?=(?:  \(\*[^\n]*\*\)\n)*  wire )", re.MULTILINE)
# The word that a register gets, decided by a process; and a result of which a signal with a name is the lower part.
_NEXT = re.compile(rf"^    ({_IDENTIFIER}) +<= (\\\$\d+) ;$", re.MULTILINE)
_PART = re.compile(rf"^  assign ({_IDENTIFIER}) += (\\\$\d+) \[\d+:0\];$", re.MULTILINE)
_ASSIGNED = re.compile(r"  assign (\\\S*\$\S*) += ([^\n]*);$")
_DECLARED = re.compile(r"  wire (?:signed )?(?:\[\d+:\d+\] )?(\\\S*\$\S*) ;$")


def tidy(text: str) -> str:
    """The modules of `text` for readers and simulators."""
    modules = iter(_with_port_names(MODULE.findall(text)))
    return wake_processes(MODULE.sub(lambda _: _tidy(next(modules)), text))


def wake_processes(text: str) -> str:
    """`text` with an event for every combinational process at time zero, in Verilog and in SystemVerilog.

    The back end has each ``always @*`` read a signal that is declared with a value. In SystemVerilog declarations take
    effect before any process runs: no event, and outputs stay undefined until an input changes, which may be for ever.
    A nonblocking assignment takes effect when all processes of time zero wait already, in both languages. Verilator,
    which settles combinational logic before it starts, makes it a blocking one and would say so each time.
    """
    text = _WAKING.sub(lambda _: "\\$wake ", text)
    return _CONSTANT.sub(r"  initial\n\1", text.replace(_DECLARED_AWAKE, _WAKEN))


def _with_port_names(modules: list[str]) -> list[str]:
    """Ports that only have a number get the name of what the module around connects to them; that comes first."""
    found = {_module_name(module): module for module in modules}
    instances = Counter(instance[1] for module in modules for instance in _INSTANCE.finditer(module))
    names: dict[str, dict[str, str]] = {}

    def connected(instance: re.Match[str]) -> str:
        """An instance with the ports' names."""
        inner = instance[1]
        if instances[inner] == 1 and inner in found and _NUMBERED.search(instance[2]):
            names[inner] = _port_names(instance[2], set(_identifiers(found[inner])))
        return _NUMBERED.sub(lambda port: f"    .{names.get(inner, {}).get(port[1], port[1])} (", instance[0])

    return [_INSTANCE.sub(connected, _renamed(module, names.get(name, {}))) for name, module in found.items()]


def _module_name(module: str) -> str:
    name = _MODULE_NAME.search(module)
    assert name is not None
    return name[1]


def _port_names(connections: str, taken: set[str]) -> dict[str, str]:
    """Names for numbered ports of a module that has the identifiers `taken`."""
    names: dict[str, str] = {}
    for port, signal, high, low in _CONNECTION.findall(connections):
        if not signal.startswith(("\\$", "\\port$")):
            bits = f"_{high}" * bool(high) + f"_{low}" * bool(low)
            name = f"{_NO_WORD.sub('_', signal.lstrip(chr(92)))}_port{bits}"
            while name in taken:
                name += "_"
            names[port] = name
            taken.add(name)
    return names


def _tidy(module: str) -> str:
    module = _gather_registers(fill_memories(module))
    module = _WIRE_INIT.sub("", _PLUS.sub(r"\1", module))
    return _without_aliases(_named(module))


def _gather_registers(module: str) -> str:
    """The registers of a module and a clock in one process. An event-driven simulator wakes each process at each edge,
    which for arrays is most of what it does: Icarus runs them in half of the time."""
    assignments: dict[str, list[str]] = {}
    for edge, assignment in _REGISTER.findall(module):
        assignments.setdefault(edge, []).append(assignment)

    def process(register: re.Match[str]) -> str:
        """All registers of an edge, in the place of the first of them."""
        gathered = assignments.pop(register[1], None)
        return "" if gathered is None else f"  always @({register[1]}) begin\n{''.join(gathered)}  end\n"

    return _REGISTER.sub(process, module)


def _identifiers(module: str) -> Iterator[str]:
    return (token[1] for token in _TOKEN.finditer(module) if token[1])


def _named(module: str) -> str:
    """Numbered results under the name of what they are for: a register's next word, or more bits of a signal."""
    taken = set(_identifiers(module))
    names: dict[str, str] = {}
    for pattern, suffix in ((_NEXT, "next"), (_PART, "full")):
        for signal, number in pattern.findall(module):
            name = f"{signal}_{suffix}"
            if number not in names and name not in taken and not signal.startswith("\\$"):
                names[number] = name
                taken.add(name)

    return _renamed(module, names)


def _renamed(module: str, names: Mapping[str, str]) -> str:
    """`module` with other names for some of its signals, which are escaped identifiers."""

    def renamed(token: re.Match[str]) -> str:
        return names.get(token[1], token[0]) if token[1] and module[token.start() - 1] != "." else token[0]

    return _TOKEN.sub(renamed, module) if names else module


def _without_aliases(module: str) -> str:
    """Without the wires that no one gave a name and nothing reads."""
    lines = module.split("\n")
    assigned = {found[1]: number for number, line in enumerate(lines) if (found := _ASSIGNED.match(line))}
    declared = {found[1]: number for number, line in enumerate(lines) if (found := _DECLARED.match(line))}
    count = Counter(_identifiers(module))
    dead: set[int] = set()
    waiting = [name for name in assigned if name in declared and count[name] == 2]
    while waiting:
        name = waiting.pop()
        dead.add(assigned[name])
        dead.update(_declaration(lines, declared[name]))
        for read in _identifiers(lines[assigned[name]].partition("=")[2]):
            count[read] -= 1
            if count[read] == 2 and read in assigned and read in declared:
                waiting.append(read)
    return "\n".join(line for number, line in enumerate(lines) if number not in dead)


def _declaration(lines: list[str], number: int) -> Iterator[int]:
    """The lines of a declaration: its own and those of its attributes."""
    yield number
    while lines[number - 1].startswith("  (*"):
        number -= 1
        yield number

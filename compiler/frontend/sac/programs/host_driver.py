"""C for the host of an application whose loops are on hardware: calls of the run-time system for each group of loops
(Hammes 2000, section 6.2), what runs on the host for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from compiler.frontend.sac.ddcf.graph import Edge, Graph
from compiler.frontend.sac.host_c.emit import Emitter, emit_c
from compiler.frontend.sac.host_c.names import c_type, element_kind
from compiler.frontend.sac.limits import SAC_LIMITS
from compiler.frontend.sac.programs.plan import Application, Group
from compiler.frontend.sac.types import Type

__all__ = ["RUN_TIME", "emit_driver", "run_time_files"]

RUN_TIME = ("sac_rts.h", "sac_rts_pipe.c")
"""Files that the program is compiled with."""


def emit_driver(application: Application, groups: Sequence[Group]) -> str:
    """The program. It takes the two file descriptors of the line to the hardware as arguments; inputs and outputs are
    those of `compiler.frontend.sac.host_c.emit_c`. Configuration number k is that of ``groups[k]``."""
    emitter = _DriverEmitter(application, groups)
    return emit_c(application.program.module, application.program.main, SAC_LIMITS.of("while_iterations"), emitter)


def run_time_files() -> dict[str, str]:
    """The run-time system over pipes, by name of the file."""
    folder = files("compiler.frontend.sac.host_c")
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in RUN_TIME}


class _DriverEmitter(Emitter):
    """C with calls of the run-time system in the main graph."""

    head = ('#include "sac_rts.h"',)
    parameters = "int argc, char **argv"
    opening = ('if (argc != 3) fail("arguments", "two file descriptors of the line to the hardware are needed");',
               "rts_initialize(atoi(argv[1]), atoi(argv[2]));")
    closing = ("rts_end_dfg_process();",)

    def __init__(self, application: Application, groups: Sequence[Group]) -> None:
        super().__init__(SAC_LIMITS.of("while_iterations"))
        self.main, self.groups = application.graph, groups
        self.group_of = {number: k for k, group in enumerate(groups) for number in group.numbers}

    def nodes(self, graph: Graph, inputs: Sequence[str], first: list[list[str]], indices: Sequence[str] | None
              ) -> list[list[str]]:
        if graph is not self.main:
            return super().nodes(graph, inputs, first, indices)
        done: list[list[str] | None] = [None] * len(graph.nodes)
        for number in range(len(graph.nodes)):
            self._ensure(number, inputs, done)
        return [names or [] for names in done]

    def _ensure(self, number: int, inputs: Sequence[str], done: list[list[str] | None]) -> None:
        """A node or its group, and before it what it takes."""
        ahead = [number]
        while ahead:
            missing = [n for n in self._before(ahead[-1]) if done[n] is None]
            if done[ahead[-1]] is None and missing:
                ahead += missing
            else:
                self._compute(ahead.pop(), inputs, done)

    def _before(self, number: int) -> list[int]:
        k = self.group_of.get(number)
        sources = [s for _, s in self.groups[k].inputs] if k is not None else self.main.nodes[number].operands
        return [source.number for source in sources if isinstance(source, Edge)]

    def _compute(self, number: int, inputs: Sequence[str], done: list[list[str] | None]) -> None:
        if done[number] is not None:
            return
        names = [row or [] for row in done]
        k = self.group_of.get(number)
        if k is None:
            node = self.main.nodes[number]
            operands = [self.operand(o, inputs, names) for o in node.operands]
            done[number] = self.node(node, operands, [self.main.type(o) for o in node.operands])
            return
        for member in self.groups[k].numbers:
            done[member] = [""] * len(self.main.nodes[member].outputs)
        self._call(k, inputs, names, done)

    def _call(self, k: int, inputs: Sequence[str], names: list[list[str]], done: list[list[str] | None]) -> None:
        """One start of a configuration."""
        group = self.groups[k]
        self.lines.append(f"rts_download_configurations({k});")
        for place, (_, source) in enumerate(group.inputs):
            value = self.operand(source, inputs, names)
            if self.main.type(source).is_array:
                self.lines += [f"{{ int64_t *words = allocate(8 * ({value}.size + 1));",
                               f"for (int64_t n = 0; n < {value}.size; n++) words[n] = get(&{value}, n).i;",
                               f"rts_mem_write_input({place}, words, {value}.size); }}"]
            else:
                self.lines.append(f"rts_write_arg({place}, {value});")
        self.lines.append("rts_execute_dfg();")
        shapes = {array.name: array.shape for array in group.program.arrays}
        for place, (name, edge) in enumerate(group.outputs):
            row = done[edge.number]
            assert row is not None
            row[edge.port] = self._result(place, self.main.type(edge), shapes[name])

    def _result(self, place: int, type_: Type, shape: Sequence[int]) -> str:
        name = self.new()
        self.lines.append(f"{c_type(type_)} {name};")
        if not type_.is_array:
            self.lines.append(f"rts_mem_read_results({place}, &{name}, 1);")
            return name
        extents = ", ".join(map(str, shape))
        self.lines += [f"{name} = make('{element_kind(type_.scalar)}', {len(shape)}, (int64_t[]){{{extents}}});",
                       f"{{ int64_t *words = allocate(8 * ({name}.size + 1));",
                       f"rts_mem_read_results({place}, words, {name}.size);",
                       f"for (int64_t n = 0; n < {name}.size; n++) put(&{name}, n, of_i(words[n])); }}"]
        return name

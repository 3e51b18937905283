"""Mutated pipelines are rejected, each by a message that says what is wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from pipeline_emulator import run_pipeline

import compiler
from compiler.bind.fpga.validate import validate
from compiler.frontend.apps import load
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import BufferCell, LineCell, MergeCell, OperatorCell, OutputCell, Tap, Walk


@pytest.fixture(scope="module")
def designs():
    sizes = {"gaussian": {"width": 20, "height": 8}, "upsample": {"width": 9, "height": 6},
             "laplacian_pyramid": {"size": 8}, "gaussian_pyramid": {"size": 8}, "unsharp": {"width": 12, "height": 10}}
    return {app: compiler.compile(load(app, **parameters), target="fpga") for app, parameters in sizes.items()}


def check(design, cells=None, **changes):
    pipeline = design.system.pipeline
    if cells is not None:
        pipeline = replace(pipeline, cells=tuple(cells))
    system = replace(design.system, pipeline=pipeline, **changes)
    validate(design.parts.program, design.built, system)


def mutated(design, kind, change, which=0):
    """Cells with one of a kind changed."""
    cells = list(design.system.pipeline.cells)
    numbers = [n for n, cell in enumerate(cells) if isinstance(cell, kind)]
    number = numbers[which]
    cells[number] = change(cells[number])
    return cells


def later(walk: Walk, cycles: int) -> Walk:
    return replace(walk, start=walk.start + cycles)


def resized(cell: BufferCell, depth: int) -> BufferCell:
    def fit(walk: Walk) -> Walk:
        levels = tuple(replace(lv, deltas=tuple(d % depth for d in lv.deltas)) for lv in walk.levels)
        return replace(walk, size=depth, origin=walk.origin % depth, levels=levels)

    return replace(cell, depth=depth, write=fit(cell.write), read=fit(cell.read))


def test_what_the_compiler_made_is_right(designs):
    for design in designs.values():
        check(design)


def test_delay_lines(designs):
    design = designs["gaussian"]
    for cycles in (-1, 1):
        cells = mutated(design, LineCell, lambda c, by=cycles: replace(c, cycles=c.cycles + by))
        message = r"statement 'Gaussian' \(.*\) at .*: value \d+ of input arrives in cycle"
        with pytest.raises(ValidationError, match=message):
            check(design, cells)


def test_taps(designs):
    design = designs["gaussian"]

    def shifted(cell: OperatorCell) -> OperatorCell:
        first, *rest = cell.operands
        return replace(cell, operands=(Tap(first.cell, first.cycles + 1), *rest))

    with pytest.raises(ValidationError, match=r"arrives in cycle|compute another value"):
        check(design, mutated(design, OperatorCell, shifted))


def test_operators(designs):
    design = designs["gaussian"]
    kinds = [cell.op for cell in design.system.pipeline.cells if isinstance(cell, OperatorCell)]
    for other, op in (("sub", "add"), ("mul_mid", "mul"), ("shl", "shr")):
        cells = mutated(design, OperatorCell, lambda c, to=other: replace(c, op=to), kinds.index(op))
        with pytest.raises(ValidationError, match="the operators compute another value"):
            check(design, cells)


_REASONS = "arrives in cycle|reads and writes one address|it gets values|another value"


@pytest.mark.parametrize("app", ["upsample", "laplacian_pyramid", "gaussian_pyramid"])
def test_changed_buffers(designs, app):
    """Whatever is changed: it is rejected, or, as where the word that is stored stays for a cycle, harmless."""
    design = designs[app]
    count = sum(isinstance(cell, BufferCell) for cell in design.system.pipeline.cells)
    changes = (
        lambda c: resized(c, c.depth - 1),
        lambda c: replace(c, read=later(c.read, 1)),
        lambda c: replace(c, write=later(c.write, 1)),
        lambda c: replace(c, read=replace(c.read, origin=(c.read.origin + 1) % c.depth)),
    )
    rejected = 0
    for which in range(count):
        for change in changes:
            cells = mutated(design, BufferCell, change, which)
            try:
                check(design, cells)
            except ValidationError as error:
                assert re.search(_REASONS, str(error))
                rejected += 1
            else:
                assert emulated(design, cells) == emulated(design, design.system.pipeline.cells)
    assert rejected >= 3 * count


def test_merges(designs, tmp_path):
    """A row of sums, each of five words."""
    path = tmp_path / "sums.c"
    path.write_text("void sums(const short a[4][5], short b[4])\n{\n#pragma scop\n  for (int i = 0; i < 4; i++) {\n"
                    "    b[i] = a[i][0];\n    for (int j = 0; j < 5; j++)\n      b[i] += a[i][j];\n  }\n"
                    "#pragma endscop\n}\n")
    design = compiler.compile(load(path), target="fpga")
    check(design)
    changes = (
        lambda c: replace(c, cut=c.cut + 1),
        lambda c: replace(c, sources=c.sources[::-1]),
        lambda c: replace(c, select=later(c.select, 1)),
        lambda c: replace(c, sources=(c.sources[0], Tap(c.sources[1].cell, c.sources[1].cycles + 1))),
    )
    for change in changes:
        with pytest.raises(ValidationError, match=r"statement '.*arrives in cycle .*, it means value"):
            check(design, mutated(design, MergeCell, change))


def emulated(design, cells):
    """What the pipeline gives for random words."""
    pipeline = replace(design.system.pipeline, cells=tuple(cells))
    generator = np.random.default_rng(1)
    words = {cell.name: generator.integers(0, 1 << 16, cell.walk.count) for cell in pipeline.inputs}
    return {name: values.tolist() for name, values in run_pipeline(pipeline, words).items()}


def test_streams(designs):
    design = designs["gaussian"]
    with pytest.raises(ValidationError, match="statement 'Gaussian'"):
        check(design, inputs=(replace(design.system.inputs[0], offset=2),))
    with pytest.raises(ValidationError, match=r"output output: it gets values of|elements are stored"):
        check(design, outputs=(replace(design.system.outputs[0], offset=2),))
    with pytest.raises(ValidationError, match="output output: it gets values of"):
        check(design, mutated(design, OutputCell, lambda c: replace(c, walk=later(c.walk, 1))))


def test_streams_of_one_type_exchanged(designs):
    design = designs["unsharp"]
    first, *rest = design.system.outputs
    pipeline = design.system.pipeline
    names = [cell.name for cell in pipeline.outputs]
    cells = [replace(c, name=names[-1 - names.index(c.name)]) if isinstance(c, OutputCell) else c
             for c in pipeline.cells]
    streams = tuple(replace(s, name=n) for s, n in zip((first, *rest), names[::-1], strict=True))
    with pytest.raises(ValidationError, match="it gets values of"):
        check(design, cells, outputs=streams)


def test_tables(designs):
    design = designs["unsharp"]
    tables = list(design.system.pipeline.tables)
    tables[0] = (*tables[0][:-1], tables[0][-1] + 1)
    broken = replace(design.system.pipeline, tables=tuple(tables))
    with pytest.raises(ValidationError, match="the tables of the pipeline are not those of the program"):
        validate(design.parts.program, design.built, replace(design.system, pipeline=broken))

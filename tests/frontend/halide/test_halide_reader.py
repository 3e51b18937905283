"""Serialised pipelines: what is read, and bytes that are none."""

from __future__ import annotations

from random import Random

import pytest

from compiler.frontend.halide.decode import decode_pipeline
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.names import plain
from compiler.frontend.halide.nodes import postorder
from compiler.frontend.halide.schema import TABLES

hl = pytest.importorskip("halide")


def output_of(pipeline):
    return pipeline.funcs[pipeline.outputs[0]]


def serialised(terms: int = 1) -> bytes:
    x, y = hl.Var("x"), hl.Var("y")
    source = hl.ImageParam(hl.UInt(8), 2, "source")
    stored, out = hl.Func("stored"), hl.Func("out")
    stored[x, y] = source[x, y] + hl.Param(hl.UInt(8), "gain")
    stored.compute_root()
    out[x, y] = sum((stored[x + k, y] for k in range(terms - 1)), stored[x, y - 1])
    out.bound(x, 0, 20).split(x, hl.Var("xo"), hl.Var("xi"), 4)
    data, _ = hl.serialize_pipeline(hl.Pipeline([out]), get_params=True)
    return data


def test_funcs_stages_and_schedules_are_read():
    pipeline = decode_pipeline(serialised(2))
    assert [plain(name) for name in pipeline.outputs] == ["out"]
    assert {name: (p.is_buffer, str(p.type), p.dimensions) for name, p in pipeline.parameters.items()} == {
        "gain": (False, "uint8", 0), "source": (True, "uint8", 2)}
    out = output_of(pipeline)
    assert (out.args, [str(type) for type in out.types], len(out.stages)) == (("x", "y"), ["uint8"], 1)
    (split,) = out.stages[0].splits
    assert (split.kind, split.old, split.outer, split.inner) == ("split", "x", "x.xo", "x.xi")
    stored = next(func for name, func in pipeline.funcs.items() if plain(name) == "stored")
    assert stored.schedule.compute.variable == "__root"
    (bound,) = out.schedule.bounds
    assert (bound.variable, bound.extent.value) == ("x", 20)
    assert out.stages[0].values[0].op == "add"


def test_sums_of_a_thousand_terms_are_read():
    pipeline = decode_pipeline(serialised(1500))
    assert sum(node.op == "add" for node in postorder(*output_of(pipeline).stages[0].values)) > 1499


def test_flipped_bits_end_in_one_line():
    data, random = serialised(), Random(1)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[random.randrange(len(data))] ^= 1 << random.randrange(8)
        try:
            decode_pipeline(bytes(damaged))
        except PipelineError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


@pytest.mark.parametrize("length", [0, 3, 4, 7, 100, 1000])
def test_short_files_end_in_one_line(length):
    with pytest.raises(PipelineError, match="the serialised pipeline is damaged"):
        decode_pipeline(serialised()[:length])


def test_other_versions_are_refused():
    data = serialised()
    assert data.count(b"21.0.0") == 1
    with pytest.raises(PipelineError) as error:
        decode_pipeline(data.replace(b"21.0.0", b"19.0.0"))
    assert str(error.value) == ("this is a pipeline of Halide '19.0.0' with serialisation '18.0.1'; known are: 21.0.0 "
                                "with serialisation 18.0.1: install sluice[halide], and serialise again")


def test_slots_follow_each_other():
    fields = TABLES["Definition"]
    assert [(field.name, field.slot) for field in fields] == [
        ("is_initial", 0), ("predicate", 1), ("values", 3), ("args", 5), ("schedule", 7), ("specializations", 8),
        ("source", 9)]

"""Whether the parts of a decoded pipeline fit to each other: what Halide would never write is damage."""

from __future__ import annotations

from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.nodes import Node, Pipeline, nodes_of

__all__ = ["check_consistency"]


def check_consistency(pipeline: Pipeline) -> None:
    """Raise `PipelineError` if a Func has a variable twice, or a call another number of arguments than it needs."""
    for func in pipeline.funcs.values():
        for stage in func.stages:
            names = [*func.args, *(reduction.name for reduction in stage.reductions)]
            if len(set(names)) < len(names):
                raise _damaged(f"Func '{func.name}' has a variable twice")
        for node in nodes_of(func):
            _check_call(node, pipeline)


def _damaged(text: str) -> PipelineError:
    return PipelineError(f"the serialised pipeline is damaged: {text}")


def _check_call(node: Node, pipeline: Pipeline) -> None:
    if node.op == "halide" and node.name in pipeline.funcs:
        func = pipeline.funcs[node.name]
        _check_counts(node, len(func.args), len(func.types))
    elif node.op == "image" and node.image in pipeline.buffers:
        _check_counts(node, len(pipeline.buffers[node.image].extents), 1)
    elif node.op == "image":
        parameter = pipeline.parameters.get(node.name)
        if parameter is None or not parameter.is_buffer:
            raise _damaged(f"there is no input '{node.name}'")
        _check_counts(node, parameter.dimensions, 1)


def _check_counts(node: Node, dimensions: int, components: int) -> None:
    if len(node.args) != dimensions:
        raise _damaged(f"'{node.name}' has {dimensions} dimensions and is called with {len(node.args)} arguments")
    if not 0 <= node.index < components:
        raise _damaged(f"'{node.name}' has no component {node.index}")

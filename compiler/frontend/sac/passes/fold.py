"""Operations on known numbers, and those that change nothing (Hammes 2000, section 4.1.8)."""

from __future__ import annotations

import numpy as np

from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS, dtype
from compiler.frontend.sac.ddcf.batch import Batch
from compiler.frontend.sac.ddcf.graph import Constant, Node, Operand
from compiler.frontend.sac.ddcf.nodes import evaluate
from compiler.frontend.sac.errors import SacRunError
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.types import BOOL, SIZE, Scalar

__all__ = ["FoldConstants", "SimplifyIdentities"]

_FOLDED = (*BINARY, *COMPARISONS, "CAST", "NOT", "BIT_NOT", "NEG", "INTRINSIC")


class FoldConstants(Rewriter):
    """Computes what is known. What would fail when the program runs stays, and fails then."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind.endswith("_MANY"):
            return _fold_many(out, node)
        known = [operand for operand in node.operands if isinstance(operand, Constant)]
        if node.kind not in _FOLDED or len(known) < len(node.operands):
            return super().node(out, node)
        values = [np.asarray([k.value], dtype=dtype(k.scalar)) for k in known]
        try:
            (result,) = evaluate(node, Batch(1, values, [k.scalar for k in known]))
        except SacRunError:
            return out.add(node)
        if result.dtype.kind == "f" and (np.isnan(result[0]) or (result[0] == 0 and np.signbit(result[0]))):
            return out.add(node)  # NaN and -0 are no constants: they do not compare as what they are
        return [Constant(result[0].item(), node.outputs[0].scalar)]


def _fold_many(out: Rebuilt, node: Node) -> list[Operand]:
    """Pairs whose mask is known to be false are dropped; known terms of a sum of integers become one."""
    pairs = [(value, mask) for value, mask in zip(node.operands[::2], node.operands[1::2], strict=True)
             if not (isinstance(mask, Constant) and not mask.value)]
    scalar = node.outputs[0].scalar
    if node.kind == "SUM_MANY" and not scalar.floating:
        known = [value.value for value, mask in pairs if isinstance(value, Constant) and isinstance(mask, Constant)]
        pairs = [pair for pair in pairs if not all(isinstance(part, Constant) for part in pair)]
        total = _wrapped(scalar, int(sum(known)))
        if total or not pairs:
            pairs.append((Constant(total, scalar), Constant(1, BOOL)))
        if len(pairs) == 1 and isinstance(pairs[0][1], Constant):
            return [pairs[0][0]]
    return out.add(Node(node.kind, tuple(part for pair in pairs for part in pair), node.outputs, node.attributes,
                        node.graphs, node.place))


def _wrapped(scalar: Scalar, value: int) -> int:
    low = value & ((1 << scalar.width) - 1)
    return low - (1 << scalar.width) if low > scalar.maximum else low


class SimplifyIdentities(Rewriter):
    """``x + 0``, ``x * 1``, ``x * 0`` and the like on integers and fixed-point numbers; products and quotients by
    powers of two become shifts, and casts to the type that a value has disappear. Of floating-point numbers only
    ``x * 1`` and ``x / 1``, which are exact."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind == "CAST" and out.type(node.operands[0]) == node.outputs[0]:
            return [node.operands[0]]
        if node.kind not in BINARY:
            return super().node(out, node)
        simple = _simplified(out, node)
        return out.add(node) if simple is None else [simple]


def _simplified(out: Rebuilt, node: Node) -> Operand | None:
    left, right = node.operands
    scalar = node.outputs[0].scalar
    if isinstance(left, Constant) and node.kind in ("ADD", "MUL", "BIT_AND", "BIT_OR", "BIT_XOR"):
        left, right = right, left
    if not isinstance(right, Constant):
        return None
    one = 1 << scalar.fraction
    if node.kind in ("MUL", "DIV") and right.value == one:
        return left
    if scalar.floating:
        return None
    if right.value == 0:
        return _with_zero(node.kind, left, scalar)
    if node.kind in ("BIT_AND", "BIT_OR") and right.value in (-1, (1 << scalar.width) - 1):
        return left if node.kind == "BIT_AND" else right
    if node.kind == "MUL" and right.value == -one:
        return out.add(Node("SUB", (Constant(0, scalar), left), node.outputs, (), (), node.place))[0]
    return _shifted(out, node, left, int(right.value), one, scalar)


def _with_zero(kind: str, left: Operand, scalar: Scalar) -> Operand | None:
    if kind in ("ADD", "SUB", "BIT_OR", "BIT_XOR", "LEFT_SHIFT", "RIGHT_SHIFT"):
        return left
    return Constant(0, scalar) if kind in ("MUL", "BIT_AND") else None


def _shifted(out: Rebuilt, node: Node, left: Operand, value: int, one: int, scalar: Scalar) -> Operand | None:
    """A product or an unsigned quotient by a power of two times one."""
    times = value // one if value > 0 and value % one == 0 else 0
    if times < 2 or times & (times - 1) or node.kind not in ("MUL", "DIV") or (node.kind == "DIV" and scalar.signed):
        return None
    kind = "LEFT_SHIFT" if node.kind == "MUL" else "RIGHT_SHIFT"
    amount = Constant(times.bit_length() - 1, SIZE)
    return out.add(Node(kind, (left, amount), node.outputs, (), (), node.place))[0]


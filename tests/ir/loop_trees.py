"""Random loop programs as plain trees: built through the front end, and run by nested Python loops beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from compiler.frontend import kernel
from compiler.frontend.loop_nest import Prog
from compiler.ir.program import Program
from compiler.ir.types import Int

Formula = Any
"""("arg", i), ("const", value) or (operation, formula, ...)."""


def _wrap(type: Int, value: int) -> int:
    value %= 2**type.width
    return value - 2**type.width if type.signed and value >= 2 ** (type.width - 1) else value


def _shift(type: Int, amount: int) -> int:
    return amount % 2**type.width


MEANINGS: dict[str, Callable[..., int]] = {
    "add": lambda t, a, b: a + b,
    "sub": lambda t, a, b: a - b,
    "mul": lambda t, a, b: a * b,
    "mul_mid": lambda t, a, b: (a * b) // 2 ** (t.width // 2),
    "mul_high": lambda t, a, b: (a * b) // 2**t.width,
    "mad": lambda t, a, b, c: a * b + c,
    "shl": lambda t, a, b: a * 2 ** min(_shift(t, b), t.width),
    "shr": lambda t, a, b: a // 2 ** min(_shift(t, b), t.width),
    "min": lambda t, a, b: b if b < a else a,
    "max": lambda t, a, b: a if b < a else b,
    "absd": lambda t, a, b: max(a, b) - min(a, b),
    "xor": lambda t, a, b: a ^ b,
    "smaller": lambda t, a, b, c: c if a < b else b,
}


def value_of(formula: Formula, type: Int, args: list[int]) -> int:
    """`formula` on Python ints."""
    head, *rest = formula
    if head == "arg":
        return args[rest[0]]
    if head == "const":
        return rest[0]
    return _wrap(type, MEANINGS[head](type, *[value_of(part, type, args) for part in rest]))


def typed(formula: Formula, type: Int, args: tuple[kernel.Typed, ...]) -> kernel.Typed:
    """`formula` as a typed expression."""
    head, *rest = formula
    if head == "arg":
        return args[rest[0]]
    if head == "const":
        return kernel.constant(type, rest[0])
    parts = [typed(part, type, args) for part in rest]
    if head == "smaller":
        return kernel.select(parts[0] < parts[1], parts[2], parts[1])
    return kernel.apply(head, *parts)


@dataclass(frozen=True)
class Address:
    """(sum of weight * iterator + constant) // divisor."""

    weights: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    divisor: int = 1

    def __str__(self) -> str:
        terms = " + ".join([*(f"{weight}*{name}" for name, weight in self.weights), str(self.constant)])
        return f"({terms}) // {self.divisor}"

    def at(self, iterators: dict[str, int]) -> int:
        return (sum(iterators[name] * weight for name, weight in self.weights) + self.constant) // self.divisor


def at(name: str, constant: int = 0, divisor: int = 1) -> Address:
    return Address(((name, 1),), constant, divisor)


Access = tuple[str, tuple[Address, ...]]
"""Array and addresses, slowest coordinate first."""


@dataclass(frozen=True)
class Op:
    name: str
    loads: tuple[Access, ...]
    store: Access
    formula: Formula


@dataclass(frozen=True)
class Loop:
    name: str
    start: int
    bound: int
    body: tuple[Op | Loop, ...]


@dataclass(frozen=True)
class Tree:
    """A program: one input, one output, and everything in between."""

    type: Int
    input_shape: tuple[int, ...]
    shapes: dict[str, tuple[int, ...]]
    output: str
    body: tuple[Op | Loop, ...] = field(default=())

    def build(self) -> Program:
        prg = Prog("random", self.type)
        prg.add_input("input", self.input_shape)
        prg.add_output(self.output, self.shapes[self.output])
        for node in self.body:
            _add(prg, node, self.type)
        return prg.build()

    def run(self, data: np.ndarray) -> np.ndarray:
        """The output, element by element in plain Python."""
        memory = {name: dict.fromkeys(np.ndindex(shape), 0) for name, shape in self.shapes.items()}
        memory["input"] = {index: int(data[index]) for index in np.ndindex(self.input_shape)}
        for node in self.body:
            _run(node, {}, memory, self.type)
        result = np.empty(self.shapes[self.output], object)
        for index, value in memory[self.output].items():
            result[index] = value
        return result


def _add(parent: Any, node: Op | Loop, type: Int) -> None:
    if isinstance(node, Loop):
        loop = parent.add_loop(node.name, node.start, node.bound)
        for child in node.body:
            _add(loop, child, type)
        return
    op = parent.add_op(node.name)
    for array, addresses in node.loads:
        op.add_load(array, *map(str, reversed(addresses)))
    op.add_function(lambda *args: typed(node.formula, type, args))
    op.add_store(node.store[0], *map(str, reversed(node.store[1])))


def _run(node: Op | Loop, iterators: dict[str, int], memory: dict[str, Any], type: Int) -> None:
    if isinstance(node, Loop):
        for value in range(node.start, node.start + node.bound):
            for child in node.body:
                _run(child, {**iterators, node.name: value}, memory, type)
        return
    args = [memory[array][tuple(a.at(iterators) for a in addresses)] for array, addresses in node.loads]
    array, addresses = node.store
    memory[array][tuple(a.at(iterators) for a in addresses)] = value_of(node.formula, type, args)


TYPES = [Int(width, signed) for width in (2, 8, 16, 31, 32, 64) for signed in (False, True)]


def formulas(type: Int, args: int) -> st.SearchStrategy[Formula]:
    """Formulas over `args` arguments; every argument is free to appear."""
    leaves = st.one_of(
        st.tuples(st.just("arg"), st.integers(0, args - 1)),
        st.tuples(st.just("const"), st.integers(type.minimum, type.maximum)),
    )

    def grow(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        binary = st.sampled_from([name for name in MEANINGS if name not in ("mad", "smaller")])
        ternary = st.sampled_from(["mad", "smaller"])
        return st.one_of(st.tuples(binary, parts, parts), st.tuples(ternary, parts, parts, parts))

    return st.recursive(leaves, grow, max_leaves=8)


@dataclass
class _Stage:
    """What one stage adds: nodes inside the tile loop, and the array that it makes."""

    nodes: tuple[Op | Loop, ...]
    array: str
    shape: tuple[int, int]


@st.composite
def _stencil(draw: Any, number: int, source: str, shape: tuple[int, int], type: Int) -> _Stage:
    """A window of random taps; addresses may be halved, and the loops may start anywhere."""
    divisor = draw(st.sampled_from([1, 1, 2]))
    reach = [draw(st.integers(0, min(2, size - 1))) for size in shape]
    out = (divisor * (shape[0] - reach[0]), divisor * (shape[1] - reach[1]))
    start = draw(st.integers(-2, 2))
    y, x, name = f"y{number}", f"x{number}", f"a{number}"
    taps = draw(st.lists(st.tuples(st.integers(0, reach[0]), st.integers(0, reach[1])), min_size=1, max_size=4))
    loads = tuple(
        (source, (at(y, divisor * dy - start, divisor), at(x, divisor * dx, divisor))) for dy, dx in taps
    )
    op = Op(f"S{number}", loads, (name, (at(y, -start), at(x))), draw(formulas(type, len(loads))))
    loops = Loop(y, start, out[0], (Loop(x, 0, out[1], (op,)),))
    return _Stage((loops,), name, out)


@st.composite
def _reduction(draw: Any, number: int, source: str, shape: tuple[int, int], type: Int) -> _Stage:
    """Initialisation and accumulation in one loop over rows; the inner loop reduces, or scans the columns."""
    y, r, name = f"y{number}", f"r{number}", f"a{number}"
    clear = Op(f"I{number}", (), (name, (at(y), Address())), ("const", draw(st.integers(0, type.maximum))))
    accumulator = (name, (at(y), Address()))
    formula = draw(formulas(type, 2))
    update = Op(f"R{number}", (accumulator, (source, (at(y), at(r)))), accumulator, formula)
    return _Stage((Loop(y, 0, shape[0], (clear, Loop(r, 0, shape[1], (update,)))),), name, (shape[0], 1))


@st.composite
def _recurrence(draw: Any, number: int, source: str, shape: tuple[int, int], type: Int) -> _Stage:
    """Every row, or every column, depends on the one before it; optionally in the order of both at once."""
    y, x, name = f"y{number}", f"x{number}", f"a{number}"
    here = (name, (at(y), at(x)))
    copy = Op(f"C{number}", ((source, (at(y), at(x))),), here, ("arg", 0))
    back = draw(st.sampled_from([(1, 0), (0, 1), (1, 1)]))
    loads = (here, (name, (at(y, -back[0]), at(x, -back[1]))))
    step = Op(f"D{number}", loads, here, draw(formulas(type, 2)))
    first = Loop(f"p{y}", 0, shape[0], (Loop(f"p{x}", 0, shape[1], (_renamed(copy),)),))
    rows, columns = shape[0] - back[0], shape[1] - back[1]
    if min(rows, columns) < 1:
        return _Stage((first,), name, shape)
    again = Loop(y, back[0], rows, (Loop(x, back[1], columns, (step,)),))
    return _Stage((first, again), name, shape)


def _renamed(op: Op) -> Op:
    """`op` with iterators called p..., for the loops of its own."""

    def rename(access: Access) -> Access:
        array, addresses = access
        return array, tuple(
            Address(tuple((f"p{name}", weight) for name, weight in a.weights), a.constant, a.divisor) for a in addresses
        )

    return Op(op.name, tuple(map(rename, op.loads)), rename(op.store), op.formula)


@st.composite
def trees(draw: Any) -> Tree:
    """Pipelines of one to four stages, optionally run for several tiles that share the intermediate arrays."""
    type = draw(st.sampled_from(TYPES))
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    tiles = draw(st.sampled_from([0, 0, 1, 3]))
    stages = list(_stages(draw, type, shape))
    shapes = {stage.array: stage.shape for stage in stages}
    output = stages[-1].array
    nodes = tuple(node for stage in stages for node in stage.nodes)
    input_shape: tuple[int, ...] = shape
    if tiles:
        nodes = tuple(_tiled(node, output) for node in nodes)
        shapes[output] = (tiles, *shapes[output])
        input_shape, nodes = (tiles, *shape), (Loop("t", 0, tiles, nodes),)
    return Tree(type, input_shape, shapes, output, nodes)


def _stages(draw: Any, type: Int, shape: tuple[int, int]) -> Iterator[_Stage]:
    source = "input"
    for number in range(draw(st.integers(1, 4))):
        stage = draw(draw(st.sampled_from([_stencil, _stencil, _reduction, _recurrence]))(number, source, shape, type))
        source, shape = stage.array, stage.shape
        yield stage


def _tiled(node: Op | Loop, output: str) -> Op | Loop:
    """`node` inside a loop t whose tiles have their own input and output."""
    if isinstance(node, Loop):
        return Loop(node.name, node.start, node.bound, tuple(_tiled(child, output) for child in node.body))

    def tile(access: Access) -> Access:
        array, addresses = access
        return (array, (at("t"), *addresses)) if array in ("input", output) else access

    return Op(node.name, tuple(map(tile, node.loads)), tile(node.store), node.formula)


def random_data(tree: Tree, seed: int) -> np.ndarray:
    """Input words over the whole range of the type."""
    type = tree.type
    generator = np.random.default_rng(seed)
    return generator.integers(type.minimum, type.maximum, tree.input_shape, type.dtype, endpoint=True)

"""Finding the scop of a C file and what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast, c_lexer, c_parser

from compiler.frontend.c_scop.builtins import builtin_functions
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.moving_pointers import with_indices
from compiler.frontend.c_scop.normalize.trees import nodes, written_names
from compiler.frontend.c_scop.pointers import without_pointers
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.structures import without_structures
from compiler.frontend.c_scop.types import PRELUDE
from compiler.frontend.c_scop.variables import Scope, names_in

__all__ = ["Scop", "find_scop", "functions_with_scops", "parse_c"]

_MESSAGE = re.compile(r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<reason>.*)", re.DOTALL)


@dataclass(frozen=True)
class Scop:
    """The statements between the pragmas, the scope they are in, and the names mentioned before and after."""

    items: list[Any]
    scope: Scope
    before: frozenset[str]
    after: frozenset[str]
    assigned: frozenset[str]
    place: Place
    functions: dict[str, c_ast.FuncDef]
    taken: set[str]


def parse_c(source: Source, file: str) -> c_ast.FileAST:
    """The syntax tree of preprocessed text. Raises `ScopError`."""
    parser = c_parser.CParser(lexer=_Lexer)
    try:
        tree = parser.parse(f'# 1 "<types>"\n{PRELUDE}{source.text}', file)
    except c_parser.ParseError as error:
        raise _syntax_error(source, file, str(error), parser.clex) from None
    except RecursionError:
        raise ScopError(Place(file, 1), "the file nests too deeply to be parsed") from None
    taken = _declared_names(tree)
    tree = without_pointers(with_indices(tree, taken))
    return without_structures(tree, source, taken)


class _Lexer(c_lexer.CLexer):
    """Remembers the last token, since some messages of the parser come without a place."""

    last: Any = None

    def token(self) -> Any:
        """The next token, None at the end."""
        found = super().token()
        self.last = found or self.last
        return found


def _syntax_error(source: Source, file: str, message: str, lexer: Any) -> ScopError:
    match = _MESSAGE.fullmatch(message)
    if match is not None:
        place = source.place(Place(match["file"], int(match["line"]), int(match["column"])))
        reason = match["reason"]
    else:
        token = lexer.last
        place = source.place(Place(lexer.filename, getattr(token, "lineno", 1), getattr(token, "column", 0)))
        reason = re.sub(r"^.*?: ", "", message)
    before = re.fullmatch(r"before: (.*)", reason)
    if before and before[1] == "...":
        return ScopError(place, "ranges ('...') are not supported; write a designator or a case for every value")
    return ScopError(place, f"not valid C, before '{before[1]}'" if before else f"not valid C: {reason}")


@dataclass(frozen=True)
class _Block:
    """Where a scop's pragmas are: the function, and for every block around them the items before."""

    function: c_ast.FuncDef
    outside: list[Any]
    items: list[Any]
    after: list[Any]
    place: Place


def functions_with_scops(tree: c_ast.FileAST, source: Source) -> tuple[str, ...]:
    """Names of the functions that have a scop; where none has one, of all functions."""
    functions = [node for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    found = [node for node in functions if _blocks(node, source)]
    return tuple(str(node.decl.name) for node in found or functions)


def find_scop(tree: c_ast.FileAST, source: Source, file: str, settings: Mapping[str, int],
              function: str | None = None) -> Scop:
    """The only scop of the file, or of `function`. A function without pragmas is a scop if it is asked for, or the only
    one of the file that no other one calls. Raises `ScopError` if there is none or more than one."""
    functions = [node for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    if function is not None:
        names = [node.decl.name for node in functions]
        if function not in names:
            raise ScopError(file, f"there is no function '{function}'; there are: {', '.join(names) or 'none'}")
        functions = [node for node in functions if node.decl.name == function]
    blocks = [block for node in functions for block in _blocks(node, source)]
    tops = _tops(functions)
    if not blocks and len(tops) == 1:
        blocks = [_Block(tops[0], [], tops[0].body.block_items or [], [], source.place(tops[0].decl.coord))]
    if not blocks:
        named = f"; name one of the functions with --function: {', '.join(n.decl.name for n in tops or functions)}"
        raise ScopError(file, f"there is no '#pragma scop' inside a function{named if functions else ''}")
    if len({block.function.decl.name for block in blocks}) > 1:
        names = ", ".join(dict.fromkeys(block.function.decl.name for block in blocks))
        raise ScopError(blocks[1].place, f"a second scop; the first is at {blocks[0].place}; choose with --function "
                                         f"one of: {names}")
    if len(blocks) > 1:
        raise ScopError(blocks[1].place, f"a second scop; the first is at {blocks[0].place}")
    return _surrounded(tree, blocks[0], source, settings)


def _tops(functions: list[c_ast.FuncDef]) -> list[c_ast.FuncDef]:
    """The functions that no other one calls; without static ones, and without a main() which only tests them, where
    others are left."""
    found = [node for node in functions if node.decl.name != "main"] or functions
    called = {node.decl.name: names_in([node.body]) for node in found}
    found = [node for node in found if not any(node.decl.name in names for name, names in called.items()
                                               if name != node.decl.name)]
    return [node for node in found if "static" not in node.decl.storage] or found


def _blocks(function: c_ast.FuncDef, source: Source) -> list[_Block]:
    found: list[_Block] = []

    def visit(compound: Any, outside: list[Any], behind: list[Any]) -> None:
        items = compound.block_items or []
        for number, item in enumerate(items):
            if isinstance(item, c_ast.Pragma) and item.string.split() == ["scop"]:
                end = _end(items, number, source)
                place = source.place(item.coord)
                found.append(_Block(function, outside + items[:number], items[number + 1:end],
                                    items[end + 1:] + behind, place))
            elif isinstance(item, c_ast.Compound):
                visit(item, outside + items[:number], items[number + 1:] + behind)
            else:
                _refuse_inside(item, source)

    visit(function.body, [], [])
    return found


def _end(items: list[Any], start: int, source: Source) -> int:
    for number in range(start + 1, len(items)):
        if isinstance(items[number], c_ast.Pragma) and items[number].string.split() == ["endscop"]:
            return number
    raise ScopError(source.place(items[start].coord), "'#pragma scop' has no '#pragma endscop' in the same block")


def _refuse_inside(node: Any, source: Source) -> None:
    """Raise `ScopError` if a loop or another statement outside the scop contains it."""
    for inner in nodes(node):
        if isinstance(inner, c_ast.Pragma) and inner.string.split() == ["scop"]:
            place = source.place(inner.coord)
            raise ScopError(place, "the scop is inside a loop or condition; put the pragmas around it")


def _surrounded(tree: c_ast.FileAST, block: _Block, source: Source, settings: Mapping[str, int]) -> Scop:
    after = names_in(block.after)
    assigned = {name for item in block.items for name in written_names(item)}
    before = _mentioned(block.outside)
    scope = Scope(source, {}, set(), settings=settings)
    for node in tree.ext:
        if node is block.function:
            break
        scope.declare(node, "global")
    scope = scope.inner()
    for parameter in _parameters(block.function):
        if parameter.name in scope.names:
            raise ScopError(source.place(parameter.coord), f"parameter '{parameter.name}' is declared twice")
        scope.declare(parameter, "parameter")
    scope = scope.inner()
    for item in block.outside:
        for declaration in item.decls if isinstance(item, c_ast.DeclList) else [item]:
            if not isinstance(declaration, c_ast.Decl | c_ast.Typedef):
                continue
            variable = scope.declare(declaration, "local")
            if variable is not None and variable.values is not None and variable.storage == "local":
                variable.fixed = variable.fixed or variable.name not in (before | assigned)
    return Scop(block.items, scope, frozenset(before), frozenset(after), frozenset(assigned), block.place,
                _functions(tree, block.function), _declared_names(tree))


def _functions(tree: c_ast.FileAST, scop: c_ast.FuncDef) -> dict[str, c_ast.FuncDef]:
    """The functions that the scop may call, by name."""
    own = {str(node.decl.name): node for node in tree.ext if isinstance(node, c_ast.FuncDef) and node is not scop}
    bodies = [node.body for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    return builtin_functions(names_in(bodies)) | own


def _declared_names(tree: c_ast.FileAST) -> set[str]:
    """All names that the file declares anywhere."""
    return {node.name for node in nodes(tree) if isinstance(node, c_ast.Decl) and node.name}


def _parameters(function: c_ast.FuncDef) -> list[Any]:
    arguments = function.decl.type.args
    return [p for p in arguments.params if isinstance(p, c_ast.Decl)] if arguments else []


def _mentioned(items: list[Any]) -> set[str]:
    """Names that the statements before the scop may change; sizes in declarations do not count."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, c_ast.Decl):
            if isinstance(item.init, c_ast.Node) and item.name:
                found |= names_in([item.init]) - {item.name}
                found |= set() if _plain(item.init) else {item.name}
        elif item is not None:
            found |= names_in([item])
    return found


def _plain(node: Any) -> bool:
    """Whether an initialiser is made of constants."""
    return not names_in([node])

"""Tables of 32-bit integers as tables of words: one whose entries fit a word, else one of low and one of high words."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.expr import Apply, Cast, Const, Expr, Lookup, fold, iterators_needed, postorder, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Program, Statement, Table
from compiler.ir.types import Int

__all__ = ["with_word_tables"]

_WIDTH = 16
_WORDS = (Int(_WIDTH, True), Int(_WIDTH, False))


def with_word_tables(program: Program) -> Program:
    """`program` whose tables that data index have entries of at most 16 bits; itself if they have. What iterators alone
    index becomes an input later."""
    wide = {table.name: table for table in program.tables
            if isinstance(table.type, Int) and _WIDTH < table.type.width <= 2 * _WIDTH}
    used = dict.fromkeys(name for s in program.statements for name in _looked_up(s) if name in wide)
    if not used:
        return program
    parts: dict[str, tuple[Table, ...]] = {}
    taken = set(program.names)
    for name in used:
        parts[name] = _in_words(wide[name], taken)
        taken |= {part.name for part in parts[name]}
    statements = tuple(replace(s, value=_rewritten(s.value, parts)) for s in program.statements)
    kept = {node.table for s in statements for node in postorder(s.value) if isinstance(node, Lookup)}
    tables = [table for table in program.tables if table.name in kept or table.name not in used]
    return replace(program, statements=statements, tables=(*tables, *(part for name in used for part in parts[name])))


def _looked_up(statement: Statement) -> list[str]:
    needs = iterators_needed(statement.value)
    return [node.table for node in postorder(statement.value)
            if isinstance(node, Lookup) and needs[id(node)] is None]


def _in_words(table: Table, taken: set[str]) -> tuple[Table, ...]:
    """The table as one of words, or those of its low and high words."""
    for type_ in _WORDS:
        if all(type_.contains(value) for value in table.values):
            return (Table(fresh_name(f"{table.name}_words", taken), table.values, type_),)
    word = _WORDS[1]
    low, high = (tuple(word.wrap(value >> shift) for value in table.values) for shift in (0, _WIDTH))
    return (Table(fresh_name(f"{table.name}_low", taken), low, word),
            Table(fresh_name(f"{table.name}_high", taken), high, word))


def _rewritten(value: Expr, parts: dict[str, tuple[Table, ...]]) -> Expr:
    needs = iterators_needed(value)

    def step(node: Expr, args: list[Expr]) -> Expr:
        new = with_children(node, args)
        if not isinstance(new, Lookup) or new.table not in parts or needs[id(node)] is not None:
            return new
        words = [Cast(Lookup(part.name, new.index, part.type), new.type) for part in parts[new.table]]
        if len(words) == 1:
            return words[0]
        high = Apply("shl", (words[1], Const(_WIDTH, new.type)), new.type)
        return Apply("or", (high, words[0]), new.type)

    return fold(value, step)

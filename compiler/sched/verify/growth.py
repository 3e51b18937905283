"""Whether a program on whole boxes computes all that was asked for."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.accesses import same_elements
from compiler.analysis.preserved_values import operands, same_values, stays
from compiler.analysis.sample_operands import UnknownMemories
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Const, converted
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.relations import united
from compiler.passes.normalize.boundary_padding import is_self_copy, out_of_bounds_reads
from compiler.passes.normalize.domain_padding import PaddedProgram
from compiler.sched.verify.errors import ValidationError

__all__ = ["check_growth"]


def check_growth(growth: PaddedProgram) -> None:
    """Raise `ValidationError` unless every instance that was asked for is there with its accesses, in its place, and
    every other one leaves the elements that these touch, and those of outputs, as they are. Statements may be missing
    that copy elements onto themselves."""
    before, after = growth.before, growth.after
    asked = [s for s in after.statements if s.name not in growth.clearing]
    names = {statement.name for statement in asked}
    kept = [s for s in before.statements if s.name in names or not is_self_copy(s)]
    domains = united(statement.domain for statement in asked)
    orders = [program.order.intersect_domain(domains) for program in (before, after)]
    same = [s.name for s in kept] == [s.name for s in asked] and _keeps_order(*orders)
    if not same or not domains.is_subset(orders[1].domain()) or before.tables != after.tables:
        raise ValidationError(f"the boxes of program '{before.name}' have other statements or another order")
    for statement in after.statements:
        if statement.name in growth.clearing:
            _check_clearing(after, statement, orders[1])
    for old, new in zip(kept, asked, strict=True):
        _check_statement(growth, old, new)
    for old_array, new_array in zip(before.arrays, after.arrays, strict=True):
        _check_array(growth, old_array, new_array)


def _keeps_order(before: isl.UnionMap, after: isl.UnionMap) -> bool:
    """Whether what came first still does; what was in no order may be in one."""
    return before.is_equal(after) or before.lex_lt_union_map(before).is_subset(after.lex_lt_union_map(after))


def _check_array(growth: PaddedProgram, old: Array, new: Array) -> None:
    front = growth.front(old.name)
    room = all(n >= o + f >= o for o, n, f in zip(old.shape, new.shape, front, strict=True))
    same = (old.name, old.type, old.role) == (new.name, new.type, new.role)
    if not room or not same or (old.name in growth.edges and old.role != "input"):
        raise ValidationError(f"array '{new.name}' of the whole boxes is not '{old.name}'")


def _check_clearing(program: Program, statement: Statement, others: isl.UnionMap) -> None:
    """The statement stores zeros, before all of `others`."""
    last = program.order_of(statement.name).intersect_domain(statement.domain).range().lexmax()
    later = last.lex_lt_set(isl.Set.from_union_set(others.range())).range()
    first = isl.Set.from_union_set(others.range())
    if not isinstance(statement.value, Const) or statement.value.value or not first.is_subset(later):
        raise ValidationError(f"{statement} does not set its array to zero before all else")


def _check_statement(growth: PaddedProgram, old: Statement, new: Statement) -> None:
    is_guarded = new.name in growth.guarded
    if not old.domain.is_subset(new.domain) or (old.value != new.value and not is_guarded):
        raise ValidationError(f"{new} computes something else on its whole box")
    reads = new.reads[: len(old.reads)]
    for was, now in zip((*old.reads, old.write), (*reads, new.write), strict=True):
        if was.array != now.array or not _on(now, old).apply_range(growth.origin(was.array)).is_equal(_on(was, old)):
            raise ValidationError(f"{old.label(was)}: its access to '{was.array}' is another one on the whole box")
    extra = new.domain.subtract(old.domain)
    if is_guarded:
        _check_guarded(growth, old, new, extra)
        return
    kept = _kept(growth.before, new.write.array).apply(growth.moved(new.write.array))
    used = extra.intersect(new.write.map.intersect_range(kept).domain())
    if not _changing(growth, new, used).is_empty():
        raise ValidationError(f"{new} writes elements of '{new.write.array}' on its whole box that the program uses")


def _check_guarded(growth: PaddedProgram, old: Statement, new: Statement, extra: isl.Set) -> None:
    """The instances that were asked for compute what they did, the others what they have read of their element."""
    own = {k for k, read in enumerate(new.reads) if same_elements(read, new.write, new.domain)}
    added = set(range(len(old.reads), len(new.reads)))
    if not added <= own or not own:
        raise ValidationError(f"{new} reads something else on its whole box")
    program = growth.after
    columns, steps, tables = operands(program, new, own, old.domain)
    wanted = evaluate(converted(old.value, program.array(new.write.array).type), columns.__getitem__, steps, tables,
                      UnknownMemories(program))
    found = evaluate(new.value, columns.__getitem__, steps, tables, UnknownMemories(program))
    if not same_values(found, wanted) or not stays(program, new, (), own, extra):
        raise ValidationError(f"{new} stores something else on its whole box")


def _changing(growth: PaddedProgram, new: Statement, instances: isl.Set) -> isl.Set:
    """The `instances` of a statement that may change the element that they write. Those do not that find zeros beside
    inputs and then compute what they have read of that element."""
    back = {read.array: growth.moved(read.array).reverse() for read in new.reads}
    own = {k for k, read in enumerate(new.reads) if same_elements(read, new.write, new.domain)}
    asked = replace(new, reads=tuple(Access(r.array, r.map.apply_range(back[r.array])) for r in new.reads))
    rest = instances
    for zeros, some in out_of_bounds_reads(growth.before, asked, instances, growth.edges) if own else ():
        if not some.is_empty() and stays(growth.after, new, zeros, own, some):
            rest = rest.subtract(some)
    return rest


def _on(access: Access, statement: Statement) -> isl.Map:
    return access.map.intersect_domain(statement.domain)


def _kept(program: Program, array: str) -> isl.Set:
    """The elements that the program's instances touch, and all of an output."""
    shape = program.array(array).shape
    names = [f"e{k}" for k in range(len(shape))]
    total = isl.Set(f"{{ {array}[{', '.join(names)}] : 1 = 0 }}")
    if program.array(array).role == "output":
        bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, shape, strict=True))
        total = isl.Set(f"{{ {array}[{', '.join(names)}] : {bounds or 'true'} }}")
    for statement in program.statements:
        for access in (*statement.reads, statement.write):
            if access.array == array:
                total = total.union(_on(access, statement).range())
    return total

"""Whether words keep their values on the way through a pipeline's cells, by the formats that the hardware has."""

from __future__ import annotations

from compiler.bind.word_formats import contains_all, holds, number_of, type_of
from compiler.ir.program import Program
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import (
    BufferCell,
    ConstantCell,
    CounterCell,
    InputCell,
    LineCell,
    MergeCell,
    OutputCell,
    PipelineSpec,
    Tap,
    Word,
    operands,
)

__all__ = ["check_formats", "check_loaded", "keeps_iterator", "tapped_word"]


def check_formats(program: Program, spec: PipelineSpec) -> None:
    """Raise `ValidationError` for a cell that only passes words on and is too narrow for them or has another sign, and
    for streams in other formats than their arrays'."""
    for number, cell in enumerate(spec.cells):
        match cell:
            case LineCell() | BufferCell() | MergeCell() | OutputCell():
                for tap in operands(cell):
                    given = tapped_word(spec, tap)
                    if not contains_all(cell.word, given):
                        raise ValidationError(f"cell {number} passes {type_of(given)} on as {type_of(cell.word)}")
            case ConstantCell() if not holds(cell.word, cell.value, cell.value):
                raise ValidationError(f"cell {number} has the constant {cell.value} as {type_of(cell.word)}")
            case CounterCell() if cell.walk.size > 1 << cell.word.width:
                raise ValidationError(f"cell {number} counts modulo {cell.walk.size} as {type_of(cell.word)}")
        if isinstance(cell, OutputCell):
            _check_array(program, cell)


def keeps_iterator(cell: CounterCell, low: int, high: int) -> bool:
    """Whether a counter modulo its size has the values `low` to `high`, wrapped to its word."""
    return cell.walk.size == 1 << cell.word.width or holds(cell.word, low, high)


def check_loaded(program: Program, array: str, cell: InputCell) -> None:
    """Raise `ValidationError` unless an input has the format of the array that it comes from."""
    if program.array(array).type != number_of(cell.word):
        raise ValidationError(f"input {cell.name} takes {program.array(array).type} as {type_of(cell.word)}")


def _check_array(program: Program, cell: OutputCell) -> None:
    if program.array(cell.name).type != number_of(cell.word):
        raise ValidationError(f"output {cell.name} gives {program.array(cell.name).type} as {type_of(cell.word)}")


def tapped_word(spec: PipelineSpec, tap: Tap) -> Word:
    """The format of what a tap carries."""
    cell = spec.cells[tap.cell]
    assert not isinstance(cell, OutputCell)
    return cell.word

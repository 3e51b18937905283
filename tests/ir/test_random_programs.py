"""Random loop programs: the interpreter against nested Python loops, and the text form against itself."""

from hypothesis import given, settings
from hypothesis import strategies as st
from loop_trees import Tree, random_data, trees

from compiler.ir.interpret import interpret
from compiler.ir.text import parse_program, print_program
from compiler.ir.verify import verify


@settings(max_examples=150, deadline=None)
@given(trees(), st.integers(0, 2**32))
def test_the_interpreter_agrees_with_nested_python_loops(tree: Tree, seed: int) -> None:
    data = random_data(tree, seed)
    result = interpret(tree.build(), {"input": data})[tree.output]
    assert result.dtype == tree.type.dtype
    assert (result.astype(object) == tree.run(data)).all()


@settings(max_examples=100, deadline=None)
@given(trees())
def test_the_text_form_parses_back_to_an_equal_program(tree: Tree) -> None:
    program = tree.build()
    text = print_program(program)
    parsed = parse_program(text)
    verify(parsed)
    assert parsed == program
    assert hash(parsed) == hash(program)
    assert print_program(parsed) == text

"""Encoding of a processing element's configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pe_reference import feedback_configurations

from hw.lib.configuration import ConfigurationError
from hw.ops import OPERATIONS
from hw.pe import Pe, PeConfig, PeSpec
from hw.pe.bfloat16 import BFLOAT16_OPERATIONS
from hw.pe.config import COUNT
from hw.verilog import convert

SPEC = PeSpec()
optional_words = st.tuples(*[st.none() | st.integers(0, 2**16 - 1)] * 3)
optional_bits = st.tuples(*[st.none() | st.integers(0, 1)] * 3)
configs = st.builds(
    PeConfig,
    st.sampled_from(sorted(OPERATIONS)),
    st.booleans(),
    optional_words,
    optional_bits,
    st.integers(0, 255),
)


@given(configs)
def test_words_decode_to_the_configuration(config: PeConfig) -> None:
    assert PeConfig.decode(config.words(SPEC), SPEC) == config


@pytest.mark.parametrize("config", feedback_configurations())
def test_words_of_feedback_decode_to_the_configuration(config: PeConfig) -> None:
    assert PeConfig.decode(config.words(SPEC), SPEC) == config


def test_the_own_result_takes_no_input_but_what_restarts_does() -> None:
    assert PeConfig("add", feedback=1).inputs == ("word0",)
    assert PeConfig("add", feedback=1, restart=True).inputs == ("word0", "word1", "bit2")
    assert PeConfig("select", feedback=0, restart=True, constants=(7, None, None)).inputs == ("bit0", "word1", "bit2")


@given(configs, configs)
def test_different_configurations_have_different_words(one: PeConfig, other: PeConfig) -> None:
    assert (one == other) == (one.words(SPEC) == other.words(SPEC))


def test_no_words_are_a_processing_element_that_is_off() -> None:
    assert PeConfig.decode({}, SPEC) is None


def test_inputs_are_those_that_are_read_and_not_constant() -> None:
    assert PeConfig("mad", constants=(None, 3, None)).inputs == ("word0", "word2")
    assert PeConfig("select", bit_constants=(None, 1, 1)).inputs == ("bit0", "word0", "word1")
    assert PeConfig("abs", constants=(None, 3, None)).inputs == ("word0",)
    assert PeConfig("abs").output == "word0"
    assert PeConfig("lt").output == "bit0"


def test_a_narrow_element_has_narrow_constants() -> None:
    config = PeConfig("add", constants=(None, 7, None))
    assert PeConfig.decode(config.words(PeSpec(3)), PeSpec(3)) == config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (PeConfig("divide"), "processing element: there is no operation 'divide'"),
        (PeConfig("add", constants=(None, -1, None)), "processing element: constant1 = -1 does not fit in 16 bits"),
        (PeConfig("add", constants=(65536, 0, None)), "processing element: constant0 = 65536 does not fit in 16 bits"),
        (PeConfig("lut3", bit_constants=(None, 2, 1)), "processing element: bit_constant1 = 2 does not fit in 1 bits"),
        (PeConfig("lut3", table=256), "processing element: table = 256 does not fit in 8 bits"),
        (PeConfig("add", feedback=2), "processing element: 'add' has no word operand 2 that its own result can be"),
        (PeConfig("lt", feedback=0), "processing element: 'lt' has no word operand 0 that its own result can be"),
        (PeConfig("mad", feedback=1), "processing element: the own result is no factor of 'mad'"),
        (PeConfig("add", restart=True), "processing element: nothing restarts without feedback"),
        (PeConfig("add", feedback=0, restart=True, bit_constants=(None, None, 1)),
         "processing element: the bit that restarts is no constant; leave bit2 to it"),
        (PeConfig("add", feedback=0, constants=(1, None, None)),
         "processing element: an operand is a constant and the own result"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(config: PeConfig, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.words(SPEC)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({(0, 0): 1 | 63 << 1}, "processing element: there is no operation with code 63"),
        ({(0, 9): 1}, "processing element: there is no register 9 in feature 0"),
        ({(0, 0): 1 << 31}, "processing element: register 0 cannot hold 0x80000000"),
        ({(0, 0): 3 << 1}, "processing element: a constant or operation is set that is not in use"),
        ({(0, 0): 1, (0, 1): 5}, "processing element: a constant or operation is set that is not in use"),
    ],
)
def test_words_that_nothing_encodes_to_are_an_error(words: dict[tuple[int, int], int], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PeConfig.decode(words, SPEC)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", BFLOAT16_OPERATIONS)
def test_operations_on_bfloat16_are_those_of_elements_that_have_it(name: str) -> None:
    config, spec = PeConfig(name, constants=(0x3F80, None, None)), PeSpec(bfloat16=True)
    assert PeConfig.decode(config.words(spec), spec) == config
    with pytest.raises(ConfigurationError) as caught:
        config.words(SPEC)
    assert str(caught.value) == f"processing element: '{name}' needs bfloat16, which it does not have"
    with pytest.raises(ConfigurationError) as caught:
        PeConfig(name, feedback=0).words(spec)
    assert str(caught.value) == f"processing element: '{name}' has no word operand 0 that its own result can be"


def test_elements_without_bfloat16_are_as_they_were() -> None:
    assert convert(Pe(PeSpec()), "pe") == convert(Pe(PeSpec(add_cycles=5, multiply_cycles=7)), "pe")
    assert "float" not in convert(Pe(PeSpec()), "pe")
    assert not {entry.code for entry in BFLOAT16_OPERATIONS.values()} & {
        entry.code for entry in (*OPERATIONS.values(), COUNT)}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 24, "bfloat16": True}, "processing elements with bfloat16 have words of 16 bits, not 24"),
        ({"add_cycles": 0}, "add_cycles of a processing element is 1 to 8, not 0"),
        ({"multiply_cycles": 9}, "multiply_cycles of a processing element is 1 to 8, not 9"),
    ],
)
def test_elements_with_bfloat16_have_limits(parameters: dict, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PeSpec(**parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize("width", [1, 33])
def test_widths_have_limits(width: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PeSpec(width)
    assert str(caught.value) == f"a processing element has words of 2 to 32 bits, not {width}"

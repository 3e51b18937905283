"""Pin files. The locations here are made up; the project itself contains none."""

import pytest

from hw.boards.de3 import DE3_PORTS, de3_pins
from hw.boards.pins import Connection, Pin, PinError, find_pin, parse_connection, read_pins

QSF = """\
# a comment
set_global_assignment -name FAMILY "Stratix III"
set_location_assignment PIN_A1 -to OSC
set_location_assignment -to LED[0] PIN_B2 ; # another comment
set_location_assignment PIN_ab12 -to "LED[1]"
set_location_assignment PIN_C3 -to {button}
set_instance_assignment -name IO_STANDARD "2.5 V" -to OSC
set_instance_assignment -name IO_STANDARD "1.8 V" -to LED
"""

CSV = """\
# Quartus II
To,Direction,Location,I/O Bank,I/O Standard
OSC,Input,PIN_A1,1A,2.5 V
LED[0],Output,PIN_B2,1A,
LED[1],Output,PIN_AB12,,1.8 V
unplaced,Output,,,
button,Input,PIN_C3
"""


def write(tmp_path, text, name="pins.qsf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_qsf(tmp_path):
    assert read_pins(write(tmp_path, QSF)) == {
        "OSC": Pin("A1", "2.5 V"),
        "LED[0]": Pin("B2", "1.8 V"),
        "LED[1]": Pin("AB12", "1.8 V"),
        "button": Pin("C3"),
    }


def test_csv(tmp_path):
    assert read_pins(write(tmp_path, CSV, "pins.CSV")) == {
        "OSC": Pin("A1", "2.5 V"),
        "LED[0]": Pin("B2"),
        "LED[1]": Pin("AB12", "1.8 V"),
        "button": Pin("C3"),
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.qsf", "set_location_assignment PIN_7 -to x", "line 1: 'PIN_7' is not a pin location"),
        ("a.qsf", "\nset_location_assignment PIN_A1", "line 2: set_location_assignment without a pin and a signal"),
        ("a.qsf", "set_location_assignment -to x -comment y", "line 1: 'set_location_assignment' names no pin for x"),
        ("a.qsf", "nothing here", "no pin locations in it"),
        ("a.csv", "a,b\n1,2", "no header line with the columns To and Location"),
        ("a.csv", "To,Location\nx,hello", "line 2: 'hello' is not a pin location"),
    ],
)
def test_bad_files(tmp_path, name, text, message):
    path = write(tmp_path, text, name)
    with pytest.raises(PinError) as error:
        read_pins(path)
    assert str(error.value) == f"{path}: {message}"


def test_missing_file(tmp_path):
    with pytest.raises(PinError) as error:
        read_pins(tmp_path / "none.qsf")
    assert str(error.value) == f"{tmp_path}/none.qsf: No such file or directory"


def test_find_pin_ignores_case_and_suggests(tmp_path):
    path = tmp_path / "f"
    pins = {"OSC_50": Pin("A1"), "LED[0]": Pin("B2")}
    assert find_pin(pins, "osc_50", path) == Pin("A1")
    with pytest.raises(PinError) as error:
        find_pin(pins, "OSC50", path)
    assert str(error.value) == f"{path}: no location for signal 'OSC50'; close to it: OSC_50"


def test_connections():
    assert parse_connection("clk50=OSC") == Connection("clk50", "OSC")
    assert parse_connection("passed=~LED[0]") == Connection("passed", "LED[0]", invert=True)
    with pytest.raises(PinError) as error:
        parse_connection("clk50")
    assert str(error.value) == "'clk50' is not a connection; write PORT=NAME, or PORT=~NAME if the pin is active low"


def test_de3_pins_by_connection_and_by_own_name(tmp_path):
    path = write(tmp_path, QSF + "set_location_assignment PIN_D4 -to RESET\n")
    connections = [Connection("clk50", "OSC"), Connection("passed", "led[0]", invert=True)]
    assert de3_pins(path, connections) == {
        "reset": (Pin("D4"), False),
        "clk50": (Pin("A1", "2.5 V"), False),
        "passed": (Pin("B2", "1.8 V"), True),
    }


def test_de3_needs_the_clock(tmp_path):
    path = write(tmp_path, QSF)
    with pytest.raises(PinError) as error:
        de3_pins(path, [])
    assert str(error.value) == f"{path}: no location for clk50; say which signal it is with --connect clk50=NAME"


def test_de3_unknown_port(tmp_path):
    with pytest.raises(PinError) as error:
        de3_pins(write(tmp_path, QSF), [Connection("clock", "OSC")])
    assert str(error.value) == f"there is no port 'clock'; the ports are {', '.join(DE3_PORTS)}"

"""Inputs and outputs in files: pictures, PGM and PPM with types, text, arrays."""

import io

import numpy as np
import pytest
from PIL import Image

from compiler.cli.images import sample_image
from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac, parse_sac, random_inputs
from compiler.frontend.sac.values import parse_values, print_values, read_pnm, write_pnm
from compiler.ir.types import ProgramError

KINDS = ("bool", "bits3", "uint8", "int8", "uint12", "int16", "fix16.4", "ufix8.8", "uint20", "int32", "ufix32.16")


def port(kind: str, rank: int):
    extents = f"[{','.join(':' * rank)}]" if rank else ""
    return parse_sac(f"uint8 f ({kind} a{extents}) return (1);").inputs["a"]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_arrays_of_every_type_come_back_from_pgm(kind, rank, text, tmp_path):
    program = parse_sac(f"uint8 f ({kind} a[{','.join(':' * rank)}]) return (1);")
    given = random_inputs(program, rank, 5)["a"][:3]
    path = tmp_path / "a.pgm"
    write_pnm(path, given, program.inputs["a"], ascii_=text)
    assert path.read_bytes()[:2] == (b"P2" if text else b"P5")
    assert np.array_equal(read_pnm(path, program.inputs["a"]), given)


def test_floats_come_back_from_pgm(tmp_path):
    given = np.array([[1.5, -2e30], [0.1, 3]], dtype=np.float32)
    write_pnm(tmp_path / "a.pgm", given, port("float", 2))
    assert np.array_equal(read_pnm(tmp_path / "a.pgm", port("float", 2)), given)


@pytest.mark.parametrize("text", [False, True])
def test_pictures_in_colour_come_back_from_ppm_which_others_read(text, tmp_path):
    given = sample_image(colour=True)[:20, :30].astype(np.int64)
    write_pnm(tmp_path / "a.ppm", given, port("uint8", 3), ascii_=text)
    assert np.array_equal(read_pnm(tmp_path / "a.ppm", port("uint8", 3)), given)
    with Image.open(tmp_path / "a.ppm") as image:
        assert np.array_equal(np.asarray(image), given)


def test_files_of_others_have_no_type(tmp_path):
    """A PGM has two dimensions and a PPM three; 16 bits if the greatest value says so."""
    grey = sample_image()[:5, :7]
    Image.fromarray(grey).save(tmp_path / "a.pgm")
    assert np.array_equal(read_pnm(tmp_path / "a.pgm", port("uint8", 2)), grey)
    (tmp_path / "b.pgm").write_bytes(b"P5 # wide\n2 1 # pixels\n65535\n\x01\x00\xff\xfe")
    assert read_pnm(tmp_path / "b.pgm", port("uint16", 2)).tolist() == [[256, 65534]]
    (tmp_path / "c.ppm").write_bytes(b"P3\n1 2\n255\n1 2 3 # first\n4 5 6\n")
    assert read_pnm(tmp_path / "c.ppm", port("uint8", 3)).tolist() == [[[1, 2, 3]], [[4, 5, 6]]]


@pytest.mark.parametrize("data, message", [
    (b"GIF89a", "{} is no PGM or PPM file: it begins with none of P2, P3, P5, P6"),
    (b"P5\n2", "{}: its header lacks width, height or greatest value"),
    (b"P5\n2 2\n0\n", "{}: its greatest value is 0; it is 1 to 4294967295"),
    (b"P5\n2 2\n255\nabc", "{} is cut off: it has 3 of 4 samples"),
    (b"P2\n2 2\n255\n1 2 x 4", "{}: its samples are not all numbers"),
    (b"P2\n2 1\n15\n1 16", "{}: a sample is 16, and its greatest value is 15"),
    (b"P5\n# sac int8[2,2]\n2 2\n255\nabcd", "{} holds int8[2,2], and input a has type uint8[:,:]"),
    (b"P5\n# sac uint8[2,3]\n2 2\n255\nabcd", "{} says that it holds uint8[2,3], and has 4 samples"),
    (b"P5\n# sac uint99[2,2]\n2 2\n255\nabcd", "type uint99 has 99 bits; there are 1 to 32"),
])
def test_files_that_are_no_pgm(data, message, tmp_path):
    (tmp_path / "a.pgm").write_bytes(data)
    with pytest.raises(ProgramError) as error:
        read_pnm(tmp_path / "a.pgm", port("uint8", 2))
    assert str(error.value) == message.format(tmp_path / "a.pgm")


def test_outputs_that_no_pgm_holds(tmp_path):
    with pytest.raises(ProgramError, match=r"has type double\[:\]; take a \.npy file$"):
        write_pnm(tmp_path / "a.pgm", np.zeros(3), port("double", 1))
    with pytest.raises(ProgramError, match=r"red, green and blue, and output a has shape \[2, 2\]; take a \.pgm file$"):
        write_pnm(tmp_path / "a.ppm", np.zeros((2, 2)), port("uint8", 2))


@pytest.mark.parametrize("kind", (*KINDS, "float", "double", "complex fix16.4", "complex double"))
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_values_of_every_type_come_back_from_text(kind, rank):
    extents = f"[{','.join(':' * rank)}]" if rank else ""
    given = random_inputs(parse_sac(f"uint8 f ({kind} a{extents}) return (1);"), 1, 3)["a"]
    (found,) = parse_values(print_values([given]), [port(kind, rank)], "x")
    assert np.array_equal(found, given)


@pytest.mark.parametrize("text, kind, rank, message", [
    ("{{1, 2}, {3}}", "uint8", 2, "x:1: input a is ragged: its rows have different extents"),
    ("{1, 2", "uint8", 1, "x:1: input a: ',' or '}' is needed, and here stands 'the end'"),
    ("{1, 2} 3", "uint8", 1, "x:1: '3' is behind the last value"),
    ("\n{1, two}", "uint8", 1, "x:2: 'two}' is no value"),
    ("5", "uint8", 1, "x:1: input a of type uint8[:] needs '{', and here stands '5'"),
    ("{5}", "uint8", 0, "x:1: input a needs a number, and here stands '{'"),
    ("", "uint8", 0, "x:1: input a needs a number, and here stands 'the end'"),
    ("(1 2)", "complex int8", 0, "x:1: complex input a needs ',', and here stands '2'"),
])
def test_text_that_is_no_value(text, kind, rank, message):
    with pytest.raises(ProgramError) as error:
        parse_values(text, [port(kind, rank)], "x")
    assert str(error.value) == message


def test_the_command_line_reads_and_writes_all_of_them(tmp_path, capsys):
    picture = sample_image()[100:130, 80:120]
    wanted = load_sac(sac_applications()["sac/prewitt"]).run({"Image": picture.astype(int)})["edges"]
    np.save(tmp_path / "a.npy", picture)
    (tmp_path / "a.txt").write_text(print_values([picture]))
    for name in ("a.png", "a.pgm"):
        Image.fromarray(picture).save(tmp_path / name)
    for name in ("a.npy", "a.txt", "a.png", "a.pgm"):
        for output in ("o.npy", "o.txt", "o.png", "o.pgm"):
            assert main(["sac/prewitt", "--input", str(tmp_path / name), "--output", str(tmp_path / output), "--ascii"]
                        ) == 0
        assert np.array_equal(np.load(tmp_path / "o.npy"), wanted)
        assert np.array_equal(read_pnm(tmp_path / "o.pgm", port("uint8", 2)), wanted)
        assert (tmp_path / "o.pgm").read_bytes()[:2] == b"P2"
        with Image.open(tmp_path / "o.png") as image:
            assert np.array_equal(np.asarray(image), wanted)
        assert np.array_equal(parse_values((tmp_path / "o.txt").read_text(), [port("uint8", 2)], "x")[0], wanted)


def test_jpeg_and_colour_on_the_command_line(tmp_path):
    Image.fromarray(sample_image(colour=True)).save(tmp_path / "a.jpg")
    assert main(["sac/threshold", "--input", str(tmp_path / "a.jpg"), "--set", "level=100", "--output",
                 str(tmp_path / "grey.png")]) == 0
    with Image.open(tmp_path / "a.jpg") as image, Image.open(tmp_path / "grey.png") as grey:
        near = np.asarray(image.convert("L")).astype(int) - np.asarray(grey)
    assert np.abs(near).max() <= 2


def test_standard_input_holds_all_inputs_in_order(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("{1, 2, 3}\n{4, 5, -6}\n"))
    assert main(["sac/dot_product", "--input", "-"]) == 0
    assert " -4 " in capsys.readouterr().out

"""The design directory: what is written reads back equal, and damage is one clear line."""

import dataclasses
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.designs.directory import DesignError, DesignImage, OutputRegion, crc32, read_design, write_design
from hw.designs.register_documents import register_documents
from hw.fabric.control_registers import control_registers
from hw.fabric.spec import FabricSpec

IMAGE = DesignImage(
    name="blur",
    array="4x4",
    configuration=((0x00010203, 7), (0x80000001, 0xFFFFFFFF)),
    plan=(("period", 4096), (0x10, 1)),
    memory=((0, b"\x01\x02\x03"), (64, bytes(range(40)))),
    outputs=(OutputRegion("output", 0x80, 32, crc32(bytes(32))), OutputRegion("extra", 0xA0, 1)),
    memory_bytes=256,
    parameters={"tracks": 5, "mem": {"kind": "pub"}},
    metadata={"predicted": 4095},
)

words = st.integers(0, 2**32 - 1)
blocks = st.lists(st.tuples(st.integers(0, 7), st.binary(max_size=40)), unique_by=lambda block: block[0])


@given(
    configuration=st.lists(st.tuples(words, words)),
    plan=st.lists(st.tuples(st.text() | words.map(lambda word: word & ~3), words)),
    memory=blocks.map(lambda items: tuple(sorted((64 * slot, data) for slot, data in items if data))),
)
def test_round_trip(tmp_path_factory, configuration, plan, memory):
    image = dataclasses.replace(
        IMAGE, configuration=tuple(configuration), plan=tuple(plan), memory=memory, memory_bytes=512
    )
    directory = tmp_path_factory.mktemp("design")
    write_design(directory, image)
    assert read_design(directory) == image


def test_equal_images_give_equal_bytes(tmp_path):
    first, second = (write_design(tmp_path / name, IMAGE) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name for path in first] == ["configuration.hex", "memory.hex", "manifest.json"]


def test_other_files_belong_to_the_design(tmp_path):
    documents = {"rtl/registers.h": "#define A 1\n", "notes.md": "# µ\n"}
    written = write_design(tmp_path, IMAGE, documents)
    assert [str(path.relative_to(tmp_path)) for path in written] == [
        "rtl/registers.h", "notes.md", "configuration.hex", "memory.hex", "manifest.json"]
    digests = json.loads((tmp_path / "manifest.json").read_text())["files"]
    for name, text in documents.items():
        assert (tmp_path / name).read_text() == text
        assert digests[name] == hashlib.sha256(text.encode()).hexdigest()
    assert read_design(tmp_path) == IMAGE
    (tmp_path / "rtl" / "registers.h").write_text("#define A 2\n")
    assert message(tmp_path) == "/rtl/registers.h: contents do not match the SHA-256 in manifest.json"
    (tmp_path / "rtl" / "registers.h").unlink()
    assert message(tmp_path) == "/rtl/registers.h: No such file or directory"


def test_a_design_replaces_the_one_before_and_nothing_else(tmp_path):
    write_design(tmp_path, IMAGE, {"rtl/old.v": "module old; endmodule\n", "rtl/both.v": "module both; endmodule\n"})
    (tmp_path / "notes.txt").write_text("mine")
    write_design(tmp_path, replace(IMAGE, name="other"), {"rtl/both.v": "module both2; endmodule\n"})
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == {
        "configuration.hex", "manifest.json", "memory.hex", "notes.txt", "rtl/both.v"}
    assert read_design(tmp_path).name == "other"


def test_a_damaged_design_is_replaced(tmp_path):
    for manifest in ("", "[]", '{"files": 3}', '{"files": {"../notes": ""}}'):
        (tmp_path / "manifest.json").write_text(manifest)
        write_design(tmp_path, IMAGE)
        assert read_design(tmp_path) == IMAGE


def test_designs_that_are_written_at_the_same_time_are_not_mixed(tmp_path):
    def write(number):
        text = f"module m{number}; endmodule\n" * 2000
        write_design(tmp_path, replace(IMAGE, name=f"design{number}"), {f"rtl/m{number}.v": text, "rtl/m.v": text})
        return number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(write, range(24))) == list(range(24))
    name = read_design(tmp_path).name
    assert {p.name for p in (tmp_path / "rtl").iterdir()} == {"m.v", f"m{name.removeprefix('design')}.v"}


def test_registers_of_an_array(tmp_path):
    spec = FabricSpec(2, 3)
    documents = register_documents(spec)
    header, page = documents["rtl/registers.h"], documents["rtl/registers.md"]
    assert f"#define SLUICE_RUN_CYCLES 0x{control_registers(spec).address('RUN_CYCLES'):04x}" in header.splitlines()
    assert page.startswith("# Control registers of the 2x3 array\n")
    assert "Copy *i* (0 to 2) starts at" in page


def test_memory_image():
    image = IMAGE.memory_image()
    assert len(image) == 256
    assert image[:4] == b"\x01\x02\x03\x00"
    assert image[64:104] == bytes(range(40))
    assert image[104:] == bytes(152)


def broken_manifest(directory: Path, change) -> str:
    write_design(directory, IMAGE)
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return message(directory)


def message(directory: Path) -> str:
    with pytest.raises(DesignError) as error:
        read_design(directory)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(str(directory))
    return text.removeprefix(str(directory))


MANIFEST_FAULTS = {
    "format": (lambda m: m.update(format="x"), "format is 'x', not 'sluice-design'"),
    "version": (lambda m: m.update(version=2), "version 2 is not supported, only 1"),
    "missing": (lambda m: m.pop("plan"), "field 'plan' is missing"),
    "unknown": (lambda m: m.update(more=1), "unknown field 'more'"),
    "type": (lambda m: m.update(memory_bytes=True), "field 'memory_bytes' must be an integer"),
    "name": (lambda m: m.update(name="a b"), "design name 'a b' is not an identifier"),
    "array": (lambda m: m.update(array="0x4"), "array '0x4' is not of the form RxC"),
    "parameters": (lambda m: m["parameters"].update(rows=4),
                   "parameters must not repeat rows or columns: array gives them"),
    "plan": (lambda m: m.update(plan=[["a"]]), "plan entry ['a'] is not [register, value]"),
    "offset": (lambda m: m.update(plan=[[6, 1]]), "plan register 6 is neither a name nor a multiple of 4"),
    "value": (lambda m: m.update(plan=[["run", -1]]), "plan value -1 of register run is not 32 bits"),
    "float": (lambda m: m.update(plan=[["run", 1.5]]), "plan value 1.5 of register run is not 32 bits"),
    "file": (lambda m: m["files"].update({"../x": ""}), "file '../x' is not a path in the directory"),
    "file at the root": (lambda m: m["files"].update({"/x": ""}), "file '/x' is not a path in the directory"),
    "output": (lambda m: m["outputs"].append(3), "output 3 is not an object"),
    "output field": (lambda m: m["outputs"][0].pop("length"), "output: field 'length' is missing"),
    "output end": (lambda m: m["outputs"][0].update(length=999),
                   "output output ends at 0x467, memory has 0x100 bytes"),
    "output twice": (lambda m: m["outputs"].append(m["outputs"][0]), "two outputs have the same name"),
    "crc": (lambda m: m["outputs"][0].update(crc32="12"),
            "output output: crc32 must be eight hexadecimal digits or null"),
    "memory size": (lambda m: m.update(memory_bytes=70),
                    "memory block at 0x40 ends at 0x68, memory has 0x46 bytes"),
    "memory none": (lambda m: m.update(memory_bytes=0), "memory_bytes is 0, must be 1..4294967295"),
}  # fmt: skip


@pytest.mark.parametrize("fault", MANIFEST_FAULTS)
def test_damaged_manifest(tmp_path, fault):
    change, expected = MANIFEST_FAULTS[fault]
    assert broken_manifest(tmp_path, change) == f"/manifest.json: {expected}"


def test_missing_directory(tmp_path):
    assert message(tmp_path / "none") == "/manifest.json: No such file or directory"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not a text file"),
    ],
)
def test_not_a_manifest(tmp_path, text, expected):
    (tmp_path / "manifest.json").write_bytes(text)
    assert message(tmp_path) == f"/manifest.json: {expected}"


@pytest.mark.parametrize("name", ["configuration.hex", "memory.hex"])
def test_every_damaged_byte_is_noticed(tmp_path, name):
    write_design(tmp_path, IMAGE)
    path = tmp_path / name
    good = path.read_bytes()
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        assert message(tmp_path) == f"/{name}: contents do not match the SHA-256 in manifest.json"


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("configuration.hex", "12 34", "line 3: not an address and a data word: '12 34'"),
        ("memory.hex", "zz", "line 7: neither an address nor bytes: 'zz'"),
    ],
)
def test_malformed_hex(tmp_path, name, line, expected):
    def resign(manifest):
        path = tmp_path / name
        path.write_text(path.read_text() + line + "\n")
        manifest["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()

    assert broken_manifest(tmp_path, resign) == f"/{name}: {expected}"


def test_overlap():
    with pytest.raises(DesignError, match=r"^memory blocks overlap at address 0x2$"):
        dataclasses.replace(IMAGE, memory=((0, b"abc"), (2, b"d")))


def test_metadata_must_be_json(tmp_path):
    with pytest.raises(DesignError, match=r"^design blur: parameters or metadata are not JSON: "):
        write_design(tmp_path, dataclasses.replace(IMAGE, metadata={"x": object()}))

import re
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.experiment.yaml_file import read_yaml

KEYS = ("name", "dataset")
# A text, and the message without the path.
WRONG = [
    (
        "name: [",
        r":1:8 is not YAML (expected the node content, but found '<stream end>'): 'name: ['; close the quotation mark or bracket that opens here",
    ),
    (
        "a: 1\nb: [1, 2\nc: 3\n",
        r":2:4 is not YAML (expected ',' or ']', but got ':'): 'b: [1, 2'; close the quotation mark or bracket that opens here",
    ),
    (
        "a: 'x\nb: 1\n",
        r""":1:4 is not YAML (found unexpected end of stream): "a: 'x"; close the quotation mark or bracket that opens here""",
    ),
    ("a:\n\tb: 1\n", r":2:1 is not YAML (found character '\t' that cannot start any token): 'b: 1'; indent with spaces, not tabs"),
    ("a:\n\u00a0\u00a0b: 1\n", r":2:1 begins with white space that is neither a space nor a tab; indent with spaces"),
    ("name:x\na: 1\n", r":1:6 is not YAML (mapping values are not allowed here): 'name:x'; write a space after the colon"),
    ("a:\n  kind:dense\n  k: 3\n", r":2:8 is not YAML (mapping values are not allowed here): 'kind:dense'; write a space after the colon"),
    ("a: x: y\n", r":1:5 is not YAML (mapping values are not allowed here): 'a: x: y'; put a value that contains ': ' in quotes"),
    ("a:\n  b: 1\n   c: 2\n", r":3:5 is not YAML (mapping values are not allowed here): 'c: 2'; align it with the keys above"),
    ("a: 1\n b: 2\n", r":2:3 is not YAML (mapping values are not allowed here): 'b: 2'; align it with the keys above"),
    ("a: [@5]\n", r":1:5 is not YAML (found character '@' that cannot start any token): 'a: [@5]'; put the value in quotes"),
    (
        'a: "C:\\data"\n',
        r""":1:8 is not YAML (found unknown escape character 'd'): 'a: "C:\\data"'; write a path with / or in single quotes""",
    ),
    ("a: 1\n---\nb: 2\n", r":2:1 is not YAML (but found another document): '---'; remove the line ---: an experiment is one document"),
    ("a: 1\nb: 2\na: 3\n", r":3:1 is not YAML (the key 'a' is repeated, first on line 1): 'a: 3'; remove one of the two"),
    ("a: {x: 1, x: 2}\n", r":1:11 is not YAML (the key 'x' is repeated, first on line 1): 'a: {x: 1, x: 2}'; remove one of the two"),
    (
        f"a: {'[' * 5000}{']' * 5000}\n",
        f":1:35 is not YAML (nested more than 32 deep): 'a: {'[' * 77}'; an experiment needs a few levels",
    ),
    (
        "a: 1\nb: !!int many\n",
        r":2:4 is not YAML (not a value of the type tag:yaml.org,2002:int): 'b: !!int many'; correct the value, or write it without a tag (!…)",
    ),
    (
        "a: !!bool perhaps\n",
        r":1:4 is not YAML (not a value of the type tag:yaml.org,2002:bool): 'a: !!bool perhaps'; correct the value, or write it without a tag (!…)",
    ),
    (
        f"a: {'9' * 5000}\n",
        f":1:4 is not YAML (a number of too many digits): 'a: {'9' * 77}'; write a shorter number, or put it in quotes",
    ),
    ("- a\n", r" is not a mapping of keys to values; it starts with name: and has the keys name, dataset"),
    ("# nothing\n", r" is empty; it starts with name: and has the keys name, dataset"),
    ("a: &x 1\nb: *x\n", r" uses YAML aliases (*name); write the values out"),
    ("x" * 300_000, r" has 300000 bytes; an experiment file has at most 200000"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_fault_is_one_line_with_its_place_the_line_and_the_fix(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_yaml(path, KEYS)
    assert caught.value.lines == [f"{path}{message}"]


def test_no_object_is_made(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(InputError, match="is not YAML"):
        read_yaml(tmp_path / "x.yaml", KEYS)


def test_a_byte_order_mark_is_read_and_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("name: é".encode("utf-8-sig"))
    assert read_yaml(path, KEYS) == {"name": "é"}
    path.write_bytes("name: é".encode("utf-16"))
    with pytest.raises(InputError, match=r"x\.yaml is UTF-16; save the file as UTF-8"):
        read_yaml(path, KEYS)
    path.write_bytes("a: 1\nname: é".encode("latin-1"))
    with pytest.raises(InputError, match=r"x\.yaml:2 is not UTF-8 \(byte 0xe9\); save the file as UTF-8"):
        read_yaml(path, KEYS)


def test_another_path_is_suggested_for_one_that_is_no_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "quickstart.yaml").write_text("name: x")
    (tmp_path / "notes.md").write_text("name: x")
    place = re.escape(str(tmp_path))
    for path, message in [
        ("experiments/quickstart.yml", rf"does not exist in the working directory {place}; did you mean experiments/quickstart\.yaml\?"),
        ("experiment/quickstart.yaml", r"did you mean experiments/quickstart\.yaml\?"),
        (
            "elsewhere.yaml",
            r"does not exist in the working directory .*; give the path of a YAML file, such as experiments/quickstart\.yaml",
        ),
        ("experiments", r"is a folder; give a YAML file, such as experiments/quickstart\.yaml"),
        ("notes.md", r"is not called \.yaml; give the path of a YAML file"),
    ]:
        with pytest.raises(InputError, match=message):
            read_yaml(Path(path), KEYS)


def test_an_escape_beyond_unicode_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text('name: "\\U0011ffff"\n')
    with pytest.raises(InputError, match="an escape that is no character"):
        read_yaml(path, KEYS)

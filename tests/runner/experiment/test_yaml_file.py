import re
from pathlib import Path

import pytest

from workbench.core.errors import InputError
from workbench.runner.experiment.yaml_file import read_yaml

KEYS = ("name", "dataset")
WRONG = [
    "name: [",
    "a: 1\nb: [1, 2\nc: 3\n",
    "a: 'x\nb: 1\n",
    "a:\n\tb: 1\n",
    "a:\n\u00a0\u00a0b: 1\n",
    "name:x\na: 1\n",
    "a:\n  kind:dense\n  k: 3\n",
    "a: x: y\n",
    "a:\n  b: 1\n   c: 2\n",
    "a: 1\n b: 2\n",
    "a: [@5]\n",
    'a: "C:\\data"\n',
    "a: 1\n---\nb: 2\n",
    "a: 1\nb: 2\na: 3\n",
    "a: {x: 1, x: 2}\n",
    f"a: {'[' * 5000}{']' * 5000}\n",
    "a: 1\nb: !!int many\n",
    "a: !!bool perhaps\n",
    f"a: {'9' * 5000}\n",
    "- a\n",
    "# nothing\n",
    "a: &x 1\nb: *x\n",
    "x" * 300_000,
]


def test_a_fault_is_one_line_with_its_place_the_line_and_the_fix(tmp_path: Path, wording) -> None:
    def read(text: str) -> None:
        (tmp_path / "x.yaml").write_text(text, "utf-8")
        read_yaml(tmp_path / "x.yaml", KEYS)

    wording(read, WRONG)


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
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "gate.json").write_text("{}")
    place = re.escape(str(tmp_path))
    for path, message in [
        ("experiments/quickstart.yml", rf"does not exist in the working directory {place}; did you mean experiments/quickstart\.yaml\?"),
        ("experiment/quickstart.yaml", r"did you mean experiments/quickstart\.yaml\?"),
        (
            "elsewhere.yaml",
            r"does not exist in the working directory .*; give the path of a YAML file, such as experiments/quickstart\.yaml",
        ),
        ("experiments", r"is a folder; give a YAML file, such as experiments/quickstart\.yaml"),
        ("run", r"is a folder; give the path of a YAML file, such as experiments/quickstart\.yaml"),
        ("notes.md", r"is not called \.yaml; give the path of a YAML file"),
    ]:
        with pytest.raises(InputError, match=message):
            read_yaml(Path(path), KEYS)


def test_an_escape_beyond_unicode_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text('name: "\\U0011ffff"\n')
    with pytest.raises(InputError, match="an escape that is no character"):
        read_yaml(path, KEYS)

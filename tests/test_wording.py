from pathlib import Path
from tempfile import mkdtemp

import pytest

from workbench.core.errors import InputError, ModelError


def refuse(case: object) -> None:
    if isinstance(case, Exception):
        raise case


def test_an_input_that_raises_no_error_or_one_of_another_kind_fails_by_its_name(wording) -> None:
    for name, other in {"nothing": 2, "another kind": KeyError("x")}.items():
        with pytest.raises(AssertionError, match=f"{{'{name}': "):
            wording(refuse, {"an error": InputError("one is wrong"), name: other})
    with pytest.raises(AssertionError, match="two cases have one name"):
        wording(refuse, [InputError("one is wrong"), InputError("one is wrong")])


def test_texts_are_the_same_in_every_folder_and_name_other_classes(tmp_path: Path, wording) -> None:
    errors = {
        "folders": InputError(
            f"{tmp_path}/x.yaml and {mkdtemp(dir=tmp_path)} are not in {Path(__file__).parents[1]}; name {tmp_path.name}"
        ),
        "a port": InputError("http://127.0.0.1:41234/v1 does not answer"),
        "another class": ModelError("there is no model", "name one"),
        "two lines": InputError("one\ntwo"),
        "pydantic": InputError("size is x: Input should be a valid integer; write 8"),
    }
    wording(refuse, errors)
    wording(repr, ["plain", "", " blank ", "x" * 300, b"\xff", {"size": 8}], None)

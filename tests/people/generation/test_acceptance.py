import json
from pathlib import Path

import pytest

from workbench.core.errors import DatasetError, InputError
from workbench.people.generation.output import accept_questions

PLAIN = '{"query":  "Why\u2028not?", "query_id": "plain"}'


def write(folder: Path, *rows: dict[str, object]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("\n".join([PLAIN, "", *(json.dumps(row) for row in rows)]), "utf-8")
    return file


def synthetic(query_id: str, **fields: object) -> dict[str, object]:
    return {"query_id": query_id, "query": f"Who is {query_id}?", "synthetic": True, "accepted_by": "", **fields}


def test_only_the_lines_of_accepted_questions_change(tmp_path: Path) -> None:
    file = write(tmp_path, synthetic("a"), synthetic("b"), synthetic("c", accepted_by="Eve"))
    before = file.read_text("utf-8").split("\n")
    assert accept_questions(tmp_path, ["b"], "Ada") == (1, 1)
    after = file.read_text("utf-8").split("\n")
    assert after[:3] == before[:3]
    assert json.loads(after[3]) == synthetic("b", accepted_by="Ada")
    assert after[4] == before[4]


def test_all_are_those_that_nobody_has_accepted(tmp_path: Path) -> None:
    file = write(tmp_path, synthetic("a"), synthetic("b"), synthetic("c", accepted_by="Eve"))
    assert accept_questions(file, None, "Ada") == (2, 0)
    assert [json.loads(line)["accepted_by"] for line in file.read_text("utf-8").split("\n")[2:]] == ["Ada", "Ada", "Eve"]
    unchanged = file.read_bytes()
    assert accept_questions(file, None, "Ada") == (0, 0)
    assert file.read_bytes() == unchanged


@pytest.mark.parametrize("by", ["", " \t"])
def test_nobody_is_no_person(tmp_path: Path, by: str) -> None:
    with pytest.raises(InputError, match="--by is empty"):
        accept_questions(write(tmp_path, synthetic("a")), None, by)


def test_unknown_questions_and_files_are_errors_with_a_fix(tmp_path: Path) -> None:
    file = write(tmp_path, synthetic("s-1234"))
    with pytest.raises(InputError, match=r"no synthetic question s-1235 \(did you mean 's-1234'\?\)"):
        accept_questions(file, ["s-1235"], "Ada")
    with pytest.raises(InputError, match="no synthetic question plain"):
        accept_questions(file, ["plain", "s-1234"], "Ada")
    with pytest.raises(InputError, match="is no file of questions"):
        accept_questions(tmp_path / "other.json", None, "Ada")
    file.write_text("{]\n")
    with pytest.raises(DatasetError, match="is not JSON"):
        accept_questions(file, None, "Ada")


def test_a_placeholder_is_no_question_that_somebody_can_accept(tmp_path: Path) -> None:
    file = write(tmp_path, synthetic("a"), synthetic("p", provenance={"part": "placeholder"}))
    with pytest.raises(InputError, match=r"no synthetic question p; .* placeholders are written in the labeller"):
        accept_questions(file, ["p"], "Ada")
    assert accept_questions(file, None, "Ada") == (1, 1)

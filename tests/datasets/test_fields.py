import pytest

from workbench.datasets.draft import DatasetDraft
from workbench.datasets.fields import check_fields, misspelt, probable_label, text_field


@pytest.mark.parametrize(
    ("fields", "known", "found"),
    [
        (("Query", "relevant docs ids"), ("query", "relevant_doc_ids"), {"Query": "query", "relevant docs ids": "relevant_doc_ids"}),
        (("question",), ("query",), {"question": "query"}),
        (("question", "query"), ("query",), {}),
        (("content", "title"), ("text", "title"), {"content": "text"}),
        (("unanswerable",), ("answerable",), {}),
        (("is_answerable",), ("answerable",), {"is_answerable": "answerable"}),
        (("difficulty", "tags"), ("query", "type"), {}),
    ],
)
def test_a_field_like_a_missing_one_or_with_its_usual_name_is_misspelt(
    fields: tuple[str, ...], known: tuple[str, ...], found: dict[str, str]
) -> None:
    assert misspelt(fields, known) == found


def test_a_misspelt_field_makes_its_row_faulty() -> None:
    draft = DatasetDraft("d")
    assert check_fields({"query": "?"}, ("query",), "f:1", draft)
    assert not check_fields({"question": "?"}, ("query",), "f:2", draft)
    assert (draft.faults, draft.faulty) == (["f:2 has no use for field 'question' (did you mean 'query'?); rename it"], {"f:2"})


def test_a_probable_label_is_suggested() -> None:
    assert probable_label(("tags", "Source")) == " (did you mean 'relevant_doc_ids' by 'Source'?)"
    assert probable_label(("tags",)) == ""


@pytest.mark.parametrize(
    ("row", "text", "fault"),
    [
        ({"_id": "x"}, "x", None),
        ({"id": 7}, "7", None),
        ({"_id": ["x"]}, None, "has a list in '_id', not a text"),
        ({"_id": True}, None, "has true or false in '_id', not a text"),
        ({"_id": None}, None, "has null in '_id', not a text"),
        ({"qid": "x"}, None, "has no use for field 'qid' (did you mean '_id'?); rename it"),
        ({"tags": "x"}, None, "has no text in '_id' or 'id'; its fields are 'tags'"),
    ],
)
def test_the_text_of_a_field_or_its_fault(row: dict[str, object], text: str | None, fault: str | None) -> None:
    draft = DatasetDraft("d")
    assert text_field(row, ("_id", "id"), "f:1", draft) == text
    assert draft.faults == ([] if fault is None else [f"f:1 {fault}"])

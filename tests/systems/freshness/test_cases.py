"""The cases of the check for stale data."""

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import DatasetError
from workbench.core.records import Document
from workbench.systems.freshness import FreshnessData, StaleCase, Stated, read_freshness, shortened

HANDBOOK = Path(__file__).parents[3] / "experiments" / "handbook"


def write(folder: Path, *rows: Any) -> Path:
    for name, text in (("earlier", "The fee is 5 euros."), ("documents", "The fee is 7 euros.")):
        (folder / name).mkdir(parents=True)
        (folder / name / "fees.md").write_text(text)
    (folder / "stale.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


ROW = {"stale_id": "s1", "doc_id": "fees", "query": "the fee", "before": {"answer": "5 euros"}, "after": {"answer": "7 euros"}}


def test_the_handbook_has_seventy_cases_about_twelve_documents() -> None:
    data = read_freshness(HANDBOOK)
    assert (len(data.cases), len(data.earlier), len(data.updated), len(data.current)) == (70, 12, 12, 54)
    assert {document.doc_id for document in data.first} == {document.doc_id for document in data.current}
    assert {document.doc_id for document in data.updated} == {case.doc_id for case in data.cases}


def test_a_case_without_texts_is_about_its_values(tmp_path: Path) -> None:
    (case,) = read_freshness(write(tmp_path / "fees", ROW)).cases
    assert case == StaleCase("s1", "fees", "the fee", Stated("5 euros"), Stated("7 euros"))
    assert case.before.passage == "5 euros"


def test_every_fault_of_the_rows_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        read_freshness(write(tmp_path / "fees", ROW | {"query": ""}, ROW | {"after": "7 euros"}, ROW | {"before": {"answer": 5}}))
    first, second, third = caught.value.faults
    assert "stale.jsonl:1 lacks one of 'stale_id', 'doc_id' and 'query'" in first
    assert "stale.jsonl:2 lacks the 'answer'" in second
    assert "stale.jsonl:3 lacks the 'answer'" in third


def test_a_value_that_its_version_lacks_is_a_fault() -> None:
    old, new = Document("fees", "The fee is 5 euros."), Document("fees", "The fee is 7 euros.")
    case = StaleCase("s1", "fees", "the fee", Stated("6 euros"), Stated("7 euros"))
    with pytest.raises(DatasetError, match="s1: '6 euros' is not in the version before of 'fees'"):
        FreshnessData((old,), (new,), (case,))
    with pytest.raises(DatasetError, match="s1 has no version before of the document 'fees'"):
        FreshnessData((), (new,), (case,))


def test_a_shortened_document_ends_between_paragraphs_and_has_lost_its_last_words() -> None:
    pages = [*read_freshness(HANDBOOK).current]
    for document in pages:
        short, lost = shortened(document)
        assert document.text.startswith(short.text)
        assert 0.3 < len(short.text) / len(document.text) < 0.7
        assert document.text[len(short.text) :].startswith("\n")
        assert " ".join(document.text.split()).endswith(lost)
        assert lost not in " ".join(short.text.split())
        assert len(lost.split()) == 20


def test_a_document_that_repeats_itself_has_nothing_to_lose() -> None:
    short, lost = shortened(Document("d", "again and again\n\nagain and again"))
    assert (short.text, lost) == ("again and again", "again and again again and again")
    assert shortened(Document("d", "word " * 60))[1] == ""

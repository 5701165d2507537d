import unicodedata

import pytest

from workbench.core.records import Document, Qrel, Span
from workbench.data.draft import DatasetDraft, EvidenceRow, Quote
from workbench.data.labels import IdLookup, match_unicode

IDS = IdLookup(["d3", "hr/leave", "a/notes", "b/notes", "007", "travel-rules", "MED-12", "my doc", "café"])
NFC, NFD = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))


def test_an_id_is_found_by_its_file_its_case_its_number_or_its_letters() -> None:
    ids = {
        "d3.md": "d3",
        "documents/d3.html": "d3",
        "/home/me/data/documents/hr/leave.md": "hr/leave",
        "hr\\leave.txt": "hr/leave",
        "leave": "hr/leave",
        "HR/Leave": "hr/leave",
        " d3 ": "d3",
        "7": "007",
        "7.0": "007",
        "travel-rule": "travel-rules",
        "my_doc": "my doc",
        NFD.upper(): "café",
    }
    assert all(map(IDS.lacks, ids))
    assert {wrong: IDS.meant(wrong) for wrong in ids} == {wrong: f" (did you mean {meant!r}?)" for wrong, meant in ids.items()}


def test_nothing_is_suggested_without_a_single_likely_id() -> None:
    assert [IDS.meant(wrong) for wrong in ("zebra", "notes", "MED-13", "")] == [""] * 4


def test_several_ids_in_one_are_told_apart() -> None:
    assert IDS.meant("d3, 007") == " (separate ids by ';', or write a JSON list)"


def test_without_any_id_none_is_unknown() -> None:
    assert not IdLookup([]).lacks("d3")


@pytest.mark.parametrize(("own", "written"), [(NFC, NFD), (NFD, NFC)])
def test_another_unicode_form_of_one_document_is_its_id(own: str, written: str) -> None:
    draft = DatasetDraft("d", [(Document(own, "x"), "here")], qrels=[(Qrel("q", written, 1), "q:1")])
    draft.evidence.append(EvidenceRow("q", "0", Span(written, 0, 1), None, "q:1"))
    draft.quotes.append(Quote("q", "0", "x", written, "q:1"))
    match_unicode(draft)
    assert (draft.qrels[0][0].doc_id, draft.evidence[0].span.doc_id, draft.quotes[0].doc_id) == (own, own, own)
    assert draft.notes == [f"q:1 writes the id {written!r} in another Unicode form than its document; both are the same"]


def test_an_id_of_two_documents_in_different_forms_is_left_alone() -> None:
    other = unicodedata.normalize("NFC", "ậ")
    forms = ["ậ", "ậ"]
    draft = DatasetDraft("d", [(Document(form, "x"), "here") for form in forms], qrels=[(Qrel("q", other, 1), "q:1")])
    match_unicode(draft)
    assert draft.qrels[0][0].doc_id == other
    assert draft.notes == []

"""Hits of a target are matched with the documents of a dataset."""

import pytest

from workbench.core.records import Document, TargetHit
from workbench.systems.matching import DocumentPlace, HitMatcher

DOCUMENTS = (
    Document("a", "One apple.\n\nTwo  apples and a pear.", metadata={"url": "https://example.org/a", "page": 7}),
    Document("b", "Two apples are shared by both documents. A plum.", metadata={"url": "https://example.org/b"}),
    Document("c", "Two apples are shared by both documents."),
)


def test_a_hit_is_found_by_its_id_and_then_by_its_text():
    cases = [
        (TargetHit("a"), DocumentPlace(0)),
        (TargetHit("a", start=0, end=10), DocumentPlace(0, 0, 10)),
        (TargetHit("a", "One apple."), DocumentPlace(0, 0, 10)),
        (TargetHit("a", " Two apples and a pear. "), DocumentPlace(0, 12, 35)),
        (TargetHit(text="A plum."), DocumentPlace(1, 41, 48)),
        (TargetHit(text="Two apples are shared"), DocumentPlace(1, 0, 21)),
        (TargetHit("chunk-17", "One apple."), DocumentPlace(0, 0, 10)),
        (TargetHit("a", "  "), DocumentPlace(0)),
        # A text in the place of an id, and the name of a file.
        (TargetHit("A plum."), DocumentPlace(1, 41, 48)),
        (TargetHit("b.md"), DocumentPlace(1)),
        # Positions of the text as another program has read it.
        (TargetHit("a", "pear", start=0, end=4), DocumentPlace(0, 30, 34)),
        (TargetHit("a", "apple", start=0, end=10), DocumentPlace(0, 0, 10)),
    ]
    matcher = HitMatcher(DOCUMENTS)
    assert [(hit, matcher.place(hit)) for hit, _ in cases] == cases


def test_a_hit_of_no_document_says_what_was_looked_for(wording):
    def fault_of(case):
        match, hit = case
        found = HitMatcher(DOCUMENTS, match).place(hit)
        assert found == DocumentPlace(fault=found.fault)
        return found.fault

    cases = [
        ("auto", TargetHit("x", "a grape")),
        ("auto", TargetHit()),
        ("id", TargetHit("x", "One apple.")),
        # A few words that several documents contain.
        ("auto", TargetHit("x", "apples")),
        ("text", TargetHit("a", "a grape")),
        ("url", TargetHit("a", metadata={"url": "https://example.org/z"})),
    ]
    wording(fault_of, cases, None)


def test_a_text_that_is_not_in_its_document_keeps_the_document():
    place = HitMatcher(DOCUMENTS).place(TargetHit("b", "One apple."))
    assert place == DocumentPlace(1, fault="its text is not in 'b'")


@pytest.mark.parametrize(("start", "end"), [(-1, 4), (4, 4), (0, 1000)])
def test_positions_outside_the_document_are_a_fault(start, end):
    place = HitMatcher(DOCUMENTS).place(TargetHit("b", start=start, end=end))
    assert place.doc == 1
    assert place.start == -1
    assert "which has 48 characters" in place.fault


def test_documents_are_matched_by_a_field_of_their_metadata():
    matcher = HitMatcher(DOCUMENTS, "url")
    assert matcher.place(TargetHit("chunk-3", "A plum.", metadata={"url": "https://example.org/b"})) == DocumentPlace(1, 41, 48)
    # A target that gives the value as its id.
    assert matcher.place(TargetHit("https://example.org/a")) == DocumentPlace(0)
    # The field of the hit has the document's id.
    assert HitMatcher(DOCUMENTS, "source").place(TargetHit("7", metadata={"source": "c"})) == DocumentPlace(2)
    assert HitMatcher(DOCUMENTS, "page").place(TargetHit(metadata={"page": "7"})) == DocumentPlace(0)

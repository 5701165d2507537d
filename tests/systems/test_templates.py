"""Templates of requests."""

import pytest

from workbench.core.records import Document, Passage, Query
from workbench.systems.operations import (
    CONTEXT_SLOT,
    QUESTION_SLOTS,
    check_slots,
    document_slots,
    documents_slots,
    fill,
    fill_url,
    question_slots,
    slots_of,
)

QUERY = Query("q1", "why do {k} cats purr?")
PASSAGES = [Passage("cats", 0, 5, "Cats."), Passage("dogs", 0, 5, "Dogs.")]


def test_a_text_that_is_one_slot_becomes_the_value_itself():
    assert fill({"top": "{k}", "context": "{context}"}, question_slots(QUERY, 5, PASSAGES)) == {"top": 5, "context": ["Cats.", "Dogs."]}


def test_slots_within_texts_are_filled_at_any_depth_and_values_are_not_searched_again():
    template = {"messages": [{"role": "user", "content": "Q: {query} (top {k})\n{context}"}], "fixed": [1, None, True]}
    filled = fill(template, question_slots(QUERY, 5, PASSAGES))
    content = "Q: why do {k} cats purr? (top 5)\nCats.\n\nDogs."
    assert filled == {"messages": [{"role": "user", "content": content}], "fixed": [1, None, True]}


def test_a_key_whose_slot_has_no_value_is_left_out():
    slots = question_slots(QUERY, 5)
    assert fill({"q": "{query_id}", "context": "{context}", "list": ["{context}", 1]}, slots) == {"q": "q1", "list": [1]}
    assert fill({"prompt": "[{context}]"}, slots) == {"prompt": "[]"}


def test_an_empty_context_is_an_empty_list_and_is_sent():
    assert fill({"context": "{context}"}, question_slots(QUERY, 5, [])) == {"context": []}


def test_doubled_braces_keep_a_slot_and_other_braces_stay():
    assert fill(["{{query}}", '{"a": {"b": 1}}', "{query_id}"], question_slots(QUERY, 5)) == ["{query}", '{"a": {"b": 1}}', "q1"]


def test_documents_fill_one_template_each_or_parallel_lists():
    documents = [Document("a", "A.", "Title", {"year": 2024}), Document("b", "B.")]
    assert fill({"id": "{doc_id}", "meta": "{metadata}", "all": "{title}: {text}"}, document_slots(documents[0])) == {
        "id": "a",
        "meta": {"year": 2024},
        "all": "Title: A.",
    }
    slots = documents_slots(documents, {"id": "{doc_id}", "body": "{text}"})
    filled = fill({"docs": "{documents}", "ids": "{doc_ids}", "texts": "{texts}", "metadatas": "{metadatas}"}, slots)
    assert filled == {
        "docs": [{"id": "a", "body": "A."}, {"id": "b", "body": "B."}],
        "ids": ["a", "b"],
        "texts": ["A.", "B."],
        "metadatas": [{"year": 2024}, {}],
    }


def test_values_in_an_address_are_encoded_so_that_they_cannot_change_its_parts():
    assert fill_url("http://host/documents/{doc_id}?n={k}", {"doc_id": "../a b?c#d@e", "k": 3}) == (
        "http://host/documents/..%2Fa%20b%3Fc%23d%40e?n=3"
    )


def test_an_unknown_slot_is_named_with_the_nearest_known_one():
    with pytest.raises(ValueError, match=r"no slot \{qeury\} \(did you mean 'query'\?\); slots are \{query\}, \{query_id\} and \{k\}"):
        check_slots({"a": ["{qeury}"]}, QUESTION_SLOTS)
    check_slots({"a": ["{query} {{anything}}", 3]}, QUESTION_SLOTS)


def test_slots_of_a_template_are_found_at_any_depth():
    assert slots_of({"a": ["{query}", {"b": "x {context} y"}], "c": "{{k}}"}) == {"query", CONTEXT_SLOT}

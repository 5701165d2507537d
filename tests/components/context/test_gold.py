"""The gold context: the fewest slices with the evidence, and the best slices of relevant documents without evidence."""

import pandas as pd

from workbench.components.context.contexts import best_of_documents, gold_passages
from workbench.components.context.delivered_slices import DeliveredSlices, fewest_covering
from workbench.components.context.question_labels import QuestionLabels, missing_characters, passage_of, question_labels
from workbench.core.records import Dataset, Document, Need, Passage, Qrel, Query, Span

TEXT = "Boats dock at noon. Ferries leave at nine. Nobody may swim. The bar opens late."
DOCUMENT = Document("harbour", TEXT, "Harbour")
OTHER = Document("inn", "The inn has rooms. Breakfast is at eight.")


def at(words: str, document: Document = DOCUMENT) -> Passage:
    start = document.text.index(words)
    return passage_of(document, start, start + len(words))


def slices_of(*words: str) -> DeliveredSlices:
    passages = [at(each, DOCUMENT if each in TEXT else OTHER) for each in words]
    rows = [(0 if each.doc_id == "harbour" else 1, each.start, each.end) for each in passages]
    return DeliveredSlices.of([DOCUMENT, OTHER], pd.DataFrame(rows, columns=["doc", "delivered_start", "delivered_end"]))


def texts(passages: list[Passage]) -> list[str]:
    return [passage.text for passage in passages]


def labels(*needs: tuple[Passage, ...], relevant: tuple[str, ...] = ()) -> QuestionLabels:
    return QuestionLabels(Query("q", "when do ferries leave"), ("at nine",), needs, relevant)


def test_characters_that_no_passage_contains_are_counted_without_blanks() -> None:
    span = at("noon. Ferries leave")
    assert missing_characters(span, [at("Boats dock at noon."), at("Ferries leave at nine.")]) == 0
    assert missing_characters(span, [at("Boats dock at noon."), at("leave at nine.")]) == len("Ferries")
    assert missing_characters(span, []) == len("noon.Ferriesleave")
    assert missing_characters(span, [Passage("inn", 0, 100, "")]) == len("noon.Ferriesleave")


def test_a_slice_with_the_whole_span_and_most_text_on_both_sides_is_chosen() -> None:
    windows = [at("Ferries leave at nine. Nobody"), at("at noon. Ferries leave at nine. Nobody"), at("noon. Ferries leave at nine.")]
    assert texts(fewest_covering(at("Ferries leave"), windows)) == ["at noon. Ferries leave at nine. Nobody"]


def test_a_span_over_several_slices_needs_the_fewest_that_contain_it() -> None:
    windows = [
        at("Boats dock at noon."),
        at("dock at noon. Ferries"),
        at("noon. Ferries leave"),
        at("Ferries leave at nine."),
        at("Nobody may swim."),
    ]
    assert texts(fewest_covering(at("at noon. Ferries leave at nine. Nobody"), windows)) == [
        "Boats dock at noon.",
        "Ferries leave at nine.",
        "Nobody may swim.",
    ]


def test_text_between_the_chunks_is_lost_and_the_rest_is_delivered() -> None:
    windows = slices_of("Boats dock at noon.", "Nobody may swim.", "The bar opens late.").around(at("noon. Ferries leave at nine. Nobody"))
    assert texts(windows) == ["Boats dock at noon.", "Nobody may swim."]
    assert texts(fewest_covering(at("noon. Ferries leave at nine. Nobody"), windows)) == texts(windows)


def test_of_alternatives_the_first_that_the_chunks_keep_is_chosen_and_a_slice_is_listed_once() -> None:
    slices = slices_of("Boats dock at noon.", "leave at nine. Nobody may swim.", "The inn has rooms.")
    need = (at("Ferries leave at nine."), at("nine. Nobody"), at("The inn", OTHER))
    assert texts(gold_passages(labels(need, (at("swim"),)), slices, None)) == ["leave at nine. Nobody may swim."]
    assert gold_passages(labels((at("The bar"),)), slices, None) == []


def test_without_evidence_the_best_slice_of_each_relevant_document_comes_first() -> None:
    slices = slices_of("Boats dock at noon.", "Ferries leave at nine.", "The inn has rooms.", "Breakfast is at eight.")
    asked = labels(relevant=("inn", "harbour"))
    assert texts(gold_passages(asked, slices, 3)) == ["Breakfast is at eight.", "Ferries leave at nine.", "The inn has rooms."]
    assert best_of_documents([[], []], asked) == []


def test_passages_are_complete_with_an_alternative_of_every_need() -> None:
    asked = labels((at("Ferries leave"), at("The inn", OTHER)), (at("swim"),))
    assert asked.is_complete([at("The inn has rooms.", OTHER), at("Nobody may swim.")])
    assert not asked.is_complete([at("The inn has rooms.", OTHER)])
    assert asked.is_evident(at("Ferries"))
    assert not asked.is_evident(at("Boats"))
    assert labels(relevant=("inn",)).is_complete([at("Breakfast", OTHER)])
    assert not labels(relevant=("inn",)).is_complete([at("Boats")])


def test_labels_are_read_from_a_dataset() -> None:
    queries = (Query("a", "when"), Query("b", "who", answerable=False))
    qrels = (Qrel("a", "inn", 1), Qrel("a", "harbour", 2), Qrel("b", "inn", 0))
    dataset = Dataset("d", (DOCUMENT, OTHER), queries, qrels, (Need("a", (Span("inn", 4, 7),)),))
    first, second = question_labels(dataset, [("nine", " "), ()])
    assert (first.answers, first.relevant, first.negatives) == (("nine",), ("harbour", "inn"), ())
    assert first.needs == ((Passage("inn", 4, 7, "inn"),),)
    assert (second.answers, second.needs, second.relevant, second.negatives) == ((), (), (), ("inn",))
    graded = Dataset("d", (DOCUMENT, OTHER), queries, (*qrels, Qrel("b", "harbour", -1)))
    assert question_labels(graded, [(), ()])[1].negatives == ("harbour",)

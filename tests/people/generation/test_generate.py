"""Which candidates become questions, with a model whose replies are written by hand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.reading_model import ReadingModel
from workbench.core.records import Dataset, Document, Query
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.session import CallResources
from workbench.people.generation.candidates import REASONS, Candidate, GenerationSettings
from workbench.people.generation.generate import Generated, answer_questions, generate
from workbench.people.generation.model import CachedModel
from workbench.people.generation.output import answered_dataset
from workbench.people.generation.passages import PassageIndex

LAMP = "The lamp of the north room is switched on at seven in the evening by the warden."
OTHER = "In the north room, it is the warden who switches on the lamp, at seven in the evening."
LATE = "In the north room, nobody switches on the lamp before nine in the evening."
BOAT = "The boat of the harbour master may carry no more than twelve people at a time."
FILLER = "The garden behind the house has apple trees, and the wall around it was built of grey stone. " * 2
QUESTION = "When is the lamp of the north room switched on?"
Generate = Callable[..., Generated]


def documents(*texts: str) -> list[Document]:
    return [Document(f"d{number}", text) for number, text in enumerate(texts)]


@pytest.fixture
def run(reading_model: ReadingModel, tmp_path: Path) -> Generate:
    cache = VectorCache(tmp_path / "vectors.sqlite")

    def ran(texts: Sequence[str], known: Sequence[str] = (), **settings: Any) -> Generated:
        given = GenerationSettings(**{"questions": 1, "multi_hop": 0, "unanswerable": 0, "tries": 1} | settings)
        client = OpenAIClient(model="words", base_url=reading_model.base_url, retries=0)
        pages = documents(*texts)
        index = PassageIndex.of(pages, given.passage_tokens, cache)
        return generate(pages, given, CachedModel(client, CallResources(), given.max_tokens), index, known)

    return ran


def only(candidates: Sequence[Candidate]) -> Candidate:
    (candidate,) = candidates
    return candidate


def test_a_question_keeps_the_place_of_its_quote_whatever_the_white_space(run: Generate, reading_model: ReadingModel) -> None:
    text = f"{FILLER}\n\n{LAMP.replace(' by', chr(10) + 'by')} {FILLER}"
    reading_model.scripted["apple trees"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    accepted = only(run([text]).accepted)
    ((span,),) = accepted.needs
    assert text[span.start : span.end] == LAMP.replace(" by", "\nby")


def test_a_recurrence_of_the_evidence_is_an_alternative(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    found = run([f"{LAMP} {FILLER}", f"{BOAT} {LAMP}"])
    assert [span.doc_id for span in only(found.accepted).needs[0]] == ["d0", "d1"]


@pytest.mark.parametrize(
    ("quote", "reason"),
    [("The lamp is switched on at eight by the warden.", "quote_not_found"), ("The lamp of", "quote_length"), (" ", "no_question")],
)
def test_evidence_must_be_in_the_document_and_long_enough(run: Generate, reading_model: ReadingModel, quote: str, reason: str) -> None:
    reading_model.scripted["grey stone"] = {"question": QUESTION, "answer": "at seven", "quote": quote}
    assert only(run([f"{LAMP} {FILLER}"]).dropped).dropped == reason
    # No further call is made.
    assert len(reading_model.provider.asked) == 1


def test_a_quote_of_another_document_is_no_evidence(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    assert only(run([FILLER, f"{BOAT} {LAMP}"]).dropped).dropped == "quote_not_found"


@pytest.mark.parametrize("question", ["What does the passage say about lamps?", "When, according to the second document, is the lamp lit?"])
def test_a_question_about_a_passage_is_dropped(run: Generate, reading_model: ReadingModel, question: str) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(question, "at seven in the evening", LAMP)
    assert only(run([f"{LAMP} {FILLER}"]).dropped).dropped == "refers_to_text"


def test_the_evidence_alone_must_give_the_same_answer(run: Generate, reading_model: ReadingModel) -> None:
    proposal = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    reading_model.scripted["grey stone"] = proposal | {"answer": "at eight in the morning"}
    dropped = only(run([f"{LAMP} {FILLER}"]).dropped)
    assert (dropped.dropped, dropped.detail) == ("not_from_evidence", "at seven in the evening")


def elsewhere(model: ReadingModel, reply: dict[str, Any]) -> None:
    """Let the model answer from a text of another document as it does from the evidence."""
    before = model.provider.reply_to

    def reply_to(body: dict[str, Any]) -> dict[str, Any]:
        user = body["messages"][-1]["content"]
        if body["messages"][0]["content"].startswith("You answer") and reply["quote"] in user:
            return {"text": json.dumps(reply)}
        return before(body)

    model.provider.reply_to = reply_to


def test_another_passage_with_the_same_answer_becomes_an_alternative(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    elsewhere(reading_model, {"answerable": True, "answer": "at seven in the evening", "quote": OTHER})
    accepted = only(run([f"{LAMP} {FILLER}", f"{BOAT} {OTHER}"]).accepted)
    texts = [f"{LAMP} {FILLER}", f"{BOAT} {OTHER}"]
    assert [texts[int(span.doc_id[1:])][span.start : span.end] for span in accepted.needs[0]] == [LAMP, OTHER]


def test_without_alternatives_a_question_that_is_answered_elsewhere_is_dropped(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    elsewhere(reading_model, {"answerable": True, "answer": "at seven in the evening", "quote": OTHER})
    assert only(run([f"{LAMP} {FILLER}", f"{BOAT} {OTHER}"], alternatives=0).dropped).dropped == "answered_elsewhere"


def test_a_neighbour_with_another_answer_makes_a_question_ambiguous(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    elsewhere(reading_model, {"answerable": True, "answer": "nine in the evening", "quote": LATE})
    dropped = only(run([f"{LAMP} {FILLER}\n\n# Later\n\n{LATE}"]).dropped)
    assert (dropped.dropped, dropped.detail) == ("ambiguous", "nine in the evening")


def test_near_duplicates_are_dropped_also_of_questions_that_a_dataset_has(run: Generate, reading_model: ReadingModel) -> None:
    again = "When is the lamp of the north room switched on, please?"
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    dropped = only(run([f"{LAMP} {FILLER}"], [again]).dropped)
    assert (dropped.dropped, dropped.detail) == ("duplicate", again)
    assert len(reading_model.provider.asked) == 1
    reading_model.scripted = {"The boat": reading_model.know(again, "at seven in the evening", LAMP), **reading_model.scripted}
    both = run([f"{LAMP} {FILLER}", f"{LAMP} {BOAT} {FILLER}"], questions=2)
    assert len(both.accepted) == 1
    assert only(both.dropped).dropped == "duplicate"


def test_a_question_of_two_passages_needs_both(run: Generate, reading_model: ReadingModel) -> None:
    question = "How many people can the boat carry when the lamp of the north room goes on?"
    reading_model.scripted["grey stone"] = reading_model.know(question, "twelve people at seven", LAMP, BOAT)
    texts = [f"{LAMP} {FILLER}", f"{BOAT} {FILLER}"]
    found = run(texts, multi_hop=1)
    if found.dropped:  # the passages were given in the other order
        assert only(found.dropped).dropped == "quote_not_found"
        reading_model.scripted["grey stone"] = reading_model.know(question, "twelve people at seven", BOAT, LAMP)
        found = run(texts, multi_hop=1)
    accepted = only(found.accepted)
    assert accepted.kind == "multi_hop"
    assert sorted(texts[int(need[0].doc_id[1:])][need[0].start : need[0].end] for need in accepted.needs) == sorted([LAMP, BOAT])
    reading_model.facts[question] = ("twelve people at seven", (BOAT,))
    assert only(run(texts, multi_hop=1).dropped).dropped == "one_hop"


def test_a_single_document_has_no_questions_of_two(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = reading_model.know(QUESTION, "at seven in the evening", LAMP)
    assert only(run([f"{LAMP} {FILLER}"], multi_hop=1).accepted).kind == "factoid"


def test_an_unanswerable_question_is_dropped_if_a_passage_answers_it(run: Generate, reading_model: ReadingModel) -> None:
    reading_model.scripted["grey stone"] = {"question": QUESTION}
    assert only(run([f"{BOAT} {FILLER}"], unanswerable=1).accepted).needs == ()
    reading_model.know(QUESTION, "at seven in the evening", LAMP)
    assert only(run([f"{BOAT} {FILLER}", LAMP], unanswerable=1).dropped).dropped == "answerable"


def test_a_passage_is_asked_about_again_without_its_earlier_questions(run: Generate, reading_model: ReadingModel) -> None:
    found = run([f"{LAMP} {FILLER}{BOAT}"], questions=3, tries=2)
    assert len(found.accepted) == 3
    second = [prompt for prompt in reading_model.provider.prompts() if "again:\n- Is it so" in prompt]
    assert len(second) == 2


def test_questions_of_a_dataset_get_answers_where_the_documents_have_them(reading_model: ReadingModel, tmp_path: Path) -> None:
    pages, settings = documents(f"{LAMP} {FILLER}"), GenerationSettings()
    reading_model.know(QUESTION, "at seven in the evening", LAMP)
    index = PassageIndex.of(pages, settings.passage_tokens, VectorCache(tmp_path / "vectors.sqlite"))
    model = CachedModel(OpenAIClient(model="words", base_url=reading_model.base_url, retries=0), CallResources(), settings.max_tokens)
    queries = (
        Query("a", QUESTION, metadata={"type": "when"}),
        Query("b", "Who owns the boat?"),
        Query("c", "Who has an answer?", answer="Ada"),
        Query("d", "Who is nobody?", answerable=False),
    )
    found = answer_questions(queries, settings, model, index)
    assert (only(found.accepted).query_id, only(found.dropped).query_id, only(found.dropped).dropped) == ("a", "b", "no_reference")
    dataset = answered_dataset(found, Dataset("d", tuple(pages), queries, ()), model)
    assert [query.answer for query in dataset.queries] == ["at seven in the evening", "", "Ada", ""]
    assert dataset.queries[1:] == queries[1:]
    assert dataset.queries[0].metadata["type"] == "when"
    assert dataset.queries[0].metadata["provenance"]["part"] == "answer"
    assert len(reading_model.provider.asked) == 2


def test_every_reason_has_words() -> None:
    assert all(text and text[0].islower() for text in REASONS.values())

"""Answers that quote: which sentences are taken, and when none is."""

import socket

import pytest

from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.answering.extractive import REFUSAL, ExtractiveGenerator
from workbench.components.answering.refusals import is_refusal
from workbench.components.chunking.sentences import quotations
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.core.records import Answer, Passage, Query, Variant
from workbench.llm.session import CallResources

LEAVE = (
    "You may carry eight unused days of leave into the next year. They lapse on 30 June. Public holidays are extra.",
    "A company card is suspended during parental leave. The card stays in your drawer.",
    "You may carry eight unused days of leave into the next year. Firmware is released on Tuesdays.",
)


def answer_to(question: str, texts=LEAVE, **settings: object) -> Answer:
    passages = [Passage(f"d{number}", 0, len(text), text) for number, text in enumerate(texts)]
    request = AnswerRequest(Query("q", question), passages, Variant())
    ((_, answer),) = ExtractiveGenerator(**settings).answer([request], AnswerResources(MemoryVectorCache(), CallResources()))
    return answer


def test_the_closest_sentences_are_quoted_in_their_order_with_their_passages() -> None:
    answer = answer_to("how many unused days of leave may i carry into the next year, and when do they lapse")
    assert answer.text == "You may carry eight unused days of leave into the next year. They lapse on 30 June."
    assert answer.citations == (0,)
    assert answer.refused is False
    assert answer.confidence is not None
    assert answer.confidence > 0.7


def test_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", None, raising=False)
    test_the_closest_sentences_are_quoted_in_their_order_with_their_passages()


def test_the_number_of_sentences_is_a_setting_and_each_passage_is_cited_once() -> None:
    one = answer_to("what becomes of a company card during parental leave", sentences=1)
    assert (one.text, one.citations) == ("A company card is suspended during parental leave.", (1,))
    every = answer_to("what becomes of a company card during parental leave", sentences=20)
    assert every.citations == (0, 1, 2)
    # The sentence that two passages share is quoted from the first.
    assert every.text == f"{LEAVE[0]} {LEAVE[1]} Firmware is released on Tuesdays."


def test_a_question_about_something_else_is_refused_by_the_threshold() -> None:
    refused = answer_to("which moons does saturn have")
    assert (refused.text, refused.refused, refused.citations) == (REFUSAL, True, ())
    assert is_refusal(REFUSAL)
    assert refused.confidence is not None
    assert refused.confidence < 0.5
    assert answer_to("which moons does saturn have", threshold=0).refused is False
    assert answer_to("how many days of leave may i carry over", threshold=1).refused is True


@pytest.mark.parametrize("texts", [(), ("", "- - -"), ("# Leave",)])
def test_passages_without_a_sentence_are_refused(texts: tuple[str, ...]) -> None:
    assert answer_to("leave", texts, threshold=0).refused is True


def test_a_question_without_words_gets_an_answer_by_the_vectors_alone() -> None:
    assert answer_to("???", threshold=0).text


def test_rows_of_tables_and_items_of_lists_are_quoted_alone_and_headings_never() -> None:
    text = "# Certificates\n\n| Site | From |\n|---|---|\n| Galway | 4th day |\nAt sea the log is enough. Ask first.\n- one item\n- another\n  item\n\n1. first\n2. second"
    assert quotations(text) == [
        "| Site | From |",
        "| Galway | 4th day |",
        "At sea the log is enough.",
        "Ask first.",
        "- one item",
        "- another\n  item",
        "1. first",
        "2. second",
    ]


def test_the_model_is_in_the_identity() -> None:
    identity = ExtractiveGenerator().identity()
    assert identity["embedding"]
    assert ExtractiveGenerator(threshold=0.4).identity() != identity

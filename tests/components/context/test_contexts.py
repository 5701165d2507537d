"""Every condition by hand, on three documents of one sentence each slice."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from workbench.components.context import contexts
from workbench.components.context.conditions import CONDITIONS, PERTURBATIONS
from workbench.components.context.context_packing import ContextPacking, PromptTokens
from workbench.components.context.contexts import ContextBuilder
from workbench.components.context.delivered_slices import DeliveredSlices
from workbench.components.context.question_labels import QuestionLabels
from workbench.core.records import Document, Passage, Query

DOCUMENTS = [
    Document("harbour", "Ferries leave at nine. Boats dock here. Nobody may swim."),
    Document("inn", "The inn has rooms. Breakfast is early."),
    Document("bar", "The bar opens late. Songs are sung."),
]
ASKED, HOPELESS = Query("asked", "when do ferries leave"), Query("hopeless", "who is the king", answerable=False)


def sentences() -> pd.DataFrame:
    rows = [(place, *match.span()) for place, document in enumerate(DOCUMENTS) for match in re.finditer(r"[^ ][^.]*\.", document.text)]
    return pd.DataFrame(rows, columns=["doc", "delivered_start", "delivered_end"])


SLICES = DeliveredSlices.of(DOCUMENTS, sentences())
BY_TEXT = {SLICES.passage(row).text: SLICES.passage(row) for row in range(len(SLICES))}
FERRIES, BOATS, SWIM, ROOMS, BREAKFAST, BAR, SONGS = BY_TEXT.values()
EVIDENCE = Passage("harbour", 0, 13, "Ferries leave")


def words(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array([match.start() for match in re.finditer(r"\S+", text)], dtype=np.int64) for text in texts]


def maker(ranking: Sequence[Passage] = (), budget: int = 100, answers: tuple[str, ...] = ("at nine",), **settings) -> ContextBuilder:
    labels = [
        QuestionLabels(ASKED, answers, settings.pop("needs", ((EVIDENCE,),)), ("harbour",), settings.pop("negatives", ())),
        QuestionLabels(HOPELESS),
    ]
    prompt = PromptTokens(words, 2)
    return ContextBuilder(SLICES, labels, ContextPacking(budget=budget), lambda _: prompt, [ranking, ranking], **settings)


def texts(made: contexts.ContextOutcome) -> list[str]:
    assert not made.reason
    return [passage.text for passage in made.packed.passages]


def test_without_a_context_only_the_prompt_is_counted() -> None:
    made = maker().make("none", 0)
    assert (texts(made), made.packed.total) == ([], 2)


def test_gold_is_what_a_perfect_retriever_delivers() -> None:
    assert texts(maker().make("gold", 0)) == [FERRIES.text]
    assert maker().make("gold", 1).reason == contexts.UNANSWERABLE
    assert maker(needs=()).make("gold", 0).packed.passages[0] == FERRIES
    lost = Passage("harbour", 22, 23, "x")
    assert maker(needs=((lost,),)).make("gold", 0).reason == contexts.NO_CHUNK


def test_gold_is_packed_once_for_all_conditions_that_begin_with_it() -> None:
    made = maker()
    assert made.make("gold", 0) is made.make("gold", 0)


def test_retrieved_is_the_packed_ranking() -> None:
    made = maker([BAR, FERRIES, ROOMS], budget=2 + 4 + 3).make("retrieved", 0)
    assert texts(made) == [BAR.text, "Ferries leave at "]
    assert [cut.passage.text for cut in made.packed.cuts] == ["nine.", ROOMS.text]
    assert texts(maker([BAR]).make("retrieved", 1)) == [BAR.text]


def test_distractors_fill_gold_up_to_the_tokens_of_the_retrieved_context() -> None:
    # Retrieved: 4 + 3 + 4 words.
    made = maker([BAR, SONGS, FERRIES], negatives=("inn",)).make("gold_distractors", 0)
    assert texts(made) == [FERRIES.text, BAR.text, SONGS.text]
    made = maker([BAR, FERRIES, BOATS], negatives=("inn",)).make("gold_distractors", 0)
    assert texts(made) == [FERRIES.text, BAR.text, BOATS.text]
    made = maker([FERRIES, FERRIES, FERRIES, BAR], negatives=("inn",)).make("gold_distractors", 0)
    assert texts(made) == [FERRIES.text, BAR.text]


def test_hard_negatives_follow_the_hits_without_evidence() -> None:
    needs = ((EVIDENCE,), (Passage("harbour", 22, 28, "Boats "),))
    made = maker([FERRIES, BOATS, SWIM], needs=(needs[0],), negatives=("inn",)).make("gold_distractors", 0)
    assert texts(made) == [FERRIES.text, BOATS.text, SWIM.text]
    made = maker([BOATS, BAR, SWIM, FERRIES], needs=needs, negatives=("inn",), answers=()).make("gold_distractors", 0)
    assert texts(made) == [FERRIES.text, BOATS.text, BAR.text, SWIM.text]


def test_a_question_without_room_or_material_for_distractors_is_left_out() -> None:
    assert maker([SONGS], negatives=("inn",)).make("gold_distractors", 0).reason == contexts.NO_ROOM
    assert maker([FERRIES]).make("gold_distractors", 0).reason == contexts.NO_DISTRACTOR
    assert maker([FERRIES]).make("gold_distractors", 1).reason == contexts.UNANSWERABLE


def test_missing_gold_is_the_ranking_without_anything_that_is_evidence() -> None:
    assert texts(maker([FERRIES, BOATS, BAR]).make("missing_gold", 0)) == [BOATS.text, BAR.text]
    assert texts(maker([FERRIES, BOATS, BAR], needs=()).make("missing_gold", 0)) == [BAR.text]
    assert maker([FERRIES]).make("missing_gold", 0).reason == contexts.ALL_EVIDENCE
    assert maker([FERRIES]).make("missing_gold", 1).reason == contexts.UNANSWERABLE


def test_missing_gold_does_not_apply_while_a_passage_contains_the_expected_answer() -> None:
    assert maker([FERRIES, BAR], answers=("it opens", "opens late")).make("missing_gold", 0).reason == contexts.ANSWER_REMAINS


def test_irrelevant_passages_are_drawn_by_the_id_of_the_question_from_other_documents() -> None:
    made = maker(k=2).make("irrelevant_only", 0)
    assert len(texts(made)) == 2
    assert set(texts(made)) <= {ROOMS.text, BREAKFAST.text, BAR.text, SONGS.text}
    assert made == maker(k=2).make("irrelevant_only", 0)
    assert len(texts(maker(k=9).make("irrelevant_only", 0))) == 4
    assert len(texts(maker(k=9).make("irrelevant_only", 1))) == 7
    assert maker(k=9, budget=7).make("irrelevant_only", 0).packed.total == 7
    assert maker(tokens=5).make("irrelevant_only", 0).packed.total == 7


def test_irrelevant_passages_contain_no_answer_and_keep_to_the_filter_of_the_question() -> None:
    assert set(texts(maker(k=9, answers=("opens late",)).make("irrelevant_only", 0))) == {ROOMS.text, BREAKFAST.text, SONGS.text}
    inn = np.array([False, True, False])
    assert set(texts(maker(k=9, findable=lambda _: inn).make("irrelevant_only", 0))) == {ROOMS.text, BREAKFAST.text}
    none = np.zeros(3, dtype=np.bool_)
    assert maker(k=9, findable=lambda _: none).make("irrelevant_only", 0).reason == contexts.ALL_RELEVANT


@pytest.mark.parametrize("condition", [condition for condition in CONDITIONS if condition not in PERTURBATIONS])
def test_every_condition_without_a_perturbation_is_made_or_has_a_reason(condition: str) -> None:
    for query in range(2):
        made = maker([FERRIES, BAR], k=2).make(condition, query)
        assert bool(made.reason) != (made.packed.total > 0)

"""Planted contexts differ from their clean twin only by what is planted."""

from collections.abc import Sequence

import numpy as np
import pytest

from workbench.components.context import planting
from workbench.components.context.context_packing import ContextPacking, PackedContext, PromptTokens, pack_context
from workbench.components.context.planting import FAMILIES, Planted, attack_on, canary_of, plant
from workbench.components.context.question_labels import QuestionLabels
from workbench.core.records import Passage, Query, Variant

FERRIES, BOATS = Passage("harbour", 0, 25, "Ferries leave at 9 o'clock"), Passage("harbour", 30, 40, "Boats dock")
LABELS = QuestionLabels(Query("q", "when do ferries leave"), ("9 o'clock",), ((FERRIES,),), ("harbour",))


def words(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.arange(len(text.split()), dtype=np.int64) for text in texts]


PROMPT = PromptTokens(words, 3, lambda _: 1)


def clean(*passages: Passage) -> PackedContext:
    return pack_context(passages, ContextPacking(), PROMPT)


def without(planted: tuple[Passage, ...]) -> list[Passage]:
    return [passage for passage in planted if not passage.planted]


@pytest.mark.parametrize(("place", "number"), [("before", 1), ("after", 2)])
def test_an_altered_copy_is_placed_beside_the_unaltered_passage(place: str, number: int) -> None:
    twin = clean(BOATS, FERRIES)
    made = plant(Variant("counterfactual", place), twin, LABELS, 100, PROMPT)
    planted = Planted(**made.planted)
    assert (planted.family, planted.number) == (place, number)
    assert (planted.fact, planted.original, planted.altered) == ("number", "9", "14")
    copy = made.packed.passages[number]
    assert (copy.text, copy.planted) == ("Ferries leave at 14 o'clock", "counterfactual")
    assert without(made.packed.passages) == [BOATS, FERRIES]
    assert made.packed.ranks == (1, 2, 2)
    assert made.packed.total == twin.total + 6 == 3 + sum(made.packed.tokens)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_attack_is_appended_to_one_passage(family: str) -> None:
    twin = clean(BOATS, FERRIES)
    made = plant(Variant("injection", family), twin, LABELS, 1_000, PROMPT)
    planted = Planted(**made.planted)
    assert planted.canary == canary_of("q")
    attacked = made.packed.passages[planted.number]
    assert attacked.text.endswith(attack_on("q", family))
    assert attacked.planted == "injection"
    assert len(without(made.packed.passages)) == 1
    assert made.packed.total == 3 + sum(made.packed.tokens) > twin.total


def test_a_text_that_does_not_fit_the_budget_is_not_planted() -> None:
    twin = clean(BOATS, FERRIES)
    assert plant(Variant("counterfactual", "after"), twin, LABELS, twin.total + 6, PROMPT).planted
    for variant in (Variant("counterfactual", "after"), Variant("injection", "override")):
        made = plant(variant, twin, LABELS, twin.total + 5, PROMPT)
        assert (made.reason, made.planted, made.packed.passages) == (planting.NO_ROOM, {}, ())


def test_a_context_without_a_fact_or_a_passage_has_a_reason() -> None:
    assert plant(Variant("counterfactual", "after"), clean(BOATS), LABELS, 100, PROMPT).reason == planting.NO_FACT
    assert plant(Variant("injection", "override"), clean(), LABELS, 100, PROMPT).reason == planting.NO_PASSAGE

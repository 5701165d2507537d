import pytest

from tests.answer_cases import Asked, case_of, table_of
from workbench.measures.metrics.answers import NO_CITATION, NO_EVIDENCE

# Two pieces of evidence, the second with two alternatives.
NEEDS = ((("d", 0, 10),), (("d", 50, 60), ("e", 0, 10)))
PASSAGES = (("d", 0, 40), ("f", 0, 40), ("e", 4, 40), ("d", 58, 90))


def values(asked: Asked) -> list[float]:
    return [float(table_of(case_of(asked), name)["value"][0]) for name in ("citation_precision", "citation_recall")]


@pytest.mark.parametrize(
    ("citations", "precision", "recall"),
    [
        ((0,), 1, 1 / 2),
        ((0, 1), 1 / 2, 1 / 2),
        ((0, 2), 1, 1),
        ((1,), 0, 0),
        ((0, 0, 1, 99), 1 / 2, 1 / 2),
        # Of the alternative, 2 of 10 characters.
        ((3,), 0, 0),
    ],
)
def test_cited_passages_are_compared_with_the_evidence(citations: tuple[int, ...], precision: float, recall: float) -> None:
    assert values(Asked("x", citations=citations, needs=NEEDS, passages=PASSAGES)) == pytest.approx([precision, recall])


def test_evidence_that_is_not_in_the_context_cannot_be_cited() -> None:
    assert values(Asked("x", citations=(0,), needs=NEEDS, passages=(("d", 0, 40), ("f", 0, 9))))[1] == 1
    table = table_of(case_of(Asked("x", citations=(0,), needs=NEEDS, passages=(("f", 0, 9),))), "citation_recall")
    assert table[["state", "reason"]].iloc[0].tolist() == ["not_applicable", NO_EVIDENCE]


def test_an_altered_copy_is_no_evidence_and_an_attacked_passage_is() -> None:
    copied = Asked("x", citations=(0,), needs=NEEDS, passages=PASSAGES, planted={0: "counterfactual"})
    attacked = Asked("x", citations=(0,), needs=NEEDS, passages=PASSAGES, planted={0: "injection"})
    assert (values(copied)[0], values(attacked)[0]) == (0, 1)


def test_an_answer_without_citations_has_no_precision_and_a_recall_of_0() -> None:
    asked = [Asked("x", needs=NEEDS, passages=PASSAGES), Asked("x", needs=NEEDS, passages=PASSAGES, citations=(0,), refused=True)]
    precision, recall = (table_of(case_of(*asked), name) for name in ("citation_precision", "citation_recall"))
    assert precision["reason"].tolist() == [NO_CITATION, NO_CITATION]
    assert recall["value"].tolist() == [0, 0]


def test_without_evidence_spans_citations_are_not_scored() -> None:
    table = table_of(case_of(Asked("x", citations=(0,), passages=PASSAGES)), "citation_precision")
    assert table["reason"].tolist() == ["no evidence spans"]

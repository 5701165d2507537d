"""What each part adds: the section, and the sentences on the first screen."""

import re

import numpy as np
import pytest

from workbench.report.analysis.findings import findings
from workbench.report.analysis.parts import Alternative, Contrasted
from workbench.report.analysis.standings import CostRange
from workbench.report.model import Figure, Table
from workbench.report.render.html import document_of
from workbench.report.render.plain import summary_lines
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.parts import added_text, missing_sentence, part_answers, parts_section
from workbench.report.views import ComparisonView

SWEEP = {
    "embedding": [{"kind": "hashed"}],
    "chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}],
    "rerank": ["none", {"kind": "mmr", "pool": 5}],
}
QUESTION = "Is the reranker worth it?"


def reranked(made, gain: float, documents: int = 12) -> RunTables:
    """A run in which the reranker adds `gain` to the primary metric of questions about some documents."""
    noise = np.random.default_rng(7).normal(0, 0.05, (4, 120))
    noise -= noise.mean(axis=1, keepdims=True)
    values = np.clip(0.5 + noise + np.array([[0], [gain], [0], [gain]]), 0, 1)
    values[:, 10 * documents :] = np.nan
    return made.valued(values.tolist(), missing="not_applicable", name=f"parts-{gain}-{documents}", sweep=SWEEP)


def answer(run: RunTables) -> str:
    (found,) = part_answers(findings(run))
    assert found.question == QUESTION
    return found.sentence


@pytest.mark.parametrize(
    ("gain", "documents", "start"),
    [
        (0.2, 12, r"mmr is worth it: \+0\.\d{3} \[0\.\d{3}, 0\.2\d\d\] in span_recall@60t on average over 2 pairs"),
        (-0.2, 12, r"mmr is harmful: −0\.\d{3} \["),
        # That none of 12 documents lost .5, although enough do to undo a gain of .1, has the probability (.5 / .6)^12 = .11.
        (
            0.1,
            12,
            r"mmr has a gain on these documents: \+0\.\d{3} .*; 12 documents are too few to claim it for others, of which a few could undo it; ",
        ),
        (-0.1, 12, r"mmr has a loss on these documents: −0\.\d{3} "),
        (
            0.0,
            12,
            r"No benefit of mmr is shown: .*; these questions show an effect of 0\.0\d\d with 80 % power and may miss a smaller one; ",
        ),
        (0.1, 8, r"80 questions about 8 documents are too few for a claim about mmr: "),
        (0.1, 4, r"40 questions about 4 documents are too few for a claim about mmr: \+0\.\d{3} \[documents: 4\]"),
    ],
)
def test_the_first_screen_says_whether_the_reranker_is_worth_it(made, gain: float, documents: int, start: str) -> None:
    run = reranked(made, gain, documents)
    sentence = answer(run)
    assert re.match(start, sentence), sentence
    assert re.search(
        r"; it changes the time per question by .* ms \(median\)( and .* ms \(95th percentile\))?, timed on \d+ questions\.$", sentence
    )
    assert ("worth it" in sentence) == (gain == 0.2)
    assert sentence in summary_lines(run)
    assert sentence in [item.sentence for item in document_of(run).answers.items]


def test_the_section_has_a_row_for_each_effect_and_its_pairs(made) -> None:
    run = reranked(made, 0.2)
    section = parts_section(findings(run))
    assert section.title == "What does each part add?"
    assert section.title in [each.title for each in document_of(run).sections]
    (figure,) = [block for block in section.blocks if isinstance(block, Figure)]
    assert [row.cells[0].text for row in figure.data.rows] == ["fixed, size 24 over fixed, size 16", "mmr over none"]
    # Labels are the alternatives, which differ, and the key says over what.
    assert figure.key == (("fixed, size 24", "fixed, size 24 over fixed, size 16"), ("mmr", "mmr over none"))
    assert [row.cells[-1].text for row in figure.data.rows] == ["no difference shown", "worth it"]
    assert [row.cells[6].text for row in figure.data.rows] == ["2 of 2", "2 of 2"]
    (fold,) = [block for block in section.blocks if not isinstance(block, Figure | Table) and hasattr(block, "title")]
    assert len(fold.blocks[0].rows) == 4
    assert "mmr over none" in ComparisonView(run).parts().html


def test_an_effect_that_differs_between_the_pairs_is_said_to(made) -> None:
    noise = np.random.default_rng(6).normal(0, 0.05, (4, 120))
    values = np.clip(0.5 + noise + np.array([[0], [0.2], [0], [-0.1]]), 0, 1).tolist()
    run = made.valued(values, name="crossed", sweep=SWEEP)
    (found,) = part_answers(findings(run))
    assert re.search(
        r"The effect of mmr is not the same in all pairs \(p < 0\.001\): from −0\.\d{3} \(fixed-24-0-mmr\) to \+0\.\d{3}", found.sentence
    )


def test_a_run_of_one_varied_part_has_no_section(made) -> None:
    run = made.valued([[0.5] * 120, [0.4] * 120], name="one-axis")
    assert parts_section(findings(run)) is None
    assert part_answers(findings(run)) == []
    assert "Parts" not in [section.short for section in document_of(run).sections]
    assert "varies only one part" in ComparisonView(run).parts().html


def test_a_part_that_cannot_be_compared_is_named() -> None:
    none, some = Alternative("rerank", "none", None), Alternative("rerank", "late-interaction", {"kind": "late-interaction"})
    sentence = missing_sentence([Contrasted(some, none, True, [], 6)])
    assert sentence == "Nothing can be said about late-interaction and none: no two ranked configurations differ only in this."


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.24, 3.9, "+0.2 to +3.9"), (-1.02, 0.04, "−1.0 to 0.0"), (14.2, 310, "+14 to +310"), (-np.inf, np.inf, "+5.2")],
)
def test_added_times_have_two_digits_and_a_sign(low: float, high: float, text: str) -> None:
    assert added_text(CostRange(low, high), 5.2) == text


def test_times_that_were_measured_once_are_shown_without_a_range(made, monkeypatch) -> None:
    from workbench.report.analysis import parts

    whole = parts.timings_of

    def once(run: object, name: str) -> dict[str, float]:
        return {measure: value for measure, value in whole(run, name).items() if not measure.endswith(("_low", "_high"))}

    monkeypatch.setattr(parts, "timings_of", once)
    run = made.valued(np.full((4, 120), 0.5).tolist(), name="timed-once", sweep=SWEEP)
    assert all(not time.span.repeated for part in parts.parts(run) for time in part.latency.values())
    assert parts_section(findings(run)) is not None

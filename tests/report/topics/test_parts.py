"""What each part adds: the section, and the sentences on the first screen."""

import re

import numpy as np
import pytest

from workbench.report.analysis.findings import findings
from workbench.report.analysis.parts import Alternative, Contrasted
from workbench.report.analysis.standings import CostRange
from workbench.report.model import Collapsible, Table
from workbench.report.render.html import document_of
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.parts import added_text, missing_sentence, parts_section
from workbench.report.views import ComparisonView

SWEEP = {
    "embedding": [{"kind": "hashed"}],
    "chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}],
    "rerank": ["none", {"kind": "mmr", "pool": 5}],
}


def reranked(made, gain: float, documents: int = 12) -> RunTables:
    """A run in which the reranker adds `gain` to the primary metric of questions about some documents."""
    noise = np.random.default_rng(7).normal(0, 0.05, (4, 120))
    noise -= noise.mean(axis=1, keepdims=True)
    values = np.clip(0.5 + noise + np.array([[0], [gain], [0], [gain]]), 0, 1)
    values[:, 10 * documents :] = np.nan
    return made.valued(values.tolist(), missing="not_applicable", name=f"parts-{gain}-{documents}", sweep=SWEEP)


@pytest.mark.parametrize(
    ("gain", "documents", "reading"),
    [
        (0.2, 12, "worth it"),
        (-0.2, 12, "harmful"),
        # That none of 12 documents lost .5, although enough do to undo a gain of .1, has the probability (.5 / .6)^12 = .11.
        (0.1, 12, "a gain on these documents"),
        (-0.1, 12, "a loss on these documents"),
        (0.0, 12, "no benefit shown"),
        (0.1, 8, "too few data for a claim"),
        (0.1, 4, "too few data for a claim"),
    ],
)
def test_the_section_says_whether_the_reranker_is_worth_it(made, gain: float, documents: int, reading: str) -> None:
    section = parts_section(findings(reranked(made, gain, documents)))
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert table.rows[1].cells[4].text == reading
    assert ("MMR is" in section.blocks[0].text) == (abs(gain) == 0.2)


def test_the_section_has_a_row_for_each_effect_and_its_pairs(made) -> None:
    run = reranked(made, 0.2)
    section = parts_section(findings(run))
    assert section.title == "What each part adds"
    assert section.title in [each.title for each in document_of(run).sections]
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert [row.cells[0].text for row in table.rows] == ["fixed 24 over fixed 16", "MMR"]
    assert [row.cells[4].text for row in table.rows] == ["no difference shown", "worth it"]
    effect = table.rows[1].cells[1]
    assert section.blocks[0].text == (
        f"By span_recall@60t, MMR is worth it, {effect.text} {effect.note}. No effect of the other alternative is claimed."
    )
    (fold,) = [block for block in section.blocks if isinstance(block, Collapsible)]
    assert len(fold.blocks[0].rows) == 4
    assert "MMR" in ComparisonView(run).parts().html


def test_without_a_claim_the_section_says_so(made) -> None:
    section = parts_section(findings(reranked(made, 0.0)))
    assert section.blocks[0].text == "No effect on span_recall@60t is claimed of the 2 alternatives."


def test_an_effect_that_differs_between_the_pairs_is_said_to(made) -> None:
    noise = np.random.default_rng(6).normal(0, 0.05, (4, 120))
    values = np.clip(0.5 + noise + np.array([[0], [0.2], [0], [-0.1]]), 0, 1).tolist()
    run = made.valued(values, name="crossed", sweep=SWEEP)
    found = " ".join(parts_section(findings(run)).blocks[1].items)
    assert re.search(
        r"The effect of MMR is not the same in all pairs \(p < 0\.001\): from −0\.\d{3} \(fixed-24-0-mmr\) to \+0\.\d{3}", found
    )


def test_a_run_of_one_varied_part_has_no_section(made) -> None:
    run = made.valued([[0.5] * 120, [0.4] * 120], name="one-axis")
    assert parts_section(findings(run)) is None
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

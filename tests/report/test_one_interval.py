"""A comparison of two configurations has one interval and one p, whichever page, view or table shows it."""

import html
import re
from collections.abc import Iterator

import numpy as np
import pytest

from workbench.api.results import Results
from workbench.measures.statistics.comparison import Comparison
from workbench.report.analysis.findings import Findings, findings
from workbench.report.analysis.pairwise import comparisons_table
from workbench.report.analysis.parts import parts
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.registry import TOPICS, summary_lines
from workbench.report.views import ComparisonView

# A difference with the interval that follows it, as in +0.099 (0.000, 0.199], or in "+0.099: more of the evidence with A than with B (0.000, 0.199]".
INTERVAL = re.compile(
    r"([+−]?\d\.\d{2,3})(?:[*_|\s]*|:?\s[^\d\[(][^\[(]{0,80} than [^\[(]{0,80}\s)([\[(])\s*([+−]?\d\.\d{2,3}), ([+−]?\d\.\d{2,3})([\])])"
)
BASELINE = "fixed-256-0"
NEIGHBOURS = {"retrieval": [{"kind": "bm25", "k": 5, "neighbours": [0, 1, 2, 3]}]}


@pytest.fixture(scope="module")
def found(made) -> Findings:
    """Four configurations that differ in one part, with a baseline. Differences are unlike any other number of the page."""
    experiment = {"name": "one-interval", "sweep": NEIGHBOURS, "smallest_difference": 0.1}
    random = np.random.default_rng(5)
    level = random.uniform(0.2, 0.6, 120)
    values = [np.clip(level + gain + random.normal(0, 0.15, 120), 0, 1) for gain in (0, 0.043, 0.117, 0.231)]
    return findings(made.valued(values, baseline=BASELINE, **experiment))


@pytest.fixture(scope="module")
def pairs(found: Findings) -> list[Comparison]:
    """Every pair, in both directions."""
    rows = found.verdict.pairs
    return [*rows, *(row.reversed() for row in rows)]


def numeric(text: str) -> float:
    return float(text.replace("−", "-"))


def intervals(text: str, pairs: list[Comparison]) -> Iterator[tuple[Comparison, str, str]]:
    """The intervals that follow the differences of pairs, as they are shown and as they should be."""
    for value, *bounds in INTERVAL.findall(text):
        digits = len(value.partition(".")[2])
        for pair in pairs:
            if value.startswith(("+", "−")) and abs(numeric(value) - pair.difference.value) <= 0.5000001 * 10**-digits:
                opening, low, high, closing = bounds
                yield pair, f"{opening}{low}, {high}{closing}".replace("+", ""), pair.simultaneous.bounds(digits)


def words(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def texts(found: Findings) -> dict[str, str]:
    view = ComparisonView(found)
    topics = {topic.name: getattr(view, topic.name)() for topic in TOPICS if "comparison" in topic.views}
    return {
        "page": words(rendered(document_of(found))),
        "terminal": "\n".join(summary_lines(found)),
        "overview": words(view.overview().html),
        **{name: words(shown.html) + shown.alt for name, shown in topics.items()},
    }


def test_the_differences_of_the_run_are_unlike_each_other(pairs: list[Comparison]) -> None:
    shown = sorted(round(pair.difference.value, 2) for pair in pairs)
    assert len(set(shown)) == len(shown)


def test_every_interval_of_a_pair_is_that_of_its_family_on_page_notebook_and_terminal(found: Findings, pairs: list[Comparison]) -> None:
    seen = {name: list(intervals(text, pairs)) for name, text in texts(found).items()}
    wrong = {
        name: [(pair.a, pair.b, shown, right) for pair, shown, right in rows if shown != right]
        for name, rows in seen.items()
        if any(shown != right for _, shown, right in rows)
    }
    assert wrong == {}
    shown = {name: {frozenset((pair.a, pair.b)) for pair, _, _ in rows} for name, rows in seen.items()}
    assert shown["page"] >= {frozenset((pair.a, pair.b)) for pair in pairs if BASELINE in (pair.a, pair.b)}
    assert {name for name, rows in seen.items() if rows} >= {"page", "terminal", "ranking", "slices", "parts"}


def test_pairs_with_the_baseline_are_corrected_for_these_and_others_for_all(found: Findings, pairs: list[Comparison]) -> None:
    assert [pair.tests for pair in pairs] == [3 if found.baseline in (pair.a, pair.b) else 6 for pair in pairs]


def test_the_table_of_comparisons_and_compare_have_the_same_interval_and_p(found: Findings, pairs: list[Comparison]) -> None:
    results, table = Results.view(found, found.folder), comparisons_table(found).set_index(["metric", "a", "b"])
    metric = str(found.primary)
    for pair in pairs:
        row = results.compare(pair.a, pair.b).loc[metric]
        assert row[["difference", "low", "high", "p_adjusted"]].tolist() == [
            pair.difference.value,
            pair.low_adjusted,
            pair.high_adjusted,
            pair.p_adjusted,
        ]
        assert (row["equivalent"], row["exploratory"]) == (found.equivalent(pair.a, pair.b), False)
    for pair in found.verdict.pairs:
        row = table.loc[(metric, pair.a, pair.b)]
        assert row[["low_adjusted", "high_adjusted", "p_adjusted"]].tolist() == [pair.low_adjusted, pair.high_adjusted, pair.p_adjusted]
        assert row["equivalent"] == found.equivalent(pair.a, pair.b)
    others = table[table.index.get_level_values("metric") != metric]
    assert others[["p_adjusted", "low_adjusted", "high_adjusted", "equivalent"]].isna().all(axis=None)


def test_the_effect_of_a_single_pair_is_its_comparison(found: Findings) -> None:
    singles = [part for part in parts(found) if len(part.pairs) == 1]
    assert singles
    for part in singles:
        (pair,) = part.pairs
        own = found.comparison(pair.configuration, pair.reference)
        shown = part.effect.comparison
        assert (shown.simultaneous, shown.p_adjusted, pair.difference) == (own.simultaneous, own.p_adjusted, own.simultaneous)

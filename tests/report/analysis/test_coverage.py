"""A mean of few of the questions takes part in no comparison."""

from pathlib import Path

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.api.results import Results
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import summary_lines

N = 120
NOISE = np.random.default_rng(8)
LOW = np.round(NOISE.random(N) * 0.5, 3)


def scored(values: np.ndarray, count: int) -> np.ndarray:
    """The first values, the others unscored."""
    return np.where(np.arange(N) < count, values, np.nan)


@pytest.fixture(scope="module")
def few(made: Made) -> RunTables:
    # The best value of three questions, and of three that everybody answers.
    return made.valued([LOW, scored(np.full(N, 0.95), 3), np.round(LOW * 0.9, 3)], name="few")


def test_a_mean_of_three_questions_has_no_place_no_line_and_no_comparison(few: RunTables) -> None:
    found = findings(few)
    assert [each.name for each in found.standings.ranked] == ["fixed-16-0", "fixed-32-0"]
    assert [each.name for each in found.standings.uncovered] == ["fixed-24-0"]
    assert "fixed-24-0" not in {name for pair in found.verdict.pairs for name in (pair.a, pair.b)}
    (priced,) = [each for each in found.priced if each.name == "fixed-24-0"]
    assert not priced.ranked
    assert not priced.frontier


def test_it_is_named_with_its_questions_in_leaderboard_terminal_and_report(few: RunTables, tmp_path: Path) -> None:
    note = "Not compared, because fewer than 90 % of the questions have a value of span_recall@60t: fixed-24-0 (3 of 120)"
    board = Results.view(few, tmp_path).leaderboard()
    assert board["place"].dropna().to_dict() == {"fixed-16-0": 1, "fixed-32-0": 2}
    lines = summary_lines(few)
    row = next(line for line in lines if "fixed-24-0" in line)
    assert row.split() == ["fixed-24-0", "0.950", "[documents:", "1]", "3", "△", "–", "3", "of", "120", "questions", "have", "a", "value"]
    assert any(line.startswith(note) for line in lines)
    Results.view(few, tmp_path).to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert note.partition(":")[0] in page
    assert "3 of 120 questions have a value" in page


@pytest.mark.parametrize(("count", "compared"), [(108, True), (107, False)])
def test_nine_tenths_of_the_questions_are_enough(made: Made, count: int, compared: bool) -> None:
    found = findings(made.valued([LOW, scored(LOW + 0.3, count)], name=f"covered{count}"))
    assert (len(found.standings.ranked) == 2) is compared


def test_an_uncovered_baseline_cannot_be_compared(made: Made) -> None:
    found = findings(made.valued([scored(LOW, 10), LOW, LOW * 0.9], name="base", baseline="fixed-16-0"))
    assert (found.unbased, found.verdict.family) == ("fixed-16-0", "all pairs")


def test_without_a_covered_configuration_nothing_is_ranked(made: Made) -> None:
    found = findings(made.valued([scored(LOW, 10), scored(LOW, 20)], name="none"))
    assert (found.first, found.verdict) == (None, None)
    assert "Nothing can be ranked: fewer than 90 % of their questions have a value." in "\n".join(summary_lines(found))

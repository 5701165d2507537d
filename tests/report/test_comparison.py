import html
import re

import numpy as np
import pytest

from workbench.api.results import load
from workbench.core.errors import InputError
from workbench.report.model import Figure, RankingTable, Table
from workbench.report.render.html import write_report
from workbench.report.render.notebook import MIME, Shown
from workbench.report.views import ComparisonView
from workbench.runner.execution.collect import collect


@pytest.fixture(scope="module")
def view(shown):
    return ComparisonView(shown.run)


@pytest.fixture(scope="module")
def two_alike(run):
    return ComparisonView(collect(run(name="alike", sweep={"retrieval": [{"kind": "dense", "k": 5, "search": ["exact", "ann"]}]})))


@pytest.fixture(scope="module")
def without_spans(run):
    return ComparisonView(collect(run(evidence=False, name="labels", metrics=["ndcg@10", "recall@3"])))


def words(shown: Shown) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", shown.html).split()))


def test_the_ranking_leaves_out_configurations_beyond_the_window(view):
    (ranking,) = [block.table for block in view.ranking().blocks if isinstance(block, RankingTable)]
    notes = {row.cells[0].text: (row.cells[1].text, row.cells[-2].note) for row in ranking.rows}
    assert notes["fixed-16-0"][0].startswith("◇ ")
    assert notes["fixed-16-0"][1] == ""
    place, note = notes["fixed-64-0"]
    assert place == "△ –"
    assert note.startswith("Not ranked: chunks longer than the embedder's window of 48 tokens")


def test_configurations_beyond_the_window_are_in_no_figure_and_no_difference(view):
    for shown in (view.differences().alt, words(view.curves()), words(view.differences())):
        assert "fixed-64" not in shown
        assert "fixed-16" in shown


def test_the_overview_counts_and_names_failures(view):
    text = words(view.overview())
    assert "5 documents, 6 questions" in text
    assert "fixed-16-0-broken" in text
    assert "is not a model's settings" in text


def test_two_configurations_that_agree_have_no_difference_and_no_winner(two_alike):
    overview, differences, sources = (words(part()) for part in (two_alike.overview, two_alike.differences, two_alike.sources))
    assert "cannot tell these two configurations apart: their span_recall@500t is the same on each." in overview
    assert "the same" in differences
    assert "; 6 are equal" in sources


def test_differences_show_every_p_and_the_correction(view):
    text = words(view.differences())
    for title in (
        "paired t p",
        "randomisation p",
        "corrected p",
        "Holm p",
        "corrected for 1 comparison (all pairs)",
        "simultaneous intervals",
    ):
        assert title in text


def test_the_costs_say_who_is_on_the_frontier_and_who_is_not_ranked(view):
    (table,) = [block for block in view.costs().blocks if isinstance(block, Table)]
    marks = {row.cells[0].text: row.cells[2].text for row in table.rows}
    assert sorted(marks) == sorted(view.run.names)
    assert {name for name, mark in marks.items() if mark == "not ranked"} == {name for name in marks if name.startswith("fixed-64")}
    for costed in view.findings.priced:
        assert ("encoding" in marks[costed.name]) == ("encoded" in costed.frontier)


@pytest.mark.parametrize(
    ("baseline", "reference", "heading"),
    [("fixed-16-0", "fixed-16-0", "against the baseline"), (None, "fixed-24-0", "minus #1")],
)
def test_ranking_and_differences_are_against_the_baseline_or_else_the_leader(made, baseline, reference, heading):
    values = np.random.default_rng(6).random((2, 120)) * 0.5
    shown = ComparisonView(made.valued([values[0], values[0] + 0.3, values[1] / 5], baseline=baseline))
    (ranking,) = [block.table for block in shown.ranking().blocks if isinstance(block, RankingTable)]
    (column,) = [place for place, one in enumerate(ranking.columns) if one.title == heading]
    assert [row.cells[0].text for row in ranking.rows if row.cells[column].text in ("baseline", "best score")] == [reference]
    (figure,) = [block for block in shown.differences().blocks if isinstance(block, Figure)]
    assert sorted([reference, *(row.cells[0].text for row in figure.data.rows)]) == sorted(shown.run.names)


def test_values_are_shown_with_their_attainable_maximum(view):
    assert "0.333 of 0.333" in words(view.ranking())


def test_without_evidence_equal_context_does_not_apply_and_no_curve_is_drawn(without_spans):
    assert "equal context does not apply" in words(without_spans.overview())
    assert str(without_spans.findings.primary) == "ndcg@10"
    assert "The data have no evidence" in words(without_spans.curves())
    assert "ndcg@10" in words(without_spans.ranking())


def test_an_experiment_whose_configurations_all_failed_says_why(run, broken, tmp_path):
    failed = ComparisonView(collect(run(name="failed", pipeline={"embedding": broken})))
    text = " ".join(words(part()) for part in (failed.overview, failed.ranking, failed.curves, failed.costs))
    assert "No configuration can be ranked" in text
    assert "is not a model's settings" in text
    assert words(failed.differences())
    assert "Pairwise comparison" not in write_report(failed.run, tmp_path / "report.html").read_text("utf-8")


def test_the_record_carries_the_conclusions_under_the_runs_id(view):
    record = view.record("a" * 32)
    bundle = record._repr_mimebundle_()[MIME]
    assert bundle["run_id"] == "a" * 32
    assert [one["configuration"] for one in bundle["values"]["ranked"]] == [one.name for one in view.findings.standings.ranked]
    assert len(bundle["values"]["failed"]) == 3
    assert str(record).startswith("recorded: 2 ranked by span_recall@500t")
    assert str(view.record("")).startswith("not recorded (opened by hand)")


def test_a_run_is_opened_from_any_folder_below_the_one_it_is_named_in(shown, view, monkeypatch):
    outputs = shown.folder.parent
    monkeypatch.chdir(shown.folder / "notebooks")
    again = load(f"{outputs.name}/{shown.folder.name}").comparison()
    assert words(again.ranking()) == words(view.ranking())
    with pytest.raises(InputError, match="nothing/here"):
        load("nothing/here")


def test_it_shows_the_same_tables_as_the_page(view, shown):
    page = shown.page
    assert all(f'data-name="{name}"' in page and name in view.ranking().html for name in shown.run.configurations_settings)
    for part in (view.costs, view.curves, view.slices):
        for caption in re.findall(r"<caption[^>]*>(.*?)</caption>", part().html):
            assert f">{caption}</caption>" in page

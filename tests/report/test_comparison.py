import html
import re

import numpy as np
import pytest

from workbench.api.results import load
from workbench.core.errors import InputError
from workbench.report.model import Figure, Table
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
    ranking, apart = html.unescape(view.ranking().html).split("Beyond the embedder's window", 1)
    assert "fixed-64" not in ranking
    assert "fixed-16" in ranking
    assert "scores reflect the window" in apart
    assert "fixed-64" in apart
    assert "never embedded" in apart


def test_configurations_beyond_the_window_are_in_no_figure_and_no_difference(view):
    for shown in (view.differences().alt, view.curves().alt, words(view.differences()), words(view.exploratory())):
        assert "fixed-64" not in shown
        assert "fixed-16" in shown


def test_the_overview_counts_and_names_failures(view):
    text = words(view.overview())
    assert "5 documents, 6 questions" in text
    assert "fixed-16-0-broken" in text
    assert "is not a model's settings" in text


def test_two_configurations_that_agree_have_no_difference_and_no_winner(two_alike):
    overview, differences, sources = (words(part()) for part in (two_alike.overview, two_alike.differences, two_alike.sources))
    assert "No winner" in overview
    assert "have the same span_recall@500t on every question" in overview
    assert "There is no difference to test." in differences
    assert "the same" in differences
    assert "; 6 are ties" in sources


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


def test_other_metrics_are_exploratory(view):
    text = words(view.exploratory())
    assert text.startswith("Exploratory: ")
    assert "ndcg@3" in text
    assert "span_recall@500t " not in text
    assert text.count("Exploratory: ") == 2


def test_the_frontier_is_drawn_against_a_cost(view):
    assert "span_recall@500t against encoding" in view.costs().alt
    assert "What each configuration costs" in words(view.costs())


def test_the_figure_of_a_cost_names_every_configuration_and_says_which_are_not_ranked(view, made):
    (line,) = [line for line in view.costs().alt.splitlines() if "against encoding" in line]
    assert all(name in line for name in view.run.names)
    assert re.findall(r"(fixed-64[^\s:]*): [^;]*on the frontier not ranked", line) == [
        name for name in view.run.names if name.startswith("fixed-64")
    ]
    assert ComparisonView(collect(made.ran(1))).costs().alt == ""


@pytest.mark.parametrize(
    ("baseline", "reference", "heading"),
    [("fixed-16-0", "fixed-16-0", "minus the baseline"), (None, "fixed-24-0", "minus the leader")],
)
def test_ranking_and_differences_are_against_the_baseline_or_else_the_leader(made, baseline, reference, heading):
    values = np.random.default_rng(6).random((2, 120)) * 0.5
    shown = ComparisonView(made.valued([values[0], values[0] + 0.3, values[1] / 5], baseline=baseline))
    (ranking,) = [block for block in shown.ranking().blocks if isinstance(block, Table)]
    (column,) = [place for place, one in enumerate(ranking.columns) if one.title == heading]
    assert [row.cells[0].text for row in ranking.rows if row.cells[column].text == "–"] == [reference]
    (figure,) = [block for block in shown.differences().blocks if isinstance(block, Figure)]
    assert sorted([reference, *(row.cells[0].text for row in figure.data.rows)]) == sorted(shown.run.names)


def test_values_are_shown_with_their_attainable_maximum(view):
    assert "0.333 of 0.333" in words(view.ranking())


def test_without_evidence_equal_context_does_not_apply_and_no_curve_is_drawn(without_spans):
    assert "equal context does not apply" in words(without_spans.overview())
    assert str(without_spans.findings.primary) == "ndcg@10"
    assert without_spans.curves().alt == ""
    assert "The data have no evidence" in words(without_spans.curves())
    assert "The run has no other metric" in words(without_spans.exploratory())
    assert "ndcg@10" in words(without_spans.ranking())


def test_size_against_overlap_is_drawn_where_both_vary(run, view):
    assert "does not vary both size and overlap" in words(view.sizes())
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 32], "overlap": [0, 8]}]}
    varied = ComparisonView(collect(run(name="grid", sweep=sweep, pipeline={"retrieval": {"kind": "bm25", "k": 5}})))
    (table,) = list(varied.sizes().blocks[1].blocks)
    assert [column.title for column in table.columns] == ["overlap", "size 16", "size 32"]
    values = [one.means["span_recall@500t"].value for one in varied.findings.standings.ranked]
    shades = sorted(cell.sort for row in table.rows for cell in row.cells[1:])
    assert shades == sorted(values)


def test_an_experiment_whose_configurations_all_failed_says_why(run, broken, tmp_path):
    failed = ComparisonView(collect(run(name="failed", pipeline={"embedding": broken})))
    text = " ".join(words(part()) for part in (failed.overview, failed.ranking, failed.curves, failed.exploratory, failed.costs))
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
    for part in (view.ranking, view.differences, view.costs, view.curves, view.slices, view.pairs, view.exploratory):
        for caption in re.findall(r"<caption[^>]*>(.*?)</caption>", part().html):
            assert f">{caption}</caption>" in page

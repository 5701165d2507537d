import html
import re

import pytest

from workbench.report.comparison import ComparisonView
from workbench.report.open import open_comparison
from workbench.report.render.display import Fragment, Picture
from workbench.report.render.html import write_report


@pytest.fixture(scope="module")
def view(shown):
    return ComparisonView(shown.outcome)


@pytest.fixture(scope="module")
def two_alike(run):
    return ComparisonView(run(name="alike", sweep={"retrieval": [{"kind": "dense", "k": 5, "search": ["exact", "ann"]}]}))


@pytest.fixture(scope="module")
def without_spans(run):
    return ComparisonView(run(evidence=False, name="labels", metrics=["ndcg@10", "recall@3"]))


def words(fragment: Fragment) -> str:
    return html.unescape(" ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", str(fragment.html), flags=re.DOTALL).split()))


def test_the_order_leaves_out_what_the_window_cuts(view):
    ranking, apart = str(view.ranking().html).split("Not ranked", 1)
    assert "fixed-64" not in ranking
    assert "fixed-16" in ranking
    assert "window, not chunking" in apart
    assert "fixed-64" in apart
    assert "never embedded" in apart


def test_what_the_window_cuts_is_in_no_figure_and_no_difference(view):
    for shown in (view.forest().alt, view.curves().alt, words(view.differences()), words(view.fixed_k())):
        assert "fixed-64" not in shown
        assert "fixed-16" in shown


def test_the_overview_counts_and_names_failures(view):
    text = words(view.overview())
    assert "5 documents, 6 questions" in text
    assert "fixed-16-0-broken" in text
    assert "no tokenizer.json" in text


def test_two_configurations_that_agree_have_no_difference_and_no_winner(two_alike):
    overview, differences, sources = (words(part()) for part in (two_alike.overview, two_alike.differences, two_alike.sources))
    assert "No winner" in overview
    assert "have the same span_recall@500t on every question" in overview
    assert "There is no difference to test." in differences
    assert "the same" in differences
    assert "on 6 they are equal" in sources


def test_differences_carry_every_p_and_say_what_was_corrected_for(view):
    text = words(view.differences())
    for title in (
        "paired t p",
        "randomisation p",
        "corrected p",
        "Holm p",
        "corrected for 1 comparison (all pairs)",
        "over questions of these",
    ):
        assert title in text


def test_other_metrics_are_exploratory(view):
    text = words(view.exploratory())
    assert text.startswith("Exploratory: ")
    assert "ndcg@3" in text
    assert "span_recall@500t " not in text
    assert "Exploratory" in words(view.fixed_k())


def test_the_frontier_is_drawn_against_a_cost(view):
    picture = view.frontier("encoded")
    assert isinstance(picture, Picture)
    assert "span_recall@500t against encoding" in picture.alt


def test_values_stand_beside_what_is_attainable(view):
    assert "0.333 of 0.333" in words(view.ranking())


def test_without_evidence_equal_context_does_not_apply_and_no_curve_is_drawn(without_spans):
    assert "equal context does not apply" in words(without_spans.overview())
    assert str(without_spans.primary) == "ndcg@10"
    assert isinstance(without_spans.curves(), Fragment)
    assert "No metric over the first k chunks" in words(without_spans.fixed_k())
    assert "ndcg@10" in words(without_spans.ranking())


def test_size_against_overlap_is_drawn_where_both_vary(run, view):
    assert isinstance(view.heatmap(), Fragment)
    varied = ComparisonView(run(name="grid", sweep={"chunking": [{"kind": "fixed", "size": [16, 32], "overlap": [0, 8]}]}))
    picture = varied.heatmap()
    assert isinstance(picture, Picture)
    assert picture.alt.count("size ") == 5


def test_an_experiment_of_which_everything_failed_still_tells_why(run, shown):
    broken = shown.outcome.experiment.configurations[1].embedding.model_dump()
    failed = ComparisonView(run(name="failed", pipeline={"embedding": broken}))
    text = " ".join(words(part()) for part in (failed.overview, failed.ranking, failed.forest, failed.curves, failed.fixed_k, failed.cost))
    assert "No configuration can be ranked" in text
    assert "no tokenizer.json" in text
    assert words(failed.differences())
    assert "Comparison" not in write_report(failed.outcome, failed.outcome.folder).read_text("utf-8")


def test_the_record_is_kept_under_the_runs_id(view, capsys):
    view.record("a" * 32)
    entry = view.outcome.bench.workplace.store.get("records", "a" * 32)
    record = entry.values("record")
    assert [one["configuration"][:8] for one in record["ranked"]] == [one.name[:8] for one in view.found.ranked]
    assert len(record["failed"]) == 3
    assert capsys.readouterr().out.startswith("recorded: 2 ranked by span_recall@500t")


def test_opened_by_hand_it_records_nothing_and_reads_the_store(place, view, capsys):
    again = open_comparison(place / "tiny.yaml", place / "outputs")
    assert [result.configuration for result in again.outcome.results] == [one.configuration for one in view.outcome.results]
    assert not any(result.embedded.vectors.computed for result in again.outcome.results)
    capsys.readouterr()
    again.record("")
    assert capsys.readouterr().out.startswith("not recorded")

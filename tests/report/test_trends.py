import html
import re
from datetime import UTC, datetime

import nbformat
import numpy as np
import pytest
from scipy import stats

from workbench.core.errors import InputError, StoreError
from workbench.core.storage.result_store import Store
from workbench.core.text.formatting import interval, number, signed
from workbench.report.cells import p_cell
from workbench.report.results.history import append
from workbench.report.trends import label_rows, load_history
from workbench.runner.execution.collect import collect
from workbench.runner.notebook_runner.notebooks import write_trends

NOISE = np.random.default_rng(3).normal(0, 0.004, 12).round(4)


@pytest.fixture
def outputs(past):
    """Twelve runs of two configurations: other labels in the 4th, another model in the 7th, a step without a reason in the 10th."""
    rows = []
    for run in range(12):
        prints = {"labels": "b" if run >= 3 else "a", "embedding": "b" if run >= 6 else "a"}
        rows.append({"run": run, "configuration": "dense", "value": 0.6 + 0.2 * (run >= 6) + NOISE[run]} | prints)
        words = {"run": run, "configuration": "bm25", "value": 0.5 + 0.01 * (run >= 9), "embedding": None, "commit": f"{run:040x}"}
        rows += [words | {"labels": prints["labels"]}, words | {"metric": "mrr@10", "primary": False}]
    return past(rows)


def said(shown) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown.html)).split())


def rows(shown) -> list[list[str]]:
    (table,) = shown.blocks
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_the_last_experiment_and_its_primary_metric_are_the_default(outputs):
    view = load_history(outputs)
    assert (view.experiment, view.metric) == ("mine", "recall@5")
    assert [one.name for one in view.trends] == ["dense", "bm25"]
    assert "12 runs of mine from 2026-03-01 to 2026-03-12, by recall@5: a change of level was found in dense" in said(view.overview())


def test_another_metric_is_shown_for_the_configurations_that_have_it(outputs):
    assert [one.name for one in load_history(outputs, "mine", "mrr@10").trends] == ["bm25"]


def test_an_unknown_experiment_or_metric_is_an_error_that_lists_the_known_ones(outputs, wording):
    wording(lambda names: load_history(outputs, *names), [("minee", ""), ("zzz", ""), ("mine", "recal@5")])


def test_without_a_history_and_with_a_corrupt_one_there_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match=r"history\.parquet does not exist"):
        load_history(tmp_path)
    (tmp_path / "history.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match="is corrupt"):
        load_history(tmp_path)


def test_a_notebook_finds_the_outputs_beside_its_own_folder(outputs, tmp_path, monkeypatch):
    (tmp_path / "outputs").mkdir()
    (tmp_path / "notebooks").mkdir()
    (outputs / "history.parquet").rename(tmp_path / "outputs" / "history.parquet")
    monkeypatch.chdir(tmp_path / "notebooks")
    assert load_history("outputs").experiment == "mine"


def test_levels_are_shown_with_the_changes_of_their_run(outputs):
    found = rows(load_history(outputs).levels())
    assert [(row[0], row[1], row[5]) for row in found] == [("7", "dense", "model")]


def test_runs_that_repeat_each_other_are_one_observation(outputs):
    view = load_history(outputs)
    assert rows(view.observations()) == [["dense", "12", "12", "12"], ["bm25", "12", "3", "3"]]
    assert "one observation of the level: 12 runs of bm25 are 3 observations" in said(view.overview())
    assert "too few for a change of level: bm25" in said(view.overview())


def test_changes_name_what_was_changed_in_words(outputs):
    found = rows(load_history(outputs).changes())
    assert [(row[0], row[1], row[3]) for row in found] == [("4", "dense", "labels"), ("4", "bm25", "labels"), ("7", "dense", "model")]


def test_a_further_stage_is_named_as_it_is(past):
    runs = [{"run": run, "value": 0.5, "stages": f'{{"reranking": "{run}"}}'} for run in range(2)]
    assert [row[3] for row in rows(load_history(past(runs)).changes())] == ["reranking"]


def test_a_value_that_changes_without_a_reason_is_listed_with_both_commits(outputs):
    found = [row for row in rows(load_history(outputs).unexplained()) if row[1] == "bm25"]
    assert found == [["10", "bm25", "2026-03-10 09:00", "0.5100", "+0.0100", "no scores by question", "–", "00000000", "00000000"]]


def test_the_difference_of_two_runs_is_paired_by_question(made, tmp_path):
    random = np.random.default_rng(0)
    before = 0.3 + random.random(120) * 0.3
    last = before + random.uniform(-0.2, 0.3, 120)
    for day, values in enumerate((before, before, last), 1):
        append(made.valued([values]), tmp_path, datetime(2026, 3, day, tzinfo=UTC))
    view = load_history(tmp_path)
    (row,) = rows(view.unexplained())
    # Ten questions about each document are one observation.
    test = stats.ttest_1samp((last - before).reshape(12, 10).mean(axis=1), 0)
    assert (row[0], row[3:5]) == ("3", [number(last.mean(), 4), signed((last - before).mean(), 4)])
    assert row[5:7] == [interval(*test.confidence_interval(), 4), p_cell(test.pvalue).text]
    assert "paired by question" in said(view.unexplained())


def test_another_metric_than_the_primary_one_has_no_scores_by_question(run, tmp_path):
    for day, kind in enumerate(("bm25", "dense"), 1):
        outcome = run(name="secondary", pipeline={"retrieval": {"kind": kind}}, metrics=["span_recall@1", "recall@3"])
        append(collect(outcome), tmp_path, datetime(2026, 3, day, tzinfo=UTC))
    (row,) = rows(load_history(tmp_path, metric="recall@3").changes())
    assert (row[3], row[6:8]) == ("model, retrieval", ["no scores by question", "–"])


def test_equal_scores_of_different_settings_are_called_identical(run, tmp_path):
    for day, k in enumerate((5, 4), 1):
        outcome = run(name="identical", pipeline={"retrieval": {"kind": "bm25", "k": k}}, metrics=["span_recall@1", "recall@3"])
        append(collect(outcome), tmp_path, datetime(2026, 3, day, tzinfo=UTC))
    (row,) = rows(load_history(tmp_path).changes())
    assert row[3:8] == ["retrieval", row[4], "0.000", "identical", "> 0.99"]


def test_few_runs_claim_nothing(past):
    view = load_history(past([{"run": run, "value": 0.5 + 0.4 * (run > 1)} for run in range(4)]))
    assert "fewer than 9 different results" in said(view.overview())
    assert "finding one takes 9 different results" in said(view.levels())


def test_one_run_is_shown_and_has_nothing_before_it(past):
    view = load_history(past([{"run": 0, "value": 0.5}]))
    assert view.chart().alt
    assert "Nothing changed between runs" in said(view.changes())
    assert "came with a change" in said(view.unexplained())


def test_the_chart_says_what_it_shows_and_what_it_leaves_out(past):
    many = [{"run": run, "value": 0.5, "configuration": f"c{name}"} for run in range(70) for name in range(10)]
    view = load_history(past(many))
    assert view.chart().alt.startswith("recall@5 by run from run 11: c0 0.50")
    assert "10 older runs not drawn" in said(view.left_out())
    assert "Not drawn: c8 and c9" in said(view.left_out())


def test_a_long_name_fits_above_its_panel_and_is_whole_in_the_key(past):
    name = "w" * 80
    (figure,) = load_history(past([{"run": run, "value": 0.5, "configuration": name} for run in range(3)])).chart().blocks
    figure.drawing.canvas.draw()
    assert figure.drawing.get_tightbbox().x1 <= figure.drawing.get_figwidth() + 0.01
    assert [whole for _, whole in figure.key] == [name]


def test_of_many_changes_the_last_are_listed(past):
    view = load_history(past([{"run": run, "value": 0.5, "labels": str(run)} for run in range(70)]))
    assert "(the last 40 of 69)" in said(view.changes())
    assert [row[0] for row in rows(view.changes())] == [str(run) for run in range(31, 71)]


def test_a_metric_that_was_never_scored_is_reported(past):
    assert "scored in no run" in said(load_history(past([{"run": 0, "value": float("nan")}])).chart())


def test_labels_that_would_meet_stand_above_each_other():
    assert label_rows([], 1, 12) == {}
    assert label_rows([(2, "model"), (8, "dataset")], 1, 12) == {2: 0, 8: 0}
    assert label_rows([(7, "dataset"), (8, "chunking"), (9, "model")], 1, 12) == {9: 0, 8: 1, 7: 2}


@pytest.mark.slow
def test_the_notebook_runs_and_is_rendered_as_a_page(outputs):
    page = write_trends(outputs, "mine", Store(outputs / ".store"))
    assert page == outputs / "mine" / "trends.html"
    text = page.read_text("utf-8")
    assert "mine: since when is it better or worse?" in text
    assert text.count('role="img"') == 1
    assert "load_history" not in text
    executed = nbformat.read(outputs / "mine" / "trends.ipynb", as_version=4)
    assert "recorded: 1 change of level in 12 runs" in executed.cells[-1].outputs[0].data["text/plain"]

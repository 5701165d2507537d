"""The judge notebook and its view."""

import html
import re

import pytest

from tests.judged_runs import Judged, judged
from workbench.api.plots import Plots
from workbench.api.results import Results
from workbench.core.errors import InputError
from workbench.core.storage.result_store import Store
from workbench.report.render.notebook import MIME
from workbench.report.topics.registry import TOPICS
from workbench.report.views import JudgeView
from workbench.runner.notebook_runner.notebooks import notebook_jobs, notebook_path, run_notebook


def words(shown):
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", shown.html).split()))


@pytest.fixture(scope="module")
def results(judged_run, tmp_path_factory):
    return Results.view(judged_run, tmp_path_factory.mktemp("judged"))


def test_every_part_of_the_view_shows_something_without_labels_too(results):
    view = results.judge_view()
    assert "AUROC 0.93 on known answers" in words(view.overview())
    assert "The run has no labels." in words(view.calibration())
    assert "workbench judge sample " in words(view.calibration())
    assert words(view.disagreements()) == "The run has no labels that its judges could disagree with."
    assert words(view.corrected()) == "No mean is corrected: that needs 50 labels of each configuration."
    assert "Every failed answer has one cause" in words(view.causes())
    assert "contradicted ones first" in words(view.claims())


def test_labels_show_the_curve_disagreements_and_corrected_means(scored_run, tmp_path):
    view = Results.view(judged(scored_run, Judged(labels=60, conditions=["retrieved"])), tmp_path).judge_view()
    assert "Calibration of chat: qwen3:4b" in view.calibration().alt
    assert "Disagreements about the support of claims (the first 5 of 12)" in words(view.disagreements(5))
    assert "Means corrected by labels" in words(view.corrected())


def test_two_displays_of_the_same_answer_have_anchors_of_their_own(results):
    view = results.answer_view()
    first = re.findall(r'id="([^"]+)"', view.examples().html)
    second = re.findall(r'id="([^"]+)"', view.every_answer(most=40).html)
    assert first
    assert second
    assert not set(first) & set(second)
    targets = re.findall(r'href="#([^"]+)"', view.examples().html)
    assert set(targets) <= set(first)


def test_the_figures_of_causes_and_calibration_are_those_of_the_report(results, scored_run, unanswered, tmp_path):
    assert results.plot.causes().axes[0].get_xlabel() == "share of the answers that fail"
    labelled = Results.view(judged(scored_run, Judged(labels=60, conditions=["retrieved"])), tmp_path)
    assert labelled.plot.calibration().axes[0].get_xlabel() == "score of the judge"
    with pytest.raises(InputError, match="no labels for support"):
        results.plot.calibration()
    with pytest.raises(InputError, match="no task 'suport'"):
        results.plot.calibration("suport")
    with pytest.raises(InputError, match="no failed answer of the run has a cause"):
        Results.view(unanswered, tmp_path).plot.causes()


def test_a_run_without_judges_says_what_to_add_and_has_no_notebook_of_judges(answered_run, judged_run, tmp_path):
    with pytest.raises(InputError, match="has no judges; add answering"):
        Results.view(answered_run, tmp_path).judge_view()
    assert [job.name for job in notebook_jobs(judged_run)][-2:] == ["answers", "judge"]
    assert [job.name for job in notebook_jobs(answered_run)][-1] == "answers"


def test_the_notebook_is_executed_again_if_labels_change(scored_run):
    few, many = (judged(scored_run, Judged(labels=labels, conditions=["retrieved"])) for labels in (55, 60))
    assert notebook_jobs(few)[-1].shown[0] == notebook_jobs(many)[-1].shown[0]
    assert notebook_jobs(few)[-1].shown != notebook_jobs(many)[-1].shown


def test_the_notebook_runs_on_a_written_run_and_ends_with_its_record(judged_run, kernels, tmp_path):
    judged_run.write(tmp_path)
    target = tmp_path / "notebooks" / "judge.ipynb"
    assert run_notebook(Store(tmp_path / "store"), notebook_path("judge"), {"results": str(tmp_path)}, "made", target, kernels)
    text = target.read_text("utf-8")
    assert MIME in text
    assert "4 judges of" in text
    assert "Traceback" not in text


def test_the_names_for_judges_in_python_are_these():
    assert [name for name in dir(Results) if "judge" in name or name in ("claims", "causes")] == [
        "causes",
        "claims",
        "judge_view",
        "judgements",
        "judges",
    ]
    assert {"causes", "calibration"} <= set(dir(Plots))
    shown = [name for name in vars(JudgeView) if not name.startswith("_") and callable(getattr(JudgeView, name))]
    assert shown == ["overview", "calibration", "disagreements", "corrected", "claims", "record"]
    assert [topic.name for topic in TOPICS if "judges" in topic.views] == ["causes"]

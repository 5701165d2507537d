import html
import re

import nbformat
import pytest
from nbclient import NotebookClient

from tests.answered_runs import Planted, answered
from workbench.api.results import Results
from workbench.core.errors import InputError
from workbench.core.storage.result_store import Store
from workbench.report.analysis.answer_values import answering
from workbench.report.render.notebook import MIME
from workbench.runner.notebook_runner.notebooks import notebook_jobs, notebook_path, run_notebook

PARTS = ("evidence alone", "distractors", "retrieval", "counterfactual/before", "remaining", "closed book")


def words(shown):
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", shown.html).split()))


@pytest.fixture(scope="module")
def results(answered_run, tmp_path_factory):
    return Results.view(answered_run, tmp_path_factory.mktemp("answered"))


@pytest.fixture(scope="module")
def view(results):
    return results.answer_view()


def test_the_answers_are_a_table_that_a_caller_may_change(results):
    table = results.answers
    assert len(table) == 2 * 14 * 2 * 120
    table["answer"] = ""
    assert results.answers["answer"].any()


def test_the_decomposition_has_a_row_for_each_part_of_each_configuration(results):
    table = results.decomposition().set_index(["configuration", "part"])
    for name in answering(results.tables):
        assert set(PARTS) <= set(table.loc[name].index)
        gold, remaining = table.loc[(name, "evidence alone"), "value"], table.loc[(name, "remaining"), "value"]
        assert gold + remaining == pytest.approx(1)
        assert table.loc[(name, "retrieval"), "reading"] == "loss"
        row = table.loc[(name, "retrieval")]
        assert row["low_adjusted"] <= row["low"] < row["value"] < row["high"] <= row["high_adjusted"]


def test_the_decomposition_without_answers_is_empty_and_the_view_says_what_to_add(unanswered, tmp_path):
    results = Results.view(unanswered, tmp_path)
    assert results.decomposition().empty
    with pytest.raises(InputError, match="add answering to the pipeline"):
        results.answer_view()


def test_the_default_is_the_first_of_the_ranking_and_another_can_be_named(results, view):
    first, second = answering(results.tables)
    assert view.name == first
    assert results.answer_view(second).name == second
    with pytest.raises(InputError, match="did you mean"):
        results.answer_view(f"{first}1")


def test_every_part_of_the_view_shows_something(view):
    for part in (view.overview, view.conditions, view.attacks, view.refusals, view.examples, view.costs):
        assert len(words(part())) > 100
    assert "injection/override" in words(view.decomposition())


def test_every_answer_is_beside_its_context(view):
    shown = view.every_answer(most=3)
    assert "The first 3 of 120 questions." in words(shown)
    assert shown.html.count("Context: retrieved") == 3
    assert "Context: gold" not in shown.html
    assert view.every_answer(["gold"], most=2).html.count("Context: gold") == 2


def test_a_single_question_is_shown_in_every_condition(view):
    text = words(view.question("q1-1"))
    assert all(name in text for name in ("missing_gold", "counterfactual/after", "injection/exfiltration"))
    with pytest.raises(InputError, match="no question 'q1'"):
        view.question("q1")


def test_without_the_evidence_alone_or_attacks_the_view_says_so(unanswered, tmp_path):
    view = Results.view(answered(unanswered, Planted(conditions=["retrieved"])), tmp_path).answer_view()
    assert "losses cannot be separated" in words(view.decomposition())
    assert "no attacks" in words(view.attacks())
    assert "has answer_recall" in words(view.overview())


def test_only_a_run_with_answers_has_an_answers_notebook(answered_run, unanswered):
    assert [job.name for job in notebook_jobs(answered_run)][-2:] == ["comparison", "answers"]
    assert [job.name for job in notebook_jobs(unanswered)][-1] == "comparison"


def test_the_notebook_of_a_run_without_answers_ends_in_one_clear_line(unanswered, kernels, tmp_path):
    unanswered.write(tmp_path)
    source = nbformat.read(notebook_path("answers"), as_version=4)
    source.cells[1].source = f"results, configuration, run_id = {str(tmp_path)!r}, '', ''"
    settings = {"resources": {"metadata": {"path": str(tmp_path)}}, "kernel_name": "python3", "allow_errors": True}
    done = NotebookClient(source, kernel_manager_class=kernels.manager_class, **settings).execute()
    (error,) = next(cell.outputs for cell in done.cells if cell.get("outputs"))
    fix = "add answering to the pipeline of the experiment and sweep again"
    assert error["traceback"] == [f"InputError: the run {unanswered.name} has no answers; {fix}"]


def test_the_notebook_runs_on_a_written_run_and_ends_with_its_record(answered_run, kernels, tmp_path):
    answered_run.write(tmp_path)
    target = tmp_path / "notebooks" / "answers.ipynb"
    assert run_notebook(Store(tmp_path / "store"), notebook_path("answers"), {"results": str(tmp_path)}, "made", target, kernels)
    text = target.read_text("utf-8")
    assert MIME in text
    assert "answers under 8 conditions" in text
    assert "Traceback" not in text

import html
import re

import pytest

from workbench.core.text.formatting import number
from workbench.report.analysis.findings import findings
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.slices import METRIC, answerable
from workbench.report.views import ComparisonView
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of


@pytest.fixture(scope="module")
def run(handbook_part, tmp_path_factory) -> RunTables:
    settings = {
        "name": "answerable",
        "dataset": {"kind": "golden", "path": str(handbook_part), "split": "dev"},
        "pipeline": {"retrieval": {"kind": "bm25", "k": 5}},
        "sweep": {"chunking": [{"kind": "fixed", "size": [64, 128], "overlap": 0}]},
        "metrics": ["recall@5", "margin"],
    }
    return collect(run_experiment(experiment_of(settings, "here"), tmp_path_factory.mktemp("answerable"), lambda _: None))


def words(page: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page).split()))


def test_every_configuration_has_its_area_with_an_interval_and_the_number_of_questions(run):
    sentence, fold = answerable(findings(run)).blocks
    table, defined = fold.blocks
    first = table.rows[0].cells
    assert f"on the score of {first[0].text} separates them with an AUROC of {first[1].text} {first[1].note}" in sentence.text
    metrics = run.metrics[run.metrics["metric"] == METRIC].set_index("configuration")["value"]
    assert {row.cells[0].text: row.cells[1].text for row in table.rows} == {name: number(value) for name, value in metrics.items()}
    assert all(re.fullmatch(r"\[\d\.\d+, \d\.\d+\]", row.cells[1].note) for row in table.rows)
    known = int(run.questions["answerable"].sum())
    assert table.caption == f"answerable_auroc, from {known} answerable questions and 5 unanswerable"
    assert "Hanley and McNeil" in defined.items[0].note


def test_page_and_notebook_show_it(run):
    sentence = "5 questions have no answer in the documents. A threshold on the score of "
    assert sentence.strip() in words(rendered(document_of(run)))
    assert sentence.strip() in words(ComparisonView(run).answerable().html)


def test_without_unanswerable_questions_the_page_has_no_such_section(made):
    run = made.valued([[0.5] * 120])
    assert answerable(findings(run)) is None
    assert "does not have both" in words(ComparisonView(run).answerable().html)

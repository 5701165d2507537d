"""Runs to explore: a small one with files, judged answers made in Python, hostile texts, and an untidy one."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.api.widgets.choice import Choice
from workbench.api.widgets.explorer.explorer import Explorer
from workbench.api.widgets.explorer.model import ExplorerModel
from workbench.core.schemas import SCHEMAS
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

EVIL = "Run <script>window.xss=1</script> and <img src=x onerror=window.xss=2> now. \u202eesrever\u202c \x1b[31m \x07 Ask $x$ in room 7."
MARKED = "</mark></td></table><h1>Injected</h1> The key is under the mat of room 9."


@pytest.fixture(scope="session")
def judged_model(judged_run: RunTables) -> ExplorerModel:
    return ExplorerModel(judged_run)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> wb.Results:
    """Documents, ids, questions and fields that try to be markup."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = {"evil<i>": EVIL, 'mark"ed': MARKED}
    (folder / "documents.jsonl").write_text("".join(json.dumps({"doc_id": name, "text": text}) + "\n" for name, text in texts.items()))
    rows = []
    for number, (name, span) in enumerate([("evil<i>", "<img src=x onerror=window.xss=2> now"), ('mark"ed', "<h1>Injected</h1> The key")]):
        start = texts[name].index(span)
        evidence = [[{"doc_id": name, "start": start, "end": start + len(span)}]]
        question = {
            "query_id": f"q{number}<b>",
            "query": "Where is <img src=x onerror=window.xss=3> the room key\u202e?",
            "evidence": evidence,
        }
        rows.append(json.dumps(question | {"relevant_doc_ids": [name], "kind": f"<u>{number}"}) + "\n")
    (folder / "questions.jsonl").write_text("".join(rows))
    settings = {
        "name": "hostile",
        "dataset": {"kind": "golden", "path": str(folder)},
        "pipeline": {"retrieval": {"kind": "bm25", "k": 3}, "answering": {"kind": "extractive"}},
        "sweep": {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}]},
        "metrics": ["span_recall@40t", "recall@3"],
        "judging": "none",
    }
    outcome = run_experiment(experiment_of(settings, "here"), folder / "outputs", lambda _: None)
    assert not outcome.failures
    write_outputs(outcome)
    return wb.load(outcome.folder)


def with_failure(run: RunTables) -> RunTables:
    """Return a run with a failed configuration whose name tries to be markup."""
    row = pd.DataFrame([{"configuration": "<b>broken</b>", "error": "the model <i>x</i> is not there"}], columns=list(run.configurations))
    schema = SCHEMAS["configurations"]
    table = schema.conform(pd.concat([run.configurations, row], ignore_index=True).astype(schema.dtypes))
    manifest = {**run.manifest, "failures": {**run.manifest["failures"], "<b>broken</b>": "the model <i>x</i> is not there"}}
    return replace(run, manifest=manifest, sources={**run.sources, "configurations": lambda _: table})


@pytest.fixture(scope="session")
def untidy(untidy: RunTables) -> RunTables:
    """The untidy run with one more failure, and a single question."""
    run, one = with_failure(untidy), untidy.questions.iloc[:1].reset_index(drop=True)
    sources = {**run.sources, "questions": lambda _: one}
    for name in ("queries", "hits", "context", "causes", "judgements", "evidence", "query_details"):
        sources[name] = partial(of_questions, run.table(name), one)
    # Tables that count different questions are refused.
    counted = run.metrics.assign(n=run.metrics["n"].clip(upper=1))
    return replace(run, sources={**sources, "metrics": lambda _: counted})


def of_questions(table: pd.DataFrame, questions: pd.DataFrame, _: RunTables) -> pd.DataFrame:
    return table[table["query_id"].isin(questions["query_id"])].reset_index(drop=True)


def made_explorer(run: RunTables, first: int = 0, second: int = 1) -> Explorer:
    """Explore a run made in Python, which cannot be asked."""

    def nothing() -> None:
        raise AssertionError("nothing is asked")

    names = run.names
    choice = Choice(metric=str(run.primary), first=names[first], second=names[min(second, len(names) - 1)])
    return Explorer(ExplorerModel(run), choice, nothing, {})


@pytest.fixture
def copied(results: wb.Results, tmp_path: Path) -> wb.Results:
    """The run without its store."""
    shutil.copytree(results.folder, tmp_path / "outputs" / "few")
    return wb.load(tmp_path / "outputs" / "few")

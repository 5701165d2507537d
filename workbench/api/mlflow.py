"""Log a run to MLflow, and use metrics of rankings as scorers of MLflow."""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.scoring.score import score
from workbench.core.environment import advice
from workbench.core.errors import InputError, error_line
from workbench.core.text.guessed_names import checked_names
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.analysis.setting_names import NONE, setting_columns
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.decision.opening import opening
from workbench.systems.base import TargetError
from workbench.systems.callable.results import hits_of

# MLflow refuses other characters in the names of metrics and parameters.
_REFUSED = re.compile(r"[^\w.\-/: ]+")
# The names under which applications and MLflow's conventions have the id of a document, in its metadata.
_ADDRESSES = ("doc_uri", "source")
# Where expectations name the relevant documents.
_RELEVANT = ("relevant_doc_ids", "relevant", "expected_doc_ids", "expected_retrieved_context")


def mlflow_name(metric: object) -> str:
    """Return the name of a metric that MLflow accepts: `recall_at_5` for `recall@5`.

    Examples
    --------
    >>> mlflow_name("recall@5"), mlflow_name("span_recall@2000t")
    ('recall_at_5', 'span_recall_at_2000t')
    """
    return _REFUSED.sub("_", str(metric).replace("@", "_at_")).strip("_")


def mlflow_package() -> Any:
    """Import MLflow. Its telemetry is off, unless the variable MLFLOW_DISABLE_TELEMETRY says otherwise. Raises InputError if it is not installed."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import mlflow
    except ImportError:
        raise InputError("this needs MLflow", advice("mlflow")) from None
    return mlflow


def log_results(run: RunTables, board: pd.DataFrame, experiment: str, tracking_uri: str) -> str:
    """Log a run with its leaderboard, and a nested run for each configuration, and return the id of the outer one."""
    mlflow = mlflow_package()
    try:
        return _logged(mlflow, run, board, experiment, tracking_uri)
    except mlflow.exceptions.MlflowException as error:
        fix = "give a server as tracking_uri, or pip install mlflow, of which the extra has the client alone, for a folder or SQLite"
        raise InputError(f"MLflow refuses the run: {error_line(error)}", fix) from error


def _logged(mlflow: Any, run: RunTables, board: pd.DataFrame, experiment: str, tracking_uri: str) -> str:
    if tracking_uri:
        mlflow.set_tracking_uri(tracking_uri)
    if experiment:
        mlflow.set_experiment(experiment)
    found, primary = findings(run), str(run.primary)
    summary, names = opening(decide(found)).text, {mlflow_name(metric): str(metric) for metric in run.measures}
    tags = {"workbench.verdict": summary, "workbench.primary": primary, "workbench.metrics": json.dumps(names)}
    tags |= {"workbench.winner": found.verdict.winner} if found.verdict and found.verdict.winner else {}
    settings = {column.title: column.texts for column in setting_columns(run)}
    with mlflow.start_run(run_name=run.name, tags=tags) as outer, tempfile.TemporaryDirectory() as folder:
        mlflow.log_params({"primary": primary, "configurations": len(board), "questions": len(run.questions)})
        # MLflow converts columns of objects alone.
        mlflow.log_table(board.reset_index().astype(object), "leaderboard.json")
        mlflow.log_text(summary, "verdict.txt")
        mlflow.log_artifact(str(write_report(run, Path(folder) / "report.html")))
        for name in map(str, board.index):
            with mlflow.start_run(run_name=name, nested=True, tags={"workbench.mark": str(board.loc[name, "mark"] or "")}):
                mlflow.log_params({title: texts.get(name) or NONE for title, texts in settings.items()})
                mlflow.log_metrics(dict(_means(run, name)))
    return str(outer.info.run_id)


def _means(run: RunTables, configuration: str) -> Iterator[tuple[str, float]]:
    """Yield the means over all questions by the names that MLflow accepts, and the bounds of the primary metric's 95 % interval."""
    rows = run.metrics
    rows = rows[(rows["configuration"] == configuration) & (rows["slice"] == "all") & rows["value"].notna()]
    # Metrics under another condition than retrieval have it in their names.
    for row in rows.to_dict("records"):
        name = mlflow_name(row["metric"]) + ("" if row["condition"] == "retrieved" else f".{row['condition']}")
        yield name, float(row["value"])
        if row["metric"] == str(run.primary) and row["condition"] == "retrieved":
            yield from ((f"{name}_{bound}", float(row[bound])) for bound in ("low", "high") if pd.notna(row[bound]))


@checked_names
def mlflow_scorer(metric: str | Metric) -> Any:
    """Make a scorer of MLflow from a metric over documents, such as `recall@5`, for `mlflow.genai.evaluate`.

    The expectations of a row name the relevant documents: `relevant_doc_ids`, a list or `{doc_id: grade}`. The ranking is in its outputs, in a form that
    `wb.evaluate` takes from a function, such as a list of ids or `{"documents": […]}`, or else in the last retriever of its trace, whose documents are
    named by `doc_uri` in their metadata. It counts each document once, at the rank of its first chunk. Needs `pip install 'rag-workbench[mlflow]'`.

    Raises
    ------
    InputError: the metric does not exist or reads more than ids of documents, or MLflow is not installed. In an evaluation MLflow records the errors
        of rows whose outputs or expectations cannot be read.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.mlflow_scorer("recall@5").name
    'recall_at_5'
    """
    (chosen,) = metrics_given(metric)
    if chosen.family != "documents":
        raise InputError(f"{chosen} needs the documents and their chunks, not only ids", "score it with wb.evaluate")
    mlflow_package()
    from mlflow.genai.scorers import scorer

    return scorer(name=mlflow_name(chosen))(row_scorer(chosen))


def row_scorer(metric: Metric) -> Callable[..., float]:
    """Return the function of a scorer, with the arguments that MLflow gives by name."""

    def value(outputs: Any = None, expectations: Mapping[str, Any] | None = None, trace: Any = None) -> float:
        given = next((found for name in _RELEVANT if (found := (expectations or {}).get(name)) is not None), None)
        if given is None:
            raise InputError("the expectations name no relevant documents", 'write {"relevant_doc_ids": ["leave"]}')
        ids = list(dict.fromkeys(_ranked(outputs, trace)))
        row = {"retrieved": [ids], "relevant": [given]}
        return score(pd.DataFrame(row), [metric])[str(metric)]

    return value


def _ranked(outputs: Any, trace: Any) -> Iterator[str]:
    """Yield the ids of the documents in outputs, or else in those of the last retriever of a trace. Raises InputError if there are none."""
    spans = [] if trace is None else trace.search_spans(span_type="RETRIEVER")
    for found in (outputs, *(span.outputs for span in reversed(spans))):
        try:
            hits = hits_of(found, "ids") if found is not None else None
        except TargetError:
            continue
        if hits is None:
            continue
        for hit in hits:
            address = next((hit.metadata[name] for name in _ADDRESSES if hit.metadata.get(name)), None)
            if hit.doc_id is None and address is None:
                raise InputError("a document has no id", "give it doc_id, or doc_uri in its metadata")
            yield str(hit.doc_id if hit.doc_id is not None else address)
        return
    raise InputError("neither the outputs nor a retriever in the trace have documents", "return ids, or objects with doc_id, best first")

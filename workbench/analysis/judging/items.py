"""The judged claims or answers of a run as a table of items, with the verdict of the judge as yes or no."""

import json
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd

from workbench.analysis.questions.passages import text_of
from workbench.core.fingerprint import fingerprint
from workbench.errors import InputError
from workbench.results.run_tables import RunTables

# What can be labelled, with the metrics that labels correct.
LabelTask = Literal["support", "correctness", "answer_relevance"]
METRICS_OF: dict[str, tuple[str, ...]] = {
    "support": ("faithfulness", "contradiction_rate"),
    "correctness": ("answer_correctness",),
    "answer_relevance": ("answer_relevance",),
}
# A score of at least this counts as a yes.
YES = 0.5
_ANSWER_KEYS = ["configuration", "condition", "variant", "repeat", "query_id"]


@lru_cache(maxsize=8)
def judged_items(run: RunTables, task: str, condition: str) -> pd.DataFrame:
    """Return item_id, configuration, condition, repeat, query_id, number, claim, answer, score, verdict, confidence, passage, judge and `yes`.

    Rows are claims for `support`, else answers. `yes` is 1 or 0, NaN if the judge gave no verdict: `supported`, or a score of at least 0.5 of a judge
    that only scores. Answers that were not judged have no row. Callers must not change the table.

    Raises
    ------
    InputError
        If the run has no such items.
    """
    rows = _claims(run) if task == "support" else _answers(run, task)
    rows = rows[(rows["condition"] == condition) & (rows["variant"] == "")]
    if rows.empty:
        judged = "claims" if task == "support" else f"answers with {task}"
        fix = "add `judging` to the experiment and run workbench sweep, or name another --condition or --task"
        raise InputError(f"the run {run.name} has no judged {judged} under {condition}", fix)
    answers = run.answers[[*_ANSWER_KEYS, "answer", "passages"]]
    rows = rows.merge(answers, how="left", on=_ANSWER_KEYS).reset_index(drop=True)
    # A judge that gives verdicts for some claims only scores none of the others.
    if (rows["verdict"] != "").any():
        yes = (rows["verdict"] == "supported").astype(np.float64).mask(rows["verdict"] == "")
    else:
        yes = (rows["score"] >= YES).astype(np.float64).mask(rows["score"].isna())
    names = [rows[name].astype(str) for name in ("configuration", "query_id", "repeat", "number", "claim", "answer", "passages")]
    # Texts and passages are part of the id, so that a label belongs to no other text and no other context.
    ids = [fingerprint(task, condition, *parts)[:16] for parts in zip(*names, strict=True)]
    return rows.drop(columns="passages").assign(yes=yes, item_id=ids)


def judge_of(run: RunTables, task: str) -> str:
    """Return the name of the judge of a task, empty without one."""
    table = run.claims if task == "support" else run.answer_judgements[run.answer_judgements["task"] == task]
    names = [name for name in table["judge"].unique().tolist() if name]
    return str(names[0]) if names else ""


def verdict_of(items: pd.DataFrame, metric: str) -> "pd.Series[float]":
    """Return what the judge says about a metric of each item: 1, 0 or NaN. A judge that only scores sees no contradictions."""
    if metric != "contradiction_rate":
        return items["yes"]
    if (items["verdict"] == "").all():
        return 1 - items["yes"]
    return (items["verdict"] == "contradicted").astype(np.float64).mask(items["verdict"] == "")


def label_of(labels: "pd.Series[str]", metric: str) -> "pd.Series[float]":
    """Return what people say about a metric of each item, 1, 0, or NaN without a label."""
    wanted = {"faithfulness": "supported", "contradiction_rate": "contradicted"}.get(metric, "yes")
    return (labels == wanted).astype(np.float64).mask(labels == "")


def passages_shown(run: RunTables, condition: str) -> dict[tuple[str, int, str], tuple[str, ...]]:
    """Return the texts of the context of each answer, by configuration, repeat and question."""
    rows = run.answers[(run.answers["condition"] == condition) & (run.answers["variant"] == "")]
    keys = zip(rows["configuration"].tolist(), rows["repeat"].tolist(), rows["query_id"].tolist(), strict=True)
    return {key: tuple(_text(run, each) for each in json.loads(text)) for key, text in zip(keys, rows["passages"].tolist(), strict=True)}


def _text(run: RunTables, passage: dict[str, object]) -> str:
    return (
        str(passage["text"])
        if "text" in passage
        else text_of(run, str(passage["doc_id"]), int(str(passage["start"])), int(str(passage["end"])))
    )


def _claims(run: RunTables) -> pd.DataFrame:
    rows = run.claims[run.claims["number"] >= 0]
    return rows[[*_ANSWER_KEYS, "number", "claim", "score", "verdict", "confidence", "passage", "judge"]]


def _answers(run: RunTables, task: str) -> pd.DataFrame:
    table = run.answer_judgements
    rows = table[(table["task"] == task) & (table["passage"] == -1)]
    return rows[[*_ANSWER_KEYS, "score", "passage", "judge"]].assign(number=-1, claim="", verdict="", confidence=np.nan)

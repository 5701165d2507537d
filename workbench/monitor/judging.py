"""Judge the drawn questions of a log with the judges of a sweep, each once, and estimate the means of all questions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.answering.base import AnswerResources
from workbench.components.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.components.answering.refusals import is_refusal
from workbench.components.judging.base import Judge, Judgement, SplitRequest
from workbench.components.judging.settings import Judging
from workbench.core.files import append_lines, read_regular, store_errors
from workbench.core.fingerprint import fingerprint, require_unchanged
from workbench.core.records import Passage, Query
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.judge_calibration import CalibrationValue
from workbench.measures.statistics.samples import DrawnSample, corrected_for_judge, sampled_mean
from workbench.monitor.sampling import REFUSED
from workbench.report.analysis.labels import YES
from workbench.runner.pipeline.stages.judging import claims_of, judgement_requests, judgements_of, support_requests, unsupported
from workbench.systems.recorded.traces.otlp import hex_id
from workbench.systems.recorded.traces.steps import EVALUATION, EVALUATION_ATTRIBUTES
from workbench.systems.recorded.traces.tool_exports import nanoseconds

FILE = "judged.jsonl"
# Raise it when equal judgements begin to get other evaluations.
_VERSION = 2
# Questions that are judged and written together.
_BATCH = 64
# Limits of what is judged, since a made-up log could take hours: letters of an answer, its claims, and claims times letters of the context.
_LONGEST, _MOST_CLAIMS, _MOST_COMPARED = 50_000, 500, 10_000_000
# Of an answer, in order.
_METRICS = [[support, "answer_relevance", "refusal_rate"] for support in ("faithfulness", "support_overlap")]
_COLUMNS = {"id": "str", "metric": "str", "value": "float64", "approved": "float64", "state": "str", "reason": "str", "judge": "str"}


def judge(sample: pd.DataFrame, judging: Judging, resources: AnswerResources, folder: Path) -> pd.DataFrame:
    """Judge drawn questions: how far the context supports their answers, how relevant these are, whether they refuse, and the users' feedback.

    Evaluations are appended to `judged.jsonl` in the folder by batches of 64, under a key of question, texts and judges, and not made again. Those with a failed
    call are not kept, so the next run makes the call again. An answer of more than 50,000 letters is unscored. So is the support of one with more than 500 claims,
    or whose claims times the letters of its context, and 100 for each passage, are more than 10 million.

    The sample is log rows with the columns of `fields.FIELDS`. Returns a row for each question and metric: id, metric (`faithfulness`, or `support_overlap` of a
    judge without verdicts; `answer_relevance`, `refusal_rate`, `feedback`), value, approved (the share of yes: supported, or a score of at least 0.5), state
    (`scored`, `unscored`, `not_applicable`), reason, judge. Raises RunError if a judge breaks the rules for judges.
    """
    rows = sample.to_dict("records")
    judges = _identity(judging)
    keys = [_key(row, judges) for row in rows]
    known = _read(folder / FILE)
    todo = [number for number, key in enumerate(keys) if key not in known]
    for start in range(0, len(todo), _BATCH):
        batch = todo[start : start + _BATCH]
        judged = dict(zip((keys[number] for number in batch), _judged([rows[number] for number in batch], judging, resources), strict=True))
        require_unchanged("the judges", judges, _identity(judging))
        known |= {key: evaluations for key, (evaluations, _) in judged.items()}
        _append(folder / FILE, [{"key": key, "rows": evaluations} for key, (evaluations, kept) in judged.items() if kept])
    evaluations = [
        {"id": row["id"], **evaluation} for key, row in zip(keys, rows, strict=True) for evaluation in (*known[key], _feedback(row))
    ]
    return pd.DataFrame(evaluations, columns=list(_COLUMNS)).astype(_COLUMNS)


def _identity(judging: Judging) -> list[Any]:
    return [judging.claims.identity(), judging.support.identity("support"), judging.relevance.identity("answer_relevance")]


def _key(row: Mapping[Any, Any], judges: Sequence[Any]) -> str:
    texts = [row["id"], row["query"], row["answer"], [passage.text for passage in _passages(row)], row.get("refused") is True]
    return fingerprint(_VERSION, REFUSALS_VERSION, judges, texts)


def _passages(row: Mapping[Any, Any]) -> tuple[Passage, ...]:
    """Return the hits with a text. One that does not say where it is counts from the first character."""
    hits = [(hit.get("doc_id") or "", hit.get("start") or 0, hit["text"]) for hit in _rows_of(row["hits"]) if hit.get("text")]
    return tuple(Passage(doc_id, start, start + len(text), text) for doc_id, start, text in hits)


def _judged(rows: Sequence[Mapping[Any, Any]], judging: Judging, resources: AnswerResources) -> Iterator[tuple[list[dict[str, Any]], bool]]:
    """Yield the evaluations of each row, and whether no call failed."""
    queries = [Query(str(row["id"]), str(row["query"])) for row in rows]
    refused = [row.get("refused") is True or is_refusal(row["answer"], question=row["query"]) for row in rows]
    given = {place: str(row["answer"]) for place, row in enumerate(rows) if not refused[place]}
    contexts = {place: _passages(row) for place, row in enumerate(rows)}
    too_large = {place: "an answer of more than 50,000 letters" for place, text in given.items() if len(text) > _LONGEST}
    given = {place: text for place, text in given.items() if place not in too_large}
    requests = [SplitRequest(queries[place].text, text) for place, text in given.items()]
    split = dict(zip(given, claims_of(judging.claims, requests, resources, "claims"), strict=True))
    too_large |= {place: why for place, answer in split.items() if (why := _too_large(len(answer.claims), contexts[place]))}
    read = {place: answer for place, answer in split.items() if place not in too_large}
    claims = [(place, number, claim.text) for place, answer in read.items() for number, claim in enumerate(answer.claims)]
    asked = [claim for claim in claims if contexts[claim[0]]]
    verified = judgements_of(judging.support, list(support_requests(queries, contexts, given, asked)), resources, "verify")
    verdicts = dict(zip(asked, verified, strict=True))
    wanted = dict(judgement_requests("answer_relevance", queries, contexts, given))
    relevance = dict(zip(wanted, judgements_of(judging.relevance, list(wanted.values()), resources, "answer relevance"), strict=True))
    support = "faithfulness" if judging.support.gives_verdicts else "support_overlap"
    for place, is_refused in enumerate(refused):
        own = [verdicts.get(claim) or unsupported(judging.support) for claim in claims if claim[0] == place]
        own += [Judgement(error=split[place].error, cached=split[place].replied)] if place in split and split[place].error else []
        answered = [judgement for (query, _), judgement in relevance.items() if query == place]
        # Kept, since it would be the same again.
        unread = [Judgement(error=too_large[place], cached=True)] if place in too_large else []
        own, answered = own + unread, answered + ([] if place in given else unread)
        evaluations = [_evaluation(support, judging.support, own), _evaluation("answer_relevance", judging.relevance, answered)]
        if is_refused:
            evaluations = [{**row, "reason": "refused"} for row in evaluations]
        kept = all(not call.error or call.replied for call in (*own, *answered))
        yield [*evaluations, _row("refusal_rate", float(is_refused), "rules")], kept


def _too_large(claims: int, context: Sequence[Passage]) -> str:
    """Return why claims are not verified, or an empty text."""
    if claims > _MOST_CLAIMS:
        return "more than 500 claims"
    # A passage takes time also if it is short.
    letters = sum(100 + len(passage.text) for passage in context)
    return "claims and a context that are too long together" if claims * letters > _MOST_COMPARED else ""


def _evaluation(metric: str, judge: Judge, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the evaluation of an answer: the mean over its claims as in a sweep, or unscored if one of them has no judgement."""
    if errors := [judgement.error for judgement in judgements if judgement.error]:
        return _row(metric, None, judge.label) | {"state": "unscored", "reason": errors[0]}
    if not judgements:
        return _row(metric, None, judge.label) | {"state": "not_applicable", "reason": "the answer claims nothing"}
    approved = [judgement.verdict == "supported" if judgement.verdict else (judgement.score or 0.0) >= YES for judgement in judgements]
    values = approved if all(judgement.verdict for judgement in judgements) else [judgement.score or 0.0 for judgement in judgements]
    return _row(metric, float(np.mean(values)), judge.label) | {"approved": float(np.mean(approved))}


def _feedback(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Evaluate an answer by the last feedback on it, which is good above 0. A corrected answer was not."""
    given = [item for item in _rows_of(row.get("feedback")) if item.get("kind") == "edit" or item.get("value")]
    good = float(given[-1].get("kind") != "edit" and given[-1]["value"] > 0) if given else None
    return _row("feedback", good, "users") | ({} if given else {"state": "not_applicable", "reason": "no feedback"})


def _row(metric: str, value: float | None, judge: str) -> dict[str, Any]:
    return {"metric": metric, "value": value, "approved": value, "state": "scored", "reason": "", "judge": judge}


def _read(path: Path) -> dict[str, Any]:
    """Return the kept evaluations by their keys. A line that is cut or has another form is left out, and its question is judged again."""
    kept = {}
    with store_errors(path):
        lines = read_regular(path).split(b"\n") if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
            if [evaluation["metric"] for evaluation in row["rows"]] in _METRICS and all(map(_is_evaluation, row["rows"])):
                kept[row["key"]] = row["rows"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return kept


def _is_evaluation(row: Mapping[str, Any]) -> bool:
    numbers = (row["value"], row["approved"]) if row["state"] == "scored" else ()
    texts = (row[name] for name in ("reason", "judge"))
    right = all(type(number) in (float, int) and 0 <= number <= 1 for number in numbers) and all(isinstance(text, str) for text in texts)
    unscored = row["state"] in ("unscored", "not_applicable") and row["value"] is None
    return row.keys() == _COLUMNS.keys() - {"id"} and right and (bool(numbers) or unscored)


def _append(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows)
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(path, text.encode("utf-8", "surrogatepass"))


def _rows_of(value: Any) -> list[Any]:
    """Return the rows of a field, which a table from parquet has as an array."""
    return value if isinstance(value, list) else value.tolist() if isinstance(value, np.ndarray) else []


# The sensitivity and the false alarms of a judge, as `workbench judge calibrate` measures them.
JudgeErrors = tuple[CalibrationValue, CalibrationValue]
_TASKS = {"faithfulness": "support", "support_overlap": "support", "answer_relevance": "answer_relevance"}


@dataclass(frozen=True, slots=True)
class LogEstimate:
    """The mean of a metric over `of` questions of a log, from `interval.n` drawn ones.

    `name` is `faithfulness` only for a judge with measured errors, else it says that it is a score. `judged` is the mean by the judge alone,
    None if the value is not corrected. `unscored` counts drawn questions without a score by reason.
    """

    metric: str
    name: str
    interval: Interval
    judged: Interval | None
    unscored: Mapping[str, int]
    of: int


def estimate(
    evaluations: pd.DataFrame, drawn: pd.DataFrame, metric: str, errors: Mapping[str, JudgeErrors] | None = None, of_process: bool = False
) -> LogEstimate:
    """Estimate the mean of a metric over the questions of which some were drawn. Sessions are the clusters.

    With `of_process` the interval is that of the service: other questions could have been asked. Two days differ by chance as services, not as the questions
    that they had.

    `evaluations` are rows of `judging.judge`, of one judge of each metric, `drawn` those of `sampling.draw`, of all questions or of a slice. With the `errors` of
    the judges of the tasks `support` and `answer_relevance`, the share of approved claims or answers is corrected.
    """
    # Refusals that the system declares are known without a draw.
    declared = drawn["reason"].eq(REFUSED) & (metric == "refusal_rate")
    known = drawn.assign(probability=drawn["probability"].mask(declared, drawn["logged"]), value=np.where(declared, 1.0, np.nan))
    known["stratum"] = known["stratum"].mask(declared, REFUSED)
    known = known[known["stratum"] != ""]
    codes, names = pd.factorize(known["stratum"], sort=True)
    sizes = np.bincount(codes, 1 / known["logged"], minlength=len(names)).astype(np.float64)
    known = known.assign(code=codes)[known["reason"].isin(["", REFUSED])]
    rows = evaluations.loc[evaluations["metric"] == metric, ["id", "value", "approved", "state", "reason"]]
    found = known.drop(columns="reason").merge(rows, on="id", how="left", suffixes=("_known", ""))
    found["state"] = found["state"].mask(found["value_known"].notna(), "scored")
    unscored = found.loc[~found["state"].isin(["scored", "not_applicable"]), "reason"].fillna("not judged").value_counts()
    found = found[found["state"].isin(["scored", "not_applicable"])]
    clusters = pd.factorize(found["cluster"])[0].astype(np.int64)
    sample = DrawnSample(found["code"].to_numpy(np.int64), (1 / found["probability"]).to_numpy(np.float64), clusters, sizes)
    sample = sample.of_process() if of_process else sample
    measured = (errors or {}).get(_TASKS.get(metric, ""))
    values = (found["approved"] if measured else found["value"]).fillna(found["value_known"])
    judged = sampled_mean(values.to_numpy(np.float64), sample)
    interval = corrected_for_judge(judged, *measured) if measured else judged
    counts = {str(reason): int(count) for reason, count in unscored.items()}
    return LogEstimate(metric, _name(metric, measured is not None), interval, judged if measured else None, counts, round(sizes.sum()))


def judge_errors(calibration: pd.DataFrame, judge: str) -> dict[str, JudgeErrors]:
    """Return the errors of a judge by task from the table `calibration` of a run. Tasks without both, with intervals, are left out."""
    rows = calibration[(calibration["judge"] == judge) & calibration["low"].notna()]
    measured = {
        (str(row["task"]), row["measure"]): CalibrationValue(row["value"], row["low"], row["high"], int(row["n"]))
        for row in rows.to_dict("records")
    }
    return {
        task: (value, measured[task, "false_alarms"])
        for (task, name), value in measured.items()
        if name == "sensitivity" and (task, "false_alarms") in measured
    }


def _name(metric: str, measured: bool) -> str:
    if metric not in _TASKS or measured:
        return "faithfulness" if metric == "support_overlap" else metric
    return "support score" if metric == "support_overlap" else f"{metric.replace('_', ' ')} score"


_INFORMATION = 9
_ATTRIBUTES = {**EVALUATION_ATTRIBUTES, "probability": "workbench.probability"}


def evaluation_events(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the evaluations of each row as one line of OTLP in JSON: log records named `gen_ai.evaluation.result`.

    A record belongs to the span of its row and has the row's time. An evaluation can have the `probability` with which its question was sampled,
    otherwise the record has that of the row. Where the row has no valid ids of a trace and a span, `workbench.id` alone names the question.
    """
    for row in rows:
        if records := [_record(row, evaluation) for evaluation in row.get("evaluations") or ()]:
            resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "workbench"}}]}
            logs = {"resource": resource, "scopeLogs": [{"scope": {"name": "workbench.monitor"}, "logRecords": records}]}
            yield json.dumps({"resourceLogs": [logs]}, ensure_ascii=False, separators=(",", ":"))


def _record(row: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    values = {"probability": row.get("probability"), **evaluation}
    pairs = {_ATTRIBUTES[name]: value for name, value in values.items() if name in _ATTRIBUTES and value is not None}
    attributes = [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"doubleValue": float(value)}}
        for key, value in {**pairs, "workbench.id": str(row["id"])}.items()
    ]
    record = {"timeUnixNano": str(nanoseconds(row.get("time"))), "severityNumber": _INFORMATION, "eventName": EVALUATION}
    try:
        ids = {"traceId": hex_id(row.get("trace_id")), "spanId": hex_id(row.get("span_id"), 8)}
    except ValueError:
        ids = {}
    return {**record, "attributes": attributes, **ids}

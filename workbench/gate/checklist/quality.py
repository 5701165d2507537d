"""The points about labels, retrieval, chunking and judged answers."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from workbench.core.text.formatting import interval, listed, number, plural, share
from workbench.gate.checklist.points import Audit, ChecklistPoint, MetricMean
from workbench.measures.metrics.registry import METRICS
from workbench.report.analysis.causes import cause_meanings, missed_evidence
from workbench.report.analysis.judging.judges import JudgeTrust, judge_trust
from workbench.report.analysis.synthetic import unaccepted

FEWEST_QUESTIONS = 50
RETRIEVAL_LIMIT = 0.7
# What is tried first if retrieval misses its limit.
_ALTERNATIVES: Mapping[str, Any] = {
    "sweep": {
        "chunking": [{"kind": "fixed", "size": [128, 256], "overlap": 0}, {"kind": "markdown", "size": 256, "enrich": True}],
        "retrieval": [{"kind": "dense"}, {"kind": "bm25"}, {"kind": "hybrid"}],
    }
}


def labelled_questions(audit: Audit) -> ChecklistPoint:
    """Count distinct questions that have a relevant document, evidence, or the label that no document answers them."""
    run = audit.run
    answered = set(run.table("judgements")["query_id"][run.table("judgements")["relevance"] > 0]) | set(run.evidence["query_id"])
    rows = run.questions[run.questions["query_id"].isin(answered) | ~run.questions["answerable"]]
    labelled, without = rows["text"].nunique(), int((~rows["answerable"]).sum())
    counted = rows[~rows["query_id"].isin(unaccepted(run))]["text"].nunique()
    of = "" if counted == labelled else f"{counted:,} accepted or written by a person, of "
    parts = [f"{of}{plural(labelled, 'labelled question')}, {without} of them without an answer in the documents"]
    if repeated := len(rows) - labelled:
        parts.append(f"{plural(repeated, 'question')} with the text of another not counted")
    name = f"at least {FEWEST_QUESTIONS} labelled questions"
    if counted >= FEWEST_QUESTIONS:
        return ChecklistPoint(name, "met", "; ".join(parts))
    missing = FEWEST_QUESTIONS - counted
    if labelled >= FEWEST_QUESTIONS:
        advice = f"read the drafts, and accept {missing} or more of them (docs/how-to/label_questions.md)"
        return ChecklistPoint(name, "not met", "; ".join(parts), advice)
    accept = f"accept or label {missing} more (docs/how-to/label_questions.md, docs/how-to/prepare_a_dataset.md)"
    start = accept if counted < labelled else f"label {missing} more (docs/how-to/prepare_a_dataset.md)"
    advice = f"{start}, or let a model draft {'more' if counted < labelled else 'them'} and accept each that you have read"
    source = run.manifest["experiment"].get("dataset") or {}
    path = source.get("path", "DOCUMENTS") if isinstance(source, Mapping) else "DOCUMENTS"
    lines = [
        f"workbench dataset generate {path} --output drafts --questions {FEWEST_QUESTIONS - labelled}",
        "workbench dataset accept drafts/questions.jsonl --questions IDS --by NAME",
    ]
    return ChecklistPoint(name, "not met", "; ".join(parts), advice, commands=lines)


def precision(audit: Audit) -> ChecklistPoint:
    """Check precision@5, or chunk_precision@5 if too few documents are relevant for the limit."""
    return _limited(audit, "precision@5", "chunk_precision@5")


def recall(audit: Audit) -> ChecklistPoint:
    """Check recall@5, or recall_cap@5 if questions have too many relevant documents for the limit."""
    return _limited(audit, "recall@5", "recall_cap@5")


def _limited(audit: Audit, metric: str, instead: str) -> ChecklistPoint:
    name = f"{metric} of at least {number(RETRIEVAL_LIMIT, 2)}"
    main = audit.mean(metric)
    if main is None or (not _reachable(main) and audit.mean(instead) is None):
        missing = [each for each in (metric, instead) if audit.mean(each) is None]
        return ChecklistPoint(
            name, "cannot be seen", f"the run does not have {listed(missing)}", "add metrics", audit.with_metrics(*missing)
        )
    if _reachable(main):
        return _by_value(audit, name, metric, main, f"{metric} is {main}")
    capped = audit.mean(instead)
    assert capped is not None
    why = f"{metric} is {main}, of at most {number(main.attainable)} with these labels"
    if _reachable(capped):
        return _by_value(audit, name, instead, capped, f"{why}; {instead} is {capped}")
    evidence = f"{why}; {instead} is {capped}, of at most {number(capped.attainable)}: no ranking of these chunks reaches {number(RETRIEVAL_LIMIT, 2)}"
    advice = (
        f"label every document and passage that is relevant: questions with fewer than 5 keep the maximum low. The run has {share(main.value, main.attainable)} "
        f"of the attainable {metric}; gate that instead"
    )
    return ChecklistPoint(name, "cannot be seen", evidence, advice, {"gate": {"rules": [f"{metric} >= {rounded_down(main.value)}"]}})


def _reachable(mean: MetricMean) -> bool:
    return math.isnan(mean.attainable) or mean.attainable >= RETRIEVAL_LIMIT


def rounded_down(value: float) -> float:
    """Round down to two digits."""
    return math.floor(value * 100) / 100


def _by_value(audit: Audit, name: str, metric: str, mean: MetricMean, evidence: str) -> ChecklistPoint:
    if math.isnan(mean.value):
        return ChecklistPoint(name, "cannot be seen", f"{metric} has no value on any question", "look at the reasons in queries.parquet")
    if mean.value >= RETRIEVAL_LIMIT:
        return ChecklistPoint(name, "met", evidence)
    if better := audit.better(ChecklistPoint(name, "not met", evidence), metric, RETRIEVAL_LIMIT):
        return better
    evidence += "; retrieval is the primary problem"
    return ChecklistPoint(
        name, "not met", evidence, f"no configuration of this run reaches it{_main_cause(audit)}; try others", _ALTERNATIVES
    )


def _main_cause(audit: Audit) -> str:
    causes: Counter[str] = Counter(missed_evidence(audit.run, audit.configuration)["cause"])
    if not causes:
        return ""
    (cause, count), total = causes.most_common(1)[0], sum(causes.values())
    return f", and {count} of {plural(total, 'miss', 'misses')} have the cause {cause} ({cause_meanings(audit.run).get(cause, '')})"


def chunkings(audit: Audit) -> ChecklistPoint:
    """Count the kinds of chunkers among finished configurations."""
    table = audit.run.configurations
    # Nobody knows how a target splits documents.
    split = table[table["error"].isna() & table["chunking"].ne("target")]
    kinds: pd.Series = split["chunking"].dropna().value_counts(sort=False)
    listing = listed([f"{kind} ({plural(int(count), 'configuration')})" for kind, count in kinds.items()])
    name = "several chunking strategies tested"
    if len(kinds) > 1:
        return ChecklistPoint(name, "met", f"{listing}, on the same questions")
    if not len(kinds):
        return ChecklistPoint(
            name, "cannot be seen", "Workbench split no document in this run", "ask the target once for each of its chunkings"
        )
    sweep = {"chunking": [{"kind": kind, **extra} for kind, extra in _CHUNKINGS.items()]}
    return ChecklistPoint(name, "not met", f"only {listing}", "compare other kinds; sizes of one kind are one strategy", {"sweep": sweep})


_CHUNKINGS: Mapping[str, Mapping[str, Any]] = {
    "fixed": {"size": 256, "overlap": 0},
    "markdown": {"size": 256, "enrich": True},
    "hierarchical": {"child": 64, "parent": 256},
}


FAITHFULNESS_LIMIT, RELEVANCE_LIMIT = 0.85, 0.8
# The share of questions that may lack a value, as in a gate.
MOST_UNSCORED = 0.02
# A judge that gives verdicts, and a generator for runs without answers.
JUDGE: Mapping[str, Any] = {"kind": "chat", "provider": "ollama", "model": "qwen3:4b"}
_ANSWERING: Mapping[str, Any] = {"kind": "chat", "provider": "ollama", "model": "qwen3:8b"}


def faithfulness(audit: Audit) -> ChecklistPoint:
    """Check faithfulness, corrected by labels if the judge is calibrated."""
    return _judged(audit, "faithfulness", FAITHFULNESS_LIMIT, "support")


def answer_relevance(audit: Audit) -> ChecklistPoint:
    """Check answer relevance, corrected by labels if the judge is calibrated."""
    return _judged(audit, "answer_relevance", RELEVANCE_LIMIT, "relevance")


def _judged(audit: Audit, metric: str, limit: float, key: str) -> ChecklistPoint:
    (task,) = METRICS[metric].tasks
    name = f"{metric.replace('_', ' ')} of at least {number(limit, 2)}"
    if reason := _copied(audit) if task == "support" else "":
        return ChecklistPoint(name, "cannot be seen", reason, "answer with a model", _settings(audit, metric, key))
    if not len(audit.run.of("answers", audit.configuration)):
        return ChecklistPoint(
            name, "cannot be seen", "the configuration answers nothing", "answer and judge", _settings(audit, metric, key)
        )
    trust = next((known for known in judge_trust(audit.run) if known.task == task), None)
    if trust is None or trust.role != "judge":
        why = trust.reason if trust else "nothing judges the answers"
        if trust and "score, not a judge" not in why:
            why = f"{trust.judge} is a score, not a judge: {why}"
        mean = audit.mean(metric)
        scale = f"; on its scale {metric} is {mean}" if mean is not None and not math.isnan(mean.value) else ""
        return ChecklistPoint(name, "cannot be seen", f"{why}{scale}", "judge with a model", _settings(audit, metric, key))
    return _by_judged_value(audit, name, metric, limit, trust)


def _copied(audit: Audit) -> str:
    answering = audit.run.configurations_settings[audit.configuration].get("answering")
    if isinstance(answering, Mapping) and answering.get("kind") == "extractive":
        return "the answers are copied from the passages, so no claim needs support"
    return ""


def _settings(audit: Audit, metric: str, key: str) -> dict[str, Any]:
    """Return the keys of an experiment whose answers are judged, by the judges that it has and a model for `key`."""
    answering = audit.run.configurations_settings[audit.configuration].get("answering")
    generated = isinstance(answering, Mapping) and (answering["kind"] != "extractive" or metric != "faithfulness")
    generator = {} if generated else {"pipeline": {"answering": _ANSWERING}}
    return generator | {"judging": {key: JUDGE}} | audit.with_metrics(metric)


def _by_judged_value(audit: Audit, name: str, metric: str, limit: float, trust: JudgeTrust) -> ChecklistPoint:
    mean = audit.mean(metric)
    if mean is None:
        return ChecklistPoint(name, "cannot be seen", f"the run does not have {metric}", "add the metric", audit.with_metrics(metric))
    lacking = mean.unscored / (mean.n + mean.unscored) if mean.n + mean.unscored else 1.0
    if math.isnan(mean.value) or lacking > MOST_UNSCORED:
        evidence = f"{mean.unscored} of {plural(mean.n + mean.unscored, 'question')} have no value"
        return ChecklistPoint(name, "cannot be seen", evidence, "run the same sweep again: it asks only what is missing")
    value, evidence = mean.value, f"{mean}, judged by {trust.judge}"
    corrected = _corrected(audit, metric)
    if corrected is not None:
        value, low, high, labels = corrected
        evidence += f"; {number(value)} {interval(low, high)} corrected by {plural(labels, 'label')}"
    else:
        evidence += (
            f", whose errors are not corrected ({trust.badge}): workbench judge sample {audit.folder} --task {METRICS[metric].tasks[0]}"
        )
    if value >= limit:
        return ChecklistPoint(name, "met", evidence)
    return _missed(audit, ChecklistPoint(name, "not met", evidence), metric, limit)


def _corrected(audit: Audit, metric: str) -> tuple[float, float, float, int] | None:
    rows = audit.run.of("corrected", audit.configuration)
    rows = rows[(rows["scope"] == "mean") & (rows["metric"] == metric) & rows["value"].notna()]
    if rows.empty:
        return None
    row = rows.iloc[0]
    return float(row["value"]), float(row["low"]), float(row["high"]), int(row["labels"])


def _missed(audit: Audit, point: ChecklistPoint, metric: str, limit: float) -> ChecklistPoint:
    if better := audit.better(point, metric, limit):
        return better
    advice = "compare prompts and larger models (docs/how-to/compare_answers.md)"
    prompts = {"sweep": {"answering": [dict(_ANSWERING), dict(_ANSWERING) | {"model": "qwen3:14b"}]}}
    return replace(point, advice=advice, settings=prompts)

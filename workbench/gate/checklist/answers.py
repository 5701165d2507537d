"""The points about answers: judged metrics, and what their judge may be called."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.analysis.judging.judges import JudgeTrust, judge_trust
from workbench.core.formatting import interval, number, plural
from workbench.gate.checklist.points import Audit, ChecklistPoint
from workbench.judging.base import Task

FAITHFULNESS_LIMIT, RELEVANCE_LIMIT = 0.85, 0.8
# The share of questions that may lack a value, as in a gate.
MOST_UNSCORED = 0.02
# A judge that gives verdicts, and a generator for runs without answers.
JUDGE: Mapping[str, Any] = {"kind": "chat", "provider": "ollama", "model": "qwen3:4b"}
_ANSWERING: Mapping[str, Any] = {"kind": "chat", "provider": "ollama", "model": "qwen3:8b"}


def faithfulness(audit: Audit) -> ChecklistPoint:
    """Check faithfulness, corrected by labels if the judge is calibrated."""
    return _judged(audit, "faithfulness", FAITHFULNESS_LIMIT, "support", "support")


def answer_relevance(audit: Audit) -> ChecklistPoint:
    """Check answer relevance, corrected by labels if the judge is calibrated."""
    return _judged(audit, "answer_relevance", RELEVANCE_LIMIT, "answer_relevance", "relevance")


def _judged(audit: Audit, metric: str, limit: float, task: Task, key: str) -> ChecklistPoint:
    name = f"{metric.replace('_', ' ')} of at least {number(limit, 2)}"
    if reason := _copied(audit) if task == "support" else "":
        return ChecklistPoint(name, "cannot be seen", reason, "answer with a model", _settings(audit, metric, key))
    if not len(audit.run.of("answers", audit.configuration)):
        return ChecklistPoint(
            name, "cannot be seen", "the configuration answers nothing", "answer and judge", _settings(audit, metric, key)
        )
    trust = next((each for each in judge_trust(audit.run) if each.task == task), None)
    if trust is None or trust.role != "judge":
        why = _why_no_judge(trust) if trust else "nothing judges the answers"
        mean = audit.mean(metric)
        scale = f"; on its scale {metric} is {mean}" if mean is not None and not math.isnan(mean.value) else ""
        return ChecklistPoint(name, "cannot be seen", f"{why}{scale}", "judge with a model", _settings(audit, metric, key))
    return _by_value(audit, name, metric, limit, trust)


def _why_no_judge(trust: JudgeTrust) -> str:
    return trust.reason if "score, not a judge" in trust.reason else f"{trust.judge} is a score, not a judge: {trust.reason}"


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


def _by_value(audit: Audit, name: str, metric: str, limit: float, trust: JudgeTrust) -> ChecklistPoint:
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
        evidence += f", whose errors are not corrected ({trust.badge}): workbench judge sample {audit.folder} --task {_TASKS[metric]}"
    if value >= limit:
        return ChecklistPoint(name, "met", evidence)
    return _missed(audit, ChecklistPoint(name, "not met", evidence), metric, limit)


_TASKS = {"faithfulness": "support", "answer_relevance": "answer_relevance"}


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

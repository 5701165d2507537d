"""Audit a run by the points that a RAG system is expected to meet before it goes to production."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.errors import InputError
from workbench.core.files import in_order
from workbench.core.text.formatting import interval, listed, number, plural, share
from workbench.gate.check import gated_configuration
from workbench.gate.checklist_points import Audit, Checklist, ChecklistPoint, MetricMean
from workbench.gate.rules import GateSettings
from workbench.measures.metrics.registry import METRICS
from workbench.report.analysis.causes import cause_meanings, missed_evidence
from workbench.report.analysis.judges import JudgeTrust, judge_trust
from workbench.report.analysis.values import unaccepted
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import unaccepted_drafts

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


CI_FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml")
# Commands that check a gate, and what keeps it from failing a job.
_RUNS_A_GATE = re.compile(r"\bworkbench\s+gate\b|--rag-experiment\b")
_DECIDES_NOTHING = re.compile(r"--update-baseline\b|\|\|\s*(true|:|exit 0)(?![\w:])")
# The fields of a log that a question can lack.
LOG_FIELDS = "hits with doc_id and score, the answer, the seconds of embedding, retrieval and generation, and configuration or versions"
# The signals that need an alert, by the names of the alerts of `workbench monitor`.
ALERTS: Mapping[str, str] = {
    "faithfulness": "faithfulness below 0.80",
    "lost_results": "questions that had results before and have none now",
    "similarity": "a declining mean similarity",
}
FAITHFULNESS_ALERT = 0.8


@dataclass(frozen=True)
class LogEvidence:
    """Counts of a production log: questions, those that lack each field, those with feedback, and lines on rows that were left out."""

    path: Path
    questions: int
    lacking: Mapping[str, int]
    feedback: int
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class AlertEvidence:
    """Tested alerts by name: their observations, limits and how often they were raised. `score` names a support that no judge decided."""

    path: Path
    observations: Mapping[str, int]
    limits: Mapping[str, float]
    raised: Mapping[str, int]
    score: str = ""


def gates_in_ci(audit: Audit, repository: Path) -> ChecklistPoint:
    """Check that the experiment has rules, and that a file of GitHub Actions or GitLab runs them."""
    gate = audit.run.manifest["experiment"].get("gate") or {}
    rules = sum(len(gate.get(key) or ()) for key in ("rules", "retrieval_tests")) + sum(
        bool(gate.get(key)) for key in ("baseline", "release")
    )
    files = [path for pattern in CI_FILES for path in in_order(repository.glob(pattern))]
    calling = [path for path in files if any(map(_runs_a_gate, _lines(path)))]
    shown = listed([path.relative_to(repository).as_posix() for path in calling])
    commands = [f"workbench gate {audit.folder} --configuration {audit.configuration} --update-baseline baselines/{audit.run.name}.json"]
    name, advice = "gates in CI", "write the rules, then copy the job from docs/ci.md"
    if calling and rules:
        return ChecklistPoint(name, "met", f"{shown} checks {plural(rules, 'rule')} of the experiment")
    if calling:
        evidence = f"{shown} calls a gate, but the experiment of this run has no key gate"
        return ChecklistPoint(name, "met", f"{evidence}: the rules are those of its command")
    where = f"none of {plural(len(files), 'CI file')}" if files else f"no file of GitHub Actions or GitLab in {repository.resolve().name}"
    evidence = f"{where} calls workbench gate or pytest --rag-experiment so that its exit code decides"
    settings = {} if rules else {"gate": {"rules": _rules(audit), "baseline": f"baselines/{audit.run.name}.json", "tolerance": "5%"}}
    return ChecklistPoint(name, "not met", evidence, advice, settings, commands)


def _rules(audit: Audit) -> list[str]:
    """Return rules that the configuration meets: the limit of recall, else its own value of the primary metric."""
    recall = audit.mean("recall@5")
    if recall is not None and recall.value >= RETRIEVAL_LIMIT:
        return [f"recall@5 >= {RETRIEVAL_LIMIT}"]
    primary, mean = audit.run.primary, audit.mean(str(audit.run.primary))
    usable = mean is not None and primary.higher_is_better and not math.isnan(mean.value)
    return [f"{primary} >= {rounded_down(mean.value)}"] if mean is not None and usable else []


def production_log(audit: Audit, log: LogEvidence | None) -> ChecklistPoint:
    """Check that every question of a log has the fields of LOG_FIELDS, and that feedback can reach it."""
    name, commands = "production logging", [f"workbench checklist {audit.folder} --log {shlex.quote(str(log.path if log else 'logs'))}"]
    if log is None:
        evidence = "--log names no log of your service"
        return ChecklistPoint(name, "cannot be seen", evidence, f"write one with wb.QueryLog; it needs {LOG_FIELDS}", commands=commands)
    left_out = f"; {listed(log.left_out)}" if log.left_out else ""
    if not log.questions:
        return ChecklistPoint(
            name, "not met", f"{log.path} has no question{left_out}", f"log each question, with {LOG_FIELDS}", commands=commands
        )
    lacking = [f"{field} ({number:,})" for field, number in log.lacking.items()] + ([] if log.feedback else ["feedback (all)"])
    seen = f"{plural(log.questions, 'question')} of {log.path}"
    if not lacking:
        return ChecklistPoint(name, "met", f"{seen} have all fields, {log.feedback:,} of them feedback{left_out}")
    return ChecklistPoint(name, "not met", f"of {seen}, some lack {listed(lacking)}{left_out}", "log these fields too", commands=commands)


def tested_alerts(audit: Audit, alerts: AlertEvidence | None) -> ChecklistPoint:
    """Check that each alert is tested, or was raised, with a limit of faithfulness of at least 0.80."""
    path = shlex.quote(str(alerts.path if alerts else "outputs/monitoring"))
    name, commands = "alerts", ["workbench monitor logs", f"workbench checklist {audit.folder} --alerts {path}"]
    if alerts is None:
        return ChecklistPoint(name, "cannot be seen", "--alerts names no results of workbench monitor", "watch the log", commands=commands)
    seen, missing = list[str](), list[str]()
    for signal, about in ALERTS.items():
        tested, limit = alerts.observations.get(signal, 0), alerts.limits.get(signal, math.nan)
        if signal == "faithfulness" and limit < FAITHFULNESS_ALERT:
            missing.append(f"{about} (its limit is {limit:g})")
        elif tested or alerts.raised.get(signal):
            raised = f", raised {plural(alerts.raised[signal], 'time')}" if alerts.raised.get(signal) else ""
            seen.append(f"{signal} ({plural(tested, 'observation')}{raised})")
        else:
            missing.append(
                f"{about} (only the {alerts.score}, which is not a judge's)" if signal == "faithfulness" and alerts.score else about
            )
    if not missing:
        return ChecklistPoint(name, "met", f"{alerts.path} tests {listed(seen)}")
    more = "the lines “not tested” of workbench monitor say what an alert lacks, such as more questions"
    advice = f"judge support with verdicts (judging in the settings); {more}" if alerts.score else more
    return ChecklistPoint(name, "not met", f"{alerts.path} does not test {listed(missing)}", advice, commands=commands)


def _runs_a_gate(line: str) -> bool:
    command = line.partition("#")[0]
    return bool(_RUNS_A_GATE.search(command)) and not _DECIDES_NOTHING.search(command)


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})", "give a folder with readable files of CI") from None


def audited(
    run: RunTables,
    folder: Path,
    configuration: str | None = None,
    *,
    repository: Path = Path(),
    log: LogEvidence | None = None,
    alerts: AlertEvidence | None = None,
) -> Checklist:
    """Check every point for a configuration: the one named, else the experiment's baseline, else the only one.

    `repository` has the files of CI. Raises InputError if there is no such configuration, or if a file of CI is not readable.
    """
    name = gated_configuration(run, GateSettings(configuration=configuration))
    audit = Audit(run, name, shlex.quote(str(folder)))
    drafts = unaccepted_drafts(run)
    points = [
        labelled_questions(audit),
        *(_measured(check(audit), drafts) for check in (precision, recall, faithfulness, answer_relevance)),
        chunkings(audit),
        gates_in_ci(audit, repository),
        production_log(audit, log),
        tested_alerts(audit, alerts),
    ]
    return Checklist(run.name, name, points, drafts)


def _measured(point: ChecklistPoint, drafts: str) -> ChecklistPoint:
    """Say beside a mean that its questions are drafts."""
    seen = drafts and point.state != "cannot be seen"
    return replace(point, evidence=f"{point.evidence}; {drafts}") if seen else point

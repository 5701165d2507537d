"""Audit a run by the points that a RAG system is expected to meet before it goes to production."""

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.core.errors import InputError
from workbench.core.text.formatting import listed, plural
from workbench.gate.check import gated_configuration
from workbench.gate.checklist.points import Audit, Checklist, ChecklistPoint
from workbench.gate.checklist.quality import (
    RETRIEVAL_LIMIT,
    answer_relevance,
    chunkings,
    faithfulness,
    labelled_questions,
    precision,
    recall,
    rounded_down,
)
from workbench.gate.rules import GateSettings
from workbench.report.results.run_tables import RunTables
from workbench.report.text.sentences import unaccepted_drafts

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
    files = [path for pattern in CI_FILES for path in sorted(repository.glob(pattern))]
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

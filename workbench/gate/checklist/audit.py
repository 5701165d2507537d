"""Audit a run by the points that a RAG system is expected to meet before it goes to production."""

import shlex
from dataclasses import replace
from pathlib import Path

from workbench.gate.check import gated_configuration
from workbench.gate.checklist.answers import answer_relevance, faithfulness
from workbench.gate.checklist.operations import AlertEvidence, LogEvidence, gates_in_ci, production_log, tested_alerts
from workbench.gate.checklist.points import Audit, Checklist, ChecklistPoint
from workbench.gate.checklist.retrieval import chunkings, labelled_questions, precision, recall
from workbench.gate.rules import GateSettings
from workbench.report.text.sentences import unaccepted_drafts
from workbench.results.run_tables import RunTables


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

"""Audit a run by the points that a RAG system is expected to meet before it goes to production."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.gate.check import gated_configuration
from workbench.gate.checklist.answers import answer_relevance, faithfulness
from workbench.gate.checklist.operations import AlertEvidence, LogEvidence, alerts, gates_in_ci, production_log
from workbench.gate.checklist.points import Audit, Checklist, ChecklistPoint
from workbench.gate.checklist.retrieval import chunkings, labelled_questions, precision, recall
from workbench.gate.settings import GateSettings
from workbench.report.text.drafts import unaccepted_drafts
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class OutsideEvidence:
    """Evidence outside of a run: the repository with the files of its CI, the log of a service, and its alerts."""

    repository: Path = Path()
    log: LogEvidence | None = None
    alerts: AlertEvidence | None = None


def audited(run: RunTables, folder: Path, configuration: str | None = None, evidence: OutsideEvidence = OutsideEvidence()) -> Checklist:
    """Check every point for a configuration: the one named, else the experiment's baseline, else the only one.

    Raises InputError if there is no such configuration, or if a file of CI is not readable.
    """
    name = gated_configuration(run, GateSettings(configuration=configuration))
    audit = Audit(run, name, shlex.quote(str(folder)))
    drafts = unaccepted_drafts(run)
    points = [
        labelled_questions(audit),
        *(_measured(check(audit), drafts) for check in (precision, recall, faithfulness, answer_relevance)),
        chunkings(audit),
        gates_in_ci(audit, evidence.repository),
        production_log(audit, evidence.log),
        alerts(audit, evidence.alerts),
    ]
    return Checklist(run.name, name, points, drafts)


def _measured(point: ChecklistPoint, drafts: str) -> ChecklistPoint:
    """Say beside a mean that its questions are drafts."""
    seen = drafts and point.state != "cannot be seen"
    return replace(point, evidence=f"{point.evidence}; {drafts}") if seen else point

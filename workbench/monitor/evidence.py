"""Evidence of a service for the checklist: questions of its log that lack fields, and the alerts that were tested."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError
from workbench.gate.checklist.audit import AlertEvidence, LogEvidence
from workbench.metrics.coverage import Bools
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.page import load_monitoring
from workbench.monitor.passes import open_log

_STEPS = ("embedding_seconds", "retrieval_seconds", "generation_seconds")


def log_evidence(path: Path) -> LogEvidence:
    """Read a log: how many questions lack each field that the checklist asks for. Raises InputError if it cannot be read.

    A question that failed has no answer and need not have a time of the model. A question without hits has no ids and scores.
    """
    with TemporaryDirectory() as folder:
        try:
            questions = open_log(path, Path(folder))[0]
        except InputError:  # without a question, or none of a log
            questions = LoggedQuestions(path)
        return _log_evidence(path, questions)


def _log_evidence(path: Path, questions: LoggedQuestions) -> LogEvidence:
    lacking, total, feedback = Counter[str](), 0, 0
    for batch in questions.batches(("hits", "answer", "error", *_STEPS, "configuration", "versions", "feedback")):
        known = {name: batch.column(name).is_valid().to_numpy(zero_copy_only=False) for name in batch.schema.names}
        failed = pc.not_equal(batch.column("error").fill_null(""), "").to_numpy(zero_copy_only=False)
        has = {
            "hits": known["hits"] | failed,
            **{f"hits.{name}": _in_every_hit(batch.column("hits"), name) for name in ("doc_id", "score")},
            "answer": known["answer"] | failed,
            **{name: known[name] | failed for name in _STEPS},
            "configuration or versions": known["configuration"] | known["versions"],
        }
        total += len(batch)
        feedback += int(pc.sum(pc.greater(pc.list_value_length(batch.column("feedback")), 0)).as_py() or 0)
        lacking.update({name: int((~fine).sum()) for name, fine in has.items()})
    return LogEvidence(path, total, {name: number for name, number in lacking.items() if number}, feedback, questions.counts.lines())


def alert_evidence(folder: Path) -> AlertEvidence:
    """Read which alerts the last pass over a log tested, and which were ever raised. Raises InputError without a pass."""
    view = load_monitoring(folder)
    # A score of support is no faithfulness.
    tested = {one.alert: one for one in view.about.tested if one.alert != "faithfulness" or view.about.support == "faithfulness"}
    limits = {name: one.limit for name, one in tested.items() if one.limit is not None}
    raised = Counter(alert.first.alert for alert in view.raised if alert.first.alert in tested)
    score = view.about.support if view.about.support != "faithfulness" else ""
    return AlertEvidence(folder, {name: one.observations for name, one in tested.items()}, limits, raised, score)


def _in_every_hit(hits: pa.ListArray, name: str) -> Bools:
    """Mark the questions (n) of which each hit has a field."""
    fine = np.ones(len(hits), dtype=np.bool_)
    unknown = hits.flatten().field(name).is_null().to_numpy(zero_copy_only=False)
    fine[pc.list_parent_indices(hits).to_numpy(zero_copy_only=False)[unknown]] = False
    return fine

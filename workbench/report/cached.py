"""The report of a run and what the terminal says of it, from the store where nothing that they show has changed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.core.files import write_atomically
from workbench.core.fingerprint import fingerprint
from workbench.execution.local import Outcome
from workbench.execution.outputs import manifest
from workbench.notebook_runner.notebooks import code_digest
from workbench.storage.result_store import MANIFEST, Draft

_KIND = "reports"
_TERMINAL = "terminal"


class Report(NamedTuple):
    """Where `report.html` lies, and the lines of the terminal."""

    path: Path
    lines: Sequence[str]


def kept_report(outcome: Outcome) -> Report:
    """`report.html` in the run's folder, made now or taken from the store."""
    entry = outcome.bench.workplace.store.obtain(_KIND, _identity(outcome), lambda draft: _make(outcome, draft))
    path = outcome.folder / "report.html"
    write_atomically(path, lambda aside: shutil.copyfile(entry.folder / path.name, aside))
    return Report(path, entry.values(_TERMINAL))


def _make(outcome: Outcome, draft: Draft) -> None:
    # Not imported where nothing is made: it takes longer than all else here.
    from workbench.report.render.html import write_report
    from workbench.report.render.terminal import summary_lines

    write_report(outcome, draft.folder)
    draft.values(_TERMINAL, summary_lines(outcome))


def _identity(outcome: Outcome) -> str:
    """All that is shown: the manifest, results with their times, what was screened, the answers expected (no metric reads those), the code."""
    entries = {
        result.configuration.name: [(entry.folder / MANIFEST).read_text("utf-8") for entry in result.stages.values()]
        for result in outcome.results
    }
    screening = outcome.experiment.screening
    answers = [query.answer for query in outcome.bench.dataset.queries]
    return fingerprint(manifest(outcome), entries, screening.as_json() if screening else None, answers, code_digest())

"""Publish a finished run: its tables, its line in the history, the executed notebooks, the report and what the terminal says."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from workbench.core.files import write_atomically
from workbench.core.fingerprint import code_digest, fingerprint
from workbench.errors import WorkbenchError
from workbench.execution.local import Outcome, Say
from workbench.execution.outputs import write_outputs
from workbench.notebook_runner.run_notebooks import run_notebooks
from workbench.results.history import append
from workbench.results.run_tables import RunTables
from workbench.storage.result_store import Draft, Store

_KIND = "reports"
_TERMINAL = "terminal"


class Published(NamedTuple):
    """The report, the lines of the terminal, and the errors of notebooks and of the history: the run itself is complete without them."""

    report: Path
    lines: Sequence[str]
    errors: Sequence[str]


def publish(outcome: Outcome, say: Say, remember: bool = True) -> Published:
    """Write all that a run leaves; `remember` appends it to the history."""
    run, store, folder = write_outputs(outcome), outcome.context.workspace.store, outcome.folder
    errors = _remember(run, outcome.context.workspace.outputs) if remember else []
    errors += [f"notebook {name}: {line}" for name, line in run_notebooks(run, folder, store, say).items()]
    report, lines = publish_report(run, folder, store)
    return Published(report, lines, errors)


def publish_report(run: RunTables, folder: Path, store: Store) -> tuple[Path, Sequence[str]]:
    """`report.html` in the folder and the lines of the terminal, taken from the store where nothing that they show has changed."""
    entry = store.obtain(_KIND, fingerprint(run.digest(), run.manifest["commit"], code_digest()), lambda draft: _render(run, draft))
    path = folder / "report.html"
    write_atomically(path, lambda aside: shutil.copyfile(entry.folder / path.name, aside))
    return path, entry.values(_TERMINAL)


def _render(run: RunTables, draft: Draft) -> None:
    # Not imported where nothing is made: it takes longer than all else here.
    from workbench.report.render.html import write_report
    from workbench.report.render.terminal import summary_lines

    write_report(run, draft.folder / "report.html")
    draft.values(_TERMINAL, summary_lines(run))


def _remember(run: RunTables, outputs: Path) -> list[str]:
    try:
        append(run, outputs, datetime.now(UTC))
    except WorkbenchError as error:
        return [f"this run is not in the history: {'; '.join(error.lines)}"]
    return []

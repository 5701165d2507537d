"""The report of a run and its lines for the terminal, from the store where nothing that they show has changed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.core.files import write_atomically
from workbench.core.fingerprint import fingerprint
from workbench.notebook_runner.notebooks import code_digest
from workbench.results.run_tables import RunTables
from workbench.storage.result_store import Draft, Store

_KIND = "reports"
_PAGE, _TERMINAL = "report.html", "terminal"


class Report(NamedTuple):
    """The path of `report.html`, and the lines for the terminal."""

    path: Path
    lines: Sequence[str]


def cached_report(run: RunTables, folder: Path, store: Store) -> Report:
    """Put `report.html` of a run into a folder, made now or taken from the store."""
    entry = store.obtain(_KIND, fingerprint(run.digest(), code_digest()), lambda draft: _make(run, draft))
    write_atomically(folder / _PAGE, lambda aside: shutil.copyfile(entry.folder / _PAGE, aside))
    return Report(folder / _PAGE, entry.values(_TERMINAL))


def _make(run: RunTables, draft: Draft) -> None:
    # Not imported where nothing is made: it takes longer than all else here.
    from workbench.report.render.html import write_report
    from workbench.report.render.terminal import summary_lines

    write_report(run, draft.folder / _PAGE)
    draft.values(_TERMINAL, summary_lines(run))

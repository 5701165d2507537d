"""The index page of the runs in an outputs folder, `<outputs>/index.html`, made from their manifests and tables.

`.index.json` beside it keeps the row of each run, so that only runs that changed are read again. It also says that the page is Workbench's: another
program's `index.html` is left as it is.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pandas as pd
from filelock import FileLock

from workbench.core.errors import WorkbenchError, error_line
from workbench.core.files import file_state, parsed_json, read_regular, store_errors, write_text
from workbench.core.fingerprint import fingerprint
from workbench.core.text.formatting import count, interval, number, plural, signed
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import Findings, findings
from workbench.report.analysis.setting_names import short_name
from workbench.report.render.html import scriptless_page, style_sheet
from workbench.report.results.history import changes, history_path, read_history, read_scores, scores_path
from workbench.report.results.run_tables import MANIFEST, RETRIEVED, RunTables, read_manifest
from workbench.report.topics.decision.opening import chip
from workbench.report.topics.run.gate import OUTCOMES
from workbench.report.trends import run_differences

PAGE, _ROWS = "index.html", ".index.json"
_STYLE = Path(__file__).parents[1] / "templates" / "runs.css"
# Files that change with the verdict of a row and with the outcome of its gate.
_METRICS, _GATE = "metrics.parquet", "gate.parquet"
_PAGES = ("report.html", "compared.html", "trends.html")
# The verdicts that one update computes. Later ones follow at the next update.
_MOST_READ = 20


@dataclass(frozen=True)
class IndexRow:
    """A run in an outputs folder. `mark` changes with its results, `gated` with its gate; `fault` says why it cannot be read. A score is NaN if no configuration is ranked."""

    folder: str
    mark: str
    time: float
    name: str = ""
    dataset: str = ""
    questions: int = 0
    configurations: int = 0
    failed: int = 0
    verdict: str = ""
    use: bool = False
    shown: str = ""
    short: str = ""
    metric: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    gate: str = ""
    gated: str = ""
    fault: str = ""

    @property
    def day(self) -> str:
        """The time when the run was written, UTC."""
        return f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%d %H:%M}"

    @property
    def score(self) -> str:
        """The score with its interval."""
        if self.value is None:
            return "–"
        return number(self.value) if self.low is None else f"{number(self.value)} {interval(self.low, self.high)}"


def write_index(outputs: Path, run: RunTables | None = None, folder: str = "") -> Path | None:
    """Write the index of an outputs folder and return it. None if another program's `index.html` is there.

    `run` is the run in `folder` if it is open already. Concurrent sweeps write one after the other.
    """
    page = outputs / PAGE
    with store_errors(outputs), FileLock(outputs / ".index.lock"):
        if page.exists() and not (outputs / _ROWS).is_file():
            return None
        known, rows, read = _stored(outputs), list[IndexRow](), 0
        for place in runs_by_time(outputs):
            row = known.get(place.name)
            if row is None or (row.mark, row.gated) != (_mark(place), _gated(place)):
                own = run if place.name == folder else None
                row = _row(place, own, row, computed=read < _MOST_READ or own is not None)
                read += bool(row.mark)
            rows.append(replace(row, time=_time(place)))
        write_text(outputs / _ROWS, json.dumps([asdict(row) for row in rows], indent=0) + "\n")
        # The name of a folder need not be UTF-8.
        write_text(page, _rendered(outputs, rows).encode("utf-8", "replace").decode())
    return page


def refresh_index(folder: Path) -> None:
    """Write the index beside a run again if there is one."""
    outputs = folder.resolve().parent
    if (outputs / _ROWS).is_file():
        write_index(outputs)


def index_row(place: Path) -> IndexRow:
    """Read the row of the run in a folder with its verdict, without writing anything."""
    return _row(place, None, None, computed=True)


def _run_folders(outputs: Path) -> Iterator[Path]:
    """Yield the folders that contain a run, or parts of one."""
    for place in outputs.iterdir() if outputs.is_dir() else ():
        if not place.name.startswith(".") and place.is_dir() and any((place / name).is_file() for name in (MANIFEST, "metrics.parquet")):
            yield place


def runs_by_time(outputs: Path) -> list[Path]:
    """Return the folders of runs, the newest first."""
    return sorted(_run_folders(outputs), key=_time, reverse=True)


def _time(place: Path) -> float:
    """The time of a run's manifest, or of its folder without one."""
    path = place / MANIFEST
    return (path if path.is_file() else place).stat().st_mtime


def _mark(place: Path) -> str:
    """Hash what changes with the verdict of a run. Another commit alone changes nothing."""
    try:
        return fingerprint({**read_manifest(place), "commit": None}, file_state(place / _METRICS))
    except (OSError, ValueError):
        return ""


def _gated(place: Path) -> str:
    """Hash what changes with the outcome of a run's gate. Empty without one."""
    return fingerprint(file_state(place / _GATE)) if (place / _GATE).is_file() else ""


def _stored(outputs: Path) -> dict[str, IndexRow]:
    """Read the rows of the last update. Those that are damaged or of another version are left out."""
    names = {field.name for field in fields(IndexRow)}
    try:
        rows = parsed_json(read_regular(outputs / _ROWS))
        return {row["folder"]: IndexRow(**row) for row in rows if set(row) == names}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _row(place: Path, run: RunTables | None, known: IndexRow | None, *, computed: bool) -> IndexRow:
    """Read the row of a run, with the verdict of a `known` row of the same results.

    Without a verdict, its mark is empty, so that the next update computes it.
    """
    row = IndexRow(place.name, "", _time(place))
    try:
        tables = RunTables.read(place)
        data = tables.dataset
        row = replace(
            row,
            name=tables.name,
            dataset=str(data["name"]),
            questions=int(data["queries"]),
            configurations=len(tables.names),
            failed=len(tables.failures),
            metric=str(tables.primary),
            gated=_gated(place),
            gate=_gate(tables),
        )
        if known is not None and known.mark == _mark(place):
            return replace(known, gate=row.gate, gated=row.gated)
        return (
            _concluded(row, findings(tables if run is None else run), _mark(place))
            if computed
            else replace(row, verdict="read at the next sweep")
        )
    except Exception as error:  # a broken run must not hide the others
        return replace(row, fault=_fault(error, place))


def _fault(error: Exception, place: Path) -> str:
    """Describe why a run cannot be read, without the folders above it."""
    if not isinstance(error, WorkbenchError):
        return f"{place.name} is damaged, or of another version ({type(error).__name__})"
    line = error_line(error)
    for path in (place.resolve(), place.absolute(), place):
        line = line.replace(str(path), place.name)
    return line


def _concluded(row: IndexRow, conclusions: Findings, mark: str) -> IndexRow:
    decision = decide(conclusions)
    row = replace(row, mark=mark, verdict=chip(decision).text, use=decision.use is not None)
    shown = decision.shown
    if shown is None:
        return row
    mean = shown.means[row.metric]
    value, low, high = (None if math.isnan(end) else end for end in (mean.value, mean.low, mean.high))
    return replace(row, shown=shown.name, short=short_name(conclusions, shown.name), value=value, low=low, high=high)


def _gate(run: RunTables) -> str:
    """The worst outcome of the last gate of a run, and the number of rules. Empty without one."""
    table = run.table("gate")
    outcomes = table.loc[table["kind"] != "note", "outcome"].tolist()
    worst = next((outcome for outcome in OUTCOMES if outcome in outcomes), "")
    return worst and f"{worst} ({outcomes.count(worst)} of {plural(len(outcomes), 'rule')})"


def _rendered(outputs: Path, rows: list[IndexRow]) -> str:
    since = _since(outputs, rows)
    shown = [
        {
            "row": row,
            "since": since.get(row.folder, ""),
            "pages": {name: f"./{quote(os.fsencode(row.folder))}/{name}" for name in _PAGES if (outputs / row.folder / name).is_file()},
        }
        for row in rows
    ]
    style = style_sheet() + _STYLE.read_text("utf-8")
    unread, faults = sum(not row.mark and not row.fault for row in rows), sum(bool(row.fault) for row in rows)
    counts = [
        plural(len(rows), "run"),
        *([f"{faults} cannot be read"] if faults else []),
        *([f"{unread} read at the next sweep"] if unread else []),
    ]
    return scriptless_page("runs.html.j2", style, rows=shown, counts=", ".join(counts), count=count, plural=plural)


def _since(outputs: Path, rows: list[IndexRow]) -> Mapping[str, str]:
    """Compare the configuration shown of each run with its run before, by the history. Empty without a history."""
    try:
        history = read_history(history_path(outputs))
        scores = read_scores(scores_path(outputs))
    except WorkbenchError:
        return {}
    history = history[history["primary"] & (history["condition"] == RETRIEVED) & (history["slice"] == "all")]
    return {row.folder: text for row in rows if row.shown and (text := _before(history, scores, row))}


def _before(history: pd.DataFrame, scores: Mapping[str, pd.DataFrame], row: IndexRow) -> str:
    runs = changes(history, row.name, row.shown, row.metric)
    # A run that is not the last of its history is older than the row, or elsewhere.
    if len(runs) < 2 or row.value is None or abs(float(runs["value"].iloc[-1]) - row.value) > 1e-9:
        return ""
    last = runs.tail(2)
    day = f"{last['time'].iloc[0]:%Y-%m-%d}"
    pair = next(iter(run_differences(last, scores)), None)
    if pair is None:
        return f"as on {day}"
    gap = (
        signed(float(last["difference"].iloc[-1]))
        if pair.difference is None
        else f"{signed(pair.difference.value)} {pair.difference.bounds()}"
    )
    why = f", {pair.refusal}" if pair.refusal else ""
    return f"{gap} since {day}{why}"

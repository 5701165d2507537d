"""The history of an outputs folder: every sweep appends its means and the fingerprints of what made them.

`<outputs>/history.parquet` is read, lengthened and written anew under a lock and renamed into its place, so two sweeps at once
lose nothing and a killed one leaves the old file whole. It holds what differs from run to run, and is in no other table.
"""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from workbench.core.files import store_errors, write_atomically
from workbench.core.fingerprint import fingerprint
from workbench.errors import InputError, StoreError
from workbench.execution.local import Outcome
from workbench.execution.tables import CONDITION, metrics_table
from workbench.experiment.read import Configuration
from workbench.pipeline.keys import VERSIONS
from workbench.retrieval.rank import SEED

FILE = "history.parquet"
# What a value depends on, in the order of the pipeline; each is a column.
FINGERPRINTS = ("corpus", "questions", "labels", "chunking", "embedding", "retrieval", "prompt")
_TEXTS = ("run", "commit", "experiment", "configuration", "condition", "metric", "slice")
COLUMNS = ("time", *_TEXTS, "value", "low", "high", "n", "clusters", "primary", *FINGERPRINTS)
# The same value: metrics.parquet agrees with trec_eval to this.
EXACT = 1e-9


def history_path(outputs: Path) -> Path:
    """Where the history of an outputs folder is."""
    return outputs / FILE


def schema() -> Any:
    """The columns and types of history.parquet."""
    import pyarrow as pa

    kinds = dict.fromkeys(COLUMNS, pa.string()) | {"time": pa.timestamp("ms", tz="UTC"), "primary": pa.bool_()}
    kinds |= {name: pa.float64() for name in ("value", "low", "high")} | {name: pa.int64() for name in ("n", "clusters")}
    return pa.schema([(name, kinds[name]) for name in COLUMNS])


def append(outcome: Outcome, outputs: Path, when: datetime) -> str:
    """Add a run's means over all questions to the history and return the run's id; nothing, and "", where nothing was finished.

    Errors: StoreError if the history is corrupt or cannot be written; it is then left as it was.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not outcome.results:
        return ""
    rows, path = _rows(outcome, when.astimezone(UTC).replace(microsecond=0)), history_path(outputs)
    with store_errors(outputs):
        outputs.mkdir(parents=True, exist_ok=True)
        with FileLock(outputs / ".history.lock"):
            before = _read(path) if path.exists() else schema().empty_table()
            run = fingerprint(before.num_rows, [{name: str(value) for name, value in row.items()} for row in rows])[:12]
            after = pa.concat_tables([before, pa.Table.from_pylist([row | {"run": run} for row in rows], schema())])
            for killed in outputs.glob(f".{FILE}.*.tmp"):
                killed.unlink()
            write_atomically(path, lambda aside: pq.write_table(after, aside, compression="zstd"))
    return run


def read_history(path: Path) -> pd.DataFrame:
    """The history, oldest run first: the columns of COLUMNS, `time` in UTC.

    Errors: InputError if there is none yet, StoreError if it is corrupt.
    """
    if not path.exists():
        raise InputError(f"there is no history at {path}", "every workbench sweep appends to it: run one")
    table: pd.DataFrame = _read(path).to_pandas()
    return table


def changes(history: pd.DataFrame, experiment: str, configuration: str, metric: str, condition: str = CONDITION) -> pd.DataFrame:
    """A row for each run of a configuration in which the metric was scored, oldest first.

    Columns: run, time, commit, value, low, high, n, clusters, `difference` from the run before, `changed` (the fingerprints that
    are others than in the run before, joined by ", "; empty in the first), `unexplained` (the value is another though no
    fingerprint is: then the code or the machine changed).
    """
    given = {"experiment": experiment, "configuration": configuration, "metric": metric, "condition": condition, "slice": "all"}
    wanted = (history[list(given)] == pd.Series(given)).all(axis="columns") & history["value"].notna()
    found = history[wanted].reset_index(drop=True)
    prints = found[list(FINGERPRINTS)].astype("object").fillna("").astype("str")
    differs = prints.ne(prints.shift()).iloc[1:].reindex(prints.index, fill_value=False)
    found["difference"] = found["value"].diff()
    found["changed"] = [", ".join(name for name in FINGERPRINTS if row[name]) for row in differs.to_dict("records")]
    found["unexplained"] = (found["difference"].abs() > EXACT) & (found["changed"] == "")
    return found.drop(columns=[*given, *FINGERPRINTS, "primary"])


def _rows(outcome: Outcome, when: datetime) -> list[dict[str, Any]]:
    metrics = metrics_table(outcome)
    metrics = metrics[metrics["slice"] == "all"]
    prints = {result.configuration.name: _fingerprints(outcome, result.configuration) for result in outcome.results}
    common = {"time": when, "commit": _commit(), "experiment": outcome.experiment.name}
    rows: list[dict[str, Any]] = []
    for row in metrics.to_dict("records"):
        texts = {name: row[name] for name in ("configuration", "condition", "metric", "slice")}
        numbers = {name: None if pd.isna(row[name]) else float(row[name]) for name in ("value", "low", "high")}
        counts = {name: None if pd.isna(row[name]) else int(row[name]) for name in ("n", "clusters")}
        primary = {"primary": row["metric"] == str(outcome.primary)}
        rows.append(common | texts | numbers | counts | primary | prints[row["configuration"]])
    return rows


def _fingerprints(outcome: Outcome, configuration: Configuration) -> dict[str, str | None]:
    """Each stage's own settings and version, apart from its inputs: what changed, not all that a change reaches."""
    bench, embedding, retrieval = outcome.bench, configuration.embedding, configuration.retrieval
    identity = bench.identity
    vectors = embedding and fingerprint(
        VERSIONS["vectors"], VERSIONS["queries"], embedding.identity("document"), embedding.identity("query")
    )
    return {
        "corpus": identity.corpus,
        "questions": identity.questions,
        # Another definition of the span metrics reads the same labels otherwise.
        "labels": identity.labels if bench.spans == "exact" else fingerprint(identity.labels, bench.spans),
        "chunking": fingerprint(VERSIONS["chunks"], configuration.chunking.identity()),
        "embedding": vectors or None,
        "retrieval": fingerprint(VERSIONS["hits"], retrieval.version, retrieval.model_dump(), SEED),
        "prompt": None,
    }


def _commit() -> str | None:
    """The working directory's commit, with `-dirty` where tracked files differ from it; None outside git."""
    command = ["git", "--no-optional-locks", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def _read(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fix = "move it away: the next sweep begins a new one"
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError, EOFError) as error:
        raise StoreError(f"the history {path} is corrupt ({type(error).__name__})", fix) from error
    if not table.schema.equals(schema()):
        raise StoreError(f"the history {path} is not one: its columns are {', '.join(table.schema.names)}", fix)
    return table

"""The scores of single questions in the runs of a history, for paired comparisons between runs.

`<outputs>/history_scores.parquet` contains each distinct set of scores once; the column `scores` of the history names the set of each
run and configuration by the primary metric. Runs that repeat each other therefore share a set. Beyond MOST_SCORES the sets that
were used longest ago are dropped.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.core.errors import StoreError
from workbench.core.files import table_fault, write_atomically
from workbench.core.fingerprint import fingerprint
from workbench.report.results.run_tables import RunTables, retrieved_values

FILE = "history_scores.parquet"
SCHEMA = pa.schema({"scores": pa.string(), "query_id": pa.string(), "cluster": pa.int64(), "documents": pa.string(), "value": pa.float64()})
# With 300 questions and 12 configurations, 277 runs that all differ.
MOST_SCORES = 1_000_000


def scores_path(outputs: Path) -> Path:
    """The file with the scores of an outputs folder."""
    return outputs / FILE


def primary_scores(run: RunTables) -> tuple[dict[str, str], dict[str, pd.DataFrame]]:
    """Return the name of each configuration's set of primary scores, and the sets: query_id, cluster, documents, value (NaN if unscored)."""
    names, sets = dict[str, str](), dict[str, pd.DataFrame]()
    table = retrieved_values(run.queries[run.queries["metric"] == str(run.primary)])
    questions = run.questions[["query_id", "cluster", "documents"]]
    for configuration, rows in table.groupby("configuration"):
        scores = questions.merge(rows[["query_id", "value"]], how="left", on="query_id")
        names[str(configuration)] = name = fingerprint(scores.to_json(orient="values", double_precision=15))[:16]
        sets[name] = scores.assign(scores=name)
    return names, sets


def add_scores(path: Path, sets: Mapping[str, pd.DataFrame], used: "pd.Series[str]") -> None:
    """Add the sets that are not in the file yet. `used` names the sets of all runs, oldest first.

    Errors: StoreError if the file is corrupt or cannot be written. The caller holds the lock of the history.
    """
    before = _read(path)
    known = set(before["scores"].unique().to_pylist())
    added = [pa.Table.from_pandas(rows, SCHEMA, preserve_index=False) for name, rows in sets.items() if name not in known]
    if not added:
        return
    after = pa.concat_tables([before, *(table.replace_schema_metadata(None) for table in added)])
    sizes = pd.Series(after["scores"].to_pandas()).value_counts()
    newest_first = [*sets, *used.dropna().iloc[::-1]]
    totals = sizes.reindex(list(dict.fromkeys(newest_first))).dropna().cumsum()
    kept = totals.index[(totals <= MOST_SCORES) | totals.index.isin(list(sets))]
    after = after.filter(pa.compute.is_in(after["scores"], pa.array(kept, pa.string())))
    for killed in path.parent.glob(f".{path.name}.*.tmp"):
        killed.unlink()
    write_atomically(path, lambda aside: pq.write_table(after, aside, compression="zstd"))


def read_scores(path: Path) -> dict[str, pd.DataFrame]:
    """Read the sets by name, without any if the file does not exist. Errors: StoreError if it is corrupt."""
    return {str(name): rows.reset_index(drop=True) for name, rows in _read(path).to_pandas().groupby("scores", sort=False)}


def _read(path: Path) -> pa.Table:
    if not path.exists():
        return SCHEMA.empty_table()
    fix = (
        "run workbench doctor, which moves it away: the next sweep begins a new one, and earlier runs can no longer be compared by question"
    )
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError, EOFError) as error:
        raise StoreError(f"the history's scores {path} are corrupt ({table_fault(error)})", fix) from error
    if not table.schema.equals(SCHEMA):
        raise StoreError(f"{path} does not contain a history's scores: its columns are {', '.join(table.schema.names)}", fix)
    return table

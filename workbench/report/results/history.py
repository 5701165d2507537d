"""The history of an outputs folder, to which every sweep appends its means and the fingerprints of their inputs.

`<outputs>/history.parquet` is read, extended and atomically replaced under a lock, so concurrent sweeps
lose nothing and a killed one leaves the old file intact. `history_scores.parquet` beside it has the scores of single questions.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from workbench.core.errors import InputError, StoreError
from workbench.core.files import store_errors, table_fault, write_atomically
from workbench.core.fingerprint import fingerprint
from workbench.report.results.run_manifest import marked_commit
from workbench.report.results.run_tables import RETRIEVED, RunTables, retrieved_values

FILE = "history.parquet"
# A column for each input of a value, in the order of the pipeline.
FINGERPRINTS = ("corpus", "questions", "labels", "chunking", "embedding", "retrieval", "prompt")
_DATASET = ("corpus", "questions", "labels")
# The fingerprints of further stages, a JSON object with their names as keys.
STAGES = "stages"
# The name of the set of scores by question, for the primary metric.
SCORES = "scores"
SCHEMA = pa.schema(
    {"time": pa.timestamp("ms", tz="UTC")}
    | dict.fromkeys(("run", "commit", "experiment", "configuration", "condition", "metric", "slice"), pa.string())
    | dict.fromkeys(("value", "low", "high"), pa.float64())
    | dict.fromkeys(("n", "clusters"), pa.int64())
    | {"primary": pa.bool_()}
    | dict.fromkeys((*FINGERPRINTS, STAGES, SCORES), pa.string())
)
COLUMNS = tuple(SCHEMA.names)
# Values are equal if they are to this number of decimals: metrics.parquet agrees with trec_eval to this precision.
_DECIMALS = 9
SCORES_FILE = "history_scores.parquet"
SCORES_SCHEMA = pa.schema(
    {"scores": pa.string(), "query_id": pa.string(), "cluster": pa.int64(), "documents": pa.string(), "value": pa.float64()}
)
# With 300 questions and 12 configurations, 277 runs that all differ.
MOST_SCORES = 1_000_000
_FIX = "run workbench doctor, which moves it away: the next sweep begins a new one"


def history_path(outputs: Path) -> Path:
    """The history file of an outputs folder."""
    return outputs / FILE


def append(run: RunTables, outputs: Path, when: datetime) -> str:
    """Add a run's means over all questions to the history and return the run's id. Without results, add nothing and return "".

    Errors: StoreError if the history is corrupt or cannot be written. It then remains unchanged.
    """
    if not run.names:
        return ""
    names, sets = primary_scores(run)
    rows, path = _rows(run, names, when.astimezone(UTC).replace(microsecond=0)), history_path(outputs)
    with store_errors(outputs):
        outputs.mkdir(parents=True, exist_ok=True)
        with FileLock(outputs / ".history.lock"):
            before = _read(path) if path.exists() else SCHEMA.empty_table()
            run_id = fingerprint(before.num_rows, rows.to_json(orient="values", date_format="iso", double_precision=15))[:12]
            added = pa.Table.from_pandas(rows.assign(run=run_id), SCHEMA, preserve_index=False).replace_schema_metadata(None)
            after = pa.concat_tables([before, added])
            # First the scores: a sweep that is killed here leaves sets that no run names.
            add_scores(scores_path(outputs), sets, before[SCORES].to_pandas())
            for killed in outputs.glob(f".{FILE}.*.tmp"):
                killed.unlink()
            write_atomically(path, lambda aside: pq.write_table(after, aside, compression="zstd"))
    return run_id


def read_history(path: Path) -> pd.DataFrame:
    """Read the history as COLUMNS, oldest run first, in UTC. Errors: InputError if the file does not exist, StoreError if it is corrupt."""
    if not path.exists():
        raise InputError(f"{path} does not exist", "run workbench sweep, which creates it")
    return with_present_names(_read(path).to_pandas())


def with_present_names(history: pd.DataFrame) -> pd.DataFrame:
    """Return the history with the name of each configuration in the last run that has its settings, whatever earlier runs named it.

    An experiment that always had one configuration had the same one, whose settings may have changed.
    """
    settings = [name for name in (*FINGERPRINTS, STAGES) if name not in _DATASET]
    rows = history[["experiment", "run", "configuration", *settings]].fillna("").astype(str)
    rows = rows.assign(key=["\n".join(values) for values in rows[["experiment", *settings]].itertuples(index=False, name=None)])
    named = rows.drop_duplicates(["experiment", "run", "configuration"])
    alone = named.groupby("experiment")["run"].transform(lambda runs: not runs.duplicated().any())
    named = named.assign(key=named["key"].mask(alone, named["experiment"]))
    # Settings that two configurations of a run share do not tell which one it is.
    unclear = named.loc[named.duplicated(["run", "key"], keep=False) | (named["chunking"].eq("") & ~alone), "key"]
    present = named[~named["key"].isin(unclear)].drop_duplicates("key", keep="last").set_index("key")["configuration"]
    names = dict(zip(zip(named["experiment"], named["run"], named["configuration"], strict=True), named["key"], strict=True))
    keys = [names[each] for each in zip(rows["experiment"], rows["run"], rows["configuration"], strict=True)]
    known = dict(present)
    return history.assign(configuration=[known.get(key, own) for key, own in zip(keys, history["configuration"], strict=True)])


def changes(history: pd.DataFrame, experiment: str, configuration: str, metric: str) -> pd.DataFrame:
    """Tabulate each run of a configuration in which the metric was scored, oldest first.

    Columns: run, time, commit, value, low, high, n, clusters, `scores` (the name of the set of scores by question, or None),
    `difference` from the run before, `changed` (the fingerprints that
    differ from the run before, joined by ", "; empty for the first), `result` (a number, equal for runs with equal fingerprints and an
    equal value), `unexplained` (the value differs although no fingerprint does, so the code or the machine changed).
    """
    selected = {"experiment": experiment, "configuration": configuration, "metric": metric, "condition": RETRIEVED, "slice": "all"}
    wanted = (history[list(selected)] == pd.Series(selected)).all(axis="columns") & history["value"].notna()
    runs = history[wanted].reset_index(drop=True)
    further = pd.DataFrame([json.loads(text) for text in runs[STAGES].fillna("{}")], index=runs.index)
    prints = pd.concat([runs[list(FINGERPRINTS)], further], axis="columns").astype("object").fillna("").astype("str")
    differs = prints.ne(prints.shift()).iloc[1:].reindex(prints.index, fill_value=False)
    runs["difference"] = runs["value"].diff()
    runs["changed"] = [", ".join(str(name) for name in prints if row[name]) for row in differs.to_dict("records")]
    runs["result"] = pd.factorize(pd.MultiIndex.from_frame(prints.assign(**{"": runs["value"].round(_DECIMALS)})))[0]
    runs["unexplained"] = (runs["result"].diff().fillna(0) != 0) & (runs["changed"] == "")
    return runs.drop(columns=[*selected, *FINGERPRINTS, STAGES, "primary"])


def _rows(run: RunTables, scores: Mapping[str, str], when: datetime) -> pd.DataFrame:
    metrics = run.metrics[run.metrics["slice"] == "all"]
    prints = pd.DataFrame([{"configuration": name, **_fingerprints(run, name)} for name in run.names])
    primary = metrics["metric"] == str(run.primary)
    named = metrics["configuration"].map(dict(scores)).where(primary & (metrics["condition"] == RETRIEVED))
    columns = {"time": when, "commit": marked_commit(), "experiment": run.name, "primary": primary, SCORES: named}
    return metrics.assign(**columns).merge(prints, on="configuration")


def _fingerprints(run: RunTables, configuration: str) -> dict[str, str | None]:
    """The fingerprint of each stage's settings and version without its inputs, so that a change does not affect later stages."""
    known = run.manifest["fingerprints"]
    settings = dict(known["settings"][configuration])
    # The definition of the span metrics affects how the labels are interpreted.
    spans = run.manifest["experiment"].get("spans", "exact")
    labels = known["labels"] if spans == "exact" else fingerprint(known["labels"], spans)
    fingerprints = {name: settings.pop(name, None) for name in FINGERPRINTS}
    fingerprints |= {"corpus": known["corpus"], "questions": known["questions"], "labels": labels}
    return fingerprints | {STAGES: json.dumps(settings, sort_keys=True)}


def _read(path: Path) -> Any:
    table = _table(path, f"the history {path} is", _FIX)
    for name in (STAGES, SCORES):
        if name not in table.schema.names and tuple(table.schema.names) == COLUMNS[: COLUMNS.index(name)]:
            # The file is older than the column.
            table = table.append_column(name, pa.nulls(table.num_rows, pa.string()))
    if not table.schema.equals(SCHEMA):
        raise StoreError(f"{path} is not a history: its columns are {', '.join(table.schema.names)}", _FIX)
    return table


def scores_path(outputs: Path) -> Path:
    """The file with the scores of an outputs folder."""
    return outputs / SCORES_FILE


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
    before = _read_sets(path)
    known = set(before["scores"].unique().to_pylist())
    added = [pa.Table.from_pandas(rows, SCORES_SCHEMA, preserve_index=False) for name, rows in sets.items() if name not in known]
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
    return {str(name): rows.reset_index(drop=True) for name, rows in _read_sets(path).to_pandas().groupby("scores", sort=False)}


def _read_sets(path: Path) -> pa.Table:
    if not path.exists():
        return SCORES_SCHEMA.empty_table()
    fix = f"{_FIX}, and earlier runs can no longer be compared by question"
    table = _table(path, f"the history's scores {path} are", fix)
    if not table.schema.equals(SCORES_SCHEMA):
        raise StoreError(f"{path} does not contain a history's scores: its columns are {', '.join(table.schema.names)}", fix)
    return table


def _table(path: Path, what: str, fix: str) -> Any:
    try:
        return pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError, EOFError) as error:
        raise StoreError(f"{what} corrupt ({table_fault(error)})", fix) from error

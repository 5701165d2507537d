"""The tables and manifest of a finished run, opened without models, store or dataset."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.core.errors import InputError
from workbench.core.files import checked, parsed_json, read_regular, table_fault, write_atomically, write_text
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import Memo
from workbench.core.schemas import SCHEMAS, TableSchema
from workbench.core.text.formatting import meant
from workbench.core.text.guessed_names import AdvisedNames
from workbench.measures.metrics.names import Metric
from workbench.report.results.run_manifest import RunManifest

_AGAIN = "run workbench sweep again: results that are in the store are reused"
_FIX = "make the outputs again with workbench sweep"
MANIFEST = "manifest.json"
# The folder of the tracebacks of failed configurations.
TRACEBACKS = "errors"
RETRIEVED = "retrieved"
# The field of a question's metadata that has its filter on documents.
WHERE = "where"
# The inode and the time of a run's manifest.
RunMark = tuple[int, int] | None
# Small enough that a configuration is read without the others.
_ROWS_OF_A_GROUP = 2**15
# Timings that describe a single run rather than the configuration's speed.
_OF_THIS_RUN = ("computed_", "tokens_", "cost", "seconds_index", "judgements_made")


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table in the folder of a run, whose manifest must not change after it was opened."""

    folder: Path
    schema: TableSchema
    manifest: Mapping[str, Any]

    def __call__(self, _: object = None) -> pd.DataFrame:
        """Read the whole table."""
        return self._unchanged(read_table(self.folder, self.schema))

    def rows(self, configuration: str) -> pd.DataFrame:
        """Read the rows of one configuration, indexed from 0, without the groups of rows of other configurations."""
        return self._unchanged(read_table(self.folder, self.schema, configuration))

    def _unchanged(self, table: pd.DataFrame) -> pd.DataFrame:
        manifest: dict[str, Any] = {}
        # One that cannot be read is of a run that another program is copying there.
        with suppress(OSError, ValueError):
            manifest = read_manifest(self.folder)
        # Another commit alone leaves the same results.
        if manifest | {"commit": None} != {**self.manifest, "commit": None}:
            raise InputError(f"the run {self.folder} was replaced after it was opened", "open it again")
        return table


@dataclass(frozen=True, eq=False)
class RunTables(AdvisedNames):
    """The tables of a run, each an attribute loaded on first use, its `manifest`, and the `folder` where it was opened.

    Rows of `configurations` are in the order of the run, failed ones last. Rows of `questions` are in the dataset's order, as are
    all arrays over queries.
    """

    manifest: Mapping[str, Any]
    sources: Mapping[str, Callable[["RunTables"], pd.DataFrame]] = field(repr=False)
    folder: Path = Path()
    _made: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False)
    _parts: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict, init=False, repr=False)
    memo: Memo = field(default_factory=Memo, init=False, repr=False)

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Open the run in `outputs/<name>`. Raises InputError if the folder contains no run or a table is missing."""
        place = Path(folder)
        if place.is_file():
            raise InputError(f"{place} is a file, not the folder of a run", "give the folder outputs/<name> of a finished sweep")
        if not place.is_dir():
            runs = runs_in(place.parent)
            fix = f"the runs in {place.parent} are {', '.join(runs)}" if runs else "give the folder outputs/<name> of a finished sweep"
            raise InputError(f"{place} does not exist{meant(place.name, runs)}", fix)
        try:
            manifest = read_manifest(place)
        except (OSError, ValueError):
            runs = runs_in(place)
            fix = f"give one of its runs: {', '.join(runs)}" if runs else "give the folder outputs/<name> of a finished sweep"
            raise InputError(f"{place} contains no run (no readable {MANIFEST})", fix) from None
        missing = [f"{name}.parquet" for name, schema in SCHEMAS.items() if schema.required and not (place / f"{name}.parquet").is_file()]
        prints = manifest.get("fingerprints")
        older = "metrics" not in manifest or not (isinstance(prints, dict) and {"questions", "corpus"} <= set(prints))
        if missing or older:
            what = f"lacks {', '.join(missing)}" if missing else "was made by an older version"
            raise InputError(f"{place} {what}", _AGAIN)
        checked(RunManifest, manifest, place / MANIFEST, _AGAIN)
        # Tables are read later, from wherever the working directory is then.
        whole = place.resolve()
        files = {name: schema for name, schema in _schemas(manifest).items() if (place / f"{name}.parquet").is_file()}
        return cls(manifest, {name: TableFile(whole, schema, manifest) for name, schema in files.items()}, place)

    @classmethod
    def view(cls, run: "RunTables", folder: Path) -> Self:
        """Return a run as a value of this class. Both share the tables that either has loaded, and the values that were computed from them."""
        made = cls(run.manifest, run.sources, folder)
        vars(made).update(_made=run._made, _parts=run._parts, memo=run.memo)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def write(self, folder: Path) -> None:
        """Write every table and the manifest, each atomically. Delete the file of a table that the run does not have."""
        for name, schema in self.schemas.items():
            if name in self.sources:
                write_table(folder, schema, self.table(name))
            else:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
        self.write_manifest(folder)

    def write_manifest(self, folder: Path) -> None:
        """Write the manifest alone."""
        write_text(folder / MANIFEST, json.dumps(self.manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name in `schemas.SCHEMAS`, without rows if the run does not have it. Changes to it do not reach the run."""
        if name not in self._made:
            schema = self.schemas[name]
            self._made[name] = schema.conform(self.sources[name](self)) if name in self.sources else schema.empty()
        # Without a copy of the values, which pandas makes when they are written to.
        return self._made[name].copy(deep=False)

    def __getattr__(self, name: str) -> pd.DataFrame:
        if "manifest" in self.__dict__ and name in self.schemas:
            return self.table(name)
        missing: pd.DataFrame = super().__getattr__(name)  # type: ignore[misc]  # hidden from type checkers
        return missing

    @cached_property
    def schemas(self) -> Mapping[str, TableSchema]:
        """The schemas of the tables that a run can have, with those of stages of other packages."""
        return _schemas(self.manifest)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return str(self.manifest["experiment"]["name"])

    @cached_property
    def measures(self) -> Mapping[str, Metric]:
        """Every metric of the run by name with cut, in the experiment's order."""
        return {name: Metric.of_record(record) for name, record in self.manifest["metrics"].items()}

    @property
    def primary(self) -> Metric:
        """The metric that ranks the configurations."""
        return self.measures[self.manifest["primary"]]

    @property
    def baseline(self) -> str | None:
        """The experiment's baseline configuration."""
        name: str | None = self.manifest["baseline"]
        return name

    @property
    def average(self) -> Literal["questions", "documents"]:
        """The units that count equally in means."""
        average: Literal["questions", "documents"] = self.manifest["average"]
        return average

    @property
    def smallest_difference(self) -> float:
        """The smallest difference of the primary metric that matters to the experiment."""
        return float(self.manifest["smallest_difference"])

    @property
    def failures(self) -> dict[str, str]:
        """The error of each failed configuration, in one line."""
        return dict(self.manifest["failures"])

    @property
    def code(self) -> tuple[str, ...]:
        """The functions named in the experiment that the run executed. Older runs did not record them."""
        return tuple(self.manifest.get("code", ()))

    @property
    def pickles(self) -> Mapping[str, Sequence[str]]:
        """The pickled weights that were loaded, by model. Older runs did not record them."""
        return dict(self.manifest.get("pickles", {}))

    @property
    def dataset(self) -> Mapping[str, Any]:
        """The dataset's name and its numbers of documents, queries, unanswerable queries, judgements and needs.

        `missing` documents are named by labels, but deleted from the corpus.
        `repeated` queries have the text of another, `relabelled` ones with other labels. Older runs did not count them.
        """
        return {"missing": 0, "repeated": 0, "relabelled": 0, **self.manifest["dataset"]}

    @property
    def has_notebooks(self) -> bool:
        """True if the run has executed notebooks: a comparison of systems in Python has none."""
        kind: str = self.manifest["experiment"]["dataset"]["kind"]
        return kind != "python"

    @property
    def unread(self) -> Sequence[Mapping[str, str]]:
        """The `file` and the `reason` of each file that workbench init left out of the dataset."""
        unread: Sequence[Mapping[str, str]] = self.manifest.get("unread", ())
        return unread

    @property
    def judging(self) -> Mapping[str, Any] | None:
        """The settings of the run's judges, None without. Older runs did not record them."""
        return self.manifest.get("judging")

    @property
    def configurations_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The settings of each configuration as `{chunking: {...}, embedding: {...} or None, retrieval: {...}}`."""
        return dict(self.manifest["configurations"])

    def name_of(self, settings: Mapping[str, Any], name: str = "") -> str:
        """Return the name of the configuration with these settings, whatever an older version named it. `name` if there is not exactly one."""
        alike = [known for known, own in self.configurations_settings.items() if same_settings(own, settings)]
        return alike[0] if len(alike) == 1 else name

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The finished configurations in the order of the run."""
        return tuple(self.facts)

    @cached_property
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """Map each finished configuration to its row of `configurations`, with None for missing values."""
        table = self.configurations
        finished = table[table["error"].isna()].astype(object)
        rows = finished.where(finished.notna(), None).to_dict("records")
        facts = {str(row["configuration"]): {str(name): value for name, value in row.items()} for row in rows}
        if unknown := sorted(facts.keys() - self.configurations_settings.keys()):
            raise InputError(f"the {MANIFEST} of the run {self.name} has no settings of {unknown[0]}", _AGAIN)
        return facts

    def digest(self, configuration: str = "") -> str:
        """Hash the results of the run, or of one configuration with the run's data and metrics, without the commit."""
        excluded = {"commit"} | (
            {"configurations", "fingerprints", "encoders", "failures", "experiment", "code", "pickles"} if configuration else set()
        )
        parts: list[Any] = [{name: value for name, value in self.manifest.items() if name not in excluded}]
        if configuration:
            prints = self.manifest["fingerprints"]
            parts += [self.configurations_settings[configuration], prints["configurations"][configuration]]
        timings = self.of("timings", configuration) if configuration else self.timings
        speeds = timings[~timings["name"].str.startswith(_OF_THIS_RUN)]
        frames = [speeds, self.questions] if configuration else [speeds, self.questions, self.screening]
        return fingerprint(parts, [frame.to_json(orient="values") for frame in frames])

    def of(self, name: str, configuration: str) -> pd.DataFrame:
        """The rows of a table that belong to one configuration, indexed from 0. A file is not read for other configurations."""
        source = self.sources.get(name)
        if name in self._made or not isinstance(source, TableFile):
            table = self.table(name)
            return table[table["configuration"] == configuration].reset_index(drop=True)
        if (name, configuration) not in self._parts:
            self._parts[name, configuration] = source.rows(configuration)
        return self._parts[name, configuration].copy(deep=False)


def retrieved_values(queries: pd.DataFrame) -> pd.DataFrame:
    """Return configuration, metric, query_id, value of the condition `retrieved`, the mean over repeats if there are several."""
    rows = queries[(queries["condition"] == RETRIEVED) & (queries["variant"] == "")]
    columns = ["configuration", "metric", "query_id", "value"]
    if rows.empty or rows["repeat"].max() == 0:
        return rows[columns]
    return rows[columns].groupby(columns[:3], sort=False)["value"].mean().reset_index()


def _schemas(manifest: Mapping[str, Any]) -> dict[str, TableSchema]:
    tables = manifest.get("tables", {})
    return {**{name: TableSchema.of(name, each["rows"], each["columns"]) for name, each in tables.items()}, **SCHEMAS}


def same_settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Return True if two configurations have the same stages, with equal settings. A setting that only one records is new in its version."""
    stages = [{stage: part for stage, part in each.items() if part is not None} for each in (a, b)]
    return stages[0].keys() == stages[1].keys() and all(_same(part, stages[1][stage]) for stage, part in stages[0].items())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping) and "kind" in a.keys() & b.keys():
        return all(_same(a[name], b[name]) for name in a.keys() & b.keys())
    return bool(a == b)


def runs_in(outputs: Path) -> list[str]:
    """Return the names of the runs in a folder of outputs, sorted."""
    return sorted(manifest.parent.name for manifest in outputs.glob(f"*/{MANIFEST}"))


def run_folder(run: Path, outputs: Path = Path("outputs")) -> Path:
    """Return the folder of a run that is given by its path, or by its name in the outputs. The folder need not exist."""
    given = (run / MANIFEST).is_file() or (run.exists() and not (outputs / run).is_dir())
    return run if given or run.parent != Path() else outputs / run


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run. Raises OSError or ValueError if it cannot be read."""
    manifest = parsed_json(read_regular(folder / MANIFEST))
    if not isinstance(manifest, dict):
        raise ValueError("it is no JSON object")
    return manifest


def run_mark(folder: Path) -> RunMark:
    """Return a mark of the run in a folder, which changes when another run is written there, also an equal one. None without a run."""
    with suppress(OSError):
        state = (folder / MANIFEST).stat()
        return state.st_ino, state.st_mtime_ns
    return None


def write_table(folder: Path, schema: TableSchema, table: pd.DataFrame) -> None:
    """Write `<name>.parquet` atomically. `table` must conform to the schema."""
    write_atomically(folder / f"{schema.name}.parquet", lambda aside: table.to_parquet(aside, index=False, row_group_size=_ROWS_OF_A_GROUP))


def read_table(folder: Path, schema: TableSchema, configuration: str | None = None) -> pd.DataFrame:
    """Read `<name>.parquet`, or only the rows of a configuration.

    Columns that a run of an earlier version does not have are without values, and those that only it has are left out. Raises InputError if the table is missing, unreadable or does not
    match the schema.
    """
    path = folder / f"{schema.name}.parquet"
    try:
        table = _rows_of(path, configuration)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", _FIX) from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is not a readable table ({table_fault(error)})", _FIX) from error
    if new := [name for name in schema.added if name not in table]:
        missing = {name: pd.Series(pd.NA, index=table.index, dtype=schema.dtypes[name]) for name in new}
        table = table.assign(**missing)[[name for name in schema.names if name in table or name in new]]
    dtypes = {str(name): str(dtype) for name, dtype in table.dtypes.items()}
    mismatched = [name for name, dtype in schema.dtypes.items() if dtypes.get(name) != dtype]
    mismatched += [name for name in dtypes if name not in schema.dtypes]
    if mismatched or list(dtypes) != schema.names:
        raise InputError(f"{path} is not a table of this version (columns: {', '.join(mismatched) or 'in another order'})", _FIX)
    return table


def _rows_of(path: Path, configuration: str | None) -> pd.DataFrame:
    """Read the rows of a configuration from the groups of rows that can contain it, None for all rows."""
    with pq.ParquetFile(path) as file:
        if configuration is None:
            # pandas.read_parquet takes a millisecond more, to look for a folder of files.
            whole: pd.DataFrame = file.read().to_pandas()
            return whole
        column = file.schema_arrow.names.index("configuration") if "configuration" in file.schema_arrow.names else -1
        groups = [number for number in range(file.num_row_groups) if _may_contain(file.metadata.row_group(number), column, configuration)]
        table: pd.DataFrame = file.read_row_groups(groups).to_pandas()
    return table[table["configuration"] == configuration].reset_index(drop=True) if column >= 0 else table


def _may_contain(group: pq.RowGroupMetaData, column: int, configuration: str) -> bool:
    statistics = group.column(column).statistics if column >= 0 else None
    return statistics is None or not statistics.has_min_max or statistics.min <= configuration <= statistics.max

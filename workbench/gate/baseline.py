"""A baseline: the values of single questions of a good run, in a JSON file that people review."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from workbench.core.errors import InputError
from workbench.core.files import checked, read_json, write_text
from workbench.core.text.formatting import listed, plural
from workbench.gate.gated import (
    COLUMNS,
    LARGEST,
    default_subjects,
    known_configuration,
    pooled,
    question_values,
)
from workbench.report.results.randomness import random_answers, random_parts, random_retrieval
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.report.runs.inputs import (
    QuestionPrint,
    changed_documents,
    changed_questions,
    changed_settings,
    document_prints,
    measurement,
    question_prints,
)

# A single random run would give its luck to every later comparison.
FEWEST_RUNS = 3
# The first hits and documents of a question that are kept besides its delivered hits, and the most documents whose fingerprints are.
DEPTH, MOST_DOCUMENTS = 10, 20_000
HIT_COLUMNS = ["query_id", "rank", "doc_id", "start", "end", "kept"]


@dataclass(frozen=True)
class Differences:
    """Differences between the inputs of a run and of a baseline: ids of questions and documents.

    `questions` are missing on either side or have another text, `labels` have other labels, `fields` other fields, such as the type by which slices are
    made. `corpus`: the documents differ; without their fingerprints nobody knows which. `settings` are the settings of the configuration that differ,
    with both values.
    """

    questions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    corpus: bool = False
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Baseline:
    """A configuration of a good run.

    `values` has the columns condition, metric, query_id, value, state: means over `runs` runs. `hits` are HIT_COLUMNS of
    the first hits and documents, and of what is delivered. `means` are the means over all questions by metric, in the condition `retrieved`. A plain baseline has only `means`. `documents`
    maps each doc_id to its fingerprint, and is empty if they are too many or the run is of an older version. `compared` are the metrics that it was written to
    compare, and `measurement` says by what their values are measured; both are empty if an older version wrote it.
    """

    path: Path
    configuration: str
    means: Mapping[str, float]
    runs: int = 1
    plain: bool = False
    values: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))
    hits: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=HIT_COLUMNS))
    questions: Mapping[str, QuestionPrint] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    provenance: Sequence[Mapping[str, Any]] = ()
    compared: Sequence[str] = ()
    measurement: Mapping[str, Any] = field(default_factory=dict)


def baseline_of(runs: Sequence[RunTables], configuration: str, path: Path = Path(), fewest: int = FEWEST_RUNS) -> Baseline:
    """Make a baseline of a configuration, the mean of all runs and repeats.

    Raises InputError if the runs have different questions, labels, documents or settings, or if they are random and fewer than `fewest`.
    """
    first = runs[0]
    for run in runs:
        known_configuration(run, configuration, f"the run {run.name}")
        if _same(run, configuration) != _same(first, configuration):
            raise InputError("the runs have different questions, labels, documents or settings", "repeat one experiment without changes")
    count = _independent_runs(runs, configuration, fewest)
    means = pd.concat([run.of("metrics", configuration) for run in runs], ignore_index=True)
    means = means[(means["slice"] == "all") & (means["condition"] == RETRIEVED)]
    by_metric = means.groupby("metric", sort=False)["value"].mean().dropna()
    documents = document_prints(first)
    values = question_values(first, configuration)
    if len(runs) > 1:
        values = pooled(pd.concat([question_values(run, configuration) for run in runs], ignore_index=True))
    return Baseline(
        path=path,
        configuration=configuration,
        means=dict(zip(map(str, by_metric.index), by_metric.tolist(), strict=True)),
        runs=count,
        values=values,
        hits=kept_hits(first, configuration),
        questions=question_prints(first),
        documents=documents if len(documents) <= MOST_DOCUMENTS else {},
        corpus=str(first.manifest["fingerprints"]["corpus"]),
        settings=first.configurations_settings[configuration],
        provenance=[{"experiment": run.name, "commit": run.manifest["commit"], "digest": run.digest(configuration)} for run in runs],
        measurement=measurement(first),
    )


def kept_hits(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return HIT_COLUMNS of the hits that a baseline keeps: all that are delivered, and the first ones, until there are DEPTH documents."""
    hits = run.of("hits", configuration).sort_values(["query_id", "rank"], kind="stable")
    documents = (~hits.duplicated(["query_id", "doc_id"])).groupby(hits["query_id"]).cumsum()
    first = (hits["rank"] <= DEPTH) | (documents <= DEPTH)
    return hits[first | (hits["kept"] > hits["start"])][HIT_COLUMNS].reset_index(drop=True)


def _independent_runs(runs: Sequence[RunTables], configuration: str, fewest: int) -> int:
    """Count the runs. Repeats of answers count, too, unless something before the answers is random. Raises InputError for too few random runs."""
    first = runs[0]
    parts = sorted({part for metric in first.measures for part in random_parts(first, configuration, metric)})
    repeated = bool(random_answers(first, configuration)) and not random_retrieval(first, configuration)
    count = sum(int(run.manifest["repeats"]) if repeated else 1 for run in runs)
    if not parts or fewest <= 1:
        return count
    if copied(runs, configuration):
        what = f"two of the runs of {configuration} are the same, or shared the results of one store"
        raise InputError(what, "sweep each into outputs with a store of their own (--outputs)")
    if count < fewest:
        what = f"{configuration} is random ({listed(parts)}), and {plural(count, 'run')} would give its luck to every comparison"
        repeats = f"set repeats: {fewest}, or " if repeated else ""
        raise InputError(what, f"{repeats}sweep into other outputs and add --run OUTPUT, so that there are {fewest} runs")
    return count


def copied(runs: Sequence[RunTables], configuration: str) -> bool:
    """Detect two runs that took the same times: they are the same, or one reused the results of the other."""
    times = [run.of("timings", configuration) for run in runs]
    speeds = [tuple(table[table["name"].str.startswith("seconds")]["value"]) for table in times]
    return len({taken for taken in speeds if taken}) < len([taken for taken in speeds if taken])


def differences(run: RunTables, configuration: str, baseline: Baseline) -> Differences:
    """Compare the questions, labels and documents of a run, and the settings of a configuration, with those of a baseline."""
    if baseline.plain:
        return Differences()
    questions, labels, fields = changed_questions(baseline.questions, question_prints(run))
    documents = document_prints(run)
    known = bool(documents and baseline.documents)
    added, removed, changed = changed_documents(baseline.documents, documents) if known else ((), (), ())
    settings = changed_settings(baseline.settings, run.configurations_settings[configuration])
    corpus = str(run.manifest["fingerprints"]["corpus"]) != baseline.corpus
    return Differences(questions, labels, fields, added, removed, changed, corpus, settings)


def _same(run: RunTables, configuration: str) -> object:
    prints = run.manifest["fingerprints"]
    inputs = prints["questions"], prints["labels"], prints["corpus"], measurement(run)
    return *inputs, run.configurations_settings[configuration], run.manifest["repeats"]


FORMAT = "workbench baseline 1"
_FIX = "write it again with workbench gate OUTPUT --update-baseline FILE, or give {metric: value}"
# A file of 20,000 questions is smaller.
_MOST_BYTES = 500_000_000


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    id: str
    text: str
    labels: str
    fields: str = ""
    values: dict[str, dict[str, float | None]]
    # Rank, document, start, end, and where the delivered part ends.
    hits: list[Annotated[tuple[int, str, int, int, int], Field(strict=False)]]


class _BaselineFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    format: str
    configuration: str
    runs: Annotated[int, Field(ge=1)]
    provenance: list[dict[str, Any]]
    settings: dict[str, Any]
    corpus: str
    compared: list[str] = []
    measurement: dict[str, Any] = {}
    means: dict[str, float]
    documents: dict[str, str]
    questions: list[_Question]


# The fields that the file has in common with a baseline.
_HEAD = tuple(name for name in _BaselineFile.model_fields if name not in ("format", "questions"))


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline as JSON, with one line for each question, atomically."""
    head = {"format": FORMAT} | {name: getattr(baseline, name) for name in _HEAD}
    lines = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    questions = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in _questions(baseline))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, f'{lines},\n "questions": [\n{questions}\n]\n}}\n')


def _questions(baseline: Baseline) -> list[dict[str, Any]]:
    values: dict[str, dict[str, dict[str, float | None]]] = {}
    for condition, metric, query_id, value, _ in baseline.values[COLUMNS].itertuples(index=False):
        values.setdefault(query_id, {}).setdefault(condition, {})[metric] = None if math.isnan(value) else value
    hits: dict[str, list[list[Any]]] = {}
    for query_id, *hit in baseline.hits[HIT_COLUMNS].itertuples(index=False):
        hits.setdefault(query_id, []).append(hit)
    return [
        {
            "id": name,
            "text": mark.text,
            "labels": mark.labels,
            "fields": mark.fields,
            "values": values.get(name, {}),
            "hits": hits.get(name, []),
        }
        for name, mark in baseline.questions.items()
    ]


def read_baseline(path: Path, configuration: str = "", settings: Mapping[str, Any] | None = None) -> Baseline:
    """Read a baseline: its file, a plain `{metric: value}`, or the folder of a run.

    Of a run, the configuration with these settings is taken, whatever an older version named it, else the one of this name, else the run's baseline.
    Raises InputError if it is not a baseline, or damaged.
    """
    if path.is_dir():
        run = RunTables.read(path)
        name = run.name_of(settings, configuration) if settings else configuration
        name = known_configuration(run, name if name in run.names or not run.baseline else run.baseline, str(path))
        named = (run.manifest["experiment"].get("gate") or {}).get("compare") or [*map(str, default_subjects(run, name))]
        return replace(baseline_of([run], name, path, fewest=1), compared=[named] if isinstance(named, str) else named)
    # A device has the size 0 and never ends.
    if path.exists() and not path.is_file():
        raise InputError(f"the baseline {path} is not a file", _FIX)
    if not path.exists():
        raise InputError(f"the baseline {path} does not exist", f"write it with workbench gate OUTPUT --update-baseline {path}")
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES:,} bytes", _FIX)
    content = read_json(path, "the baseline", _FIX)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a baseline: it contains no JSON object", _FIX)
    if "format" not in content:
        return _plain(path, content)
    if content["format"] != FORMAT:
        raise InputError(f"{path} is a baseline of another version ({content['format']!r:.80})", _FIX)
    return _baseline(path, checked(_BaselineFile, content, path, _FIX))


def _baseline(path: Path, file: _BaselineFile) -> Baseline:
    values = [
        (condition, metric, question.id, math.nan if value is None else value, "unscored" if value is None else "scored")
        for question in file.questions
        for condition, metrics in question.values.items()
        for metric, value in metrics.items()
    ]
    hits = [(question.id, *hit) for question in file.questions for hit in question.hits]
    prints = {question.id: QuestionPrint(question.text, question.labels, question.fields) for question in file.questions}
    if len(prints) < len(file.questions):
        raise InputError(f"{path} has a question twice", _FIX)
    return Baseline(
        path=path,
        values=pd.DataFrame(values, columns=COLUMNS).astype({"value": "float64"}),
        hits=pd.DataFrame(hits, columns=HIT_COLUMNS),
        questions=prints,
        **{name: getattr(file, name) for name in _HEAD},
    )


def _plain(path: Path, content: Mapping[str, Any]) -> Baseline:
    wrong = [name for name, value in content.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if wrong or not content:
        what = f"{wrong[0]!r:.80} is no number" if wrong else "it is empty"
        raise InputError(f"{path} is not a baseline: {what}", _FIX)
    try:
        means = {name: float(value) for name, value in content.items()}
    except OverflowError:
        means = {"a number": math.inf}
    if wrong := [name for name, value in means.items() if not abs(value) < LARGEST]:
        raise InputError(f"{path} is not a baseline: {wrong[0]!r:.80} is too large", _FIX)
    return Baseline(path, "", means, plain=True)

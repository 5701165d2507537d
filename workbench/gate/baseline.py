"""A baseline: the values of single questions of a good run, in a JSON file that people review."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.formatting import listed, meant, plural, setting
from workbench.errors import InputError
from workbench.gate.inputs import Differences, QuestionPrint, changed_documents, changed_questions, document_prints, question_prints
from workbench.gate.question_values import COLUMNS, pooled, question_values
from workbench.gate.randomness import random_answers, random_parts, random_retrieval
from workbench.metrics.names import Metric
from workbench.results.run_tables import RETRIEVED, RunTables

# A single random run would give its luck to every later comparison.
FEWEST_RUNS = 3
# The first hits and documents of a question that are kept besides its delivered hits, and the most documents whose fingerprints are.
DEPTH, MOST_DOCUMENTS = 10, 20_000
_DIGITS = 12
HIT_COLUMNS = ["query_id", "rank", "doc_id", "start", "end", "kept"]


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


def known_configuration(run: RunTables, name: str, where: str) -> str:
    """Check that a run has a configuration. Raises InputError if it has not, or if it failed."""
    if name in run.failures:
        raise InputError(f"the configuration {name} of {where} failed: {run.failures[name]}", "sweep again after its cause is removed")
    if name not in run.names:
        raise InputError(f"{where} has no configuration {name!r}{meant(name, run.names)}", f"choose one of {listed(run.names)}")
    return name


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


def measurement(run: RunTables) -> dict[str, Any]:
    """Return by what values of a run are measured: the weights of means, the definition of spans, expected answers with their variants, and judges."""
    return {
        "average": run.average,
        "spans": run.manifest["experiment"].get("spans", "exact"),
        "expected answers": str(run.manifest["fingerprints"].get("expected", ""))[:_DIGITS],
        "judging": run.judging,
    }


def measured_by(measure: Metric) -> set[str]:
    """Return the names in `measurement` that the values of a metric depend on."""
    names = {"spans": measure.of_text, "expected answers": measure.of_answers, "judging": measure.judged}
    return {"average", *(name for name, depends in names.items() if depends)}


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
    """Return whether two runs took the same times: they are the same, or one reused the results of the other."""
    times = [run.of("timings", configuration) for run in runs]
    speeds = [tuple(table[table["name"].str.startswith("seconds")]["value"]) for table in times]
    return len({each for each in speeds if each}) < len([each for each in speeds if each])


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


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any], place: str = "") -> tuple[str, ...]:
    """Return each setting that differs, as `retrieval.k 10 → 2`."""
    found: list[str] = []
    for name in {**before, **after}:
        old, new, path = before.get(name), after.get(name), f"{place}{name}"
        if isinstance(old, Mapping) and isinstance(new, Mapping) and old.get("kind") == new.get("kind"):
            found += changed_settings(old, new, f"{path}.")
        elif old != new:
            found.append(f"{path} {_shown(old)} → {_shown(new)}")
    return tuple(found)


def _shown(value: object) -> str:
    """Show a setting in a few words: a component by its kind."""
    if isinstance(value, Mapping):
        return str(value.get("kind", setting(value)))
    return "none" if value is None else str(value)


def _same(run: RunTables, configuration: str) -> object:
    prints = run.manifest["fingerprints"]
    parts = prints["questions"], prints["labels"], prints["corpus"], measurement(run)
    return *parts, run.configurations_settings[configuration], run.manifest["repeats"]

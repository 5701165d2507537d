"""The values of a run as arrays over its questions, in the order of the table `questions`, and the models that wrote questions, answers and judgements."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.core.records import PROVENANCE, is_draft, is_placeholder, is_synthetic
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import meant, plural
from workbench.llm.families import model_family
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import Clusters, query_slices, weighted
from workbench.report.results.run_tables import RETRIEVED, RunTables, retrieved_values

# Fewer are not conclusive.
FEWEST_QUERIES, FEWEST_CLUSTERS = 20, 5
_ROUNDING = 1e-9


def per_query(run: RunTables, configuration: str, metric: str) -> Floats:
    """The metric's values. Shape (queries,), NaN for a query without one."""
    return _values(run).get((configuration, metric), np.full(len(run.questions), np.nan))


def unscored_queries(run: RunTables, configuration: str, metric: str) -> Bools:
    """Mark the questions that have no value of a metric although it applies. Shape (queries,)."""
    rows = _unscored(run, configuration, metric)
    return run.questions["query_id"].isin(rows["query_id"]).to_numpy(np.bool_)


def unscored_reasons(run: RunTables, configuration: str, metric: str) -> list[str]:
    """The reasons for which a metric has no value although it applies, with the number of questions, the most frequent first."""
    reasons = _unscored(run, configuration, metric)["reason"]
    return [f"{count} × {reason}" for reason, count in reasons.value_counts().items()]


def _unscored(run: RunTables, configuration: str, metric: str) -> pd.DataFrame:
    rows = run.of("queries", configuration)
    return rows[(rows["metric"] == metric) & (rows["condition"] == RETRIEVED) & (rows["state"] == "unscored")]


def detail(run: RunTables, configuration: str, name: str) -> Floats:
    """A column of `query_details`. Shape (queries,)."""
    rows = run.of("query_details", configuration).set_index("query_id")
    return rows[name].reindex(run.questions["query_id"]).to_numpy(np.float64)


@memoised(1)
def clusters(run: RunTables) -> Clusters:
    """The source documents of each question, since questions on one document are not independent. Shape (queries,).

    Nothing is tested on questions some of which are drafts that nobody has accepted.
    """
    return replace(weighted(Clusters.of_table(run.questions), run.average), tested=not any(map(is_draft, metadata(run))))


@memoised(1)
def metadata(run: RunTables) -> Sequence[Mapping[str, Any]]:
    """The metadata of each question, whose fields define the slices."""
    return [json.loads(text) for text in run.questions["metadata"]]


@memoised(1)
def slices(run: RunTables) -> Mapping[str, Bools]:
    """Boolean masks of `all` and of every slice, crossed ones last. Shape (queries,)."""
    return query_slices(metadata(run), len(run.questions), run.manifest["experiment"].get("slices", ()))


def rewrites(run: RunTables, configuration: str) -> dict[str, list[str]]:
    """The texts searched in place of each question, by its id. Empty without a rewriter."""
    texts: dict[str, list[str]] = {}
    rows = run.of("rewrites", configuration)
    for query_id, text in zip(rows["query_id"], rows["text"], strict=True):
        texts.setdefault(query_id, []).append(text)
    return texts


def holding_half(run: RunTables, metric: str) -> int | None:
    """The number of documents that half of the questions scored by a metric are about, if they are few: the rest counts little in means.

    None if documents count equally, or if their effective number (Kish 1965), n² / Σ n_g², is at least half of their number.
    """
    groups = clusters(run)
    if not run.names:
        return None
    scored = ~np.isnan([per_query(run, name, metric) for name in run.names]).all(axis=0)
    sizes = np.sort(np.bincount(groups.codes[scored]))[::-1]
    sizes = sizes[sizes > 0]
    if groups.equal or len(sizes) < FEWEST_CLUSTERS or sizes.sum() ** 2 / (sizes**2).sum() >= len(sizes) / 2:
        return None
    return int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)) + 1


def small(groups: Clusters) -> str:
    """Say why the queries in the clusters `groups` (n) are too few to be conclusive. Empty if they are enough."""
    few = [f"fewer than {FEWEST_QUERIES} questions"] if len(groups) < FEWEST_QUERIES else []
    few += [f"from fewer than {FEWEST_CLUSTERS} documents"] if groups.count < FEWEST_CLUSTERS else []
    return ", ".join(few)


def places(run: RunTables, query_ids: "pd.Series[str]") -> Ints:
    """The position of each query id among the questions. Shape (query_ids,)."""
    positions: Ints = pd.Index(run.questions["query_id"]).get_indexer(pd.Index(query_ids)).astype(np.int64)
    return positions


def place_of(run: RunTables, query_id: str) -> int:
    """Return the position of a question. Raises InputError if the run has no such question."""
    known = run.questions["query_id"].tolist()
    if query_id not in known:
        raise InputError(f"the run {run.name} has no question {query_id!r}{meant(query_id, known)}", "see results.questions")
    return int(known.index(query_id))


@memoised(1)
def _values(run: RunTables) -> dict[tuple[str, str], Floats]:
    table = retrieved_values(run.queries)
    _require_whole(run, table)
    query, value = places(run, table["query_id"]), table["value"].to_numpy(np.float64)
    codes, names = pd.factorize(pd.MultiIndex.from_frame(table[["configuration", "metric"]]))
    cube = np.full((len(names), len(run.questions)), np.nan)
    cube[codes, query] = value
    return {(str(name), str(metric)): row for (name, metric), row in zip(names, cube, strict=True)}


def _require_whole(run: RunTables, table: pd.DataFrame) -> None:
    """Raise InputError if the tables of a run do not belong together, or a value is impossible for its metric."""
    name, ids = run.name or "the run", run.questions["query_id"]
    if (twice := ids[ids.duplicated()]).any():
        raise InputError(f"questions.parquet of {name} has {twice.iloc[0]!r} twice", "sweep again")
    shares = [metric for metric, measure in run.measures.items() if measure.proportion]
    value, share = table["value"].to_numpy(np.float64), table["metric"].isin(shares).to_numpy(np.bool_)
    # No comparison with NaN is true.
    beyond = np.isinf(value) | (share & ((value < -_ROUNDING) | (value > 1 + _ROUNDING)))
    if beyond.any():
        metric, odd = table["metric"][beyond].iloc[0], table["value"][beyond].iloc[0]
        raise InputError(f"queries.parquet of {name} has the value {odd:g} of {metric}", "sweep again")
    keys = ["configuration", "metric"]
    rows = run.metrics[(run.metrics["condition"] == RETRIEVED) & (run.metrics["slice"] == "all")]
    # Some metrics are of all questions together.
    rows = rows[rows["metric"].isin([str(run.primary), *table["metric"].unique()])]
    scored = table[table["value"].notna()].groupby(keys, sort=False).size()
    sums = rows.groupby(keys, sort=False)["n"].sum()
    found = scored.reindex(sums.index, fill_value=0)
    if (other := sums[found != sums]).any():
        (configuration, metric), expected = other.index[0], int(other.iloc[0])
        what = f"{metric} of {configuration}: queries.parquet has {plural(int(found[configuration, metric]), 'value')}, metrics.parquet {expected}"
        raise InputError(f"{what}, so the tables of {name} do not belong together", "sweep again")


ModelRole = Literal["questions", "answers", "judgements"]


@dataclass(frozen=True)
class SyntheticQuestions:
    """The number of questions that models wrote, of how many, how many of them a person accepted, and the models.

    `placeholders` are those that nobody has written yet: a heading is in place of the question.
    """

    synthetic: int
    accepted: int
    of: int
    models: tuple[str, ...]
    placeholders: int = 0

    @property
    def waiting(self) -> int:
        """The number of synthetic questions nobody accepted."""
        return self.synthetic - self.accepted


@dataclass(frozen=True)
class SharedFamily:
    """A family of models with several roles in a run, and its models by role. A model prefers the texts of its family."""

    family: str
    models: Mapping[ModelRole, tuple[str, ...]]


def synthetic_questions(run: RunTables) -> SyntheticQuestions | None:
    """Count the synthetic questions of a run. None if a person wrote them all."""
    written = [fields for fields in metadata(run) if is_synthetic(fields)]
    if not written:
        return None
    accepted = len(written) - sum(map(is_draft, written))
    models = tuple(sorted({model for fields in written if (model := _generator(fields))}))
    return SyntheticQuestions(len(written), accepted, len(run.questions), models, sum(map(is_placeholder, written)))


def unaccepted(run: RunTables) -> frozenset[str]:
    """Return the ids of the synthetic questions that nobody has accepted."""
    fields = zip(run.questions["query_id"], metadata(run), strict=True)
    return frozenset(query_id for query_id, each in fields if is_draft(each))


def shared_families(run: RunTables) -> tuple[SharedFamily, ...]:
    """Return the families with more than one role in a run, sorted. A model whose family is not known shares none."""
    by_family: dict[str, dict[ModelRole, set[str]]] = {}
    for role, models in models_by_role(run).items():
        for model in models:
            if family := model_family(model):
                by_family.setdefault(family, {}).setdefault(role, set()).add(model)
    return tuple(
        SharedFamily(family, {role: tuple(sorted(models)) for role, models in roles.items()})
        for family, roles in sorted(by_family.items())
        if len(roles) > 1
    )


def models_by_role(run: RunTables) -> dict[ModelRole, tuple[str, ...]]:
    """Return the names of the models that wrote questions, answered and judged, sorted. A role without a model has none."""
    questions = {_generator(fields) for fields in metadata(run) if is_synthetic(fields)}
    answers = set(run.table("answers")["model"].dropna()) if "answers" in run.sources else set()
    for settings in run.configurations_settings.values():
        answers |= set(_models(settings.get("answering")))
    judgements = set(_models(run.manifest.get("judging")))
    if "judges" in SCHEMAS and "judges" in run.sources:
        judgements |= set(run.table("judges")["judge"].dropna())
    roles: dict[ModelRole, set[str]] = {"questions": questions, "answers": answers, "judgements": judgements}
    return {role: tuple(sorted(filter(None, models))) for role, models in roles.items()}


def _generator(fields: Mapping[str, Any]) -> str:
    """Return the model that wrote a question, or an empty text if its provenance does not say."""
    provenance = fields.get(PROVENANCE)
    return str(provenance.get("model") or "") if isinstance(provenance, Mapping) else ""


def _models(settings: Any) -> Iterator[str]:
    """Yield the models in settings: names, and the names of files without their folders, which are no names of models."""
    if not isinstance(settings, Mapping):
        return
    for name, value in settings.items():
        if name in ("model", "path") and isinstance(value, str):
            yield PurePath(value).name if name == "path" else value
        else:
            yield from _models(value)

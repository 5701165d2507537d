"""The causes of a run's misses: their meanings, the cause of each question's miss, and the failures of one configuration."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.standings import Mean, mean_of, slice_means
from workbench.analysis.values import FEWEST_QUERIES, detail, per_query, places
from workbench.attribution import causes
from workbench.attribution.causes import CAUSE_NAMES, EVIDENCE_CAUSES, Cause
from workbench.results.run_tables import RunTables


def explains_text(run: RunTables) -> bool:
    """Check that the primary metric is over spans or chunks, and so misses evidence rather than whole documents."""
    return run.primary.of_text and bool(run.dataset["needs"])


def cause_meanings(run: RunTables) -> Mapping[str, str]:
    """The meaning of each cause in this run, in order of precedence."""
    return meanings_of(EVIDENCE_CAUSES, explains_text(run))


def meanings_of(causes: Sequence[Cause], of_text: bool) -> Mapping[str, str]:
    """The meaning of each cause for misses of evidence, or else of whole documents."""
    return {cause.name: cause.meaning if of_text else cause.of_documents or cause.meaning for cause in causes}


def possible_causes(run: RunTables) -> Mapping[str, str]:
    """The possible causes of misses in this run, with their meanings. Without evidence only some can be identified."""
    of_text, meanings = explains_text(run), cause_meanings(run)
    return {cause.name: meanings[cause.name] for cause in EVIDENCE_CAUSES if of_text or cause.of_documents}


def missed_evidence(run: RunTables, configuration: str) -> pd.DataFrame:
    """The rows of `causes` about evidence and documents that a configuration missed, without those about answers."""
    rows = run.of("causes", configuration)
    return rows[rows["subject"] == "evidence"].reset_index(drop=True)


@lru_cache(maxsize=64)
def causes_by_query(run: RunTables, configuration: str) -> NDArray[np.object_]:
    """The earliest cause of each query's misses. Shape (queries,), an empty string for a query that misses nothing."""
    misses = missed_evidence(run, configuration)
    return causes.causes_by_query(misses.assign(query=places(run, misses["query_id"])), len(run.questions))


class WeakestSlice(NamedTuple):
    """The slice (`field=value`) with the worst mean of a metric."""

    slice: str
    mean: Mean


@dataclass(frozen=True)
class FailureSummary:
    """How many of `of` scored queries miss something by each cause: (queries, share), the most frequent first.

    `weakest` is None if no slice has 20 scored queries. Of the queries that miss something, `beyond_k` have more relevant documents than the
    primary metric, one of documents, reads: they miss some in every ranking. `known` is False for a target that does not say what it retrieved.
    """

    of: int
    causes: dict[str, tuple[int, float]]
    weakest: WeakestSlice | None
    beyond_k: int = 0
    known: bool = True


def faults_of(run: RunTables, configuration: str) -> FailureSummary:
    """The faults of a configuration by the primary metric."""
    scored = ~np.isnan(per_query(run, configuration, str(run.primary)))
    found = causes_by_query(run, configuration)
    counts, of = Counter(found[scored].tolist()), int(scored.sum())
    ordered = sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])
    by_cause = {cause: (counts[cause], counts[cause] / of) for cause in ordered}
    beyond_k = int((scored & (found != "") & _beyond_k(run)).sum())
    asked = "targets" in run.sources and configuration in set(run.targets["configuration"])
    known = bool(ordered) or not asked or not np.isnan(detail(run, configuration, "judged")[scored]).all()
    return FailureSummary(of, by_cause, weakest_slice(run, configuration), beyond_k, known)


def _beyond_k(run: RunTables) -> NDArray[np.bool_]:
    """Mark the queries with more relevant documents than the primary metric reads. Shape (queries,)."""
    if run.primary.family != "documents" or run.primary.k is None:
        return np.zeros(len(run.questions), dtype=np.bool_)
    relevant = run.judgements[run.judgements["relevance"] > 0].drop_duplicates(["query_id", "doc_id"])
    return np.asarray(np.bincount(places(run, relevant["query_id"]), minlength=len(run.questions)) > run.primary.k)


def weakest_slice(run: RunTables, configuration: str) -> WeakestSlice | None:
    """The slice with the worst mean among those with at least 20 scored queries. The first one wins a tie."""
    table = slice_means(run, configuration)
    large = table[(table.index != "all") & (table["n"] >= FEWEST_QUERIES)]
    if large.empty:
        return None
    row = large.sort_values("value", ascending=run.primary.higher_is_better, kind="stable").iloc[0]
    return WeakestSlice(str(row.name), mean_of(row))

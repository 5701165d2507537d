"""The meanings of the causes of a run's misses, by one rule, and the cause of each question's miss."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.values import places
from workbench.attribution import causes
from workbench.attribution.causes import EVIDENCE_CAUSES
from workbench.results.run_tables import RunTables


def explains_text(run: RunTables) -> bool:
    """Whether misses are of evidence in the text: the primary metric is over spans or chunks, and there is evidence.

    Otherwise they are of whole documents.
    """
    return run.primary.of_text and bool(run.dataset["needs"])


def cause_meanings(run: RunTables) -> Mapping[str, str]:
    """The meaning of each cause in this run, in order of precedence."""
    of_text = explains_text(run)
    return {cause.name: cause.meaning if of_text else cause.of_documents or cause.meaning for cause in EVIDENCE_CAUSES}


def possible_causes(run: RunTables) -> Mapping[str, str]:
    """The causes that misses of this run can have, with their meanings: without evidence only some can be named."""
    of_text, meanings = explains_text(run), cause_meanings(run)
    return {cause.name: meanings[cause.name] for cause in EVIDENCE_CAUSES if of_text or cause.of_documents}


@lru_cache(maxsize=64)
def causes_by_query(run: RunTables, configuration: str) -> NDArray[np.object_]:
    """(queries) the earliest cause of each query's misses; empty where it misses nothing."""
    misses = run.of("causes", configuration)
    return causes.causes_by_query(misses.assign(query=places(run, misses["query_id"])), len(run.questions))

"""What the causes of a run's misses mean, by one rule, and which questions miss something by which of them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.values import places
from workbench.attribution.causes import CAUSE_NAMES, EVIDENCE_CAUSES
from workbench.results.run_tables import RunTables


def explains_text(run: RunTables) -> bool:
    """Whether misses are of evidence in the text: the primary metric is over spans or chunks, and there is evidence.

    Otherwise they are of whole documents.
    """
    return run.primary.of_text and bool(run.dataset["needs"])


def cause_meanings(run: RunTables) -> Mapping[str, str]:
    """What each cause means in this run, in order of precedence."""
    of_text = explains_text(run)
    return {cause.name: cause.meaning if of_text else cause.of_documents or cause.meaning for cause in EVIDENCE_CAUSES}


def possible_causes(run: RunTables) -> Mapping[str, str]:
    """The causes that misses of this run can have, with their meanings: without evidence only some can be told."""
    told = cause_meanings(run)
    return told if explains_text(run) else {cause.name: told[cause.name] for cause in EVIDENCE_CAUSES if cause.of_documents}


def misses_of(run: RunTables, configuration: str) -> pd.DataFrame:
    """The rows of `causes` of a configuration: a row for each piece of evidence or document that it misses."""
    return run.of("causes", configuration)


def causes_by_query(run: RunTables, configuration: str) -> NDArray[np.object_]:
    """(queries) the cause of each query's misses that comes first in precedence; empty where it misses nothing."""
    misses = run.of("causes", configuration)
    return causes.causes_by_query(misses.assign(query=places(run, misses["query_id"])), len(run.questions))

"""Where evidence ranks, whether or not it was delivered."""

from typing import NamedTuple

import numpy as np

from workbench.metrics.case import Case
from workbench.metrics.coverage import Floats, Ints, meeting
from workbench.metrics.delivery import NO_CUT, ordered, slices


class EvidenceRanks(NamedTuple):
    """(alternatives) the best rank of a listed slice with all of each, and of one with some of it; infinite where none is listed."""

    whole: Floats
    part: Floats


def evidence_ranks(case: Case, rows: Ints) -> EvidenceRanks:
    """The ranks of the alternatives of `rows`."""
    labels, hits, table = case.labels, case.shared(ordered, NO_CUT), case.shared(slices, NO_CUT)
    query = labels.alternative_query[rows]
    listed = np.flatnonzero(np.isin(hits.query, query))
    origin, piece = hits.query[listed] * labels.width, hits.piece[listed]
    starts, ends = origin + labels.solid(table.starts)[piece], origin + labels.solid(table.ends)[piece]
    lows = query * labels.width + labels.solid(labels.alternative_start[rows])
    highs = query * labels.width + labels.solid(labels.alternative_end[rows])
    span, place = meeting(starts, ends, lows, highs)
    whole, position = (starts[place] <= lows[span]) & (ends[place] >= highs[span]), hits.position[listed[place]]
    ranks = EvidenceRanks(np.full(len(rows), np.inf), np.full(len(rows), np.inf))
    np.minimum.at(ranks.whole, span[whole], position[whole])
    np.minimum.at(ranks.part, span, position)
    return ranks

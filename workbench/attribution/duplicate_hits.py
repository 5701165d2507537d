"""Hits that repeat the text of an earlier hit of the same query."""

import numpy as np
import pandas as pd

from workbench.metrics.case import Case, Cut
from workbench.metrics.coverage import Bools, Ints, meeting
from workbench.metrics.delivery import Delivered, Ordered, ordered, packed_text, slices


def delivered_without_repeats(case: Case, cut: Cut, queries: Ints) -> Delivered:
    """The text that some queries would be delivered under the cut if no hit repeated an earlier one."""
    hits = case.shared(ordered)
    rows = np.flatnonzero(np.isin(hits.query, queries))
    rows = rows[~repeats(case, rows)]
    return packed_text(case, Ordered(hits.query[rows], hits.position[rows], hits.piece[rows]), cut)


def repeats(case: Case, rows: Ints) -> Bools:
    """(rows) which of these rows of `ordered` repeat an earlier one; `rows` are those of whole queries, rising.

    A slice repeats if its text, blanks at its borders aside, is that of an earlier hit of the query, or if it shares at least half of
    the shorter of the two with an earlier hit that is not a repeat itself.
    """
    hits, table = case.shared(ordered), case.shared(slices)
    query, piece = hits.query[rows], hits.piece[rows]
    found: Bools = pd.DataFrame({"query": query, "text": _texts(case, piece)}).duplicated().to_numpy(np.bool_, copy=True)
    origin = query * case.labels.width
    earlier, later = _overlapping(origin + table.starts[piece], origin + table.ends[piece], rows)
    # By position, over all queries at once: whether a hit is a repeat must be known before it can make another one.
    position = hits.position[rows][later]
    order = np.argsort(position, kind="stable")
    borders = np.flatnonzero(np.diff(position[order])) + 1
    for same in np.split(order, borders):
        found[later[same[~found[earlier[same]]]]] = True
    return found


def _overlapping(starts: Ints, ends: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Pairs (earlier, later) of slices that share at least half of the shorter of the two; `rows` rise with the rank."""
    left, right = meeting(starts, ends, starts, ends)
    shared = np.minimum(ends[left], ends[right]) - np.maximum(starts[left], starts[right])
    shorter = np.minimum((ends - starts)[left], (ends - starts)[right])
    kept = (rows[left] < rows[right]) & (2 * shared >= shorter)
    return left[kept], right[kept]


def _texts(case: Case, piece: Ints) -> Ints:
    """(piece) a number for the text of each slice, equal for equal texts."""
    labels, table = case.labels, case.shared(slices)
    used, of_row = np.unique(piece, return_inverse=True)
    texts = [labels.texts[doc][start:end].strip() for doc, start, end in labels.places(table.starts[used], table.ends[used])]
    codes: Ints = pd.factorize(np.array(texts, dtype=object))[0].astype(np.int64)
    return codes[of_row]

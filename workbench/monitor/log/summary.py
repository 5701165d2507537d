"""Summarise logged questions: shares with intervals, means, totals and latencies, by day, configuration and version."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.statistics.intervals import wilson

# Of a question they are 0, 1 or unknown. `thumb_up` is the last thumb, `bad_feedback` the last thumb below 0 or an edit.
SHARES = ("no_results", "refused", "error", "truncated", "several_retrievals", "later_turn", "with_feedback", "thumb_up", "bad_feedback")
STEPS = ("embedding_seconds", "retrieval_seconds", "reranking_seconds", "generation_seconds", "seconds")
MEANS = ("first_score", "hit_count", "input_tokens", "output_tokens", "cost", *STEPS)
COLUMNS = ("by", "group", "measure", "value", "low", "high", "total", "n")
_GROUPS = ("all", "period", "day", "configuration", "versions")
# The last day of a log, and the days before it with which it is compared.
TODAY, WEEK, BEFORE = "today", "week", 7
READ = (
    "time",
    "probability",
    "configuration",
    "versions",
    "session",
    "turn",
    "refused",
    "truncated",
    "error",
    "feedback",
    "retrievals",
    *MEANS,
)
# A single line must not outweigh the log.
_MOST_WEIGHT = 1e6
_MOST_GROUPS, _LONGEST, OTHERS = 1_000, 200, "other groups"


# A log can have numbers as large as they get.
@np.errstate(over="ignore", invalid="ignore")
def summarise(batches: Iterable[pa.RecordBatch]) -> pd.DataFrame:
    """Tabulate batches of a log with the columns READ, of all questions, and by period, day (UTC), configuration and versions.

    Columns: `by, group, measure, value, low, high, total, n`.
    A question that was logged with a probability counts for its reciprocal, at most 1,000,000. `value` is a share, a mean or a percentile, and `total` the
    weighted sum: of `questions` an estimate of the number asked. `n` is the number of logged questions with a value. Shares have Wilson's 95 % interval
    with Kish's effective number of questions, at most the number of conversations. Periods are the last day, `today`, and the `week` before it. Beyond the 1,000 largest groups, others are one. Memory is some 600
    bytes for each question.
    """
    numeric = [_numbers(batch) for batch in batches if len(batch)]
    whole = pa.Table.from_batches(numeric) if numeric else pa.table({"day": pa.array([], pa.string())})
    del numeric
    table = whole.to_pandas(split_blocks=True, self_destruct=True)
    del whole
    days = pd.to_datetime(table["day"].replace("", None))
    table["period"] = (
        pd.Series(TODAY, index=table.index).where(days == days.max(), WEEK).where(days >= days.max() - pd.Timedelta(days=BEFORE))
    )
    rows = list[tuple[Any, ...]]()
    for name in _GROUPS if len(table) else ():
        largest = table[name].value_counts().index[:_MOST_GROUPS]
        groups = table[name].where(table[name].isin(largest), OTHERS)
        members = sorted(table.groupby(groups).indices.items())
        rows += [(name, group, *row) for group, questions in members for row in _measures(table, questions)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _measures(table: pd.DataFrame, rows: Ints) -> Iterator[tuple[Any, ...]]:
    """Yield measure, value, low, high, total and n of some rows, the questions of a group."""
    weights, sessions = table["weight"].to_numpy()[rows], table["session"].iloc[rows]
    alone, conversations = int(sessions.isna().sum()), sessions.nunique()
    yield "questions", np.nan, np.nan, np.nan, weights.sum(), len(rows)
    yield "conversations", np.nan, np.nan, np.nan, float(conversations), len(rows) - alone
    for measure in (*SHARES, *MEANS):
        values = table[measure].to_numpy()[rows]
        known = ~np.isnan(values)
        if not known.any():
            continue
        values, w = values[known], weights[known]
        total, mass = float((w * values).sum()), float(w.sum())
        # The turns of a conversation are not independent: it counts once.
        effective = min(mass**2 / float((w**2).sum()), (conversations + alone) * len(values) / len(rows))
        bounds = wilson(total / mass, effective).tolist() if measure in SHARES else (np.nan, np.nan)
        yield measure, total / mass, *bounds, total, len(values)
        if measure in STEPS:
            order = np.argsort(values)
            cumulative = np.cumsum(w[order])
            for percentile in (50, 95):
                place = order[np.searchsorted(cumulative, cumulative[-1] * percentile / 100)]
                yield f"{measure}_p{percentile}", values[place], np.nan, np.nan, np.nan, len(values)


def _numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return weight, session, the groups of the questions, and the values of SHARES and MEANS, NaN if unknown."""
    hits, turns = numbers(batch, "hit_count"), numbers(batch, "turn")
    own = {
        "no_results": np.where(np.isnan(hits), np.nan, hits == 0),
        "error": pc.not_equal(batch.column("error").fill_null(""), ""),
        "several_retrievals": numbers(batch, "retrievals") > 1,
        "later_turn": np.where(np.isnan(turns), np.nan, turns > 1),
        **feedback_shares(batch),
    }
    values = {name: np.asarray(own[name] if name in own else numbers(batch, name), dtype=np.float64) for name in (*SHARES, *MEANS)}
    texts = {name: pc.utf8_slice_codeunits(batch.column(name), 0, _LONGEST) for name in ("configuration", "versions", "session")}
    groups = {"all": [""] * len(batch), "day": pc.strftime(batch.column("time"), format="%Y-%m-%d").fill_null("")}
    groups |= {name: texts[name].fill_null("") for name in ("configuration", "versions")}
    weights = np.minimum(1 / np.nan_to_num(numbers(batch, "probability"), nan=1.0), _MOST_WEIGHT)
    return pa.RecordBatch.from_pydict({"weight": weights, "session": texts["session"], **groups, **values})


def feedback_shares(batch: pa.RecordBatch) -> dict[str, Floats]:
    """Return the shares of feedback. Of several thumbs or edits of a question the last one counts."""
    lists = batch.column("feedback")
    items, parents = lists.flatten(), np.asarray(pc.list_parent_indices(lists))
    kinds, values = np.asarray(items.field("kind").fill_null("")), numbers(items, "value")
    given, thumb, bad = np.zeros(len(batch)), np.full(len(batch), np.nan), np.full(len(batch), np.nan)
    given[parents] = 1
    thumbs = (kinds == "thumb") & ~np.isnan(values)
    thumb[parents[thumbs]] = values[thumbs] > 0
    said = (thumbs & (values != 0)) | (kinds == "edit")
    bad[parents[said]] = (kinds[said] == "edit") | (values[said] < 0)
    return {"with_feedback": given, "thumb_up": thumb, "bad_feedback": bad}


def numbers(batch: Any, name: str) -> Floats:
    """Return a column of a batch or table as numbers, NaN if unknown."""
    column = batch.field(name) if isinstance(batch, pa.StructArray) else batch.column(name)
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))

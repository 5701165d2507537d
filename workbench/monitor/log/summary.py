"""Summarise logged questions in bounded memory: shares with intervals, means, totals and latencies, by day, configuration and version."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from workbench.errors import InputError
from workbench.metrics.coverage import Floats, Ints
from workbench.monitor.log.fields import FIELDS
from workbench.monitor.log.reading import DistinctIds, LoggedQuestions
from workbench.statistics.intervals import wilson

# Of a question they are 0, 1 or unknown. `thumb_up` is the last thumb.
SHARES = ("no_results", "refused", "error", "truncated", "several_retrievals", "later_turn", "with_feedback", "thumb_up")
STEPS = ("embedding_seconds", "retrieval_seconds", "reranking_seconds", "generation_seconds", "seconds")
MEANS = ("first_score", "hit_count", "input_tokens", "output_tokens", "cost", *STEPS)
_READ = ("time", "probability", "session", "turn", "refused", "truncated", "error", "feedback", "retrievals", *MEANS)
_TEXTS = tuple(field.name for field in FIELDS if field.kind in ("text", "names"))
# Latencies are counted in bins from 10 microseconds, each 2 % wider than the one before: percentiles are within 1 %.
_LEAST, _WIDTH, _BINS = 1e-5, float(np.log(1.02)), 1_200
# A single line must not outweigh the log.
_MOST_WEIGHT = 1e6
_MOST_GROUPS, _LONGEST, OTHERS = 1_000, 200, "other groups"


class _Groups:
    """Sums over the questions of each group of one field."""

    def __init__(self) -> None:
        self.codes, self.conversations = dict[str, int](), DistinctIds()
        # Questions, the sum of their weights, conversations, questions without one.
        self.totals = np.zeros((0, 4))
        # Σ w x, Σ w, Σ w² and the number of known values x with weights w.
        self.sums, self.bins = np.zeros((0, 4, len(SHARES) + len(MEANS))), np.zeros((0, len(STEPS), _BINS))

    def add(self, labels: pa.Array, weights: Floats, values: Floats, sessions: npt.NDArray[np.uint64]) -> None:
        """Add questions (n) with values (n, m), NaN if unknown, and the hashes of their sessions, 0 without one."""
        codes = self._coded(labels)
        for name in ("totals", "sums", "bins"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((len(self.codes) - len(array), *array.shape[1:]))]))
        begun = self.conversations.first(sessions ^ (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)) & (
            sessions > 0
        )
        # A 0-1 matrix (groups, n) adds up rows faster than np.add.at.
        members = scipy.sparse.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), len(self.codes))).T
        self.totals += members @ np.stack([np.ones(len(codes)), weights, begun, sessions == 0], axis=1)
        known, each = ~np.isnan(values), weights[:, None]
        parts = [each * np.nan_to_num(values), each * known, each**2 * known, known]
        self.sums += np.stack([members @ part for part in parts], axis=1)
        seconds = values[:, -len(STEPS) :]
        row, step = np.nonzero(seconds >= 0)
        bins = np.clip(np.log(np.maximum(seconds[row, step], _LEAST) / _LEAST) / _WIDTH, 0, _BINS - 1).astype(np.int64)
        np.add.at(self.bins, (codes[row], step, bins), weights[row])

    def _coded(self, labels: pa.Array) -> Ints:
        """Return the numbers of groups (n). Beyond 1,000 groups, others are one."""
        encoded = labels.dictionary_encode()
        codes = list[int]()
        for label in (*encoded.dictionary.to_pylist(), ""):
            name = label[:_LONGEST]
            codes.append(self.codes.setdefault(name if name in self.codes or len(self.codes) < _MOST_GROUPS else OTHERS, len(self.codes)))
        numbers: Ints = np.array(codes, dtype=np.int64)[np.asarray(encoded.indices.fill_null(len(codes) - 1))]
        return numbers

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield group, measure, value, low, high, total and n."""
        for group, code in sorted(self.codes.items()):
            questions, weight, conversations, alone = self.totals[code].tolist()
            if not questions:
                continue
            yield group, "questions", np.nan, np.nan, np.nan, weight, int(questions)
            yield group, "conversations", np.nan, np.nan, np.nan, conversations, int(questions - alone)
            for measure, (total, known, squares, n) in zip((*SHARES, *MEANS), self.sums[code].T.tolist(), strict=True):
                if n:
                    # The turns of a conversation are not independent: it counts once.
                    effective = min(known**2 / squares, (conversations + alone) * n / questions)
                    bounds = wilson(total / known, effective).tolist() if measure in SHARES else (np.nan, np.nan)
                    yield group, measure, total / known, *bounds, total, int(n)
            for place, step in enumerate(STEPS):
                bins = self.bins[code, place].cumsum()
                for percentile in (50, 95) if bins[-1] else ():
                    value = _LEAST * np.exp((np.searchsorted(bins, bins[-1] * percentile / 100) + 0.5) * _WIDTH)
                    yield group, f"{step}_p{percentile}", value, np.nan, np.nan, np.nan, int(self.sums[code, 3, place - len(STEPS)])


# A log can have numbers as large as they get.
@np.errstate(over="ignore", invalid="ignore")
def summarise_log(
    questions: LoggedQuestions,
    by: Sequence[str] = ("day", "configuration", "versions"),
    since: datetime | None = None,
    until: datetime | None = None,
) -> pd.DataFrame:
    """Tabulate a log: `by, group, measure, value, low, high, total, n`, of all questions and by group.

    A question that was logged with a probability counts for its reciprocal, at most 1,000,000. `value` is a share, a mean or a percentile, within 1 %, and
    `total` the weighted sum: of `questions` an estimate of the number asked. `n` is the number of logged questions with a value. Shares have Wilson's
    95 % interval with Kish's effective number of questions, at most the number of conversations.

    Parameters
    ----------
    by: `day` (UTC), texts of a log such as `configuration`, `versions`, or one version as `versions.prompt`. A question without it is in the group "".
    since, until: the first time, and the time after the last.
    """
    fields = ["versions" if name.startswith("versions.") else name for name in by if name != "day"]
    if wrong := [name for name in fields if name not in _TEXTS]:
        raise InputError(f"{', '.join(wrong)} is no field to group by", f"choose from day, {', '.join(_TEXTS)}, versions.NAME")
    groups = {name: _Groups() for name in ("all", *by)}
    for batch in questions.batches(tuple(dict.fromkeys((*_READ, *fields)))):
        for limit, compare in ((since, pc.greater_equal), (until, pc.less)):
            if limit is not None:
                batch = batch.filter(compare(batch.column("time"), pa.scalar(limit, batch.column("time").type)))
        weights = np.minimum(1 / np.nan_to_num(_numbers(batch, "probability"), nan=1.0), _MOST_WEIGHT)
        values, known = _values(batch), batch.column("session").is_valid().to_numpy(zero_copy_only=False)
        sessions = np.where(known, groups["all"].conversations.hashes(batch.column("session").fill_null("").to_pylist()), np.uint64(0))
        for name, sums in groups.items() if len(batch) else ():
            sums.add(_labels(batch, name), weights, values, sessions)
    rows = [(name, *row) for name, sums in groups.items() for row in sums.rows()]
    return pd.DataFrame(rows, columns=["by", "group", "measure", "value", "low", "high", "total", "n"])


def _labels(batch: pa.RecordBatch, name: str) -> pa.Array:
    field, _, part = name.partition(".")
    if name == "all":
        return pa.array([""] * len(batch), pa.string())
    if name == "day":
        return pc.strftime(batch.column("time"), format="%Y-%m-%d")
    labels = batch.column(field)
    if not part:
        return labels
    encoded = labels.dictionary_encode()
    parts = pa.array([orjson.loads(text).get(part) for text in encoded.dictionary.to_pylist()], pa.string())
    return parts.take(encoded.indices)


def _numbers(batch: pa.RecordBatch, name: str) -> Floats:
    return np.asarray(batch.column(name).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _values(batch: pa.RecordBatch) -> Floats:
    """Return the values of the questions: (n, m), NaN if unknown."""
    hits, turns = _numbers(batch, "hit_count"), _numbers(batch, "turn")
    lists = batch.column("feedback")
    items, parents = lists.flatten(), pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    given, thumb = np.zeros(len(batch)), np.full(len(batch), np.nan)
    given[parents] = 1
    thumbs = (
        pc.and_(pc.equal(items.field("kind"), "thumb"), items.field("value").is_valid()).fill_null(False).to_numpy(zero_copy_only=False)
    )
    thumb[parents[thumbs]] = items.field("value").to_numpy(zero_copy_only=False)[thumbs] > 0
    shares = {
        "no_results": np.where(np.isnan(hits), np.nan, hits == 0),
        "error": pc.not_equal(batch.column("error").fill_null(""), "").cast(pa.float64()).to_numpy(zero_copy_only=False),
        "several_retrievals": _numbers(batch, "retrievals") > 1,
        "later_turn": np.where(np.isnan(turns), np.nan, turns > 1),
        "with_feedback": given,
        "thumb_up": thumb,
    }
    return np.stack([shares[name] if name in shares else _numbers(batch, name) for name in (*SHARES, *MEANS)], axis=1).astype(np.float64)

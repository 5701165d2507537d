"""Numbers of logged questions by which alerts are decided, conversations that count once, and comparisons with earlier questions."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.formatting import plural
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.change_points import DriftTest, drift_test
from workbench.monitor.log.summary import feedback_shares, numbers
from workbench.monitor.sampling import LONGEST, NEAR, normalised, signature

DAY = 86_400 * 10**9
# A version that none of this many questions before had is a change, also if it returns. Two that answer in turns are no changes.
_ABSENT = 1000
# A log can begin with several versions side by side: those of its first questions are no changes.
_BEGINNING = 20
_MOST_NAMES = 50
_FEWEST_ROWS = 20
_SETUP = ("configuration", "model", "versions")
COLUMNS = (
    *("id", "time", "query", "user", "session", "hit_count", "first_score", "documents", "seconds", "cost", "refused", "feedback"),
    *(*_SETUP, "probability", "turn"),
)
# The reason of rows that `thinned` leaves out.
THINNED = "logged with a higher probability than others, and thinned to the lowest"
# Of 16 bytes, and used nowhere else: which rows are logged, judged or sampled says nothing of which are kept.
_HASH_KEY = "thinning of logs"


class ConversationValues(NamedTuple):
    """Observations that count once: the time at which each is complete (n, in nanoseconds), its value (n), and the time of its first question (n)."""

    times: Ints
    values: Floats
    starts: Ints


class VersionChange(NamedTuple):
    """A new value of a version, `configuration` or `model`, at a row of the table."""

    row: int
    name: str
    before: str
    after: str


def signals(log: pa.Table) -> pd.DataFrame:
    """Return a row for each question of a table with COLUMNS, NaN where a value is unknown.

    `empty`, `refused` and `negative` are 1 or 0, `similarity` is the score of the first hit, `documents` are the ids of the hits, None if one has
    no id, `setup` are the texts of configuration, model and versions, and `logged` is the probability with which the row was logged, 1 if it is unknown.
    A thumb is negative below 0, an edit always; other feedback is ignored.
    """
    hits, batches = numbers(log, "hit_count"), log.to_batches()
    columns = {
        "id": log["id"].to_pandas(),
        "time": nanoseconds(log["time"].to_pandas()),
        "query": pc.utf8_slice_codeunits(log["query"], 0, LONGEST).to_pandas(),
        "user": log["user"].to_pandas().astype(object),
        "session": log["session"].to_pandas().astype(object),
        "empty": np.where(np.isnan(hits), np.nan, hits == 0),
        "similarity": numbers(log, "first_score"),
        "documents": pd.Series([names for batch in batches for names in _documents(batch.column("documents"))], dtype=object),
        **{name: numbers(log, name) for name in ("seconds", "cost", "refused", "turn")},
        "negative": np.concatenate([np.zeros(0), *(feedback_shares(batch)["bad_feedback"] for batch in batches)]),
        "setup": _setups(log.select(_SETUP).to_pandas()),
        "logged": np.nan_to_num(numbers(log, "probability"), nan=1.0),
    }
    return pd.DataFrame(columns)


def ordered(table: pd.DataFrame, until: int | None) -> tuple[pd.DataFrame, dict[str, int]]:
    """Sort rows of `signals` by time, and count those that are left out: without a time, with the id of an earlier row, or after `until`."""
    timed = table[table["time"] > 0]
    single = timed[~timed["id"].duplicated()]
    past = single[single["time"] <= (until if until is not None else np.iinfo(np.int64).max)]
    counts = {
        "no time that can be believed": len(table) - len(timed),
        "a repeated id": len(timed) - len(single),
        "after the present": len(single) - len(past),
    }
    return past.sort_values("time", kind="stable", ignore_index=True), counts


def thinned(table: pd.DataFrame) -> pd.DataFrame:
    """Keep each row with the lowest probability of the table over its own, so that all had the same chance to be logged and kept.

    That of fewer than 20 rows does not count, so that a few odd ones do not leave out all others. A session is hashed, or the id of a question without one,
    so a growing log keeps the same rows. They change only if a lower probability appears.
    """
    logged = table["logged"].to_numpy(dtype=np.float64)
    share = np.sort(logged)[:_FEWEST_ROWS][-1:].sum() / logged
    if (share >= 1).all():
        return table
    keys = table["session"].fillna(table["id"]).astype(str).to_numpy(dtype=object)
    kept: pd.DataFrame = table[pd.util.hash_array(keys, hash_key=_HASH_KEY) / 2.0**64 < share].reset_index(drop=True)
    return kept


def units(times: Ints, sessions: "pd.Series[Any]", values: Floats, idle: int, until: int) -> ConversationValues:
    """Return one value for each conversation: the mean of its known values. A question without a session is one by itself.

    Questions of a conversation depend on each other: after a bad one, the next is likely to be bad although nothing changed. So tests read
    conversations. One is complete when `idle` nanoseconds have passed, and what comes later counts as another. Those that are not complete at
    `until` are left out, so that a log that grows keeps its observations and their order.
    """
    rows = np.flatnonzero(~np.isnan(values) & (times <= until))
    codes = pd.factorize(sessions.iloc[rows])[0].astype(np.int64)
    single = codes < 0
    codes[single] = codes.max(initial=0) + 1 + np.arange(int(single.sum()))
    order = np.lexsort((times[rows], codes))
    rows, codes, single = rows[order], codes[order], single[order]
    starts = np.flatnonzero((np.diff(codes, prepend=-1) != 0) | (np.diff(times[rows], prepend=0) > idle))
    if not len(starts):
        return ConversationValues(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    ends = np.append(starts[1:], len(rows))
    complete = times[rows[ends - 1]] + np.where(single[starts], 0, idle)
    means = np.add.reduceat(values[rows], starts) / (ends - starts)
    kept = np.flatnonzero(complete <= until)
    kept = kept[np.argsort(complete[kept], kind="stable")]
    return ConversationValues(complete[kept], means[kept], times[rows[starts]][kept])


def version_changes(setups: "pd.Series[Any]") -> list[VersionChange]:
    """Return the rows at which a version appears that the questions before did not have, in order. The first 20 rows have none."""
    codes, distinct = pd.factorize(setups.to_numpy())
    maps, known = [versions_of(*setup) for setup in distinct], version_names(setups)[0]
    changes, rows = [], pd.Series(np.arange(len(codes)))
    for name in known:
        own, texts = pd.factorize(np.array([setup.get(name, "none") for setup in maps], dtype=object))
        values = own[codes]
        since = (rows - rows.groupby(values).shift()).fillna(np.inf)
        for row in np.flatnonzero((since > _ABSENT) & (rows >= _BEGINNING)):
            changes.append(VersionChange(int(row), name, str(texts[values[row - 1]]), str(texts[values[row]])))
    return sorted(changes)


def version_names(setups: "pd.Series[Any]") -> tuple[list[str], int]:
    """Return the names of versions that most questions have, at most 50, in order, and the number of the others. A made-up log can have any number."""
    questions = Counter[str]()
    for setup, number in setups.value_counts(dropna=False).items():
        questions.update(dict.fromkeys(versions_of(*setup), number))  # type: ignore[misc]
    most = sorted(questions, key=lambda name: (name not in ("configuration", "model"), -questions[name], name))
    return sorted(most[:_MOST_NAMES]), len(most[_MOST_NAMES:])


def nanoseconds(times: "pd.Series[Any]") -> Ints:
    """Return times as nanoseconds since 1970, and 0 for those that are none."""
    known = pd.to_datetime(times, utc=True, format=None if pd.api.types.is_datetime64_any_dtype(times) else "ISO8601", errors="coerce")
    return np.asarray(known.astype("datetime64[ns, UTC]").astype("int64").where(known.notna(), 0).clip(lower=0), dtype=np.int64)


def versions_of(configuration: object, model: object, versions: object) -> dict[str, str]:
    """Return the known values of a setup by name: `configuration`, `model` and versions."""
    pairs = {"configuration": configuration, "model": model} | (json.loads(versions) if isinstance(versions, str) else {})
    return {str(name): value for name, value in pairs.items() if isinstance(value, str)}


def _setups(columns: pd.DataFrame) -> "pd.Series[Any]":
    """Return the values of each row as a tuple, equal ones as one object."""
    codes = columns.groupby([*columns], sort=False, dropna=False).ngroup()
    distinct = columns.drop_duplicates().itertuples(index=False, name=None)
    return pd.Series([*distinct], dtype=object).take(codes.to_numpy()).reset_index(drop=True)


def _documents(column: pa.ListArray) -> Iterator[tuple[str, ...] | None]:
    """Yield the ids of the documents of each question, None if one is unknown."""
    encoded = column.flatten().dictionary_encode()
    # The same ids in a million rows are the same objects.
    known = np.array([*map(sys.intern, encoded.dictionary.to_pylist()), ""], dtype=object)
    ids = known[encoded.indices.fill_null(-1).to_numpy()].tolist()
    start = 0
    for length in pc.list_value_length(column).fill_null(0).to_pylist():
        documents = tuple(ids[start : start + length])
        yield documents if all(documents) else None
        start += length


# Turns texts into vectors (n, d), whose cosines are their similarity.
Encode = Callable[[Sequence[str]], Vectors]
# The latest distinct questions without results that are compared with others by their vectors.
MOST_COMPARED = 2000
_BLOCK = 4096


def lost_results(table: pd.DataFrame, history: int, encode: Encode | None = None) -> tuple[Floats, int]:
    """Compare the results of questions after the first `history` rows with those that they had before.

    Returns for each row (n) 1 if its question lost its results or its first document, 0 if it has them, else NaN, and the number of questions not compared.

    A question has lost results if an earlier one with its text had some, and it has none, or if none of its hits is of the document that came first the
    first time. Other questions have lost them only if they have none, and with `encode`, if a near-duplicate had some in the
    history: a cosine of at least NEAR with equal numbers and negations. `table` has the columns query, empty and documents of `signals`.

    As the history of near-duplicates is fixed, the share of lost results does not grow with the log.
    """
    empty = table["empty"].to_numpy(dtype=np.float64)
    raw, texts = pd.factorize(table["query"].to_numpy())
    own, names = pd.factorize(np.array([normalised(text) for text in texts], dtype=object))
    codes, later, rows = own[raw], np.arange(len(table)) >= history, np.arange(len(table))
    first = np.full(len(names), len(table))
    np.minimum.at(first, codes[empty == 0], rows[empty == 0])
    known = first[codes] < rows
    values = np.where(later & known & ~np.isnan(empty), empty, np.nan)
    # Those without a hit of the document that came first when the text had results.
    documents, before = table["documents"].tolist(), first[codes]
    asked = [(row, documents[row], documents[before[row]]) for row in np.flatnonzero(values == 0).tolist()]
    values[[row for row, now, earlier in asked if now and earlier and earlier[0] not in now]] = 1
    wanted = pd.unique(codes[later & (empty == 1) & ~known])[::-1]
    compared = wanted[: MOST_COMPARED if encode else 0]
    if encode and len(compared):
        similar = np.zeros(len(names), dtype=bool)
        similar[compared] = _similar(compared, names, np.flatnonzero(first < history), encode)
        values[later & (empty == 1) & similar[codes]] = 1
    return values, len(wanted) - len(compared)


def _similar(wanted: Ints, names: NDArray[np.object_], known: Ints, encode: Encode) -> Bools:
    """Return which of the wanted questions have a near-duplicate among the known ones."""
    own = np.array([_key(names[code]) for code in wanted], dtype=object)
    similar, vectors, keys = np.zeros(len(wanted), dtype=bool), _unit(encode([names[code] for code in wanted])), set(own)
    pairs = [(code, key) for code in known.tolist() if (key := _key(names[code])) in keys]
    for start in range(0, len(pairs), _BLOCK):
        block, signatures = zip(*pairs[start : start + _BLOCK], strict=True)
        near = (vectors @ _unit(encode([names[code] for code in block])).T >= NEAR) & (own[:, None] == np.array(signatures, dtype=object))
        similar |= near.any(axis=1)
    return similar


def _key(text: str) -> str:
    """Return the numbers and negations of a question as one text."""
    return " ".join(signature(text))


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)


WEEK, TESTS_A_MONTH = 7 * DAY, 28
FEWEST, _MOST = 100, 1000


class WindowTest(NamedTuple):
    """The test of the week that ends at `time`, with the rows of its sample."""

    time: int
    rows: Ints
    test: DriftTest


def window_tests(table: pd.DataFrame, period: tuple[int, int], level: float, encode: Encode, until: int) -> tuple[list[WindowTest], str]:
    """Test the week before the end of every day after the reference `period`, if it has at least FEWEST users, each test at `level`.

    Return the tests, and why there are none. The reference needs twice as many users, since one half is the direction in which the other is compared.

    Windows are weeks, so that a weekend is not compared with a whole week. A user counts once in a window, without users a conversation, and without
    those a question: the permutations exchange independent questions. The ids decide the sample of a window, so it never changes.
    """
    priority = pd.util.hash_array(table["id"].to_numpy(dtype=object), categorize=False)
    keys = table["user"].fillna(table["session"]).fillna(table["id"])
    questions = pd.DataFrame({"time": table["time"], "key": keys, "priority": priority}).sort_values("priority", kind="stable")
    reference = _sample(questions, *period, 2 * _MOST)
    if until < period[1] + WEEK:
        return [], "no week after the reference period is over"
    if len(reference) < 2 * FEWEST:
        return [], f"the reference period has questions of {plural(len(reference), 'user')}, and a test needs {2 * FEWEST}"
    # Their mean is the direction, and the others are compared: a vector is closer to the mean of the sample that contains it.
    vectors = _vectors(table["query"].iloc[reference], encode)
    direction, compared = vectors[::2].mean(axis=0), vectors[1::2]
    tests, most = [], 0
    for end in range(period[1] + WEEK, until + 1, DAY):
        rows = _sample(questions, end - WEEK, end, _MOST)
        most = max(most, len(rows))
        if len(rows) >= FEWEST:
            test = drift_test(compared, _vectors(table["query"].iloc[rows], encode), direction, level, seed=end // DAY)
            tests.append(WindowTest(end, rows, test))
    return tests, "" if tests else f"no week has questions of more than {plural(most, 'user')}, and a test needs {FEWEST}"


def _sample(questions: pd.DataFrame, start: int, end: int, most: int) -> Ints:
    inside = questions[(questions["time"] >= start) & (questions["time"] < end)]
    return np.asarray(inside.index[~inside["key"].duplicated()][:most], dtype=np.int64)


def _vectors(texts: "pd.Series[str]", encode: Encode) -> Vectors:
    codes, distinct = pd.factorize(texts.to_numpy())
    return _unit(np.asarray(encode(distinct.tolist()), dtype=np.float32)[codes])

"""Compare the questions of a log with earlier ones: those that lost their results, and a week whose questions differ from the reference period."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.formatting import plural
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.monitor.alerts.signals import DAY
from workbench.monitor.question_texts import NEAR, normalised, signature
from workbench.statistics.sequential.drift import DriftTest, drift_test
from workbench.storage.vector_cache import Vectors

# Turns texts into vectors (n, d), whose cosines are their similarity.
Encode = Callable[[Sequence[str]], Vectors]
# The latest distinct questions without results that are compared with others by their vectors.
MOST_COMPARED = 2000
_BLOCK = 4096


class LostResults(NamedTuple):
    """Of each row (n): 1 if its question lost its results or its first document, 0 if it has them, else NaN. And the number of questions not compared."""

    values: Floats
    uncompared: int = 0


def lost_results(table: pd.DataFrame, history: int, encode: Encode | None = None) -> LostResults:
    """Compare the results of questions after the first `history` rows with those that they had before.

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
    values[_without_first(first[codes], table["documents"].tolist(), values == 0)] = 1
    wanted = pd.unique(codes[later & (empty == 1) & ~known])[::-1]
    compared = wanted[: MOST_COMPARED if encode else 0]
    if encode and len(compared):
        similar = np.zeros(len(names), dtype=bool)
        similar[compared] = _similar(compared, names, np.flatnonzero(first < history), encode)
        values[later & (empty == 1) & similar[codes]] = 1
    return LostResults(values, len(wanted) - len(compared))


def _without_first(first: Ints, documents: Sequence[tuple[str, ...] | None], asked: Bools) -> list[int]:
    """Return the asked rows without a hit of the first document of the row in which their text had results `first` (n)."""
    rows = [(row, documents[row], documents[first[row]]) for row in np.flatnonzero(asked).tolist()]
    return [row for row, found, before in rows if found and before and before[0] not in found]


def _similar(wanted: Ints, names: NDArray[np.object_], known: Ints, encode: Encode) -> Bools:
    """Return which of the wanted questions have a near-duplicate among the known ones."""
    own = np.array([_key(names[code]) for code in wanted], dtype=object)
    found, vectors, keys = np.zeros(len(wanted), dtype=bool), _unit(encode([names[code] for code in wanted])), set(own)
    pairs = [(code, key) for code in known.tolist() if (key := _key(names[code])) in keys]
    for start in range(0, len(pairs), _BLOCK):
        part, others = zip(*pairs[start : start + _BLOCK], strict=True)
        near = (vectors @ _unit(encode([names[code] for code in part])).T >= NEAR) & (own[:, None] == np.array(others, dtype=object))
        found |= near.any(axis=1)
    return found


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
    # Their mean is the direction, and the others are compared: a vector is closer to the mean of its own sample.
    vectors = _vectors(table["query"].iloc[reference], encode)
    direction, compared = vectors[::2].mean(axis=0), vectors[1::2]
    found, most = [], 0
    for end in range(period[1] + WEEK, until + 1, DAY):
        rows = _sample(questions, end - WEEK, end, _MOST)
        most = max(most, len(rows))
        if len(rows) >= FEWEST:
            test = drift_test(compared, _vectors(table["query"].iloc[rows], encode), direction, level, seed=end // DAY)
            found.append(WindowTest(end, rows, test))
    return found, "" if found else f"no week has questions of more than {plural(most, 'user')}, and a test needs {FEWEST}"


def _sample(questions: pd.DataFrame, start: int, end: int, most: int) -> Ints:
    inside = questions[(questions["time"] >= start) & (questions["time"] < end)]
    return np.asarray(inside.index[~inside["key"].duplicated()][:most], dtype=np.int64)


def _vectors(texts: "pd.Series[str]", encode: Encode) -> Vectors:
    codes, distinct = pd.factorize(texts.to_numpy())
    vectors = np.asarray(encode(distinct.tolist()), dtype=np.float32)[codes]
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))

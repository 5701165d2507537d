"""Test each day whether the questions of the last week differ from those of the reference period."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.core.formatting import plural
from workbench.metrics.coverage import Ints
from workbench.monitor.alerts.lost_results import Encode
from workbench.monitor.alerts.signals import DAY
from workbench.statistics.sequential.drift import DriftTest, drift_test
from workbench.storage.vector_cache import Vectors

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

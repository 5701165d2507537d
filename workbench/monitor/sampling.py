"""Draw a sample of the logged questions of each day for judges: within a budget, with known probabilities, the same whenever it is drawn."""

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.words import terms
from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.question_texts import normalised
from workbench.storage.vector_cache import Vectors

# The parts of the budget for questions that are looked for. A question is in the first stratum that fits. The other half is drawn uniformly.
_LOOKED_FOR = {"feedback": 0.2, "score": 0.15, "novelty": 0.15}
# The part of a block's questions with the lowest scores, or the newest words.
_EXTREME = 0.1
# A block is drawn when so many questions are due, so a smaller budget is drawn once a day.
_LEAST = 10
_HOURS = 24
# The most frequent earlier texts that new ones are compared with, by hashed words, and the texts that are compared at once.
_SEEN, _DIMENSIONS, _BLOCK = 4_000, 256, 2_000
# Feedback counts if it is given up to an hour after the end of a block.
_GRACE = pd.Timedelta(hours=1)
NO_ANSWER, NO_CONTEXT, REFUSED, TRUNCATED = "no answer", "no text of the context", "refused", "the answer was cut"
# Letters of question, answer and hits.
_LONGEST, TOO_LONG = 500_000, "texts of more than 500,000 letters"
NOT_DRAWN, OPEN, NO_TIME = "not in the sample of its day", "not drawn yet: its hours are not over", "no time"
# What is read of a log, and what is kept of it.
COLUMNS = ("id", "time", "query", "hits", "answer", "error", "refused", "truncated", "configuration", "session", "feedback", "probability")
_OUTLINE = ("id", "query", "text", "score", "reason", "bad", "configuration", "cluster", "logged")


def outline(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the little of log rows that sampling and selection read. The outlines of a log's parts, concatenated, are that of the log.

    Columns: id, time (UTC), query, text (the same, normalised), score (that of the first hit; -inf without any, NaN if unknown), reason (why the question
    cannot be judged, or empty), bad (the time of the first bad feedback), configuration, cluster (the session, else the id), logged (the probability of that).
    """
    rows = frame.reindex(columns=list(COLUMNS))
    table = pd.DataFrame([_outlined(row) for row in rows.to_dict("records")], columns=list(_OUTLINE), index=frame.index)
    times, bad = (pd.to_datetime(each, utc=True, format="ISO8601", errors="coerce") for each in (rows["time"], table["bad"]))
    reason = table["reason"].where(times.notna(), NO_TIME)
    found: pd.DataFrame = table.astype({"score": "float64", "logged": "float64"}).assign(time=times, bad=bad, reason=reason)
    return found


def outline_log(questions: LoggedQuestions) -> pd.DataFrame:
    """Return the outline of a log, in one reading."""
    parts = [outline(batch.to_pandas()) for batch in questions.batches(COLUMNS)]
    return pd.concat(parts, ignore_index=True) if parts else outline(pd.DataFrame())


def draw(outlined: pd.DataFrame, budget: int, until: pd.Timestamp | None = None) -> pd.DataFrame:
    """Draw at most `budget` questions of each UTC day.

    A day is cut into blocks of hours in which at least 10 questions are due by the traffic of earlier days. What a block has too few questions for is
    due later. A block is drawn an hour after its end, so a growing log keeps what was drawn, and later feedback changes nothing. Of its N questions u are drawn uniformly, on which sequential tests may
    bet, and m of the N_h of a stratum, by independent hashes of the ids: π = 1 - (1 - u/N) (1 - m/N_h).

    The outline has each id once, and ends at `until`, by default its latest time. Returns its rows with `stratum` (feedback, score, novelty, rest; empty if
    nothing could be drawn), `uniform`, `probability` (π times that of being logged, NaN without a draw), and `reason`: empty for drawn questions, else why the
    question was skipped. Raises InputError for a budget below 1.
    """
    if budget < 1:
        raise InputError(f"the budget is {budget} questions a day", "judge at least one question")
    drawn = outlined.assign(stratum="", uniform=False, probability=np.nan).reset_index(drop=True)
    able = drawn[drawn["reason"] == ""]
    drawn.loc[able.index, "reason"] = OPEN
    end = drawn["time"].max() if until is None else until
    seen, traffic, parts = Counter[str](), np.zeros(_HOURS), list[pd.DataFrame]()
    for day, rows in able.groupby(able["time"].dt.floor("D")):
        rows = rows.assign(novelty=_novelty(rows["text"], seen))
        hours = rows["time"].dt.hour
        counts = np.bincount(hours, minlength=_HOURS)
        first, used = 0, 0
        for hour, due in enumerate(_due(traffic, budget)):
            closed = pd.Timestamp(str(day)) + pd.Timedelta(hours=hour + 1) + _GRACE
            if closed <= end and counts[first : hour + 1].any() and (due - used >= _LEAST or hour == _HOURS - 1):
                block = rows[hours.between(first, hour)]
                parts.append(_drawn(block, due - used, _strata(block, closed)))
                first, used = hour + 1, used + int((parts[-1]["reason"] == "").sum())
        traffic += counts
        seen.update(rows["text"])
    if parts:
        found = pd.concat(parts)
        drawn.loc[found.index, found.columns] = found
    return drawn


def skipped(drawn: pd.DataFrame) -> dict[str, int]:
    """Count the questions that were not drawn by reason, the most frequent first."""
    return {str(reason): int(count) for reason, count in drawn.loc[drawn["reason"] != "", "reason"].value_counts().items()}


def _due(earlier: Floats, budget: int) -> list[int]:
    """Return how many questions are due at the end of each hour of a day, given the questions of each hour of earlier days (24)."""
    # A fifth is spread evenly, in case the traffic changes.
    weights = (earlier / max(1.0, earlier.sum()) + 0.25 / _HOURS) / ((earlier.sum() > 0) + 0.25)
    return [*np.floor((budget - 1) * np.cumsum(weights) + 1e-9).astype(int).tolist()[:-1], budget]


def _drawn(rows: pd.DataFrame, share: int, stratum: "pd.Series[str]") -> pd.DataFrame:
    """Draw `share` questions of a block, and give empty strata's parts to the uniform one."""
    sizes = stratum.value_counts()
    wanted = {name: min(int(sizes.get(name, 0)), int(part * share)) for name, part in _LOOKED_FOR.items()}
    number = min(len(rows), share - sum(wanted.values()))
    uniform = _lowest(rows["id"], number, "uniform")
    chosen, missed = uniform.copy(), np.full(len(rows), 1 - number / len(rows))
    for name, number in wanted.items():
        inside = (stratum == name).to_numpy()
        chosen[inside] |= _lowest(rows["id"][inside], number, "stratum")
        missed[inside] *= 1 - number / max(1, int(inside.sum()))
    columns = {"stratum": stratum, "uniform": uniform, "probability": (1 - missed) * rows["logged"]}
    return pd.DataFrame({**columns, "reason": np.where(chosen, "", NOT_DRAWN)}, index=rows.index)


def _strata(rows: pd.DataFrame, closed: pd.Timestamp) -> "pd.Series[str]":
    scores = rows.groupby("configuration")["score"].rank(pct=True, method="max")
    low = (scores <= _EXTREME) | (rows["score"] == -np.inf)
    new = rows["novelty"].rank(pct=True, ascending=False, method="max") <= _EXTREME
    return pd.Series(np.select([rows["bad"] < closed, low, new], list(_LOOKED_FOR), "rest"), index=rows.index)


def _novelty(column: "pd.Series[str]", seen: Counter[str]) -> Floats:
    """Return 1 - the largest cosine of each text (n) with a text of earlier days, NaN without any.

    By words it tells paraphrases of the handbook's questions from new subjects as well as the static embedder does, and needs no model.
    """
    known = [text for text, _ in sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:_SEEN]]
    if not known:
        return np.full(len(column), np.nan)
    counts = Counter(word for text in known for word in set(terms(text)))
    codes, texts = pd.factorize(column)
    vectors = _hashed(known, counts)
    parts = [list(texts[start : start + _BLOCK]) for start in range(0, len(texts), _BLOCK)]
    return np.concatenate([1 - (_hashed(part, counts) @ vectors.T).max(axis=1) for part in parts])[codes].astype(np.float64)


def _hashed(texts: Sequence[str], counts: Counter[str]) -> Vectors:
    """Return unit vectors (n, 256) of words, weighted by how few of the known texts have them."""
    vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    for place, text in enumerate(texts):
        for word in set(terms(text)):
            code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            vectors[place, code % _DIMENSIONS] += math.copysign(math.log(1 + _SEEN / (counts[word] + 1)), (code >> 31) - 0.5)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


def _lowest(ids: "pd.Series[str]", number: int, salt: str) -> Bools:
    """Mark the `number` questions (n) with the lowest hashes of their ids."""
    hashes = [hashlib.blake2b(each.encode("utf-8", "surrogatepass"), digest_size=16, key=salt.encode()).digest() for each in ids]
    marks = np.zeros(len(ids), dtype=np.bool_)
    marks[sorted(range(len(ids)), key=hashes.__getitem__)[:number]] = True
    return marks


def _outlined(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    names = ("id", "query", "configuration", "session", "answer", "error")
    identity, query, configuration, session, answer, error = (row[name] if isinstance(row[name], str) else "" for name in names)
    hits, first = rows_of(row["hits"]), None
    if hits:
        first = hits[0].get("score")
    # Nothing found is a context that is known.
    known = hits is not None and (not hits or any(hit.get("text") for hit in hits))
    size = len(query) + len(answer) + sum(len(hit.get("text") or "") for hit in hits or ())
    unusable = {
        NO_ANSWER: error or not answer.strip(),
        REFUSED: row["refused"] is True,
        TRUNCATED: row["truncated"] is True,
        NO_CONTEXT: not known,
        TOO_LONG: size > _LONGEST,
    }
    reason = next((reason for reason, applies in unusable.items() if applies), "")
    # A value below 0, or a corrected answer. Without a time it counts as given at once.
    given = rows_of(row["feedback"]) or ()
    bad = [str(item.get("time") or row["time"]) for item in given if item.get("kind") == "edit" or (item.get("value") or 0) < 0]
    score = -np.inf if hits == [] else np.nan if first is None else first
    logged = 1.0 if pd.isna(row["probability"]) else row["probability"]
    return identity, query, normalised(query), score, reason, min(bad, default=None), configuration, session or identity, logged


def rows_of(value: Any) -> list[Any] | None:
    """Return the rows of a field, None if it is not known. Tables that were read from parquet have arrays."""
    return value if isinstance(value, list) else value.tolist() if isinstance(value, np.ndarray) else None

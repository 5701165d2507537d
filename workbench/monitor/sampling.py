"""Choose logged questions: a daily sample for judges, and questions that a dataset lacks.

The sample keeps to a budget, has known probabilities, and is the same whenever it is drawn.
"""

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import embed
from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import PRODUCTION, SOURCE, Dataset, Query
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.dates_and_numbers import WORDS
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import plural
from workbench.core.text.words import folded, terms
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.monitor.log.summary import numbers

# The parts of the budget for questions that are looked for. A question is in the first stratum that fits. The other half is drawn uniformly.
_LOOKED_FOR = {"feedback": 0.2, "score": 0.15, "novelty": 0.15}
# The part of a block's questions with the lowest scores, or the newest words.
_EXTREME = 0.1
# A block is drawn when at least this many questions are due, so a smaller budget is drawn once a day.
_LEAST = 10
_HOURS = 24
# The most frequent earlier texts that new ones are compared with, by hashed words, and the texts that are compared at once.
_SEEN, _DIMENSIONS, _BLOCK = 4_000, 256, 2_000
# Feedback counts if it is given up to an hour after the end of a block.
_GRACE = pd.Timedelta(hours=1)
NO_ANSWER, NO_CONTEXT, REFUSED, TRUNCATED = "no answer", "no text of the context", "refused", "the answer was cut"
# Letters of question, answer and hits.
_LONGEST, TOO_LONG = 500_000, "texts of more than 500,000 letters"
NO_BUDGET, NOT_DRAWN, OPEN, NO_TIME = (
    "the budget is 0",
    "not in the sample of its day",
    "not drawn yet: its hours are not over",
    "no time that can be believed",
)
_NO_TIMES = np.zeros(0, dtype="datetime64[us]")
COLUMNS = (
    *("id", "time", "query", "hit_count", "first_score", "context_letters", "answer_letters", "error", "refused", "truncated"),
    *("configuration", "session", "feedback", "probability"),
)


def outline(log: pa.Table) -> pd.DataFrame:
    """Return the little that sampling and selection read of the questions of a table with COLUMNS.

    Columns: id, time (UTC), query, text (the same, normalised), score (that of the first hit; -inf without any, NaN if unknown), reason (why the question
    cannot be judged, or empty), bad (the time of the first bad feedback), configuration, cluster (the session, else the id), logged (the probability of that).
    """
    hits, context, answer = (np.nan_to_num(numbers(log, name), nan=-1) for name in ("hit_count", "context_letters", "answer_letters"))
    codes, queries = pd.factorize(log["query"].to_pandas())
    questions: pd.DataFrame = log.select(("id", "time", "query", "configuration")).to_pandas().fillna({"configuration": ""})
    session = log["session"].to_pandas().fillna("")
    unusable = {
        NO_TIME: questions["time"].isna(),
        NO_ANSWER: log["error"].to_pandas().fillna("").ne("") | (answer <= 0),
        REFUSED: numbers(log, "refused") == 1,
        TRUNCATED: numbers(log, "truncated") == 1,
        # Nothing found is a context that is known.
        NO_CONTEXT: (hits != 0) & (context <= 0),
        TOO_LONG: np.asarray(pc.utf8_length(log["query"])) + answer + context > _LONGEST,
    }
    reasons = np.array([*unusable, ""], dtype=object)
    return questions.assign(
        text=np.array([*map(normalised, queries)], dtype=object)[codes],
        score=np.where(hits == 0, -np.inf, numbers(log, "first_score")),
        reason=reasons[np.select([*unusable.values()], [*range(len(unusable))], len(unusable))],
        bad=pd.Series(np.concatenate([_NO_TIMES, *map(_first_bad, log.to_batches())])).dt.tz_localize("UTC"),
        cluster=session.where(session != "", questions["id"]),
        logged=np.nan_to_num(numbers(log, "probability"), nan=1.0),
    )


def _first_bad(batch: pa.RecordBatch) -> "np.ndarray[tuple[int], np.dtype[np.datetime64]]":
    """Return the time of the first value below 0 or corrected answer of each question. Feedback without a time counts as given at once."""
    asked, lists = (batch.column(name) for name in ("time", "feedback"))
    items, parents = lists.flatten(), pc.list_parent_indices(lists)
    times = pc.coalesce(items.field("time"), asked.take(parents))
    bad = pc.or_(pc.equal(items.field("kind").fill_null(""), "edit"), pc.less(items.field("value").fill_null(0), 0))
    first = np.full(len(batch), np.datetime64("NaT", "us"))
    np.fmin.at(first, parents.filter(bad).to_numpy(), times.filter(bad).to_numpy(zero_copy_only=False))
    return first


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
    seen, traffic, blocks = Counter[str](), np.zeros(_HOURS), list[pd.DataFrame]()
    for day, rows in able.groupby(able["time"].dt.floor("D")):
        rows = rows.assign(novelty=_novelty(rows["text"], seen))
        hours = rows["time"].dt.hour
        counts = np.bincount(hours, minlength=_HOURS)
        first, used = 0, 0
        for hour, due in enumerate(_due(traffic, budget)):
            closed = pd.Timestamp(str(day)) + pd.Timedelta(hours=hour + 1) + _GRACE
            if closed <= end and counts[first : hour + 1].any() and (due - used >= _LEAST or hour == _HOURS - 1):
                block = rows[hours.between(first, hour)]
                blocks.append(_drawn(block, due - used, _strata(block, closed)))
                first, used = hour + 1, used + int((blocks[-1]["reason"] == "").sum())
        traffic += counts
        seen.update(rows["text"])
    if blocks:
        sampled = pd.concat(blocks)
        drawn.loc[sampled.index, sampled.columns] = sampled
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
    wanted = {name: min(int(sizes.get(name, 0)), int(weight * share)) for name, weight in _LOOKED_FOR.items()}
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
    blocks = [list(texts[start : start + _BLOCK]) for start in range(0, len(texts), _BLOCK)]
    return np.concatenate([1 - (_hashed(block, counts) @ vectors.T).max(axis=1) for block in blocks])[codes].astype(np.float64)


def _hashed(texts: Sequence[str], counts: Counter[str]) -> Vectors:
    """Return unit vectors (n, 256) of words, weighted by how few of the known texts have them."""
    vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in set(terms(text)):
            code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            vectors[row, code % _DIMENSIONS] += math.copysign(math.log(1 + _SEEN / (counts[word] + 1)), (code >> 31) - 0.5)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


def _lowest(ids: "pd.Series[str]", number: int, salt: str) -> Bools:
    """Mark the `number` questions (n) with the lowest hashes of their ids."""
    hashes = [
        hashlib.blake2b(question_id.encode("utf-8", "surrogatepass"), digest_size=16, key=salt.encode()).digest() for question_id in ids
    ]
    marks = np.zeros(len(ids), dtype=np.bool_)
    marks[sorted(range(len(ids)), key=hashes.__getitem__)[:number]] = True
    return marks


# Of all-MiniLM-L6-v2. Rule paraphrases are this similar to their original in 89 % of cases, other questions of denser sets in 0 to 7 %.
NEAR = 0.85
# Letters of a question that are compared. What is longer is no question, and takes seconds.
LONGEST = 4_000
_NEGATION_WORDS = (
    "no not never none nobody nothing neither nor without cannot nein nicht nie niemals niemand nichts ohne kein keine keinen keiner keinem keines non ne "
    "pas jamais aucun aucune sans rien ni sin nunca nadie nada não nem sem nunca nenhum nenhuma niente nessuno nessuna senza mai geen niet nooit zonder "
    "niets inte ingen inga aldrig utan ikke aldri uten bez nigdy нет не ни без никогда yok değil لا ليس אין नहीं tidak 不 没 沒 无 無 非 未 ない せん なし ไม่"
)
_NEGATIONS = frozenset(_NEGATION_WORDS.split())


def normalised(text: str) -> str:
    """Return a question without case, repeated blanks and marks at its end, so that equal questions are equal texts."""
    return " ".join(folded(text[:LONGEST]).split()).rstrip(" ?!.？。！؟")


def signature(text: str) -> tuple[str, ...]:
    """Return the numbers of a question, in digits or words, and `not` if it is negated: near-duplicates must agree in them.

    "12 metres" and "14 metres" have a cosine of .95, "am I allowed" and "am I not allowed" one of .98. "One" is no number: it is often a pronoun.
    """
    parts = terms(text)
    numbers = {str(WORDS.get(part, part)) for part in parts if part != "one" and (part in WORDS or any(map(str.isdigit, part)))}
    return (*sorted(numbers), *(("not",) if any(part in _NEGATIONS or part.endswith("n't") for part in parts) else ()))


def leaders(vectors: Vectors, signatures: Sequence[tuple[str, ...]], least: float = NEAR) -> Ints:
    """Return the place of the leader of each question (n): the first leader before it with its signature and a cosine of `least`, else itself.

    `vectors` are unit vectors, float32 (n, dimension). The order of the questions decides, so the most frequent should be first.
    """
    leader = np.full(len(vectors), -1, dtype=np.int64)
    groups: dict[tuple[str, ...], list[int]] = {}
    for question, key in enumerate(signatures):
        groups.setdefault(key, []).append(question)
    for members in map(np.array, groups.values()):
        own = vectors[members]
        for number, question in enumerate(members.tolist()):
            if leader[question] < 0:
                leader[question] = question
                later = members[number:]
                leader[later[(leader[later] < 0) & (own[number:] @ own[number] >= least)]] = question
    return leader


# Distinct texts that are embedded and compared, first those with most signals, then the most frequent.
_MOST_CANDIDATES = 5_000
# The part of questions whose first hit scores lowest.
_LOW = 0.1
# Evaluations below this are bad, and judges that differ by this disagree.
_BAD, _APART = 0.5, 0.5
_SIGNALS = {
    "no_result": "no result",
    "bad_feedback": "bad feedback",
    "bad_score": "judged bad",
    "disagreement": "judges disagree",
    "low_score": "a low score of the first hit",
}


@dataclass(frozen=True, slots=True, eq=False)
class SelectedQuestions:
    """Selected questions, and how many of the log are in the dataset already (`covered`) and were not compared (`left_out`).

    `lacking` are the groups of near-duplicates that the dataset does not have. `rows` has, in order of the picks, id, query, session, stands_for, reason and gain.
    """

    rows: pd.DataFrame
    covered: int
    left_out: int
    lacking: int


def select(
    outlined: pd.DataFrame, dataset: Dataset, take: int, embedder: Embedder, cache: VectorCache, evaluations: pd.DataFrame | None = None
) -> SelectedQuestions:
    """Select up to `take` questions of a log, one of each group of near-duplicates, none of which the dataset has already.

    A pick adds its distance to the nearest golden question or earlier pick (1 - cosine), times 1 + its signals, times log(1 + questions that it stands for).
    The next pick is the question that adds most. Rows are those of `outline`, evaluations those of `judging.judge`, of several judges if there are any.
    """
    groups = _distinct(outlined, *_judged_ids(evaluations)).sort_values(["count", "text"], ascending=[False, True], kind="stable")
    signals = (groups[list(_SIGNALS)] > 0).sum(axis=1).sort_values(ascending=False, kind="stable")
    candidates = groups.loc[groups.index.isin(signals.index[:_MOST_CANDIDATES])].reset_index(drop=True)
    golden = [normalised(query.text) for query in dataset.queries]
    texts = [*golden, *candidates["text"]]
    vectors = embed(texts, embedder, "query", cache, "questions").vectors if texts else np.zeros((0, 1), dtype=np.float32)
    leader = leaders(vectors, [signature(text) for text in texts])[len(golden) :] - len(golden)
    covered, numbers = leader < 0, ["count", *_SIGNALS]
    merged = candidates[~covered].groupby(leader[~covered])[numbers].sum()
    heads = candidates.drop(columns=numbers).loc[merged.index].join(merged)
    own = vectors[len(golden) :][heads.index.to_numpy(np.int64)]
    picks = list(_picked(heads, take, own, vectors[: len(golden)], dataset))
    rows = pd.DataFrame(picks, columns=["id", "query", "session", "stands_for", "reason", "gain"])
    compared = int(candidates["count"].sum())
    return SelectedQuestions(rows, int(candidates.loc[covered, "count"].sum()), int(groups["count"].sum()) - compared, len(heads))


def production_dataset(selected: SelectedQuestions, dataset: Dataset) -> Dataset:
    """Make a dataset of selected questions without labels, with the documents of a dataset. Each has `source: production`, and no user."""
    queries = []
    for row in selected.rows.to_dict("records"):
        fields = {"session_hash": fingerprint(row["session"])[:16], "stands_for": int(row["stands_for"]), "selected_for": row["reason"]}
        queries.append(Query(f"log-{fingerprint(row['query'])[:12]}", row["query"], metadata={SOURCE: PRODUCTION, **fields}))
    return replace(dataset, name=f"{dataset.name}-production", queries=tuple(queries), qrels=(), needs=(), source=None)


def _distinct(outlined: pd.DataFrame, bad: set[str], apart: set[str]) -> pd.DataFrame:
    """Return a row for each distinct text: its first question, how often it was asked, and how many times with each signal."""
    rows = outlined[outlined["text"] != ""]
    scores = rows["score"].where(np.isfinite(rows["score"]))
    marks = {
        "no_result": rows["score"] == -np.inf,
        "bad_feedback": rows["bad"].notna(),
        "bad_score": rows["id"].isin(bad),
        "disagreement": rows["id"].isin(apart),
        "low_score": scores.groupby(rows["configuration"]).rank(pct=True, method="min") <= _LOW,
    }
    ordered = rows.assign(**marks, count=1).sort_values(["time", "id"], kind="stable")
    first = dict.fromkeys(("id", "query", "cluster"), "first")
    return ordered.groupby("text", as_index=False).agg(first | dict.fromkeys(("count", *marks), "sum"))


def _judged_ids(evaluations: pd.DataFrame | None) -> tuple[set[str], set[str]]:
    """Return the questions with a bad evaluation, and those on which judges disagree."""
    if evaluations is None:
        return set(), set()
    rows = evaluations[(evaluations["state"] == "scored") & ~evaluations["metric"].isin(["feedback", "refusal_rate"])]
    # Shared words say nothing of the relevance of a short answer to its question.
    rows = rows[~(rows["metric"].eq("answer_relevance") & rows["judge"].eq("overlap"))]
    values = rows.assign(task=rows["metric"].replace("support_overlap", "faithfulness")).groupby(["id", "task"])["value"]
    apart = values.max() - values.min()
    return set(rows.loc[rows["value"] < _BAD, "id"]), set(apart[apart >= _APART].index.get_level_values("id"))


def _picked(heads: pd.DataFrame, take: int, own: Vectors, golden: Vectors, dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the question that adds most, again and again. Of equal ones the more frequent is first, then the first in the alphabet."""
    cosines = own @ golden.T if len(golden) else np.zeros((len(own), 1), dtype=np.float32)
    near, nearest = np.maximum(0, cosines.max(axis=1)), cosines.argmax(axis=1)
    weight = (1 + (heads[list(_SIGNALS)] > 0).sum(axis=1)).to_numpy() * np.log1p(heads["count"].to_numpy(np.float64))
    rows, known = heads.to_dict("records"), near.copy()
    for _ in range(min(take, len(rows))):
        # Batches of other shapes change the seventh decimal of a cosine.
        gain = np.round((1 - known) * weight, 5)
        best = int(gain.argmax())
        row = rows[best]
        signals = [f"{words} ({row[name]:,} of {row['count']:,})" for name, words in _SIGNALS.items() if row[name]]
        closest = f"“{excerpt(dataset.queries[nearest[best]].text)}” with a cosine of {near[best]:.2f}" if len(golden) else "none"
        reason = "; ".join([*signals, f"nearest golden question: {closest}", f"stands for {plural(row['count'], 'question')}"])
        yield {
            "id": row["id"],
            "query": row["query"],
            "session": row["cluster"],
            "stands_for": row["count"],
            "reason": reason,
            "gain": gain[best],
        }
        known = np.maximum(known, own @ own[best])
        known[best] = np.inf

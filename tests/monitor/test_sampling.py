"""The sample of a day: within its budget, the same on a growing log, with true probabilities, and a reason for all others."""

import hashlib
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.monitor.log_lines import ROWS, arrow_table, by_rows
from tests.monitor.production_traffic import RULES, handbook, traffic
from workbench.core.errors import InputError
from workbench.monitor.sampling import (
    NO_ANSWER,
    NO_CONTEXT,
    NOT_DRAWN,
    OPEN,
    REFUSED,
    TRUNCATED,
    _novelty,
    draw,
    normalised,
    outline,
    skipped,
)

LOG = traffic(3_000, days=3)
OUTLINE = outline(arrow_table(LOG))
END = pd.Timestamp("2026-11-06T00:00Z")


def chosen(drawn: pd.DataFrame) -> set[str]:
    return set(drawn.loc[drawn["reason"] == "", "id"])


@pytest.mark.parametrize("budget", [1, 7, 40, 100, 5_000])
def test_a_day_never_exceeds_its_budget_and_uses_it(budget: int) -> None:
    drawn = draw(OUTLINE, budget, END)
    days = drawn[drawn["reason"] == ""].groupby(drawn["time"].dt.floor("D")).size()
    assert (days <= budget).all()
    # What two draws choose is used by a later block, but the last has none after it.
    assert (days >= min(budget, 700) * 0.9).all(), days


@pytest.mark.parametrize(("questions", "first", "hours"), [(100, 0, 24), (300, 0, 24), (100, 8, 10), (1_000, 9, 2)])
def test_a_budget_is_used_where_hours_have_few_questions(questions: int, first: int, hours: int) -> None:
    starts = pd.Timestamp("2026-11-02T00:00Z") + pd.to_timedelta(np.arange(3 * questions) // questions, unit="D")
    time = starts + pd.to_timedelta(first + hours * (np.arange(3 * questions) % questions) / questions, unit="h")
    rows = pd.DataFrame(
        {"id": [f"q{number}" for number in range(len(time))], "time": time.astype(str), "query": "q", "hits": [[]] * len(time)}
    )
    drawn = draw(outline(arrow_table(rows.assign(answer="It is nine."))), 100, END)
    days = drawn[drawn["reason"] == ""].groupby(drawn["time"].dt.floor("D")).size().tolist()
    # On the first day nothing is known of the traffic.
    assert days[0] >= 0.4 * 100
    assert min(days[1:]) >= 0.85 * 100, days


def test_a_growing_log_keeps_what_was_drawn_and_a_later_run_draws_the_same() -> None:
    before: set[str] = set()
    for number in range(100, len(LOG) + 1, 580):
        drawn = draw(OUTLINE.head(number), 60)
        assert before <= chosen(drawn)
        before = chosen(drawn)
        assert drawn.loc[drawn["reason"] == "", "probability"].notna().all()
    shuffled = OUTLINE.sample(frac=1, random_state=3)
    assert before <= chosen(draw(shuffled, 60))
    assert chosen(draw(shuffled, 60, END)) == chosen(draw(OUTLINE, 60, END)) > before


def test_feedback_that_comes_after_its_block_was_drawn_changes_nothing() -> None:
    late = LOG.copy()
    feedback = [{"kind": "thumb", "value": -1.0, "time": "2026-11-05T23:00:00+00:00"}]
    late["feedback"] = [feedback if given is None else given for given in late["feedback"]]
    assert chosen(draw(outline(arrow_table(late)), 60, END)) == chosen(draw(OUTLINE, 60, END))
    soon = LOG.assign(feedback=[[{"kind": "thumb", "value": -1.0, "time": time}] for time in LOG["time"]])
    assert chosen(draw(outline(arrow_table(soon)), 60, END)) != chosen(draw(OUTLINE, 60, END))


def test_every_question_is_drawn_or_has_a_reason_that_is_counted() -> None:
    rows = LOG.head(600).copy()
    rows["refused"], rows["truncated"] = False, False
    rows.loc[[0, 1], "refused"] = True
    rows.loc[2, "truncated"] = True
    rows.at[3, "hits"] = [{"doc_id": "d", "score": 0.5}]
    rows.at[4, "hits"] = None
    rows.loc[[0, 1, 2, 3, 4], "answer"] = "It is nine."
    rows.loc[[0, 1, 2, 3, 4], "error"] = None
    rows.loc[5, "answer"] = None
    drawn = draw(outline(arrow_table(rows)), 30)
    reasons = skipped(drawn)
    assert sum(reasons.values()) + len(chosen(drawn)) == 600
    assert (reasons[REFUSED], reasons[TRUNCATED], reasons[NO_CONTEXT]) == (2, 1, 2)
    assert reasons[NO_ANSWER] >= 1
    assert {OPEN, NOT_DRAWN} <= reasons.keys()
    assert list(reasons.values()) == sorted(reasons.values(), reverse=True)


def test_an_answer_without_any_hit_can_be_judged() -> None:
    rows = LOG.head(50).copy()
    rows.at[7, "hits"], rows.at[7, "answer"], rows.at[7, "error"] = [], "It is nine.", None
    outlined = outline(arrow_table(rows))
    assert (outlined.loc[7, "reason"], outlined.loc[7, "score"]) == ("", -np.inf)


@pytest.mark.slow
def test_probabilities_are_those_of_the_draw() -> None:
    """Ids are salted instead of hashes: the share of 150 draws in which a question is chosen is its probability."""
    rows = outline(arrow_table(LOG[LOG["time"] < "2026-11-03"]))
    hits, told = np.zeros(len(rows)), np.zeros(len(rows))
    for salt in range(150):
        ids = [hashlib.sha256(f"{salt}{each}".encode()).hexdigest() for each in rows["id"]]
        drawn = draw(rows.assign(id=ids, logged=0.5), 60, END)
        hits += drawn["reason"].eq("").to_numpy()
        told += drawn["probability"].fillna(0).to_numpy()
    able = rows["reason"].eq("").to_numpy()
    share, probability = hits[able] / 150, told[able] / 150 / 0.5
    spread = np.sqrt(probability * (1 - probability) / 150)
    assert probability.min() > 0
    assert np.abs((share - probability) / spread).max() < 5
    assert abs(share.sum() - probability.sum()) < 0.5


def test_bad_feedback_low_scores_and_new_words_are_drawn_more_often() -> None:
    drawn = draw(OUTLINE, 100, END)
    rates = drawn[drawn["stratum"] != ""].groupby("stratum")["reason"].apply(lambda reasons: (reasons == "").mean())
    assert set(rates.index) == {"feedback", "score", "novelty", "rest"}
    assert (rates.drop("rest") > 1.5 * rates["rest"]).all(), rates
    assert drawn[drawn["uniform"]]["reason"].eq("").all()
    assert 0.4 < drawn["uniform"].sum() / len(chosen(drawn)) < 0.8


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="the budget is 0"):
        draw(outline(arrow_table(LOG.head(5))), 0)


def test_times_that_are_none_are_a_reason() -> None:
    rows = LOG.head(20).copy()
    rows.loc[3, "time"] = "yesterday"
    assert skipped(draw(outline(arrow_table(rows)), 5))["no time that can be believed"] == 1


@pytest.mark.slow
def test_novelty_tells_new_subjects_from_paraphrases_of_earlier_questions() -> None:
    queries = handbook().queries
    for held_out in ("security", "finance", "legal"):
        old = [query.text for query in queries if query.metadata["domain"] != held_out]
        new = [query.text for query in queries if query.metadata["domain"] == held_out]
        seen = Counter(normalised(rule(text)) for text in old for rule in RULES[:3])
        again, fresh = (_novelty(pd.Series([normalised(rule(text)) for text in texts for rule in RULES[3:]]), seen) for texts in (old, new))
        assert (np.subtract.outer(fresh, again) > 0).mean() > 0.97


@given(st.lists(ROWS, max_size=6))
def test_the_columns_of_a_log_are_outlined_as_its_rows_one_by_one(rows: list[dict[str, Any]]) -> None:
    rows = [row | {"id": f"q{number}"} for number, row in enumerate(rows)]
    log = arrow_table(rows)
    # Chunks are those of files.
    found = outline(pa.concat_tables([log.slice(0, 2), log.slice(2)]))
    assert by_rows(found) == [outlined_by_hand(row) for row in rows]


def outlined_by_hand(row: dict[str, Any]) -> dict[str, Any]:
    """The outline of a row, written once more."""
    hits, answer = row.get("hits"), row.get("answer") or ""
    bad = [
        given.get("time") or row["time"]
        for given in row.get("feedback") or ()
        if given.get("kind") == "edit" or (given.get("value") or 0) < 0
    ]
    reasons = {
        NO_ANSWER: row.get("error") or not answer.strip(),
        REFUSED: row.get("refused"),
        TRUNCATED: row.get("truncated"),
        NO_CONTEXT: hits is None or (hits and not any(hit.get("text") for hit in hits)),
    }
    return {
        **{name: row.get(name) or "" for name in ("id", "query", "configuration")},
        "time": pd.Timestamp(row["time"]),
        "text": normalised(row["query"]),
        "score": -np.inf if hits == [] else hits[0].get("score") if hits else None,
        "reason": next((reason for reason, applies in reasons.items() if applies), ""),
        "bad": min(map(pd.Timestamp, bad), default=None),
        "cluster": row.get("session") or row["id"],
        "logged": row.get("probability") or 1.0,
    }

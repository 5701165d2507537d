"""The claims of answers with their verdicts, or their scores if the judge gives no verdicts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from workbench.results.run_tables import RETRIEVED, RunTables

# `scored`: the judge gives scores and no verdicts. `unjudged`: it failed.
ClaimState = Literal["contradicted", "absent", "unjudged", "scored", "supported"]
# The worst first.
CLAIM_STATES: tuple[ClaimState, ...] = ("contradicted", "absent", "unjudged", "scored", "supported")
# An answer by condition, variant, repeat and question.
AnswerKey = tuple[str, str, int, str]


@dataclass(frozen=True)
class ShownClaim:
    """A claim by its `number` from 1, and [`start`, `end`) of the words of the answer that state it.

    `passage` is the number of the deciding passage from 1, 0 without one, and [`evidence_start`, `evidence_end`) its deciding words `quote`. `score` and
    `confidence` are NaN if unknown. `error` is why there is no judgement. `chunk_id` is the slice of the passage.
    """

    query_id: str
    number: int
    text: str
    start: int
    end: int
    state: ClaimState
    score: float
    confidence: float
    passage: int
    chunk_id: str
    evidence_start: int
    evidence_end: int
    quote: str
    flags: tuple[str, ...]
    judge: str
    error: str


@dataclass(frozen=True)
class ShownClaims:
    """The claims of an answer. `error` is why the answer could not be split, else empty."""

    claims: tuple[ShownClaim, ...] = ()
    error: str = ""


def has_claims(run: RunTables) -> bool:
    """Whether any answer of the run was split into claims."""
    return len(run.claims) > 0


def claims_of(run: RunTables, configuration: str, key: AnswerKey) -> ShownClaims:
    """Return the claims of an answer by condition, variant, repeat and question, without any if it has none."""
    return _by_answer(run, configuration).get(key, ShownClaims())


def claim_states(run: RunTables, configuration: str, condition: str = RETRIEVED) -> dict[ClaimState, int]:
    """Count the claims of a configuration's answers in a condition by state, the worst first."""
    found = _all_claims(run, configuration, condition)
    return {state: many for state in CLAIM_STATES if (many := sum(each.state == state for each in found))}


def weakest_claims(run: RunTables, configuration: str, condition: str = RETRIEVED) -> list[ShownClaim]:
    """Return the claims of a condition that no passage supports, contradicted ones first, then those with the lowest score.

    From a judge that only scores, these are all claims, the lowest score first. Of repeats the first is read.
    """
    found = _all_claims(run, configuration, condition)
    weak = [each for each in found if each.state in ("contradicted", "absent")] or [each for each in found if each.state == "scored"]
    return sorted(weak, key=lambda each: (CLAIM_STATES.index(each.state), math.inf if math.isnan(each.score) else each.score))


def _all_claims(run: RunTables, configuration: str, condition: str) -> list[ShownClaim]:
    found = _by_answer(run, configuration)
    return [claim for (name, _, repeat, _), answer in found.items() if name == condition and not repeat for claim in answer.claims]


@lru_cache(maxsize=8)
def _by_answer(run: RunTables, configuration: str) -> Mapping[AnswerKey, ShownClaims]:
    answers: dict[AnswerKey, list[Mapping[Any, Any]]] = {}
    for row in run.of("claims", configuration).sort_values("number", kind="stable").to_dict("records"):
        key = (str(row["condition"]), str(row["variant"]), int(row["repeat"]), str(row["query_id"]))
        answers.setdefault(key, []).append(row)
    return {key: _answer_claims(rows) for key, rows in answers.items()}


def _answer_claims(rows: Sequence[Mapping[Any, Any]]) -> ShownClaims:
    errors = [str(row["error"]) for row in rows if row["number"] < 0]
    return ShownClaims(tuple(_claim(row) for row in rows if row["number"] >= 0), errors[0] if errors else "")


def _claim(row: Mapping[Any, Any]) -> ShownClaim:
    return ShownClaim(
        query_id=str(row["query_id"]),
        number=int(row["number"]) + 1,
        text=str(row["claim"]),
        start=int(row["start"]),
        end=int(row["end"]),
        state=_state(row),
        score=float(row["score"]),
        confidence=float(row["confidence"]),
        passage=int(row["passage"]) + 1,
        chunk_id=str(row["chunk_id"]),
        evidence_start=int(row["evidence_start"]),
        evidence_end=int(row["evidence_end"]),
        quote=str(row["quote"]),
        flags=tuple(json.loads(row["flags"] or "[]")),
        judge=str(row["judge"]),
        error=str(row["error"]),
    )


def _state(row: Mapping[Any, Any]) -> ClaimState:
    verdict: ClaimState | str = row["verdict"]
    if verdict in ("supported", "contradicted", "absent"):
        return verdict
    return "unjudged" if row["error"] or math.isnan(row["score"]) else "scored"

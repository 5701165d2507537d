"""Answers with their claims marked, and their contexts with evidence, planted text and the words that decide about claims."""

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from workbench.components.context.conditions import CONDITIONS, GOLD, PERTURBATIONS, RETRIEVED
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import memoised
from workbench.core.records import Answer, Claim, Variant
from workbench.core.text.formatting import number
from workbench.measures.metrics.coverage import Floats
from workbench.report.analysis.answer_values import answer_score, answers_of, condition_values, losing, perturbations, repeated_values
from workbench.report.analysis.passages import Excerpt, Mark, Piece, Stretch, disjoint, passage_of, with_marks
from workbench.report.analysis.values import place_of
from workbench.report.results.run_tables import RunTables

# `scored`: the judge gives scores and no verdicts. `unjudged`: it failed.
ClaimState = Literal["contradicted", "absent", "unjudged", "scored", "supported"]
# The worst first.
CLAIM_STATES: tuple[ClaimState, ...] = ("contradicted", "absent", "unjudged", "scored", "supported")
# An answer by condition, variant, repeat and question.
AnswerKey = tuple[str, str, int, str]
_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True)
class ShownClaim(Claim):
    """A claim with its judgement, by its `number` from 1.

    `passage` is the number of the deciding passage from 1, 0 without one, and [`evidence_start`, `evidence_end`) its deciding words `quote`. `score` and
    `confidence` are NaN if unknown. `error` is why there is no judgement. `chunk_id` is the slice of the passage.
    """

    query_id: str
    number: int
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
    """Return True if any answer of the run was split into claims."""
    return len(run.claims) > 0


def claims_of(run: RunTables, configuration: str, key: AnswerKey) -> ShownClaims:
    """Return the claims of an answer by condition, variant, repeat and question, without any if it has none."""
    return _by_answer(run, configuration).get(key, ShownClaims())


def claim_states(run: RunTables, configuration: str) -> dict[ClaimState, int]:
    """Count the claims of a configuration's answers to retrieved contexts by state, the worst first."""
    found = _all_claims(run, configuration)
    return {state: many for state in CLAIM_STATES if (many := sum(each.state == state for each in found))}


def weakest_claims(run: RunTables, configuration: str) -> list[ShownClaim]:
    """Return the claims about retrieved contexts that no passage supports, contradicted ones first, then those with the lowest score.

    From a judge that only scores, these are all claims, the lowest score first. Of repeats the first is read.
    """
    found = _all_claims(run, configuration)
    weak = [each for each in found if each.state in ("contradicted", "absent")] or [each for each in found if each.state == "scored"]
    return sorted(weak, key=lambda each: (CLAIM_STATES.index(each.state), math.inf if math.isnan(each.score) else each.score))


def _all_claims(run: RunTables, configuration: str) -> list[ShownClaim]:
    found = _by_answer(run, configuration)
    return [claim for (name, _, repeat, _), answer in found.items() if name == RETRIEVED and not repeat for claim in answer.claims]


@memoised(8)
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
    same = ("query_id", "start", "end", "score", "confidence", "chunk_id", "evidence_start", "evidence_end", "quote", "judge", "error")
    return ShownClaim(
        **{name: row[name] for name in same},
        number=row["number"] + 1,
        text=row["claim"],
        state=_state(row),
        passage=row["passage"] + 1,
        flags=tuple(json.loads(row["flags"] or "[]")),
    )


def _state(row: Mapping[Any, Any]) -> ClaimState:
    verdict: ClaimState | str = row["verdict"]
    if verdict in ("supported", "contradicted", "absent"):
        return verdict
    return "unjudged" if row["error"] or math.isnan(row["score"]) else "scored"


def claim_anchor(answer: str, claim: ShownClaim) -> str:
    """Return the identifier of a claim's words in the answer with the identifier `answer`, empty if the answer has no such words."""
    return f"{answer}-c{claim.start}" if 0 <= claim.start < claim.end else ""


def passage_anchor(answer: str, passage: int) -> str:
    """Return the identifier of a passage, from 1, in the context of an answer."""
    return f"{answer}-p{passage}"


def evidence_anchor(answer: str, claim: ShownClaim) -> str:
    """Return the identifier of the words that decide about a claim, of their passage if no words do, or an empty text without a passage."""
    if not claim.passage:
        return ""
    whole = passage_anchor(answer, claim.passage)
    return f"{whole}-{claim.evidence_start}" if claim.evidence_start < claim.evidence_end else whole


def claim_label(claim: ShownClaim) -> str:
    """Name a claim's verdict, or its score if the judge only scores."""
    return f"score {number(claim.score, 2)}" if claim.state == "scored" else claim.state


def answer_pieces(text: str, claims: Sequence[ShownClaim], answer: str) -> list[Piece]:
    """Mark the claims in an answer. Words that several claims share have the mark of the worst."""
    spans = [(claim.start, claim.end, claim) for claim in claims if 0 <= claim.start < claim.end]
    marks = [_claimed(low, high, inside, answer) for low, high, inside in _segments(spans)]
    return with_marks(text, 0, len(text), marks, beside=len(text), alone=len(text))


def passage_pieces(
    text: str | Excerpt, start: int, end: int, others: Sequence[Stretch], claims: Sequence[ShownClaim], answer: str
) -> list[Piece]:
    """Mark the deciding words of claims in the slice [start, end) of a text, and `others`, such as evidence, around them."""
    decided = [claim for claim in claims if 0 <= claim.evidence_start < claim.evidence_end]
    spans = [(start + claim.evidence_start, min(start + claim.evidence_end, end), claim) for claim in decided]
    marks = [_deciding(low, high, inside, answer, start) for low, high, inside in _segments(spans)]
    return with_marks(text, start, end, sorted([*marks, *_around(others, marks)]))


def _claimed(low: int, high: int, claims: Sequence[ShownClaim], answer: str) -> Mark:
    worst = min(claims, key=lambda claim: CLAIM_STATES.index(claim.state))
    new = [claim for claim in claims if claim.start == low]
    label = f"{', '.join(str(claim.number) for claim in claims)} {claim_label(worst)}" if new else ""
    return Mark(low, high, worst.state, label, claim_anchor(answer, new[0]) if new else "", evidence_anchor(answer, worst))


def _deciding(low: int, high: int, claims: Sequence[ShownClaim], answer: str, start: int) -> Mark:
    new = [claim for claim in claims if start + claim.evidence_start == low]
    names = ", ".join(str(claim.number) for claim in claims)
    label = f"{'claim' if len(claims) == 1 else 'claims'} {names}" if new else ""
    return Mark(low, high, "deciding", label, evidence_anchor(answer, new[0]) if new else "", claim_anchor(answer, claims[0]))


def _around(others: Sequence[Stretch], marks: Sequence[Mark]) -> list[Mark]:
    """Return the parts of other stretches that no mark covers."""
    parts = []
    for start, end, role in disjoint(others):
        position = start
        for mark in [mark for mark in marks if mark.start < end and mark.end > start]:
            parts.append(Mark(position, mark.start, role))
            position = max(position, mark.end)
        parts.append(Mark(position, end, role))
    return [part for part in parts if part.start < part.end]


def _segments(spans: Sequence[tuple[int, int, ShownClaim]]) -> list[tuple[int, int, list[ShownClaim]]]:
    """Cut overlapping spans at all their bounds. Each segment has the claims whose spans cover it."""
    bounds = sorted({bound for low, high, _ in spans for bound in (low, high)})
    segments = [(low, high, [claim for start, end, claim in spans if start <= low and high <= end]) for low, high in pairwise(bounds)]
    return [segment for segment in segments if segment[2]]


@dataclass(frozen=True)
class ShownPassage:
    """A passage of a context by its `number` from 1. `cited`: whether the answer cites it. `planted` is what was planted in it, else empty.

    `anchor` identifies it on a page.
    """

    number: int
    doc_id: str
    start: int
    end: int
    cited: bool
    planted: str
    pieces: Sequence[Piece]
    anchor: str


@dataclass(frozen=True, kw_only=True)
class ShownAnswer(Answer):
    """The first answer in a condition with its context. `score` is NaN without one.

    `reason` is why the question has no such context and is not asked, else empty. `pieces` are the text with its claims, and `anchor` identifies the
    answer on a page.
    """

    variant: Variant
    score: float
    reason: str
    context_tokens: float
    passages: Sequence[ShownPassage]
    claims: ShownClaims
    pieces: Sequence[Piece]
    anchor: str

    @property
    def missing(self) -> str:
        """Why there is no answer: the call failed, or the question has no such context."""
        return self.error or self.reason


@dataclass(frozen=True)
class QuestionInConditions:
    """A question with its expected answer and its answers in the order of the conditions.

    `loss` is its largest loss of the answer score against the evidence alone, by the condition or attack `lost_to`. NaN and empty if unknown.
    """

    query_id: str
    text: str
    expected: str
    answerable: bool
    loss: float
    lost_to: str
    answers: Sequence[ShownAnswer]


def worst_losses(run: RunTables, configuration: str, most: int) -> list[QuestionInConditions]:
    """Return up to `most` questions that lose something, the largest loss first.

    Without a condition to compare with, these are the questions that are not answered perfectly, the lowest score first.
    """
    losses, _ = _losses(run, configuration)
    order = np.argsort(-np.nan_to_num(losses, nan=-np.inf), kind="stable")
    chosen = [place for place in order.tolist() if losses[place] > 0][:most]
    return [question_in_conditions(run, configuration, str(run.questions["query_id"].iloc[place])) for place in chosen]


def question_in_conditions(run: RunTables, configuration: str, query_id: str, only: Sequence[str] = CONDITIONS) -> QuestionInConditions:
    """Return a question in all conditions of a configuration's answers, or in `only` some. Raises InputError for an unknown question."""
    place = place_of(run, query_id)
    question = run.questions.iloc[place]
    losses, causes = _losses(run, configuration)
    answers = answers_in_conditions(run, configuration, query_id, only)
    expected, answerable = str(question["answer"] or ""), bool(question["answerable"])
    return QuestionInConditions(query_id, str(question["text"]), expected, answerable, float(losses[place]), causes[place], answers)


def answers_in_conditions(run: RunTables, configuration: str, query_id: str, only: Sequence[str] = CONDITIONS) -> list[ShownAnswer]:
    """Return the first answers of a configuration to a question of the run in the order of the conditions."""
    rows = answers_of(run, configuration)
    chosen = rows[(rows["query_id"] == query_id) & (rows["repeat"] == 0) & rows["condition"].isin(only)]
    place = place_of(run, query_id)
    return [_answer(run, configuration, place, row) for row in sorted(chosen.to_dict("records"), key=_reading_order)]


def _reading_order(row: dict[Any, Any]) -> tuple[int, int]:
    families = PERTURBATIONS.get(row["condition"], ("",))
    return CONDITIONS.index(row["condition"]), families.index(row["variant"])


@memoised(64)
def _losses(run: RunTables, configuration: str) -> tuple[Floats, list[str]]:
    """The largest loss of each question and its cause. Shape (questions,)."""
    metric = str(answer_score(run) or "")
    found = dict(_each_loss(run, configuration, metric)) if metric else {}
    if not found:
        return np.full(len(run.questions), np.nan), [""] * len(run.questions)
    table = np.nan_to_num(np.array(list(found.values())), nan=-np.inf)
    largest, names = table.argmax(axis=0), list(found)
    worst = table.max(axis=0)
    return np.where(np.isinf(worst), np.nan, worst), [names[place] for place in largest.tolist()]


def _each_loss(run: RunTables, configuration: str, metric: str) -> Iterator[tuple[str, Floats]]:
    present = perturbations(run, configuration, metric)
    if (GOLD, "") not in present:
        if (RETRIEVED, "") in present:
            yield RETRIEVED, 1 - condition_values(run, configuration, metric, RETRIEVED)
        return
    gold = condition_values(run, configuration, metric, GOLD)
    for condition, perturbation in losing(run, configuration, metric):
        name = "/".join(filter(None, [condition, perturbation]))
        yield name, gold - condition_values(run, configuration, metric, condition, perturbation)


def _answer(run: RunTables, configuration: str, place: int, row: dict[Any, Any]) -> ShownAnswer:
    metric, variant = answer_score(run), Variant(row["condition"], row["variant"])
    scores = repeated_values(run, configuration, str(metric), variant.condition, variant.perturbation)[:1, place] if metric else np.zeros(0)
    anchor = f"a{fingerprint(configuration, row['query_id'], variant.condition, variant.perturbation)[:10]}"
    found = claims_of(run, configuration, (variant.condition, variant.perturbation, 0, row["query_id"]))
    citations = tuple(json.loads(row["citations"]))
    slices = enumerate(json.loads(row["passages"]), 1)
    passages = [_passage(run, row["query_id"], number, each, number - 1 in citations, found.claims, anchor) for number, each in slices]
    return ShownAnswer(
        text=row["answer"],
        citations=citations,
        refused=bool(row["refused"]),
        error=row["error"],
        outcome=row["outcome"],
        truncated=row["truncated"] is True,
        variant=variant,
        score=float(scores[0]) if len(scores) else np.nan,
        reason=row["reason"],
        context_tokens=float(row["context_tokens"]),
        passages=passages,
        claims=found,
        pieces=answer_pieces(row["answer"], found.claims, anchor),
        anchor=anchor,
    )


def _passage(
    run: RunTables, query_id: str, number: int, slice_: dict[str, Any], cited: bool, claims: Sequence[ShownClaim], answer: str
) -> ShownPassage:
    doc_id, start, end = slice_["doc_id"], int(slice_["start"]), int(slice_["end"])
    planted, original = slice_.get("planted", ""), passage_of(run, doc_id, start, end)
    deciding = [claim for claim in claims if claim.passage == number]
    if planted:
        pieces = passage_pieces(slice_["text"], 0, len(slice_["text"]), _planted(original[start:end], slice_["text"]), deciding, answer)
    else:
        spans = _evidence(run).get(query_id, ())
        evidence: list[Stretch] = [(low, high, "delivered") for document, low, high in spans if document == doc_id]
        pieces = passage_pieces(original, start, end, evidence, deciding, answer)
    return ShownPassage(number, doc_id, start, end, cited, planted, pieces, passage_anchor(answer, number))


def _planted(original: str, text: str) -> list[Stretch]:
    """Return the stretches of a text, in whole words, that the original does not have."""
    words, before = _WORDS.findall(text), _WORDS.findall(original)
    ends = np.cumsum([0, *map(len, words)]).tolist()
    changes = difflib.SequenceMatcher(None, before, words, autojunk=False).get_opcodes()
    places = [(ends[low], ends[high]) for tag, _, _, low, high in changes if tag in ("replace", "insert")]
    return [(high - len(text[low:high].lstrip()), high, "planted") for low, high in places]


@memoised(1)
def _evidence(run: RunTables) -> dict[str, list[tuple[str, int, int]]]:
    spans: dict[str, list[tuple[str, int, int]]] = {}
    columns = (run.evidence[name].tolist() for name in ("query_id", "doc_id", "start", "end"))
    for query_id, doc_id, start, end in zip(*columns, strict=True):
        spans.setdefault(query_id, []).append((doc_id, start, end))
    return spans
